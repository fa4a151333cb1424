package servergroup

import (
	"fmt"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/check"
)

// Checks are the rules of requests beyond those in the protocol.
func Checks() []check.Rule {
	return []check.Rule{
		check.Of(func(c *check.Request, r *slbv1.CreateServerGroupRequest) {
			checkAddresses(c, namedServers{"servers", r.GetServers()})
			checkDistinct(c, namedServers{"servers", r.GetServers()})
		}),
		check.Of(func(c *check.Request, r *slbv1.ApplyServerChangesRequest) {
			checkChanges(c, r.GetAdd(), r.GetRemove(), r.GetUpdate())
		}),
		check.Of(func(c *check.Request, r *slbv1.ApplyDefaultServerChangesRequest) {
			checkChanges(c, withoutPort(r.GetAdd()), withoutPort(r.GetRemove()), withoutPort(r.GetUpdate()))
		}),
	}
}

// namedServers is a list of servers and the field it stands in.
type namedServers struct {
	field   string
	servers []*slbv1.Server
}

func checkChanges(c *check.Request, added, removed, updated []*slbv1.Server) {
	add, remove, update := namedServers{"add", added}, namedServers{"remove", removed}, namedServers{"update", updated}
	checkAddresses(c, add, remove, update)
	for i, s := range updated {
		if s != nil && s.Weight == nil {
			c.Addf(fmt.Sprintf("update[%d].weight", i), "is required: the cloud would set it to 100")
		}
	}
	// A server that is both removed and added is given other attributes, which is fine.
	checkDistinct(c, update, add)
	checkDistinct(c, update, remove)
}

// checkAddresses checks that servers have an address where the cloud needs one.
func checkAddresses(c *check.Request, lists ...namedServers) {
	for _, list := range lists {
		for i, s := range list.servers {
			if s.GetType() == slbv1.ServerType_SERVER_TYPE_ENI && s.GetServerIp() == "" {
				c.Addf(fmt.Sprintf("%s[%d].server_ip", list.field, i), "is required for an ENI")
			}
		}
	}
}

// checkDistinct checks lists that must not name a server twice, neither one list nor two together.
func checkDistinct(c *check.Request, lists ...namedServers) {
	type place struct {
		field string
		index int
	}
	all := 0
	for _, list := range lists {
		all += len(list.servers)
	}
	seen := make(map[serverKey]place, all)
	for _, list := range lists {
		for i, server := range list.servers {
			if first, ok := seen[keyOf(server)]; ok {
				c.Addf(fmt.Sprintf("%s[%d]", list.field, i), "is the same server as %s[%d]", first.field, first.index)
				continue
			}
			seen[keyOf(server)] = place{list.field, i}
		}
	}
}
