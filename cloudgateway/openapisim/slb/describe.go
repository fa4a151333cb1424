package slb

import (
	"slices"
	"strconv"

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
				api.Optional("ServerIntranetAddress"), api.Optional("SlaveZoneId"), tags.Uncounted(), jsonText("Tags"), api.Optional("VSwitchId"), api.Optional("VpcId"),
			)...),
		api.Read("DescribeLoadBalancerAttribute", api.On(loadBalancer, describeLoadBalancerAttribute),
			api.Words("InvalidLoadBalancerId.NotFound"), region(), api.Required("LoadBalancerId")),
	}
}

// loadBalancerView is what both descriptions of a load balancer have.
type loadBalancerView struct {
	LoadBalancerID               string        `json:"LoadBalancerId"`
	LoadBalancerName             string        `json:"LoadBalancerName"`
	LoadBalancerStatus           string        `json:"LoadBalancerStatus"`
	LoadBalancerSpec             string        `json:"LoadBalancerSpec"`
	Address                      string        `json:"Address"`
	AddressType                  string        `json:"AddressType"`
	AddressIPVersion             string        `json:"AddressIPVersion"`
	NetworkType                  string        `json:"NetworkType"`
	VpcID                        string        `json:"VpcId"`
	VSwitchID                    string        `json:"VSwitchId"`
	RegionID                     string        `json:"RegionId"`
	RegionIDAlias                string        `json:"RegionIdAlias"`
	MasterZoneID                 string        `json:"MasterZoneId"`
	SlaveZoneID                  string        `json:"SlaveZoneId"`
	InstanceChargeType           string        `json:"InstanceChargeType"`
	InternetChargeType           string        `json:"InternetChargeType"`
	Bandwidth                    int           `json:"Bandwidth"`
	PayType                      string        `json:"PayType"`
	BusinessStatus               string        `json:"BusinessStatus"`
	DeleteProtection             string        `json:"DeleteProtection"`
	ModificationProtectionStatus string        `json:"ModificationProtectionStatus"`
	ModificationProtectionReason string        `json:"ModificationProtectionReason"`
	ServiceManagedMode           string        `json:"ServiceManagedMode"`
	ResourceGroupID              string        `json:"ResourceGroupId"`
	CreateTime                   string        `json:"CreateTime"`
	CreateTimeStamp              int64         `json:"CreateTimeStamp"`
	Tags                         tags.LongList `json:"Tags"`
}

func viewOf(c *api.Context, lb *state.LoadBalancer) loadBalancerView {
	return loadBalancerView{
		LoadBalancerID: lb.ID, LoadBalancerName: lb.Name, LoadBalancerStatus: lb.Status, LoadBalancerSpec: shownSpec(lb),
		Address: lb.Address, AddressType: lb.AddressType, AddressIPVersion: lb.AddressIPVersion, NetworkType: lb.NetworkType,
		VpcID: lb.VpcID, VSwitchID: lb.VSwitchID, RegionID: c.Region, RegionIDAlias: c.Region,
		MasterZoneID: lb.MasterZoneID, SlaveZoneID: lb.SlaveZoneID, InstanceChargeType: lb.InstanceChargeType,
		InternetChargeType: lb.InternetChargeType, Bandwidth: lb.Bandwidth, PayType: lb.PayType, BusinessStatus: "Normal",
		DeleteProtection: lb.DeleteProtection, ModificationProtectionStatus: lb.ModificationStatus,
		ModificationProtectionReason: lb.ModificationReason, ServiceManagedMode: "Unmanaged", ResourceGroupID: lb.ResourceGroupID,
		CreateTime: stamp(lb.Created), CreateTimeStamp: lb.Created.UnixMilli(), Tags: tags.Longs(lb.Tags),
	}
}

type describedLoadBalancers struct {
	listing.Page
	LoadBalancers struct {
		LoadBalancer []listedLoadBalancer `json:"LoadBalancer"`
	} `json:"LoadBalancers"`
}

type listedLoadBalancer struct {
	loadBalancerView
	InternetChargeTypeAlias string `json:"InternetChargeTypeAlias"`
}

