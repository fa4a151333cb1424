package slb

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func describeActions() []api.Action {
	return []api.Action{
		api.Read("DescribeLoadBalancers", api.On(loadBalancerFilter, describeLoadBalancers),
			api.Words("InvalidParameter InvalidTag"), append(listing.Params(100),
				region(), api.Optional("Address"), api.Optional("AddressIPVersion"), api.Optional("AddressType"), api.Optional("InternetChargeType"),
				api.Optional("LoadBalancerId"), api.Optional("LoadBalancerName"), api.Optional("LoadBalancerStatus"), api.Optional("MasterZoneId"),
				api.Optional("NetworkType"), api.Optional("PayType"), api.Optional("ResourceGroupId"), api.Optional("ServerId"),
				api.Optional("ServerIntranetAddress"), api.Optional("SlaveZoneId"), tags.Uncounted(), jsonText("Tags"),
				api.Optional("VSwitchId"), api.Optional("VpcId"),
			)...),
		api.Read("DescribeLoadBalancerAttribute", api.On(loadBalancer, describeLoadBalancerAttribute),
			api.Words("InvalidLoadBalancerId.NotFound"), region(), api.Required("LoadBalancerId")),
	}
}

func viewOf(c *api.Context, lb *state.LoadBalancer) api.Object {
	return api.Spelled(lb.Spelling, api.Object{
		"LoadBalancerId", lb.ID, "LoadBalancerName", lb.Name, "LoadBalancerStatus", lb.Status,
		"LoadBalancerSpec", shownSpec(lb), "Address", lb.Address, "AddressType", lb.AddressType,
		"AddressIPVersion", lb.AddressIPVersion, "NetworkType", lb.NetworkType, "VpcId", lb.VpcID,
		"VSwitchId", lb.VSwitchID, "RegionId", c.Region, "RegionIdAlias", c.Region, "MasterZoneId", lb.MasterZoneID,
		"SlaveZoneId", lb.SlaveZoneID, "InstanceChargeType", lb.InstanceChargeType,
		"InternetChargeType", lb.InternetChargeType, "Bandwidth", lb.Bandwidth, "PayType", lb.PayType,
		"BusinessStatus", "Normal", "DeleteProtection", lb.DeleteProtection,
		"ModificationProtectionStatus", lb.ModificationStatus, "ModificationProtectionReason", lb.ModificationReason,
		"ServiceManagedMode", "Unmanaged", "ResourceGroupId", lb.ResourceGroupID, "CreateTime", stamp(lb.Created),
		"CreateTimeStamp", lb.Created.UnixMilli(), "Tags", tags.Longs(lb.Tags),
	})
}

func describeLoadBalancers(c *api.Context, match func(*state.LoadBalancer) bool) (any, *api.Error) {
	page, numbers := listing.Cut(allLoadBalancers(c, match), 1, 100)
	if c.Has("PageNumber") { // PageSize counts only together with it
		page, numbers = listing.Numbered(c, allLoadBalancers(c, match))
	}
	return append(numbers.Object(), "LoadBalancers", wrapped("LoadBalancer", page, func(lb *state.LoadBalancer) api.Object {
		item := append(viewOf(c, lb), "InternetChargeTypeAlias", lb.InternetChargeType)
		// The list has the old number of the charge type where the attribute has the word.
		item.Set("InternetChargeType", map[bool]string{false: "4", true: "3"}[lb.InternetChargeType == payByBandwidth])
		return item
	})), nil
}

