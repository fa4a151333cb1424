package ecs

import (
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/regions"
)

// Prices are made up: so much in CNY for an hour of a core and of a GiB, and this part of it for a spot instance. What can be relied on
// is that a larger type costs more, and a spot instance less.
const perCore, perGibibyte, spotPart = 0.2, 0.05, 0.2

// spotDays is how far back prices of spot instances are known, by the documents.
const spotDays = 30

func priceActions() []api.Action {
	unsold := "InvalidInstanceType.ValueNotSupported"
	return []api.Action{
		api.Read("DescribePrice", describePrice, api.Words(unsold), region(), api.OneOf("ResourceType", "instance"),
			api.Required("InstanceType"), api.OneOf("SpotStrategy", "NoSpot", "SpotWithPriceLimit", "SpotAsPriceGo"), api.Optional("ZoneId"),
			api.Number("Amount", 1, 1000), api.OneOf("PriceUnit", "Hour")),
		api.Read("DescribeSpotPriceHistory", describeSpotPrices, api.Words(unsold+" InvalidStartTime.Malformed InvalidEndTime.Malformed"),
			region(), api.Required("InstanceType"), api.Param{Name: "NetworkType", Required: true, Enum: []string{"vpc", "classic"}},
			api.Optional("ZoneId"), api.OneOf("IoOptimized", "optimized", "none"), api.OneOf("OSType", "linux", "windows"),
			api.Optional("StartTime"), api.Optional("EndTime"), api.Number("SpotDuration", 0, 6), api.Number("Offset", 0, 1<<31)),
		api.Read("DescribeCapacityReservations", describeNone("CapacityReservationSet", "CapacityReservationItem"), nil, region(),
			api.Optional("PrivatePoolOptions.Ids"), api.Optional("InstanceType"), api.Optional("ZoneId"), api.Optional("Status"),
			api.Optional("Platform"), api.Optional("InstanceChargeType"), api.Optional("ResourceGroupId")),
	}
}

// priceOf is the price of an hour of an instance type.
func priceOf(instanceType string) float64 {
	size := sizeOf(instanceType)
	return perCore*float64(size.cores) + perGibibyte*float64(size.gibibytes)
}

func typeNotSold() *api.Error {
	return forbidden("InvalidInstanceType.ValueNotSupported", "The specified InstanceType does not exist or beyond the permitted range.")
}

func describePrice(c *api.Context) (any, *api.Error) {
	if _, sold := onSale(c.Get("InstanceType")); !sold {
		return nil, typeNotSold()
	}
	full := priceOf(c.Get("InstanceType")) * float64(c.Int("Amount", 1))
	price := full
	if spot := c.Get("SpotStrategy"); spot != "" && spot != "NoSpot" {
		price = full * spotPart
	}
	return api.Object{"PriceInfo", api.Object{
		"Price", api.Object{"OriginalPrice", full, "TradePrice", price, "DiscountPrice", full - price, "Currency", "CNY"},
		"Rules", api.Object{"Rule", []api.Object{}},
	}}, nil
}

// describeSpotPrices tells the price of each whole hour, by default of the last three, in each zone.
func describeSpotPrices(c *api.Context) (any, *api.Error) {
	if _, sold := onSale(c.Get("InstanceType")); !sold {
		return nil, typeNotSold()
	}
	end, ok := timeOf(c, "EndTime", c.Now)
	if !ok {
		return nil, api.BadRequest("InvalidEndTime.Malformed", "The specified EndTime is not valid.")
	}
	start, ok := timeOf(c, "StartTime", end.Add(-3*time.Hour))
	if !ok || start.After(end) || start.Before(c.Now.AddDate(0, 0, -spotDays)) {
		return nil, api.BadRequest("InvalidStartTime.Malformed", "The specified StartTime is not valid, after the end or more than 30 days ago.")
	}
	full := priceOf(c.Get("InstanceType"))
	var prices []api.Object
	sold := listing.Match(c.Get("IoOptimized"), "optimized") && listing.Match(c.Get("OSType"), "linux") // as images and instances are
	for _, zone := range regions.Zones(c) {
		for at := start.Truncate(time.Hour); sold && listing.Match(c.Get("ZoneId"), zone) && !at.After(end); at = at.Add(time.Hour) {
			if !at.Before(start) {
				prices = append(prices, api.Object{
					"ZoneId", zone, "InstanceType", c.Get("InstanceType"), "NetworkType", c.Get("NetworkType"), "IoOptimized", "optimized",
					"Timestamp", timeText(at), "OriginPrice", full, "SpotPrice", full * spotPart,
				})
			}
		}
	}
	const most = 1000
	from := min(c.Int("Offset", 0), len(prices))
	next := from + most
	if next >= len(prices) {
		next = 0 // there is no more
	}
	return api.Object{
		"Currency", "CNY", "NextOffset", next, "SpotPrices", api.Object{"SpotPriceType", prices[from:min(from+most, len(prices))]},
	}, nil
}

// timeOf reads a time, or returns a default if it was not sent.
func timeOf(c *api.Context, name string, def time.Time) (time.Time, bool) {
	if !c.Has(name) {
		return def, true
	}
	at, err := parseTime(c.Get(name))
	return at, err == nil
}
