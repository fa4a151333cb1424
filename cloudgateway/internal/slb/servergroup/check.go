package servergroup

import (
	"fmt"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/check"
)

// Checks are the rules of the service's requests.
func Checks() []check.Rule {
	return []check.Rule{
		check.Of(func(c *check.Request, r *slbv1.GetServerGroupRequest) { c.ID("server_group_id", r.GetServerGroupId()) }),
		check.Of(func(c *check.Request, r *slbv1.ListServerGroupsRequest) {
			c.ID("load_balancer_id", r.GetLoadBalancerId())
		}),
		check.Of(func(c *check.Request, r *slbv1.CreateServerGroupRequest) {
			c.RequestID(r.GetRequestId())
			c.ID("load_balancer_id", r.GetLoadBalancerId())
			c.Text("name", r.GetName(), 1, 80)
			checkServers(c, "servers", r.GetServers())
			checkDistinct(c, namedServers{"servers", r.GetServers()})
		}),
		check.Of(func(c *check.Request, r *slbv1.ApplyServerChangesRequest) {
			c.ID("server_group_id", r.GetServerGroupId())
			c.ID("load_balancer_id", r.GetLoadBalancerId())
			checkServers(c, "add", r.GetAdd())
			checkServers(c, "remove", r.GetRemove())
			checkServers(c, "update", r.GetUpdate())
			// A server that is both removed and added is given other attributes, which is fine.
			checkDistinct(c, namedServers{"update", r.GetUpdate()}, namedServers{"add", r.GetAdd()})
			checkDistinct(c, namedServers{"update", r.GetUpdate()}, namedServers{"remove", r.GetRemove()})
		}),
		check.Of(func(c *check.Request, r *slbv1.UpdateServerGroupRequest) {
			c.ID("server_group_id", r.GetServerGroupId())
			c.ID("load_balancer_id", r.GetLoadBalancerId())
			if r.Name != nil {
				c.Text("name", r.GetName(), 1, 80)
			}
			if r.Name == nil && len(r.GetSetTags())+len(r.GetRemoveTagKeys()) == 0 {
				c.Addf("name", "the request changes nothing; at least one attribute is required")
			}
		}),
		check.Of(func(c *check.Request, r *slbv1.DeleteServerGroupRequest) {
			c.ID("server_group_id", r.GetServerGroupId())
			c.ID("load_balancer_id", r.GetLoadBalancerId())
		}),
		check.Of(func(c *check.Request, r *slbv1.GetDefaultServerGroupRequest) {
			c.ID("load_balancer_id", r.GetLoadBalancerId())
		}),
		check.Of(func(c *check.Request, r *slbv1.ApplyDefaultServerChangesRequest) {
			c.ID("load_balancer_id", r.GetLoadBalancerId())
			add, remove, update := checkDefaultServers(c, "add", r.GetAdd()), checkDefaultServers(c, "remove", r.GetRemove()), checkDefaultServers(c, "update", r.GetUpdate())
			checkDistinct(c, update, add)
			checkDistinct(c, update, remove)
		}),
	}
}

// checkDistinct checks lists that must not name a server twice, neither one list nor two together.
func checkDistinct(c *check.Request, lists ...namedServers) {
	seen := map[serverKey]string{}
	for _, list := range lists {
		if len(list.servers) > check.MaxItems {
			return // is refused for that
		}
		for i, server := range list.servers {
			field := fmt.Sprintf("%s[%d]", list.field, i)
			if first, ok := seen[keyOf(server)]; ok {
				c.Addf(field, "is the same server as %s", first)
				continue
			}
			seen[keyOf(server)] = field
		}
	}
}

func checkServers(c *check.Request, field string, servers []*slbv1.Server) {
	if !c.Items(field, len(servers), check.MaxItems) {
		return
	}
	for i, s := range servers {
		at := fmt.Sprintf("%s[%d]", field, i)
		checkServer(c, at, s)
		c.Port(at+".port", s.GetPort())
	}
}

// checkServer checks a server but for its port, which not all have.
func checkServer(c *check.Request, field string, s *slbv1.Server) {
	const heaviest, longest = 100, 80
	check.Enum(c, field+".type", s.GetType(), slbv1.ServerType_name, true)
	c.ID(field+".server_id", s.GetServerId())
	switch {
	case s.GetServerIp() != "":
		c.Address(field+".server_ip", s.GetServerIp())
	case s.GetType() == slbv1.ServerType_SERVER_TYPE_ENI:
		c.Addf(field+".server_ip", "is required for an ENI")
	}
	c.Number(field+".weight", s.GetWeight(), 0, heaviest)
	c.Text(field+".description", s.GetDescription(), 0, longest)
}

// checkDefaultServers checks servers that have no port, and names them for distinct.
func checkDefaultServers(c *check.Request, field string, list []*slbv1.DefaultServer) namedServers {
	named := namedServers{field: field}
	if !c.Items(field, len(list), check.MaxItems) {
		return named
	}
	named.servers = withoutPort(list)
	for i, s := range named.servers {
		checkServer(c, fmt.Sprintf("%s[%d]", field, i), s)
	}
	return named
}

// namedServers is a list of servers and the field it stands in.
type namedServers struct {
	field   string
	servers []*slbv1.Server
}
