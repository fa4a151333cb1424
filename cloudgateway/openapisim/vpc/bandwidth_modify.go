package vpc

import (
	"maps"
	"slices"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// limitTooHigh is the code for an address that is to have more than its package. No document at hand has one.
const limitTooHigh = "InvalidBandwidth.Exceed"

// bandwidthModifyActions change packages, and what a single address can have of one.
func bandwidthModifyActions() []api.Action {
	id, address := api.Required("BandwidthPackageId"), api.Required("EipId")
	return []api.Action{
		api.Write("ModifyCommonBandwidthPackageAttribute", api.On(packageByID, modifyPackage),
			[]string{noPackage, "InvalidName.Malformed", "InvalidDescription.Malformed"}, region(), id, api.Optional("Name"),
			api.Optional("Description")),
		api.Write("ModifyCommonBandwidthPackageSpec", api.On(packageByID, modifyPackageSpec), []string{noPackage}, region(), id,
			must(api.Number("Bandwidth", 1, 20_000))),
		api.Write("ModifyCommonBandwidthPackageIpBandwidth", api.On(packageByID, limitAddress),
			[]string{noPackage, addressNotInUse, limitTooHigh}, region(), id, address, must(api.Number("Bandwidth", 1, 20_000))),
		api.Write("CancelCommonBandwidthPackageIpBandwidth", api.On(packageByID, unlimitAddress),
			[]string{noPackage, addressNotInUse}, region(), id, address),
	}
}

func modifyPackage(c *api.Context, p *state.BandwidthPackage) (any, *api.Error) {
	switch {
	case !validName(c.Get("Name")):
		return nil, malformed("InvalidName.Malformed", "Name")
	case !validDescription(c.Get("Description")):
		return nil, malformed("InvalidDescription.Malformed", "Description")
	}
	c.SetText("Name", &p.Name)
	c.SetText("Description", &p.Description)
	return nil, nil
}

func modifyPackageSpec(c *api.Context, p *state.BandwidthPackage) (any, *api.Error) {
	c.SetInt("Bandwidth", &p.Bandwidth)
	return nil, nil
}

func limitAddress(c *api.Context, p *state.BandwidthPackage) (any, *api.Error) {
	switch {
	case !slices.Contains(p.AllocationIDs, c.Get("EipId")):
		return nil, addressNotInPackage()
	case c.Int("Bandwidth", 0) > p.Bandwidth:
		return nil, tooMuchOf(p)
	}
	setLimit(p, c.Get("EipId"), c.Int("Bandwidth", 0))
	return nil, nil
}

func tooMuchOf(p *state.BandwidthPackage) *api.Error {
	return api.BadRequest(limitTooHigh, "The bandwidth of an address can't exceed the %d Mbit/s of its package.", p.Bandwidth)
}

// setLimit says what an address can have of a package.
func setLimit(p *state.BandwidthPackage, allocationID string, limit int) {
	p.Limits = maps.Clone(p.Limits)
	if p.Limits == nil {
		p.Limits = map[string]int{}
	}
	p.Limits[allocationID] = limit
}

func unlimitAddress(c *api.Context, p *state.BandwidthPackage) (any, *api.Error) {
	if !slices.Contains(p.AllocationIDs, c.Get("EipId")) {
		return nil, addressNotInPackage()
	}
	p.Limits = maps.Clone(p.Limits)
	delete(p.Limits, c.Get("EipId"))
	return nil, nil
}

func addressNotInPackage() *api.Error {
	return api.BadRequest(addressNotInUse, "The specified IP address is not in the bandwidth package.")
}
