package check

import (
	"slices"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/rpcerr"
)

// TestUnknownFilters: a filter of a newer caller is refused and not dropped, which would make the answer too broad.
func TestUnknownFilters(t *testing.T) {
	table := NewTable([]Rule{Of(func(*Request, *slbv1.ListLoadBalancersRequest) {})})
	newer := func(number protowire.Number) []byte {
		return protowire.AppendString(protowire.AppendTag(nil, number, protowire.BytesType), "x")
	}
	for _, tc := range []struct {
		name        string
		outside, in []byte // of fields that this version lacks: of the request, and of its second tag
		want        []string
	}{
		{name: "none"},
		{name: "one", outside: newer(900), want: []string{"900"}},
		{name: "one of them twice", outside: slices.Concat(newer(900), newer(901), newer(900)), want: []string{"900", "901"}},
		{name: "in a message of a list", in: newer(77), want: []string{"tags[1].77"}},
		{name: "more than an answer tells", outside: slices.Concat(slices.Collect(func(yield func([]byte) bool) {
			for i := range 30 {
				if !yield(newer(protowire.Number(900 + i))) {
					return
				}
			}
		})...), want: []string{
			"900", "901", "902", "903", "904", "905", "906", "907", "908", "909", "910", "911", "912", "913", "914", "915", "916", "917", "918", "919",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			second := &commonv1.Tag{Key: "b"}
			second.ProtoReflect().SetUnknown(tc.in)
			sent := &slbv1.ListLoadBalancersRequest{Name: "web", Tags: []*commonv1.Tag{{Key: "a"}, second}}
			sent.ProtoReflect().SetUnknown(tc.outside)
			wire, err := proto.Marshal(sent)
			if err != nil {
				t.Fatal(err)
			}
			got := &slbv1.ListLoadBalancersRequest{}
			if err := proto.Unmarshal(wire, got); err != nil {
				t.Fatal(err)
			}
			err = table.Check(got)
			if len(tc.want) == 0 {
				if err != nil {
					t.Errorf("a request of this version is refused: %v", err)
				}
				return
			}
			e, ok := rpcerr.From(err)
			if !ok || e.Code != codes.InvalidArgument {
				t.Fatalf("got %v, want INVALID_ARGUMENT", err)
			}
			var fields []string
			for _, v := range e.Fields {
				fields = append(fields, v.Field)
			}
			if !slices.Equal(fields, tc.want) {
				t.Errorf("the refusal names %q, want %q", fields, tc.want)
			}
		})
	}
}

// TestNothingIsLookedForInHugeLists: a list that is refused for its length costs no more than the longest that is not.
func TestNothingIsLookedForInHugeLists(t *testing.T) {
	table := NewTable([]Rule{Of(func(*Request, *slbv1.CreateServerGroupRequest) {})})
	allocations := func(items int) float64 {
		sent := &slbv1.CreateServerGroupRequest{RequestId: "r", Servers: make([]*slbv1.Server, items)}
		return testing.AllocsPerRun(1, func() {
			if err := table.Check(sent); err != nil {
				t.Error(err)
			}
		})
	}
	if longest, huge := allocations(MaxItems), allocations(10*MaxItems); huge > 2*longest {
		t.Errorf("%v allocations for %d items, %v for ten times as many", longest, MaxItems, huge)
	}
}
