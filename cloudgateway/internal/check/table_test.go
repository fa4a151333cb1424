package check_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/check"
	"alicloud-controllers.dev/cloudgateway/internal/check/checktest"
)

// TestCommonFields: fields that mean the same in all requests are checked without a word in the request's rule.
func TestCommonFields(t *testing.T) {
	tags := func(keys ...string) (list []*commonv1.Tag) {
		for _, k := range keys {
			list = append(list, &commonv1.Tag{Key: k})
		}
		return list
	}
	many := strings.Split(strings.Repeat("k,", 20)+"k", ",")
	long := strings.Repeat("k", 1000)
	checktest.Run(t, nil, []checktest.Case{
		{Name: "empty", Request: &vpcv1.ListEipsRequest{}},
		{Name: "of the greatest", Request: &vpcv1.ListEipsRequest{
			MaxAge: durationpb.New(0), PageSize: 20_000, Tags: []*commonv1.Tag{{Key: strings.Repeat("k", 64), Value: strings.Repeat("v", 128)}},
		}},
		{Name: "age", Request: &vpcv1.ListEipsRequest{MaxAge: durationpb.New(-time.Nanosecond)},
			Want: []string{"max_age: must be a duration of zero or more"}},
		{Name: "age of no form", Request: &vpcv1.ListEipsRequest{MaxAge: &durationpb.Duration{Nanos: 1_000_000_000}}, Want: []string{
			"max_age: must be a duration of zero or more",
		}},
		{Name: "pages", Request: &vpcv1.ListEipsRequest{PageSize: 20_001, PageToken: "x"}, Want: []string{
			"page_size: 20001: must be 0, for all, to 20000", "page_token: is not the next_page_token of an answer",
		}},
		{Name: "pages of less than nothing", Request: &vpcv1.ListEipsRequest{PageSize: -1},
			Want: []string{"page_size: -1: must be 0, for all, to 20000"}},
		{Name: "tags", Request: &vpcv1.ListEipsRequest{Tags: []*commonv1.Tag{
			{Key: "a"}, {Key: "a"}, {}, {Key: strings.Repeat("k", 65), Value: strings.Repeat("v", 129)},
		}}, Want: []string{
			`tags[1].key: "a" is there twice`, "tags[2].key: is 0 characters long, must be 1 to 64",
			"tags[3].key: is 65 characters long, must be 1 to 64", "tags[3].value: is 129 characters long, must be 0 to 128",
		}},
		{Name: "long tags", Request: &vpcv1.UpdateEipRequest{
			AllocationId: "eip-1", SetTags: tags(long, long), RemoveTagKeys: []string{long},
		}, Want: []string{
			"set_tags[0].key: is 1000 characters long, must be 1 to 64", "set_tags[1].key: is 1000 characters long, must be 1 to 64",
			`set_tags[1].key: "` + long[:40] + `…" is there twice`,
			"remove_tag_keys: is 1000 characters long, must be 1 to 64", `remove_tag_keys: "` + long[:40] + `…" is also in set_tags`,
		}},
		{Name: "twenty keys", Request: &vpcv1.UpdateEipRequest{AllocationId: "eip-1", RemoveTagKeys: many[:20]}},
		{Name: "twenty keys, one of them empty", Request: &vpcv1.UpdateEipRequest{AllocationId: "eip-1",
			RemoveTagKeys: append([]string{""}, many[:19]...)}, Want: []string{
			"remove_tag_keys: is 0 characters long, must be 1 to 64",
		}},
		{Name: "too many tags", Request: &vpcv1.UpdateEipRequest{AllocationId: "eip-1", SetTags: tags(many...),
			RemoveTagKeys: many}, Want: []string{
			"set_tags: has 21 items, at most 20 are allowed", "remove_tag_keys: has 21 items, at most 20 are allowed",
		}},
		{Name: "tags both ways", Request: &vpcv1.UpdateEipRequest{
			AllocationId: "eip-1", RequestId: "two words", SetTags: tags("a", "b"), RemoveTagKeys: []string{"b", "", strings.Repeat("k", 65)},
		}, Want: []string{
			"request_id: must be 1 to 64 printable ASCII characters", `remove_tag_keys: "b" is also in set_tags`,
			"remove_tag_keys: is 0 characters long, must be 1 to 64", "remove_tag_keys: is 65 characters long, must be 1 to 64",
		}},
	})
}