func describeLoadBalancers(c *api.Context, match func(*state.LoadBalancer) bool) (any, *api.Error) {
	var out describedLoadBalancers
	all := allLoadBalancers(c, match)
	if c.Has("PageNumber") {
		all, out.Page = listing.Numbered(c, all)
	} else { // PageSize counts only together with PageNumber
		all, out.Page = listing.Cut(all, 1, 100)
	}
	out.LoadBalancers.LoadBalancer = make([]listedLoadBalancer, 0, len(all))
	for _, lb := range all {
		item := listedLoadBalancer{loadBalancerView: viewOf(c, lb), InternetChargeTypeAlias: lb.InternetChargeType}
		// The list has the old number of the charge type where the attribute has the word.
		item.InternetChargeType = "4"
		if lb.InternetChargeType == payByBandwidth {
			item.InternetChargeType = "3"
		}
		out.LoadBalancers.LoadBalancer = append(out.LoadBalancers.LoadBalancer, item)
	}
	return out, nil
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
			if value(lb) != c.Get(name) {
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

type describedLoadBalancer struct {
	loadBalancerView
	EndTime         string `json:"EndTime"`
	EndTimeStamp    int64  `json:"EndTimeStamp"`
	AutoReleaseTime int64  `json:"AutoReleaseTime"`
	RenewalStatus   string `json:"RenewalStatus"`
	RenewalDuration int    `json:"RenewalDuration"`
	RenewalCycUnit  string `json:"RenewalCycUnit"`
	HasReservedInfo string `json:"HasReservedInfo"`
	reservedInfo
	ListenerPorts struct {
		ListenerPort []int `json:"ListenerPort"`
	} `json:"ListenerPorts"`
	// The cloud has both spellings; neither has all of the other's members.
	ListenerPortsAndProtocal struct {
		ListenerPortAndProtocal []portAndProtocal `json:"ListenerPortAndProtocal"`
	} `json:"ListenerPortsAndProtocal"`
	ListenerPortsAndProtocol struct {
		ListenerPortAndProtocol []portAndProtocol `json:"ListenerPortAndProtocol"`
	} `json:"ListenerPortsAndProtocol"`
	BackendServers defaultServerList[int] `json:"BackendServers"`
}

// reservedInfo is a change that is still to come.
type reservedInfo struct {
	ChargeType string `json:"ReservedInfoInternetChargeType,omitempty"`
	Bandwidth  string `json:"ReservedInfoBandwidth,omitempty"`
	ActiveTime string `json:"ReservedInfoActiveTime,omitempty"`
	OrderType  string `json:"ReservedInfoOrderType,omitempty"`
}

type portAndProtocal struct {
	ListenerPort     int    `json:"ListenerPort"`
	ListenerProtocal string `json:"ListenerProtocal"`
}

type portAndProtocol struct {
	ListenerPort     int    `json:"ListenerPort"`
	ListenerProtocol string `json:"ListenerProtocol"`
	ListenerForward  string `json:"ListenerForward,omitempty"`
	ForwardPort      int    `json:"ForwardPort,omitempty"`
	Description      string `json:"Description,omitempty"`
}

func describeLoadBalancerAttribute(c *api.Context, lb *state.LoadBalancer) (any, *api.Error) {
	out := describedLoadBalancer{
		loadBalancerView: viewOf(c, lb), EndTime: "2999-09-08T16:00:00Z", EndTimeStamp: 32493801600000,
		RenewalStatus: "Normal", HasReservedInfo: "false", BackendServers: newDefaultServerList(lb, weightAsInt),
	}
	if r := lb.Reserved; r != nil {
		out.HasReservedInfo = "true"
		out.reservedInfo = reservedInfo{
			ChargeType: r.ChargeType, Bandwidth: strconv.Itoa(r.Bandwidth), ActiveTime: stamp(r.ActiveAt), OrderType: "UPGRADE",
		}
	}
	listeners := listenersAt(lb, 0, "")
	out.ListenerPorts.ListenerPort = make([]int, 0, len(listeners))
	out.ListenerPortsAndProtocal.ListenerPortAndProtocal = make([]portAndProtocal, 0, len(listeners))
	out.ListenerPortsAndProtocol.ListenerPortAndProtocol = make([]portAndProtocol, 0, len(listeners))
	for _, l := range listeners {
		out.ListenerPorts.ListenerPort = append(out.ListenerPorts.ListenerPort, l.Port)
		out.ListenerPortsAndProtocal.ListenerPortAndProtocal = append(out.ListenerPortsAndProtocal.ListenerPortAndProtocal,
			portAndProtocal{ListenerPort: l.Port, ListenerProtocal: l.Protocol})
		item := portAndProtocol{ListenerPort: l.Port, ListenerProtocol: l.Protocol, Description: l.Attributes["Description"]}
		if l.Protocol == protoHTTP {
			item.ListenerForward, item.ForwardPort = forward(l), forwardPort(l)
		}
		out.ListenerPortsAndProtocol.ListenerPortAndProtocol = append(out.ListenerPortsAndProtocol.ListenerPortAndProtocol, item)
	}
	return out, nil
}
