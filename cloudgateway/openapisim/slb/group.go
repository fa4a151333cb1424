package slb

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func groupActions(t table) []api.Action {
	return []api.Action{
		api.Write("CreateVServerGroup", api.On(loadBalancer, createGroup),
			slices.Concat(formCodes(), serverCodes(), newTagCodes(), []string{"InvalidLoadBalancerId.NotFound", "VServerGroupProcessing"}),
			region(), api.Required("LoadBalancerId"), api.Optional("VServerGroupName"), jsonText("BackendServers"),
			tags.Uncounted()),
		api.Read("DescribeVServerGroups", api.On(loadBalancer, t.describeGroups),
			api.Words("InvalidLoadBalancerId.NotFound MissingParam.TagKey SizeLimitExceeded.Tag"), region(),
			api.Required("LoadBalancerId"), api.Optional("Description"), tags.Uncounted(), api.Flag("IncludeListener"),
			api.Flag("IncludeRule")),
		api.Read("DescribeVServerGroupAttribute", api.On2(serverGroup, describeGroup), api.Words("InvalidParameter"),
			region(), api.Required("VServerGroupId")),
		api.Write("DeleteVServerGroup", api.On2(api.Unless(groupHeld, serverGroup), deleteGroup),
			api.Words("InvalidParameter LbStatusNotSupport RspoolRuleExist RspoolVipExist VServerGroupProcessing"),
			region(), api.Required("VServerGroupId")),
	}
}

func serverView(s *state.Server) api.Object {
	return api.Object{
		"ServerId", s.ServerID, "ServerIp", s.ServerIP, "Type", s.Type, "Port", s.Port, "Weight", s.Weight, "Description", s.Description,
	}
}

// changedGroup is the answer of every change of a group. It has the complete list of servers, and the name after
// SetVServerGroupAttribute.
type changedGroup struct {
	VServerGroupID   string
	VServerGroupName string // "": not in the answer
	servers          []*state.Server
}

// AppendJSON encodes the answer. A group can have a thousand servers, and each change answers with all of them.
func (g changedGroup) AppendJSON(b []byte) []byte {
	b = slices.Grow(b, 100+140*len(g.servers))
	b = api.AppendText(append(b, `{"VServerGroupId":`...), g.VServerGroupID)
	if g.VServerGroupName != "" {
		b = api.AppendText(append(b, `,"VServerGroupName":`...), g.VServerGroupName)
	}
	b = append(b, `,"BackendServers":{"BackendServer":[`...)
	var last *state.Server
	var rest []byte // of the last server: what follows its address
	for i, s := range g.servers {
		if i > 0 {
			b = append(b, ',')
		}
		b = api.AppendText(append(b, `{"ServerId":`...), s.ServerID)
		b = api.AppendText(append(b, `,"ServerIp":`...), s.ServerIP)
		if last != nil && sameRest(s, last) {
			b = append(b, rest...)
			continue
		}
		start := len(b)
		b = api.AppendText(append(b, `,"Type":`...), s.Type)
		b = strconv.AppendInt(append(b, `,"Port":`...), int64(s.Port), 10)
		b = strconv.AppendInt(append(b, `,"Weight":`...), int64(s.Weight), 10)
		b = api.AppendText(append(b, `,"Description":`...), s.Description)
		b = append(b, '}')
		last, rest = s, b[start:]
	}
	return append(b, `]}}`...)
}

// sameRest reports whether two servers differ in nothing but their ids and addresses, as those of a group mostly do.
func sameRest(a, b *state.Server) bool {
	return a.Port == b.Port && a.Weight == b.Weight && a.Type == b.Type && a.Description == b.Description
}

// MarshalJSON does the same for encoders that don't know AppendJSON.
func (g changedGroup) MarshalJSON() ([]byte, error) { return g.AppendJSON(nil), nil }

