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
		api.Read("DescribeVServerGroups", t.describeGroups,
			api.Words("InvalidLoadBalancerId.NotFound MissingParam.TagKey SizeLimitExceeded.Tag"), region(),
			api.Required("LoadBalancerId"), api.Optional("Description"), tags.Uncounted(), api.Flag("IncludeListener"),
			api.Flag("IncludeRule")),
		api.Read("DescribeVServerGroupAttribute", api.On2(serverGroup, describeGroup), api.Words("InvalidParameter"),
			region(), api.Required("VServerGroupId")),
		api.Write("DeleteVServerGroup", api.On2(serverGroup, deleteGroup),
			api.Words("InvalidParameter LbStatusNotSupport RspoolRuleExist RspoolVipExist VServerGroupProcessing"),
			region(), api.Required("VServerGroupId")),
	}
}

// serverList is the wrapped list of the servers of a group.
type serverList struct {
	BackendServer []serverView `json:"BackendServer"`
}

type serverView struct {
	ServerID    string `json:"ServerId"`
	ServerIP    string `json:"ServerIp"`
	Type        string `json:"Type"`
	Port        int    `json:"Port"`
	Weight      int    `json:"Weight"`
	Description string `json:"Description"`
}

func newServerList(servers []*state.Server) serverList {
	out := serverList{BackendServer: make([]serverView, 0, len(servers))}
	for _, s := range servers {
		out.BackendServer = append(out.BackendServer, serverView{
			ServerID: s.ServerID, ServerIP: s.ServerIP, Type: s.Type, Port: s.Port, Weight: s.Weight, Description: s.Description,
		})
	}
	return out
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
	if limit := c.Settings.Quotas.VServerGroups; limit > 0 && len(groupsOf(c, lb.ID)) >= limit {
		return nil, api.BadRequest("OverQuota", "The number of VServerGroups exceeds the quota of %d.", limit)
	}
	g := &state.ServerGroup{ID: c.NewID("rsp-bp1"), LoadBalancerID: lb.ID, Name: name, Servers: servers, Tags: tags, Created: c.Now}
	c.State.AddGroup(g)
	changed(c, lb)
	return changedGroup{VServerGroupID: g.ID, servers: g.Servers}, nil
}

type describedGroups struct {
	VServerGroups struct {
		VServerGroup []groupView `json:"VServerGroup"`
	} `json:"VServerGroups"`
}

type groupView struct {
	VServerGroupID     string             `json:"VServerGroupId"`
	VServerGroupName   string             `json:"VServerGroupName"`
	ServerCount        int64              `json:"ServerCount"`
	ServiceManagedMode string             `json:"ServiceManagedMode"`
	CreateTime         string             `json:"CreateTime"`
	AssociatedObjects  *associatedObjects `json:"AssociatedObjects,omitempty"`
	Tags               tags.LongList      `json:"Tags"`
}

type associatedObjects struct {
	Listeners struct {
		Listener []object `json:"Listener"`
	} `json:"Listeners"`
	Rules struct {
		Rule []object `json:"Rule"`
	} `json:"Rules"`
}

func (t table) describeGroups(c *api.Context) (any, *api.Error) {
	lb, err := loadBalancer(c)
	if err != nil {
		return nil, err
	}
	filter, err := tagCodes().KeysOf(c)
	if err != nil {
		return nil, err
	}
	var out describedGroups
	out.VServerGroups.VServerGroup = []groupView{}
	for _, g := range groupsOf(c, lb.ID) {
		if !strings.Contains(g.Name, c.Get("Description")) || !filter.Match(g.Tags) {
			continue
		}
		out.VServerGroups.VServerGroup = append(out.VServerGroups.VServerGroup, groupView{
			VServerGroupID: g.ID, VServerGroupName: g.Name, ServerCount: int64(len(g.Servers)), ServiceManagedMode: "Unmanaged",
			CreateTime: stamp(g.Created), Tags: tags.Longs(g.Tags),
			AssociatedObjects: t.users(lb, g.ID, c.True("IncludeListener"), c.True("IncludeRule")),
		})
	}
	return out, nil
}

// users returns the listeners and rules that send traffic to a group.
func (t table) users(lb *state.LoadBalancer, groupID string, listeners, rules bool) *associatedObjects {
	if !listeners && !rules {
		return nil
	}
	var out associatedObjects
	out.Listeners.Listener, out.Rules.Rule = []object{}, []object{}
	for _, l := range listenersAt(lb, 0, "") {
		if listeners && l.Attributes["VServerGroupId"] == groupID {
			o := t.listed(lb, l)
			o["AclIds"] = object{"AclId": aclIDs(l)}
			out.Listeners.Listener = append(out.Listeners.Listener, o)
		}
		for _, rule := range l.Rules {
			if rules && rule.ServerGroupID == groupID {
				out.Rules.Rule = append(out.Rules.Rule, t.ruleView(rule))
			}
		}
	}
	return &out
}

type describedGroup struct {
	VServerGroupID     string        `json:"VServerGroupId"`
	VServerGroupName   string        `json:"VServerGroupName"`
	LoadBalancerID     string        `json:"LoadBalancerId"`
	ServiceManagedMode string        `json:"ServiceManagedMode"`
	CreateTime         string        `json:"CreateTime"`
	BackendServers     serverList    `json:"BackendServers"`
	Tags               tags.LongList `json:"Tags"`
}

func describeGroup(c *api.Context, g *state.ServerGroup, lb *state.LoadBalancer) (any, *api.Error) {
	return describedGroup{
		VServerGroupID: g.ID, VServerGroupName: g.Name, LoadBalancerID: lb.ID, ServiceManagedMode: "Unmanaged",
		CreateTime: stamp(g.Created), BackendServers: newServerList(g.Servers), Tags: tags.Longs(g.Tags),
	}, nil
}

// deleteGroup fails while a listener or rule uses the group, and for a while after the last one let go of it.
func deleteGroup(c *api.Context, g *state.ServerGroup, lb *state.LoadBalancer) (any, *api.Error) {
	if err := writable(c, lb, g.ID, busyGroup); err != nil {
		return nil, err
	}
	for _, l := range lb.Listeners {
		if slices.ContainsFunc(l.Rules, func(r *state.Rule) bool { return r.ServerGroupID == g.ID }) {
			return nil, api.BadRequest("RspoolRuleExist", "The VServerGroup is used by a forwarding rule.")
		}
		if l.Attributes["VServerGroupId"] == g.ID {
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
	return api.BadRequest("RspoolVipExist", "The VServerGroup is used by a listener.")
}