// TestFields: what the rules of fields take, and what is said of other values.
func TestFields(t *testing.T) {
	long := func(n int) string { return strings.Repeat("x", n) }
	instance := func(id string) *ecsv1.GetInstanceRequest { return &ecsv1.GetInstanceRequest{InstanceId: id} }
	named := func(name string) *ecsv1.UpdateInstanceRequest {
		return &ecsv1.UpdateInstanceRequest{InstanceId: "i-1", Name: &name}
	}
	bandwidth := func(n int32) *vpcv1.UpdateEipRequest {
		return &vpcv1.UpdateEipRequest{AllocationId: "eip-1", BandwidthMbps: &n}
	}
	domain := func(name string) *slbv1.CreateDomainExtensionRequest {
		return &slbv1.CreateDomainExtensionRequest{
			RequestId: "r", Domain: name, ServerCertificateId: "cert-1",
			Key: &slbv1.ListenerKey{LoadBalancerId: "lb-1", Port: 443, Protocol: slbv1.Protocol_PROTOCOL_HTTPS},
		}
	}
	routes := func(destinations ...string) *vpcv1.ListRouteEntriesRequest {
		return &vpcv1.ListRouteEntriesRequest{RouteTableId: "vtb-1", DestinationCidrs: destinations}
	}
	servers := func(list ...*slbv1.Server) *slbv1.ApplyServerChangesRequest {
		return &slbv1.ApplyServerChangesRequest{ServerGroupId: "rsp-1", LoadBalancerId: "lb-1", Add: list}
	}
	server := func(port int32) *slbv1.Server {
		return &slbv1.Server{Type: slbv1.ServerType_SERVER_TYPE_ECS, ServerId: "i-1", Port: port}
	}
	groups := func(n int) *ecsv1.UpdateNetworkInterfaceRequest {
		return &ecsv1.UpdateNetworkInterfaceRequest{NetworkInterfaceId: "eni-1",
			SecurityGroupIds: strings.Split(strings.Repeat("sg,", n)+"sg", ",")}
	}
	many := make([]string, 20_000)
	for i := range many {
		many[i] = "i-1"
	}
	checktest.Run(t, []check.Rule{
		check.Of(func(*check.Request, *slbv1.ListLoadBalancersRequest) {}),
	}, []checktest.Case{
		{Name: "longest id", Request: instance(long(128))},
		{Name: "too long id", Request: instance(long(129)), Want: []string{`instance_id: "` + long(40) + `…" is not an id of the cloud`}},
		{Name: "id with a comma", Request: instance("a,b"), Want: []string{`instance_id: "a,b" is not an id of the cloud`}},
		{Name: "no id", Request: instance(""), Want: []string{"instance_id: is required"}},
		{Name: "most ids", Request: &ecsv1.BatchGetInstancesRequest{InstanceIds: many}},
		{Name: "too many ids", Request: &ecsv1.BatchGetInstancesRequest{InstanceIds: append(many, "a b")}, Want: []string{
			"instance_ids: has 20001 items, at most 20000 are allowed",
		}},
		{Name: "no id in a list", Request: &ecsv1.BatchGetInstancesRequest{InstanceIds: []string{"i-1", "", "i 3"}}, Want: []string{
			"instance_ids[1]: is required", `instance_ids[2]: "i 3" is not an id of the cloud`,
		}},
		{Name: "sixteen of sixteen", Request: groups(15)},
		{Name: "seventeen of sixteen", Request: groups(16), Want: []string{"security_group_ids: has 17 items, at most 16 are allowed"}},
		{Name: "none of one", Request: &slbv1.ListListenersRequest{}, Want: []string{"load_balancer_ids: at least 1 is required"}},
		{Name: "one of one", Request: &slbv1.ListListenersRequest{LoadBalancerIds: []string{"lb-1"}}},
		{Name: "shortest text", Request: named("éé")},
		{Name: "too short text", Request: named("é"), Want: []string{"name: is 1 characters long, must be 2 to 128"}},
		{Name: "longest text", Request: named(long(128))},
		{Name: "too long text", Request: named(long(129)), Want: []string{"name: is 129 characters long, must be 2 to 128"}},
		{Name: "link", Request: named("http://x"), Want: []string{"name: must not begin with http:// or https://"}},
		{Name: "other link", Request: named("https://x"), Want: []string{"name: must not begin with http:// or https://"}},
		{Name: "word", Request: &vpcv1.ListRouteEntriesRequest{RouteTableId: "vtb-1", Type: "System"}},
		{Name: "other word", Request: &vpcv1.ListRouteEntriesRequest{RouteTableId: "vtb-1", Type: long(41)}, Want: []string{
			`type: "` + long(40) + `…" is not one of Custom, System, BGP, CEN, ECR`,
		}},
		{Name: "no word", Request: &vpcv1.AssociateEipRequest{AllocationId: "eip-1", InstanceId: "i-1"}, Want: []string{
			"instance_type: is required, one of EcsInstance, SlbInstance, Nat, HaVip, NetworkInterface",
		}},
		{Name: "lowest number", Request: bandwidth(1)},
		{Name: "highest number", Request: bandwidth(1000)},
		{Name: "too low", Request: bandwidth(0), Want: []string{"bandwidth_mbps: 0 is out of range, must be 1 to 1000"}},
		{Name: "too high", Request: bandwidth(1001), Want: []string{"bandwidth_mbps: 1001 is out of range, must be 1 to 1000"}},
		{Name: "address", Request: &slbv1.ListLoadBalancersRequest{Address: "fd00::1"}},
		{Name: "no address", Request: &slbv1.ListLoadBalancersRequest{Address: "10.0.0.0/8"},
			Want: []string{`address: "10.0.0.0/8" is not an IP address`}},
		{Name: "address with a zone", Request: &slbv1.ListLoadBalancersRequest{Address: "fe80::1%x\",\"y"}, Want: []string{
			`address: "fe80::1%x\",\"y" is not an IP address`,
		}},
		{Name: "networks", Request: routes("10.0.0.0/8", "fd00::/8")},
		{Name: "no networks", Request: routes("", "10.0.0.0", "10.0.0.1/8", "FD00::/8"), Want: []string{
			"destination_cidrs[0]: is required", `destination_cidrs[1]: "10.0.0.0" is not of the form "10.1.2.0/24"`,
			`destination_cidrs[2]: "10.0.0.1/8" has bits outside of its mask, write "10.0.0.0/8"`,
			`destination_cidrs[3]: "FD00::/8" is not the usual form, write "fd00::/8"`,
		}},
		{Name: "domain", Request: domain("*." + long(251))},
		{Name: "too long domain", Request: domain("*." + long(252)), Want: []string{
			`domain: "*.` + long(38) + `…" is not of the form "www.example.com" or "*.example.com", with at most 253 characters`,
		}},
		{Name: "half a domain", Request: domain("www"), Want: []string{
			`domain: "www" is not of the form "www.example.com" or "*.example.com", with at most 253 characters`,
		}},
		{Name: "enum, not set", Request: &slbv1.GetLoadBalancerRequest{LoadBalancerId: "lb-1"}},
		{Name: "enum of a newer caller", Request: &slbv1.GetLoadBalancerRequest{LoadBalancerId: "lb-1", View: 99}, Want: []string{
			"view: 99 is not known to this gateway",
		}},
		{Name: "messages in a list", Request: servers(server(1), server(65535))},
		{Name: "wrong messages in a list", Request: servers(server(65536), server(80), &slbv1.Server{Port: 80, ServerIp: "x",
			Weight: new(int32(101))}), Want: []string{
			"add[0].port: 65536 is out of range, must be 1 to 65535", "add[2].type: is required", "add[2].server_id: is required",
			`add[2].server_ip: "x" is not an IP address`, "add[2].weight: 101 is out of range, must be 0 to 100",
		}},
		{Name: "no message", Request: &slbv1.StartListenerRequest{}, Want: []string{
			"key.load_balancer_id: is required", "key.port: 0 is out of range, must be 1 to 65535", "key.protocol: is required",
		}},
		{Name: "message that may be missing", Request: &slbv1.UpdateLoadBalancerRequest{LoadBalancerId: "lb-1", Active: new(true)}},
		{Name: "message that is there", Request: &slbv1.UpdateLoadBalancerRequest{LoadBalancerId: "lb-1",
			InternetSpec: &slbv1.InternetSpec{BandwidthMbps: -1}}, Want: []string{
			"internet_spec.bandwidth_mbps: -1 is out of range, must be 0 to 5120",
		}},
		{Name: "one of several", Request: &ecsv1.BatchGetNetworkInterfacesRequest{NetworkInterfaceIds: many[:1], VpcId: "vpc-1"}},
		{Name: "two of several", Request: &ecsv1.BatchGetNetworkInterfacesRequest{NetworkInterfaceIds: many[:1],
			IpAddresses: []string{"10.0.0.1"}}, Want: []string{
			"network_interface_ids: only one of network_interface_ids, ip_addresses is allowed", "vpc_id: is required with ip_addresses",
		}},
		{Name: "none of several", Request: &slbv1.UpdateServerGroupRequest{ServerGroupId: "rsp-1", LoadBalancerId: "lb-1"}, Want: []string{
			"name: at least one of name, set_tags, remove_tag_keys is required",
		}},
	})
}