// loadBalancerFilter returns the conjunction of all filters that were sent.
func loadBalancerFilter(c *api.Context) (func(*state.LoadBalancer) bool, *api.Error) {
	ids, names := listing.CommaList(c.Get("LoadBalancerId")), listing.CommaList(c.Get("LoadBalancerName"))
	switch {
	case len(ids) > 10:
		return nil, api.Invalid("LoadBalancerId")
	case len(names) > 10:
		return nil, api.Invalid("LoadBalancerName")
	}
	tagged, err := balancerFilter(c)
	if err != nil {
		return nil, err
	}
	equal := map[string]func(*state.LoadBalancer) string{
		"Address":            func(lb *state.LoadBalancer) string { return lb.Address },
		"AddressIPVersion":   func(lb *state.LoadBalancer) string { return lb.AddressIPVersion },
		"AddressType":        func(lb *state.LoadBalancer) string { return lb.AddressType },
		"InternetChargeType": func(lb *state.LoadBalancer) string { return lb.InternetChargeType },
		"LoadBalancerStatus": func(lb *state.LoadBalancer) string { return lb.Status },
		"MasterZoneId":       func(lb *state.LoadBalancer) string { return lb.MasterZoneID },
		"NetworkType":        func(lb *state.LoadBalancer) string { return lb.NetworkType },
		"PayType":            func(lb *state.LoadBalancer) string { return lb.PayType },
		"ResourceGroupId":    func(lb *state.LoadBalancer) string { return lb.ResourceGroupID },
		"SlaveZoneId":        func(lb *state.LoadBalancer) string { return lb.SlaveZoneID },
		"VSwitchId":          func(lb *state.LoadBalancer) string { return lb.VSwitchID },
		"VpcId":              func(lb *state.LoadBalancer) string { return lb.VpcID },
	}
	enumerated := map[string]bool{
		"AddressIPVersion": true, "AddressType": true, "InternetChargeType": true, "LoadBalancerStatus": true,
		"NetworkType": true, "PayType": true,
	}
	for name := range equal {
		if !c.Has(name) {
			delete(equal, name)
		}
	}
	holders := []map[string]bool{}
	if c.Has("ServerId") {
		holders = append(holders, holdersOf(c, c.Get("ServerId")))
	}
	if c.Has("ServerIntranetAddress") {
		holders = append(holders, holdersOf(c, serverAt(c, c.Get("ServerIntranetAddress"))))
	}
	return func(lb *state.LoadBalancer) bool {
		for name, value := range equal {
			if sent := c.Get(name); sent != value(lb) && (!enumerated[name] || !strings.EqualFold(sent, value(lb))) {
				return false
			}
		}
		return (len(ids) == 0 || slices.Contains(ids, lb.ID)) &&
			(len(names) == 0 || slices.Contains(names, lb.Name)) &&
			!slices.ContainsFunc(holders, func(ids map[string]bool) bool { return !ids[lb.ID] }) &&
			tagged.Match(indexedTags(c, lb))
	}, nil
}

// holdersOf returns the ids of the load balancers that have a server.
func holdersOf(c *api.Context, serverID string) map[string]bool {
	is := func(s *state.Server) bool { return s.ServerID == serverID }
	holders := map[string]bool{}
	for _, lb := range c.State.LoadBalancers {
		if slices.ContainsFunc(lb.DefaultServers, is) {
			holders[lb.ID] = true
		}
	}
	for _, g := range c.State.ServerGroups {
		if slices.ContainsFunc(g.Servers, is) {
			holders[g.LoadBalancerID] = true
		}
	}
	return holders
}

// serverAt returns the id of the instance or network interface with a private address, or "".
func serverAt(c *api.Context, address string) string {
	for _, instance := range c.State.Instances {
		if slices.Contains(instance.PrivateIPs, address) {
			return instance.ID
		}
	}
	for _, eni := range c.State.Interfaces {
		if slices.Contains(eni.PrivateIPs, address) {
			return eni.ID
		}
	}
	return ""
}

func describeLoadBalancerAttribute(c *api.Context, lb *state.LoadBalancer) (any, *api.Error) {
	listeners := listenersAt(lb, 0, "")
	end := lb.PaidUntil
	if end.IsZero() { // what is paid by use has no end
		end = time.Date(2999, 9, 8, 16, 0, 0, 0, time.UTC)
	}
	out := append(viewOf(c, lb), "EndTime", stamp(end), "EndTimeStamp", end.UnixMilli(), "AutoReleaseTime", 0,
		"RenewalStatus", "Normal", "RenewalDuration", 0, "RenewalCycUnit", "", "HasReservedInfo", strconv.FormatBool(lb.Reserved != nil),
		"BackendServers", defaultServerList(lb, weightAsInt),
		"ListenerPorts", wrapped("ListenerPort", listeners, func(l *state.Listener) int { return l.Port }),
		// The cloud has both spellings; neither has all of the other's members.
		"ListenerPortsAndProtocal", wrapped("ListenerPortAndProtocal", listeners, func(l *state.Listener) api.Object {
			return api.Object{"ListenerPort", l.Port, "ListenerProtocal", l.Protocol}
		}),
		"ListenerPortsAndProtocol", wrapped("ListenerPortAndProtocol", listeners, func(l *state.Listener) api.Object {
			item := api.Object{"ListenerPort", l.Port, "ListenerProtocol", l.Protocol, "Description", api.NonZero(l.Attributes["Description"])}
			if l.Protocol == protoHTTP {
				item = append(item, "ListenerForward", forward(l), "ForwardPort", api.NonZero(forwardPort(l)))
			}
			return item
		}))
	if r := lb.Reserved; r != nil { // a change that is still to come
		out = append(out, "ReservedInfoInternetChargeType", r.ChargeType, "ReservedInfoBandwidth", strconv.Itoa(r.Bandwidth),
			"ReservedInfoActiveTime", stamp(r.ActiveAt), "ReservedInfoOrderType", "UPGRADE")
	}
	return out, nil
}