func createGroup(c *api.Context, lb *state.LoadBalancer) (any, *api.Error) {
	if err := writable(c, lb, "", busyGroup); err != nil {
		return nil, err
	}
	name := cmp.Or(c.Get("VServerGroupName"), "auto_named_vserver_group")
	if !validName(name) {
		return nil, api.Invalid("VServerGroupName")
	}
	servers, err := addedServers(c, lb, &state.ServerGroup{})
	if err != nil {
		return nil, err
	}
	tags, err := newTags(c)
	if err != nil {
		return nil, err
	}
	if limit := c.Settings.Quotas.VServerGroups; limit > 0 && len(groupsOf(c, lb.ID, false)) >= limit {
		return nil, api.BadRequest("OverQuota", "The number of VServerGroups exceeds the quota of %d.", limit)
	}
	g := &state.ServerGroup{ID: c.NewID("rsp-bp1"), LoadBalancerID: lb.ID, Name: name, Servers: servers, Tags: tags, Created: c.Now}
	c.State.AddGroup(g)
	changed(c, lb)
	return changedGroup{VServerGroupID: g.ID, servers: g.Servers}, nil
}

func (t table) describeGroups(c *api.Context, lb *state.LoadBalancer) (any, *api.Error) {
	groups, err := groupsShown(c, lb, false)
	if err != nil {
		return nil, err
	}
	return api.Object{"VServerGroups", wrapped("VServerGroup", groups, func(g *state.ServerGroup) api.Object {
		view := api.Object{
			"VServerGroupId", g.ID, "VServerGroupName", g.Name, "ServerCount", len(g.Servers), "ServiceManagedMode", "Unmanaged",
			"CreateTime", stamp(g.Created), "Tags", tags.Longs(g.Tags),
		}
		if c.True("IncludeListener") || c.True("IncludeRule") {
			view = append(view, "AssociatedObjects", t.users(lb, g.ID, c.True("IncludeListener"), c.True("IncludeRule")))
		}
		return view
	})}, nil
}

// groupsShown returns the groups of a load balancer that the filters of a description let through.
func groupsShown(c *api.Context, lb *state.LoadBalancer, masterSlave bool) ([]*state.ServerGroup, *api.Error) {
	filter, err := tagCodes().KeysOf(c)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(groupsOf(c, lb.ID, masterSlave), func(g *state.ServerGroup) bool {
		return !strings.Contains(g.Name, c.Get("Description")) || !filter.Match(g.Tags)
	}), nil
}

// users returns the listeners and rules that send traffic to a group.
func (t table) users(lb *state.LoadBalancer, groupID string, listeners, rules bool) api.Object {
	usingListeners, usingRules := []object{}, []object{}
	for _, l := range listenersAt(lb, 0, "") {
		if listeners && l.Attributes["VServerGroupId"] == groupID {
			o := t.listed(lb, l)
			o["AclIds"] = object{"AclId": aclIDs(l)}
			usingListeners = append(usingListeners, o)
		}
		for _, rule := range l.Rules {
			if rules && rule.ServerGroupID == groupID {
				usingRules = append(usingRules, t.ruleView(rule))
			}
		}
	}
	return api.Object{"Listeners", object{"Listener": usingListeners}, "Rules", object{"Rule": usingRules}}
}

func describeGroup(c *api.Context, g *state.ServerGroup, lb *state.LoadBalancer) (any, *api.Error) {
	return api.Object{
		"VServerGroupId", g.ID, "VServerGroupName", g.Name, "LoadBalancerId", lb.ID, "ServiceManagedMode", "Unmanaged",
		"CreateTime", stamp(g.Created), "BackendServers", wrapped("BackendServer", g.Servers, serverView), "Tags", tags.Longs(g.Tags),
	}, nil
}

// deleteGroup fails while a listener or rule uses the group, and for a while after the last one let go of it.
func deleteGroup(c *api.Context, g *state.ServerGroup, lb *state.LoadBalancer) (any, *api.Error) {
	for _, l := range lb.Listeners {
		if slices.ContainsFunc(l.Rules, func(r *state.Rule) bool { return r.ServerGroupID == g.ID }) {
			return nil, api.BadRequest("RspoolRuleExist", "The VServerGroup is used by a forwarding rule.")
		}
		if l.Group() == g.ID {
			return nil, groupInUse()
		}
	}
	if c.Now.Before(g.InUseUntil) {
		return nil, groupInUse()
	}
	c.State.RemoveGroup(g)
	changed(c, lb)
	return nil, nil
}

func groupInUse() *api.Error {
	return api.BadRequest("RspoolVipExist", "The server group is used by a listener.")
}