// TestValues: what the checks of single values, for rules that the protocol can't say, take, and what they say of others.
func TestValues(t *testing.T) {
	tests := map[string]struct {
		check func(c *check.Request)
		want  []string
	}{
		"id":           {check: func(c *check.Request) { c.ID("id", "a"); c.OptionalID("id", "") }},
		"no id":        {check: func(c *check.Request) { c.ID("id", "") }, want: []string{"id: is required"}},
		"odd id":       {check: func(c *check.Request) { c.OptionalID("id", "a,b") }, want: []string{`id: "a,b" is not an id of the cloud`}},
		"text":         {check: func(c *check.Request) { c.Text("t", "éé", 2, 2) }},
		"text, short":  {check: func(c *check.Request) { c.Text("t", "é", 2, 3) }, want: []string{"t: is 1 characters long, must be 2 to 3"}},
		"text, long":   {check: func(c *check.Request) { c.Text("t", "abcd", 2, 3) }, want: []string{"t: is 4 characters long, must be 2 to 3"}},
		"number":       {check: func(c *check.Request) { c.Number("n", 1, 1, 2); c.Number("n", 2, 1, 2) }},
		"number, low":  {check: func(c *check.Request) { c.Number("n", 0, 1, 2) }, want: []string{"n: 0 is out of range, must be 1 to 2"}},
		"number, high": {check: func(c *check.Request) { c.Number("n", 3, 1, 2) }, want: []string{"n: 3 is out of range, must be 1 to 2"}},
		"network":      {check: func(c *check.Request) { c.Network("n", "10.0.0.0/8"); c.Network("n", "fd00::/8") }},
		"no network":   {check: func(c *check.Request) { c.Network("n", "x") }, want: []string{`n: "x" is not of the form "10.1.2.0/24"`}},
		"the same":     {check: func(c *check.Request) { c.ID("id", ""); c.ID("id", "") }, want: []string{"id: is required"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var c check.Request
			tt.check(&c)
			checktest.Violations(t, c.Err(), tt.want)
		})
	}
	if got := check.Shorten(strings.Repeat("x", 40)); got != strings.Repeat("x", 40) {
		t.Errorf("a text of 40 bytes becomes %q", got)
	}
}

