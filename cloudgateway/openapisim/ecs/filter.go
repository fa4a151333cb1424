package ecs

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// addressLists are the filters of DescribeInstances that are lists in JSON.
func addressLists() []string {
	return []string{"InstanceIds", "PrivateIpAddresses", "InnerIpAddresses", "PublicIpAddresses", "EipAddresses", "RdmaIpAddresses"}
}

func instanceFilters() []api.Param {
	params := []api.Param{
		region(), tags.Uncounted(), api.Optional("VpcId"), api.Optional("VSwitchId"), api.Optional("ZoneId"),
		api.Optional("InstanceName"), api.Optional("ImageId"),
		api.Optional("InstanceType"), api.Optional("InstanceTypeFamily"), api.Optional("InstanceChargeType"), api.Optional("InstanceNetworkType"),
		api.Optional("InternetChargeType"), api.Flag("IoOptimized"), {Name: "Ipv6Address", Kind: api.Strings, Limit: idsPerCall},
		api.Optional("KeyPairName"), api.Optional("LockReason"), api.Optional("HpcClusterId"),
		api.Optional("SecurityGroupId"), api.Optional("ResourceGroupId"), api.OneOf("HttpEndpoint", "enabled", "disabled"),
		api.OneOf("HttpTokens", "optional", "required"), api.Optional("HttpPutResponseHopLimit"),
		api.Optional("Status"), {Name: "Filter", Kind: api.Structs},
	}
	for _, name := range addressLists() {
		params = append(params, api.Param{Name: name, Kind: api.JSON})
	}
	return params
}

func instanceFilterCodes() []string {
	return []string{
		"InvalidNetworkType.NotFound", "InvalidInstanceChargeType.NotFound", "InvalidInternetChargeType.ValueNotSupported",
		"InvalidStatus.NotFound", "InvalidLockReason.NotFound", "InvalidHpcClusterId.NotFound", "InvalidFilterKey.NotFound",
		"InvalidFilterValue", "InvalidTagCount", "DryRunOperation",
	}
}

// words are the values that filters accept, with the answer to others.
func words() []struct {
	param, code, text string
	values            []string
} {
	return []struct {
		param, code, text string
		values            []string
	}{
		{"InstanceNetworkType", "InvalidNetworkType.NotFound", "The specified network type is not found.", []string{"vpc", "classic"}},
		{
			"InstanceChargeType", "InvalidInstanceChargeType.NotFound", "The InstanceChargeType does not exist in our records",
			[]string{"PrePaid", "PostPaid"},
		},
		{
			"InternetChargeType", "InvalidInternetChargeType.ValueNotSupported", "The specified InternetChargeType is not valid.",
			[]string{"PayByBandwidth", "PayByTraffic"},
		},
		{
			"Status", "InvalidStatus.NotFound", "The specified Status is not found.",
			[]string{"Pending", "Running", "Starting", "Stopping", "Stopped"},
		},
		{
			"LockReason", "InvalidLockReason.NotFound", "The specified LockReason is not found",
			[]string{"financial", "security", "Recycling", "dedicatedhostfinancial", "refunded"},
		},
		// There are no clusters.
		{"HpcClusterId", "InvalidHpcClusterId.NotFound", "The specified HpcClusterId does not exist.", nil},
	}
}

// checkWords refuses values that the cloud doesn't know.
func checkWords(c *api.Context) *api.Error {
	for _, w := range words() {
		if !c.Has(w.param) || slices.Contains(w.values, c.Get(w.param)) {
			continue
		}
		if w.param == "HpcClusterId" {
			return api.BadRequest(w.code, "%s", w.text)
		}
		return api.NotFound(w.code, "%s", w.text)
	}
	return nil
}

// findInstances returns the instances that pass all filters, by id. A list without items matches nothing, as in the cloud:
// a call with an empty list of ids gets no instances.
func findInstances(c *api.Context) ([]*state.Instance, *api.Error) {
	lists, err := readLists(c)
	if err != nil {
		return nil, err
	}
	if err := checkWords(c); err != nil {
		return nil, err
	}
	times, err := readTimes(c)
	if err != nil {
		return nil, err
	}
	filter := tags.FilterOf(c)
	if len(filter) > 20 {
		return nil, api.BadRequest("InvalidTagCount", "The specified tags are beyond the permitted range.")
	}
	if c.True("DryRun") {
		return nil, api.DryRun()
	}
	candidates := slices.Sorted(maps.Keys(c.State.Instances))
	if ids, ok := lists["InstanceIds"]; ok {
		candidates = slices.Compact(slices.Sorted(slices.Values(ids)))
	}
	byIPv6 := withIPv6(c)
	var out []*state.Instance
	for _, id := range candidates {
		i := c.State.Instances[id]
		if i != nil && matchInstance(c, i, lists) && times.match(i) && (byIPv6 == nil || byIPv6[id]) && filter.Match(i.Tags) {
			out = append(out, i)
		}
	}
	return out, nil
}

