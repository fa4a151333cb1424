package nlb

import (
	"slices"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func groupReadActions() []api.Action {
	return []api.Action{
		read("ListServerGroups", listGroups, nil, append(paging(),
			list("ServerGroupIds", maxIDs), list("ServerGroupNames", maxIDs), api.OneOf("ServerGroupType", groupOfInstances, groupOfAddresses),
			api.Optional("VpcId"), api.Optional("ResourceGroupId"), structs("Tag", maxTags))...),
		read("ListServerGroupServers", listServers, []string{noGroup}, append(append(mandatory("ServerGroupId"),
			list("ServerIds", maxFilter), list("ServerIps", maxFilter)), paging()...)...),
	}
}

type groupView struct {
	RegionID                string       `json:"RegionId"`
	ServerGroupID           string       `json:"ServerGroupId"`
	ServerGroupName         string       `json:"ServerGroupName"`
	ServerGroupType         string       `json:"ServerGroupType"`
	ServerGroupStatus       string       `json:"ServerGroupStatus"`
	AddressIPVersion        string       `json:"AddressIPVersion"`
	IPVersionAffinityMode   string       `json:"IpVersionAffinityMode,omitempty"`
	VpcID                   string       `json:"VpcId"`
	Scheduler               string       `json:"Scheduler"`
	Protocol                string       `json:"Protocol"`
	ConnectionDrainEnabled  bool         `json:"ConnectionDrainEnabled"`
	ConnectionDrainTimeout  int          `json:"ConnectionDrainTimeout"`
	PreserveClientIPEnabled bool         `json:"PreserveClientIpEnabled"`
	AnyPortEnabled          bool         `json:"AnyPortEnabled"`
	ResourceGroupID         string       `json:"ResourceGroupId"`
	ServerCount             int          `json:"ServerCount"`
	RelatedLoadBalancerIDs  []string     `json:"RelatedLoadBalancerIds"`
	HealthCheck             checkView    `json:"HealthCheck"`
	Tags                    []tags.Short `json:"Tags"`
}

type checkView struct {
	HealthCheckEnabled        bool     `json:"HealthCheckEnabled"`
	HealthCheckType           string   `json:"HealthCheckType"`
	HealthCheckConnectPort    int      `json:"HealthCheckConnectPort"`
	HealthyThreshold          int      `json:"HealthyThreshold"`
	UnhealthyThreshold        int      `json:"UnhealthyThreshold"`
	HealthCheckConnectTimeout int      `json:"HealthCheckConnectTimeout"`
	HealthCheckInterval       int      `json:"HealthCheckInterval"`
	HealthCheckDomain         string   `json:"HealthCheckDomain"`
	HealthCheckURL            string   `json:"HealthCheckUrl"`
	HTTPCheckMethod           string   `json:"HttpCheckMethod"`
	HealthCheckHTTPCode       []string `json:"HealthCheckHttpCode"`
}

func newGroupView(c *api.Context, g *state.NLBServerGroup, related []string) groupView {
	h := g.HealthCheck
	return groupView{
		RegionID: c.Region, ServerGroupID: g.ID, ServerGroupName: g.Name, ServerGroupType: g.Type, ServerGroupStatus: g.Status,
		AddressIPVersion: g.AddressIPVersion, IPVersionAffinityMode: g.IPAffinity, VpcID: g.VpcID, Scheduler: g.Scheduler, Protocol: g.Protocol,
		ConnectionDrainEnabled: g.Drain, ConnectionDrainTimeout: g.DrainTimeout, PreserveClientIPEnabled: !g.ClientIPOff,
		AnyPortEnabled: g.AnyPort, ResourceGroupID: g.ResourceGroupID, ServerCount: len(g.Servers),
		RelatedLoadBalancerIDs: append([]string{}, related...), Tags: tags.Shorts(g.Tags).Tag,
		HealthCheck: checkView{
			HealthCheckEnabled: !h.Off, HealthCheckType: h.Type, HealthCheckConnectPort: h.ConnectPort, HealthyThreshold: h.HealthyThreshold,
			UnhealthyThreshold: h.UnhealthyThreshold, HealthCheckConnectTimeout: h.ConnectTimeout, HealthCheckInterval: h.Interval,
			HealthCheckDomain: h.Domain, HealthCheckURL: h.URL, HTTPCheckMethod: h.Method, HealthCheckHTTPCode: append([]string{}, h.HTTPCodes...),
		},
	}
}

func listGroups(c *api.Context) (any, *api.Error) {
	names, wanted := c.List("ServerGroupNames"), tags.FilterOf(c)
	found := []*state.NLBServerGroup{}
	for _, g := range candidates(c.State.NLBServerGroups, c.List("ServerGroupIds")) {
		completeGroup(c, g)
		if listing.Among(names, g.Name) && listing.Match(c.Get("ServerGroupType"), g.Type) && listing.Match(c.Get("VpcId"), g.VpcID) &&
			listing.Match(c.Get("ResourceGroupId"), g.ResourceGroupID) && wanted.MatchAny(g.Tags) {
			found = append(found, g)
		}
	}
	slices.SortFunc(found, func(a, b *state.NLBServerGroup) int { return strings.Compare(a.ID, b.ID) })
	page, found, err := pageOf(c, found, func(g *state.NLBServerGroup) string { return g.ID })
	if err != nil {
		return nil, err
	}
	related := map[string][]string{}
	for _, l := range c.State.NLBListeners {
		if !slices.Contains(related[l.ServerGroupID], l.NLBID) {
			related[l.ServerGroupID] = append(related[l.ServerGroupID], l.NLBID)
		}
	}
	out := struct {
		pageView
		ServerGroups []groupView `json:"ServerGroups"`
	}{page, make([]groupView, 0, len(found))}
	for _, g := range found {
		slices.Sort(related[g.ID])
		out.ServerGroups = append(out.ServerGroups, newGroupView(c, g, related[g.ID]))
	}
	return out, nil
}

type serverView struct {
	ServerGroupID string `json:"ServerGroupId"`
	ServerID      string `json:"ServerId"`
	ServerType    string `json:"ServerType"`
	ServerIP      string `json:"ServerIp"`
	Port          int    `json:"Port"`
	Weight        int    `json:"Weight"`
	Description   string `json:"Description"`
	ZoneID        string `json:"ZoneId"`
	Status        string `json:"Status"`
}

func listServers(c *api.Context) (any, *api.Error) {
	g, err := group(c)
	if err != nil {
		return nil, err
	}
	ids, addresses := c.List("ServerIds"), c.List("ServerIps")
	found := g.Servers
	if len(ids)+len(addresses) > 0 {
		found = slices.DeleteFunc(slices.Clone(found), func(s *state.NLBServer) bool {
			return !listing.Among(ids, s.ServerID) || !listing.Among(addresses, s.ServerIP)
		})
	}
	page, found, err := pageOf(c, found, keyOf)
	if err != nil {
		return nil, err
	}
	out := struct {
		pageView
		Servers []serverView `json:"Servers"`
	}{page, make([]serverView, 0, len(found))}
	for _, s := range found {
		v := serverView{g.ID, s.ServerID, s.Type, s.ServerIP, s.Port, s.Weight, s.Description, "", s.Status}
		if i := c.State.Instances[s.ServerID]; i != nil {
			v.ZoneID = i.ZoneID
		} else if eni := c.State.Interfaces[s.ServerID]; eni != nil {
			v.ZoneID = eni.ZoneID
		}
		out.Servers = append(out.Servers, v)
	}
	return out, nil
}
