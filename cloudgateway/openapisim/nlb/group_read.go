package nlb

import (
	"cmp"
	"slices"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func groupReadActions() []api.Action {
	return []api.Action{
		read("ListServerGroups", listGroups, nil, append(paging(),
			texts("ServerGroupIds", maxIDs), texts("ServerGroupNames", maxIDs), api.OneOf("ServerGroupType", groupOfInstances, groupOfAddresses),
			api.Optional("VpcId"), api.Optional("ResourceGroupId"), structs("Tag", maxTags))...),
		read("ListServerGroupServers", api.On(group, listServers), []string{noGroup}, append(append(mandatory("ServerGroupId"),
			texts("ServerIds", maxFilter), texts("ServerIps", maxFilter)), paging()...)...),
	}
}

func listGroups(c *api.Context) (any, *api.Error) {
	names, wanted := c.List("ServerGroupNames"), tags.FilterOf(c)
	related := map[string][]string{}
	for _, l := range c.State.NLBListeners {
		if !slices.Contains(related[l.ServerGroupID], l.NLBID) {
			related[l.ServerGroupID] = append(related[l.ServerGroupID], l.NLBID)
		}
	}
	return list[state.NLBServerGroup]{
		name: "ServerGroups", ids: "ServerGroupIds", all: c.State.NLBServerGroups, place: (*state.NLBServerGroup).Place,
		match: func(g *state.NLBServerGroup) bool {
			completeGroup(c, g)
			return listing.Among(names, g.Name) && listing.Match(c.Get("ServerGroupType"), g.Type) && listing.Match(c.Get("VpcId"), g.VpcID) &&
				listing.Match(c.Get("ResourceGroupId"), g.ResourceGroupID) && wanted.Match(g.Tags)
		},
		show: func(g *state.NLBServerGroup) api.Object {
			slices.Sort(related[g.ID])
			return api.Spelled(g.Spelling, showGroup(c, g, related[g.ID]))
		},
	}.answer(c)
}

func showGroup(c *api.Context, g *state.NLBServerGroup, related []string) api.Object {
	h := g.HealthCheck
	return api.Object{
		"RegionId", c.Region, "AliUid", account(c), "ServerGroupId", g.ID, "ServerGroupName", g.Name, "ServerGroupType", g.Type,
		"ServerGroupStatus", g.Status, "AddressIPVersion", g.AddressIPVersion, "IpVersionAffinityMode", cmp.Or(g.IPAffinity, "NonAffinity"),
		"VpcId", g.VpcID, "Scheduler", g.Scheduler, "Protocol", g.Protocol, "PersistenceEnabled", false, "PersistenceTimeout", 0,
		"ConnectionDrainEnabled", g.Drain, "ConnectionDrainTimeout", g.DrainTimeout, "PreserveClientIpEnabled", !g.ClientIPOff,
		"AnyPortEnabled", g.AnyPort, "QuicVersion", "", "ResourceGroupId", g.ResourceGroupID, "ServerCount", len(g.Servers),
		"RelatedLoadBalancerIds", related, "Tags", twiceNamed(g.Tags), "HealthCheck", api.Object{
			"HealthCheckEnabled", !h.Off, "HealthCheckType", h.Type, "HealthCheckConnectPort", h.ConnectPort,
			"HealthyThreshold", h.HealthyThreshold, "UnhealthyThreshold", h.UnhealthyThreshold,
			"HealthCheckConnectTimeout", h.ConnectTimeout, "HealthCheckInterval", h.Interval, "HealthCheckDomain", h.Domain,
			"HealthCheckUrl", h.URL, "HttpCheckMethod", h.Method, "HealthCheckHttpCode", h.HTTPCodes, "HealthCheckHttpVersion", h.HTTPVersion,
			"HealthCheckReq", h.Request, "HealthCheckExp", h.Response,
		},
	}
}

func listServers(c *api.Context, g *state.NLBServerGroup) (any, *api.Error) {
	ids, addresses := c.List("ServerIds"), c.List("ServerIps")
	found := g.Servers
	if len(ids)+len(addresses) > 0 {
		found = slices.DeleteFunc(slices.Clone(found), func(s *state.NLBServer) bool {
			return !listing.Among(ids, s.ServerID) || !listing.Among(addresses, s.ServerIP)
		})
	}
	return pageOf(c, "Servers", found, keyOf, func(s *state.NLBServer) api.Object {
		zone := ""
		if i := c.State.Instances[s.ServerID]; i != nil {
			zone = i.ZoneID
		} else if eni := c.State.Interfaces[s.ServerID]; eni != nil {
			zone = eni.ZoneID
		}
		return api.Object{
			"ServerGroupId", g.ID, "ServerId", s.ServerID, "ServerType", s.Spelling.Of("ServerType", s.Type), "ServerIp",
			s.ServerIP, "Port", s.Port, "Weight", s.Weight,
			"Description", s.Description, "ZoneId", zone, "Status", s.Status,
		}
	})
}
