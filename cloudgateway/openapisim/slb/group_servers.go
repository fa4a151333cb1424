package slb

import (
	"slices"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// formCodes are the codes of any change that lists servers.
func formCodes() []string {
	return []string{
		"BackendServer.InvalidType", "BackendServersMalformed", "InvalidParameter", "InvalidWeight.Malformed", "LbStatusNotSupport",
		"MissingParameter", "TooManyBackendServers",
	}
}

// serverCodes are the further codes of a change that adds servers.
func serverCodes() []string {
	return []string{
		"InstanceBackendServerNumberOverLimit", "InvalidBackendServers.ServerIpConflict", "InvalidServerId.NotExist", "NetworkConflict",
		"ObtainIpFail", "OverQuota", "ResourceNotFound.vServers",
	}
}

func groupServerActions() []api.Action {
	changeGroup := api.Unless(groupHeld, serverGroup)
	changing := append(formCodes(), "VServerGroupProcessing")
	adding := slices.Concat(changing, serverCodes())
	return []api.Action{
		api.Write("AddVServerGroupBackendServers", api.On2(changeGroup, addGroupServers), adding, region(),
			api.Required("VServerGroupId"), must(jsonText("BackendServers"))),
		api.Write("RemoveVServerGroupBackendServers", api.On2(changeGroup, removeGroupServers), changing, region(),
			api.Required("VServerGroupId"), must(jsonText("BackendServers"))),
		api.Write("ModifyVServerGroupBackendServers", api.On2(changeGroup, modifyGroupServers), adding, region(),
			api.Required("VServerGroupId"), jsonText("OldBackendServers"), jsonText("NewBackendServers")),
		api.Write("SetVServerGroupAttribute", api.On2(changeGroup, setGroup), changing, region(),
			api.Required("VServerGroupId"), api.Optional("VServerGroupName"), jsonText("BackendServers")),
	}
}

// groupAnswer completes a change of a group.
func groupAnswer(c *api.Context, lb *state.LoadBalancer, g *state.ServerGroup) changedGroup {
	changed(c, lb)
	return changedGroup{VServerGroupID: g.ID, servers: g.Servers}
}

func addGroupServers(c *api.Context, g *state.ServerGroup, lb *state.LoadBalancer) (any, *api.Error) {
	more, err := addedServers(c, lb, g)
	if err != nil {
		return nil, err
	}
	g.Servers = append(g.Servers, more...)
	c.State.Attach(lb.ID, more, nil)
	return groupAnswer(c, lb, g), nil
}

// addedServers returns the servers of the parameter BackendServers that are not in the group yet. One that is stays as it is,
// unless that is set to be refused.
func addedServers(c *api.Context, lb *state.LoadBalancer, g *state.ServerGroup) ([]*state.Server, *api.Error) {
	items, err := parseServers(c, "BackendServers", true)
	if err != nil {
		return nil, err
	}
	more, err := newServers(c, lb, items)
	if err != nil {
		return nil, err
	}
	if err := checkDuplicates("BackendServers", more); err != nil {
		return nil, err
	}
	if present(more, g.Servers) != nil {
		inGroup := make(map[place]bool, len(g.Servers))
		for _, s := range g.Servers {
			inGroup[placeOf(s)] = true
		}
		isPresent := func(s *state.Server) bool { return inGroup[placeOf(s)] }
		if s := more[slices.IndexFunc(more, isPresent)]; c.Settings.PresentServersRefused {
			return nil, conflict(s, "The server %s of BackendServers is in the VServerGroup already.", s.ServerID)
		}
		more = slices.DeleteFunc(more, isPresent)
	}
	if err := checkGroupQuotas(c, lb, len(g.Servers), nil, more); err != nil {
		return nil, err
	}
	return more, nil
}

func checkGroupQuotas(c *api.Context, lb *state.LoadBalancer, kept int, leaving, more []*state.Server) *api.Error {
	if limit := c.Settings.Quotas.ServersPerGroup; limit > 0 && kept+len(more) > limit {
		return api.BadRequest("OverQuota", "The number of servers of the VServerGroup exceeds the quota of %d.", limit)
	}
	if len(more) == 0 {
		return nil
	}
	return checkServerQuotas(c, lb, leaving, more)
}

// removeGroupServers ignores servers that are not in the group.
func removeGroupServers(c *api.Context, g *state.ServerGroup, lb *state.LoadBalancer) (any, *api.Error) {
	items, err := parseServers(c, "BackendServers", true)
	if err != nil {
		return nil, err
	}
	kept, leaving := split(g.Servers, items)
	g.Servers = kept
	c.State.Attach(lb.ID, nil, leaving)
	return groupAnswer(c, lb, g), nil
}

// split returns the servers that no item means, and those that one does.
func split(servers []*state.Server, items []server) (kept, leaving []*state.Server) {
	byID := make(map[string][]server, len(items))
	for _, item := range items {
		byID[item.id] = append(byID[item.id], item)
	}
	kept = make([]*state.Server, 0, len(servers))
	for _, s := range servers {
		if slices.ContainsFunc(byID[s.ServerID], func(item server) bool { return item.is(s) }) {
			leaving = append(leaving, s)
		} else {
			kept = append(kept, s)
		}
	}
	return kept, leaving
}

// modifyGroupServers replaces the old servers with the new ones, pair by pair. Every old one must be in the group.
func modifyGroupServers(c *api.Context, g *state.ServerGroup, lb *state.LoadBalancer) (any, *api.Error) {
	olds, err := parseServers(c, "OldBackendServers", true)
	if err != nil {
		return nil, err
	}
	news, err := parseServers(c, "NewBackendServers", true)
	if err != nil {
		return nil, err
	}
	switch {
	case len(olds) == 0:
		return nil, api.Missing("OldBackendServers")
	case len(news) == 0:
		return nil, api.Missing("NewBackendServers")
	case len(olds) != len(news):
		return nil, api.BadRequest("InvalidParameter", "The numbers of OldBackendServers and NewBackendServers differ.")
	}
	if _, absent := matches(g.Servers, olds); absent != nil {
		return nil, api.BadRequest("InvalidParameter", "The server %s of OldBackendServers is not in the VServerGroup.", absent.id)
	}
	more, err := newServers(c, lb, news)
	if err != nil {
		return nil, err
	}
	if err := checkDuplicates("NewBackendServers", more); err != nil {
		return nil, err
	}
	kept, leaving := split(g.Servers, olds)
	if s := present(more, kept); s != nil {
		return nil, conflict(s, "The server %s of NewBackendServers is in the VServerGroup already.", s.ServerID)
	}
	if err := checkGroupQuotas(c, lb, len(kept), leaving, more); err != nil {
		return nil, err
	}
	g.Servers = append(kept, more...)
	c.State.Attach(lb.ID, more, leaving)
	return groupAnswer(c, lb, g), nil
}

// setGroup changes the name of a group, and weight and description of the listed servers. It adds and removes none.
func setGroup(c *api.Context, g *state.ServerGroup, lb *state.LoadBalancer) (any, *api.Error) {
	items, err := parseServers(c, "BackendServers", true)
	if err != nil {
		return nil, err
	}
	name := c.Get("VServerGroupName")
	switch {
	case name == "" && len(items) == 0:
		return nil, api.Missing("BackendServers")
	case name != "" && !validName(name):
		return nil, api.Invalid("VServerGroupName")
	}
	if absent := updateServers(g.Servers, items); absent != nil {
		return nil, api.BadRequest("InvalidParameter", "The server %s is not in the VServerGroup.", absent.id)
	}
	if name != "" {
		g.Name = name
	}
	out := groupAnswer(c, lb, g)
	out.VServerGroupName = g.Name
	return out, nil
}

// matches returns the servers that each item means, and the first item that means none.
func matches(servers []*state.Server, items []server) (meant [][]*state.Server, absent *server) {
	byID := make(map[string][]int, len(items))
	for i, item := range items {
		byID[item.id] = append(byID[item.id], i)
	}
	meant = make([][]*state.Server, len(items))
	for _, s := range servers {
		for _, i := range byID[s.ServerID] {
			if items[i].is(s) {
				meant[i] = append(meant[i], s)
			}
		}
	}
	if i := slices.IndexFunc(meant, func(found []*state.Server) bool { return len(found) == 0 }); i >= 0 {
		return nil, &items[i]
	}
	return meant, nil
}

// updateServers sets weight and description where the items have them. If an item means no server, it returns the first of those
// and changes nothing.
func updateServers(servers []*state.Server, items []server) (absent *server) {
	meant, absent := matches(servers, items)
	for i, found := range meant {
		item := items[i]
		for _, s := range found {
			if item.weight != nil {
				s.Weight = *item.weight
			}
			if item.description != nil {
				s.Description = *item.description
			}
		}
	}
	return absent
}
