package servergroup

import (
	"fmt"
	"strings"
	"testing"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/check"
	"alicloud-controllers.dev/cloudgateway/internal/check/checktest"
)

func TestChecks(t *testing.T) {
	const lb, group, ecs, eni = "lb-1", "rsp-1", slbv1.ServerType_SERVER_TYPE_ECS, slbv1.ServerType_SERVER_TYPE_ENI
	one := &slbv1.Server{Type: ecs, ServerId: "i-1", Port: 80}
	two := &slbv1.Server{Type: eni, ServerId: "eni-1", ServerIp: "10.0.0.1", Port: 80, Weight: new(int32(100)),
		Description: strings.Repeat("x", 80)}
	groupKey := []string{"server_group_id: is required", "load_balancer_id: is required"}
	tooMany := func(field string) string { return field + ": has 20001 items, at most 20000 are allowed" }
	many, manyDefault := make([]*slbv1.Server, check.MaxItems+1), make([]*slbv1.DefaultServer, check.MaxItems+1)
	most := make([]*slbv1.Server, check.MaxItems)
	for i := range most {
		most[i] = &slbv1.Server{Type: ecs, ServerId: fmt.Sprint("i-", i%(check.MaxItems-1)), Port: 80}
	}
	checktest.Run(t, Checks(), []checktest.Case{
		{Request: &slbv1.GetServerGroupRequest{ServerGroupId: group}},
		{Request: &slbv1.GetServerGroupRequest{}, Want: groupKey[:1]},
		{Request: &slbv1.ListServerGroupsRequest{LoadBalancerId: lb}},
		{Request: &slbv1.ListServerGroupsRequest{}, Want: groupKey[1:]},
		{Request: &slbv1.CreateServerGroupRequest{RequestId: "r", LoadBalancerId: lb, Name: "web", Servers: []*slbv1.Server{one, two}}},
		{Request: &slbv1.CreateServerGroupRequest{Servers: []*slbv1.Server{
			one, {Type: eni, ServerId: "eni-1", Weight: new(int32(101)), Description: strings.Repeat("x", 81)},
			{Type: ecs, ServerId: "i-1", Port: 80, Weight: new(int32(5))},
			{ServerIp: "x", Port: 65536, Weight: new(int32(-1))},
		}}, Want: []string{
			"request_id: must be 1 to 64 printable ASCII characters", "load_balancer_id: is required", "name: is 0 characters long, must be 1 to 80",
			"servers[1].server_ip: is required for an ENI", "servers[1].weight: 101 is out of range, must be 0 to 100",
			"servers[1].description: is 81 characters long, must be 0 to 80", "servers[1].port: 0 is out of range, must be 1 to 65535",
			"servers[2]: is the same server as servers[0]", "servers[3].type: is required", "servers[3].server_id: is required",
			`servers[3].server_ip: "x" is not an IP address`, "servers[3].port: 65536 is out of range, must be 1 to 65535",
			"servers[3].weight: -1 is out of range, must be 0 to 100",
		}},
		{Name: "of as many as are allowed", Request: &slbv1.CreateServerGroupRequest{RequestId: "r", LoadBalancerId: lb,
			Name: "web", Servers: most}, Want: []string{
			"servers[19999]: is the same server as servers[0]",
		}},
		{Name: "of too many", Request: &slbv1.CreateServerGroupRequest{RequestId: "r", LoadBalancerId: lb, Name: "web",
			Servers: many}, Want: []string{tooMany("servers")}},
		{Request: &slbv1.ApplyServerChangesRequest{
			LoadBalancerId: lb, ServerGroupId: group, Add: []*slbv1.Server{one}, Remove: []*slbv1.Server{one}, Update: []*slbv1.Server{two},
		}},
		{Request: &slbv1.ApplyServerChangesRequest{Add: []*slbv1.Server{one}, Remove: []*slbv1.Server{one},
			Update: []*slbv1.Server{one}}, Want: append([]string{
			"add[0]: is the same server as update[0]", "remove[0]: is the same server as update[0]",
			"update[0].weight: is required: the cloud would set it to 100",
		}, groupKey[:1]...)},
		{Name: "of none", Request: &slbv1.ApplyServerChangesRequest{
			LoadBalancerId: lb, ServerGroupId: group, Add: []*slbv1.Server{{}}, Remove: []*slbv1.Server{{Type: ecs, Port: 1}},
			Update: []*slbv1.Server{{Type: ecs, ServerId: "i-1"}},
		}, Want: []string{
			"add[0].type: is required", "add[0].server_id: is required", "add[0].port: 0 is out of range, must be 1 to 65535",
			"remove[0].server_id: is required", "update[0].port: 0 is out of range, must be 1 to 65535",
			"update[0].weight: is required: the cloud would set it to 100",
		}},
		{Name: "of too many", Request: &slbv1.ApplyServerChangesRequest{LoadBalancerId: lb, ServerGroupId: group,
			Update: many}, Want: []string{tooMany("update")}},
		{Name: "of the name", Request: &slbv1.UpdateServerGroupRequest{LoadBalancerId: lb, ServerGroupId: group, Name: new("n")}},
		{Name: "of a tag", Request: &slbv1.UpdateServerGroupRequest{LoadBalancerId: lb, ServerGroupId: group,
			SetTags: []*commonv1.Tag{{Key: "a"}}}},
		{Name: "without a tag", Request: &slbv1.UpdateServerGroupRequest{LoadBalancerId: lb, ServerGroupId: group, RemoveTagKeys: []string{"a"}}},
		{Name: "of one tag for another", Request: &slbv1.UpdateServerGroupRequest{
			LoadBalancerId: lb, ServerGroupId: group, SetTags: []*commonv1.Tag{{Key: "a"}}, RemoveTagKeys: []string{"b"},
		}},
		{Name: "of nothing", Request: &slbv1.UpdateServerGroupRequest{LoadBalancerId: lb, ServerGroupId: group}, Want: []string{
			"name: at least one of name, set_tags, remove_tag_keys is required",
		}},
		{Request: &slbv1.UpdateServerGroupRequest{Name: new("")},
			Want: append([]string{"name: is 0 characters long, must be 1 to 80"}, groupKey[:1]...)},
		{Request: &slbv1.DeleteServerGroupRequest{LoadBalancerId: lb, ServerGroupId: group}},
		{Request: &slbv1.DeleteServerGroupRequest{}, Want: groupKey[:1]},
		{Request: &slbv1.GetDefaultServerGroupRequest{LoadBalancerId: lb}},
		{Request: &slbv1.GetDefaultServerGroupRequest{}, Want: groupKey[1:]},
		{Request: &slbv1.ApplyDefaultServerChangesRequest{
			LoadBalancerId: lb, Add: []*slbv1.DefaultServer{{Type: ecs, ServerId: "i-1"}},
			Remove: []*slbv1.DefaultServer{{Type: ecs, ServerId: "i-1"}},
			Update: []*slbv1.DefaultServer{{Type: ecs, ServerId: "i-2", Weight: new(int32(100))}},
		}},
		{Request: &slbv1.ApplyDefaultServerChangesRequest{
			Add:    []*slbv1.DefaultServer{{Type: eni, ServerId: "eni-1", Weight: new(int32(101))}, {ServerId: "i-1"}, {Type: ecs, ServerId: "i-2"}},
			Remove: []*slbv1.DefaultServer{{Type: ecs, ServerId: "i-2"}}, Update: []*slbv1.DefaultServer{{Type: ecs, ServerId: "i-2"}},
		}, Want: []string{
			"load_balancer_id: is required", "add[0].server_ip: is required for an ENI", "add[0].weight: 101 is out of range, must be 0 to 100",
			"add[1].type: is required", "add[2]: is the same server as update[0]", "remove[0]: is the same server as update[0]",
			"update[0].weight: is required: the cloud would set it to 100",
		}},
		{Name: "of too many", Request: &slbv1.ApplyDefaultServerChangesRequest{LoadBalancerId: lb, Add: manyDefault},
			Want: []string{tooMany("add")}},
	})
}

// TestChecksAllocateLittle: servers that are not named twice need no text.
func TestChecksAllocateLittle(t *testing.T) {
	named := namedServers{"servers", servers(0, 1000)}
	if got := testing.AllocsPerRun(1, func() { checkDistinct(nil, named) }); got > 100 {
		t.Errorf("%v allocations for 1 000 servers, want those of a map", got)
	}
}