// TestLongListsAreNotLookedAt by the rules that packages add: these need no limit of their own.
func TestLongListsAreNotLookedAt(t *testing.T) {
	for name, tt := range map[string]struct {
		items int
		asked bool
	}{"longest": {20_000, true}, "too long": {20_001, false}} {
		t.Run(name, func(t *testing.T) {
			asked := false
			table := check.NewTable([]check.Rule{check.Of(func(*check.Request, *slbv1.ApplyServerChangesRequest) { asked = true })})
			right := &slbv1.Server{Type: slbv1.ServerType_SERVER_TYPE_ECS, ServerId: "i-1", Port: 80}
			err := table.Check(&slbv1.ApplyServerChangesRequest{
				ServerGroupId: "rsp-1", LoadBalancerId: "lb-1", Remove: slices.Repeat([]*slbv1.Server{right}, tt.items),
			})
			if (err == nil) != tt.asked || asked != tt.asked {
				t.Errorf("the rule is asked: %t, want %t; the request is refused with %v", asked, tt.asked, err)
			}
		})
	}
}

// TestLongListWithinAnItem: the next item is right, and the rules that packages add are not asked all the same.
func TestLongListWithinAnItem(t *testing.T) {
	table := check.NewTable([]check.Rule{check.Of(func(*check.Request,
		*vpcv1.BatchCreateRouteEntriesRequest) {
		t.Error("the rule is asked")
	})})
	checktest.Violations(t, table.Check(&vpcv1.BatchCreateRouteEntriesRequest{VpcId: "vpc-1", RouteEntries: []*vpcv1.RouteEntry{
		{RouteTableId: "vtb-1", NextHops: make([]*vpcv1.NextHop, 20_001)}, {RouteTableId: "vtb-1"},
	}}), []string{"route_entries[0].next_hops: has 20001 items, at most 20000 are allowed"})
}

