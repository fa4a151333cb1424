package check

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/proto/rpcerr"
)

// newer gives a message a field that this version of the protocol lacks.
func newer[M proto.Message](m M, numbers ...protowire.Number) M {
	var fields []byte
	for _, number := range numbers {
		fields = protowire.AppendString(protowire.AppendTag(fields, number, protowire.BytesType), "x")
	}
	m.ProtoReflect().SetUnknown(fields)
	return m
}

// TestUnknownFields: what a newer caller asks for is refused and not dropped: without a filter the answer would be too broad, and without
// an attribute the resource would not be as it is wanted.
func TestUnknownFields(t *testing.T) {
	var thirty []protowire.Number
	for i := range 30 {
		thirty = append(thirty, protowire.Number(900+i))
	}
	for _, tc := range []struct {
		name string
		sent proto.Message
		want []string
		more bool // than the answer names
	}{
		{name: "none", sent: &slbv1.ListLoadBalancersRequest{Name: "web", Tags: []*commonv1.Tag{{Key: "a"}}}},
		{name: "one", sent: newer(&slbv1.ListLoadBalancersRequest{Name: "web"}, 900), want: []string{"900"}},
		{name: "one of them twice", sent: newer(&slbv1.ListLoadBalancersRequest{}, 900, 901, 900), want: []string{"900", "901"}},
		{name: "in a message", want: []string{"config.health_check.77", "key.78"}, sent: &slbv1.UpdateListenerRequest{
			Key: newer(&slbv1.ListenerKey{}, 78), Config: &slbv1.ListenerConfig{HealthCheck: newer(&slbv1.HealthCheck{}, 77)},
		}},
		{name: "in a message of a list", want: []string{"tags[1].77"}, sent: &slbv1.ListLoadBalancersRequest{
			Tags: []*commonv1.Tag{{Key: "a"}, newer(&commonv1.Tag{Key: "b"}, 77)},
		}},
		{name: "in a list of a list", want: []string{"route_entries[1].next_hops[1].77"}, sent: &vpcv1.BatchCreateRouteEntriesRequest{
			RouteEntries: []*vpcv1.RouteEntry{
				{NextHops: []*vpcv1.NextHop{{NextHopId: "i-1"}, {NextHopId: "i-2"}}},
				{NextHops: []*vpcv1.NextHop{{NextHopId: "i-1"}, newer(&vpcv1.NextHop{NextHopId: "i-2"}, 77)}},
			},
		}},
		// No request has one as deep yet.
		{name: "in a message of a message of a list", want: []string{"listeners[0].config.health_check.77"}, sent: &slbv1.ListListenersResponse{
			Listeners: []*slbv1.Listener{{Config: &slbv1.ListenerConfig{HealthCheck: newer(&slbv1.HealthCheck{}, 77)}}},
		}},
		{name: "more than an answer names", sent: newer(&slbv1.ListLoadBalancersRequest{}, thirty...), more: true, want: []string{
			"900", "901", "902", "903", "904", "905", "906", "907", "908", "909", "910", "911", "912", "913", "914", "915",
			"916", "917", "918", "919",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			wire, err := proto.Marshal(tc.sent)
			if err != nil {
				t.Fatal(err)
			}
			got := tc.sent.ProtoReflect().New().Interface()
			if err := proto.Unmarshal(wire, got); err != nil {
				t.Fatal(err)
			}
			var c Request
			compile(got.ProtoReflect().Descriptor(), map[protoreflect.FullName]*message{}).check(&c, nil, got.ProtoReflect())
			if r, ok := got.(interface{ GetTags() []*commonv1.Tag }); ok {
				c.tags("tags", r.GetTags())
			}
			var fields []string
			for _, v := range c.violations {
				if strings.Contains(v.Description, "not a field that this gateway knows") {
					fields = append(fields, v.Field)
				}
			}
			slices.Sort(fields)
			if !slices.Equal(fields, tc.want) {
				t.Errorf("the refusal names %q, want %q", fields, tc.want)
			}
			if c.more != tc.more {
				t.Errorf("the refusal says that there is more: %t, want %t", c.more, tc.more)
			}
		})
	}
}

// TestNumbersOfUnknownFields: each is there once, and no more of them than a refusal names and one.
func TestNumbersOfUnknownFields(t *testing.T) {
	var many []protowire.Number
	for i := range 30 {
		many = append(many, protowire.Number(900+i))
	}
	for name, tc := range map[string]struct{ sent, want []protowire.Number }{
		"twice": {[]protowire.Number{900, 901, 900}, []protowire.Number{900, 901}},
		"many":  {many, many[:maxViolations+1]},
	} {
		t.Run(name, func(t *testing.T) {
			if got := unknown(newer(&slbv1.ListenerKey{}, tc.sent...).ProtoReflect().GetUnknown()); !slices.Equal(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// TestTableRefusesUnknownFields: also in a request that is right but for them.
func TestTableRefusesUnknownFields(t *testing.T) {
	table := NewTable()
	if err := table.Check(&slbv1.GetServerGroupRequest{ServerGroupId: "rsp-1"}); err != nil {
		t.Errorf("a request of this version is refused: %v", err)
	}
	e, ok := rpcerr.From(table.Check(newer(&slbv1.GetServerGroupRequest{ServerGroupId: "rsp-1"}, 77)))
	if !ok || len(e.Fields) != 1 || e.Fields[0].Field != "77" {
		t.Errorf("got %v, want that field 77 is not known", e)
	}
}

// TestNothingIsLookedForInHugeLists: a list that is refused for its length costs no more than the longest that is not.
func TestNothingIsLookedForInHugeLists(t *testing.T) {
	table := NewTable()
	allocations := func(items int) float64 {
		sent := &slbv1.CreateServerGroupRequest{Servers: slices.Repeat([]*slbv1.Server{rightServer()}, items)}
		return testing.AllocsPerRun(1, func() { _ = table.Check(sent) })
	}
	if longest, huge := allocations(MaxItems), allocations(10*MaxItems); huge > 2*longest {
		t.Errorf("%v allocations for %d items, %v for ten times as many", longest, MaxItems, huge)
	}
}

func rightServer() *slbv1.Server {
	return &slbv1.Server{Type: slbv1.ServerType_SERVER_TYPE_ECS, ServerId: "i-1", Port: 80}
}

// TestRightItemsAreCheap: the lists of most requests are right, and looking at them makes nothing that only a refusal needs. A full refusal
// ends the look.
func TestRightItemsAreCheap(t *testing.T) {
	table := NewTable()
	allocations := func(item func() *slbv1.Server) float64 {
		sent := &slbv1.CreateServerGroupRequest{RequestId: "r"}
		for range MaxItems {
			sent.Servers = append(sent.Servers, item())
		}
		return testing.AllocsPerRun(1, func() { _ = table.Check(sent) })
	}
	if right := allocations(rightServer); right > 2*MaxItems { // one for the place of each
		t.Errorf("%v allocations for %d right items", right, MaxItems)
	}
	if wrong := allocations(func() *slbv1.Server { return newer(rightServer(), 77) }); wrong > MaxItems {
		t.Errorf("%v allocations for %d wrong items", wrong, MaxItems)
	}
}