func readLists(c *api.Context) (map[string][]string, *api.Error) {
	lists := map[string][]string{}
	for _, name := range addressLists() {
		if !c.Has(name) {
			continue
		}
		list := []string{}
		if json.Unmarshal([]byte(c.Get(name)), &list) != nil || len(list) > c.Settings.IDsPerCall {
			return nil, api.Invalid(name)
		}
		lists[name] = list
	}
	return lists, nil
}

// withIPv6 are the instances whose interfaces have one of the wanted IPv6 addresses; nil stands for all.
func withIPv6(c *api.Context) map[string]bool {
	wanted := c.List("Ipv6Address")
	if len(wanted) == 0 {
		return nil
	}
	found := map[string]bool{}
	for _, eni := range c.State.Interfaces {
		if listing.Among(wanted, eni.Ipv6Addresses...) {
			found[eni.InstanceID] = true
		}
	}
	return found
}

func matchInstance(c *api.Context, i *state.Instance, lists map[string][]string) bool {
	has := func(name string, values ...string) bool {
		list, given := lists[name]
		return !given || slices.ContainsFunc(values, func(v string) bool { return slices.Contains(list, v) })
	}
	eip := ""
	if e := c.State.Eips[i.EipID]; e != nil {
		eip = e.Address
	}
	network := "vpc"
	if i.VpcID == "" {
		network = "classic"
	}
	for name, value := range map[string]string{
		"VpcId": i.VpcID, "VSwitchId": i.VSwitchID, "ResourceGroupId": cmp.Or(i.ResourceGroupID, state.DefaultResourceGroup),
		"ZoneId": i.ZoneID, "ImageId": imageOf(i),
		"InstanceType": i.InstanceType, "InstanceTypeFamily": family(i.InstanceType), "InstanceChargeType": i.ChargeType,
		"InternetChargeType": internetChargeType(i), "KeyPairName": i.KeyPairName, "InstanceNetworkType": network, "Status": i.Status,
		"HttpEndpoint": i.Attributes["HttpEndpoint"], "HttpTokens": i.Attributes["HttpTokens"],
		"HttpPutResponseHopLimit": i.Attributes["HttpPutResponseHopLimit"],
	} {
		if !listing.Match(c.Get(name), value) {
			return false
		}
	}
	optimized := !c.Has("IoOptimized") || c.True("IoOptimized") // all are
	return optimized && wildcard(c.Get("InstanceName"), i.Name) && inGroup(c.Get("SecurityGroupId"), i.SecurityGroupIDs) &&
		inGroup(c.Get("LockReason"), i.LockReasons) &&
		has("PrivateIpAddresses", i.PrivateIPs...) && has("InnerIpAddresses", i.InnerIPs...) &&
		has("PublicIpAddresses", i.PublicIPs...) && has("EipAddresses", eip) && has("RdmaIpAddresses")
}

// wildcard reports whether a text matches a pattern, in which * stands for any text. An empty pattern matches all.
func wildcard(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return listing.Match(pattern, text)
	}
	first, last := parts[0], parts[len(parts)-1]
	if !strings.HasPrefix(text, first) || !strings.HasSuffix(text[len(first):], last) {
		return false
	}
	text = text[len(first) : len(text)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		_, rest, ok := strings.Cut(text, part)
		if !ok {
			return false
		}
		text = rest
	}
	return true
}

// timeFilter is what Filter.N says of the time of creation. Nothing that is paid by use expires before never.
type timeFilter map[string]time.Time

// readTimes reads Filter.N.Key and Filter.N.Value.
func readTimes(c *api.Context) (timeFilter, *api.Error) {
	times := timeFilter{}
	for _, item := range c.Items("Filter") {
		key := item["key"]
		if !slices.Contains([]string{"CreationStartTime", "CreationEndTime", "ExpiredStartTime", "ExpiredEndTime"}, key) {
			return nil, api.NotFound("InvalidFilterKey.NotFound", "The specified Filter.Key is not found.")
		}
		at, err := parseTime(item["value"])
		if err != nil {
			return nil, api.NotFound("InvalidFilterValue", "The specified Filter.Value is not valid.")
		}
		times[key] = at
	}
	return times, nil
}

// minutes is how ECS writes times.
const minutes = "2006-01-02T15:04Z"

func parseTime(text string) (time.Time, error) {
	if at, err := time.Parse(minutes, text); err == nil {
		return at, nil
	}
	return time.Parse(time.RFC3339, text)
}

func (f timeFilter) match(i *state.Instance) bool {
	created, _ := parseTime(creationTime(i)) // we wrote it
	expires, _ := parseTime(never)
	for key, at := range f {
		when := created
		if strings.HasPrefix(key, "Expired") {
			when = expires
		}
		if strings.HasSuffix(key, "StartTime") && when.Before(at) || strings.HasSuffix(key, "EndTime") && when.After(at) {
			return false
		}
	}
	return true
}