// TestRequestWithoutARule: what nobody thought about is not let in.
func TestRequestWithoutARule(t *testing.T) {
	for name, request := range map[string]proto.Message{
		"of no method":                     &slbv1.GetLoadBalancerResponse{},
		"with a field without a rule":      &slbv1.ListLoadBalancersRequest{Address: "10.0.0.1"},
		"with a field within without rule": &vpcv1.BatchDeleteRouteEntriesRequest{},
	} {
		t.Run(name, func(t *testing.T) {
			err := check.NewTable().Check(request)
			if e, ok := rpcerr.From(err); !ok || e.Code != codes.Internal ||
				!strings.Contains(e.Message, string(request.ProtoReflect().Descriptor().FullName())) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestBefore: requests of the gateway's own API are checked, and others are not.
func TestBefore(t *testing.T) {
	refuse := check.NewTable()
	for name, tt := range map[string]struct {
		method  string
		request any
		passes  bool
	}{
		"wrong": {"/cloudgateway.slb.v1.LoadBalancerService/GetLoadBalancer", &slbv1.GetLoadBalancerRequest{}, false},
		"right": {"/cloudgateway.slb.v1.LoadBalancerService/GetLoadBalancer",
			&slbv1.GetLoadBalancerRequest{LoadBalancerId: "lb-1"}, true},
		"of another API":  {"/grpc.health.v1.Health/Check", &slbv1.GetLoadBalancerRequest{}, true},
		"without a proto": {"/cloudgateway.slb.v1.LoadBalancerService/GetLoadBalancer", "x", true},
	} {
		t.Run(name, func(t *testing.T) {
			passed := false
			next := func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, _ grpc.UnaryHandler) (any, error) {
				passed = true
				return nil, nil
			}
			_, err := refuse.Before(next)(t.Context(), tt.request, &grpc.UnaryServerInfo{FullMethod: tt.method}, nil)
			if passed != tt.passes || (err == nil) != tt.passes {
				t.Errorf("passed: %t, error: %v", passed, err)
			}
		})
	}
}

// TestWrongItemsAreCheap: a request with nothing but wrong items costs no more than a right one. Its check ends where the answer is full.
func TestWrongItemsAreCheap(t *testing.T) {
	table := check.NewTable()
	allocations := func(server *slbv1.Server) float64 {
		sent := &slbv1.ApplyServerChangesRequest{ServerGroupId: "rsp-1", LoadBalancerId: "lb-1",
			Add: slices.Repeat([]*slbv1.Server{server}, 20_000)}
		return testing.AllocsPerRun(1, func() { _ = table.Check(sent) })
	}
	right := allocations(&slbv1.Server{Type: slbv1.ServerType_SERVER_TYPE_ECS, ServerId: "i-1", Port: 80})
	if wrong := allocations(&slbv1.Server{ServerId: "a b", ServerIp: "x", Port: -1, Weight: new(int32(101))}); wrong > right {
		t.Errorf("%v allocations for wrong items, %v for right ones", wrong, right)
	}
}
