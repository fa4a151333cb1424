package rpc

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/method"
	"alicloud-controllers.dev/proto/rpcerr"
)

// TestWeight: what is empty counts, in lists inside of messages too, and what is not known or malformed does not get in the way.
func TestWeight(t *testing.T) {
	t.Parallel()
	marshal := func(m proto.Message) []byte {
		wire, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return wire
	}
	servers := &slbv1.ApplyServerChangesRequest{Add: []*slbv1.Server{{}, {ServerId: "i-1", Port: 80}}, Remove: []*slbv1.Server{{}}}
	ids := &ecsv1.BatchGetInstancesRequest{InstanceIds: []string{"i-1", "i-2", ""}}
	for _, tt := range []struct {
		name  string
		wire  []byte
		of    proto.Message
		items int
		bytes int
	}{
		{"nothing", nil, ids, 0, 0},
		{"texts", marshal(ids), ids, 3, 3*perElement + 12},
		{"messages", marshal(servers), servers, 3, 3*perMessage + 13},
		{"a message that comes twice", []byte{2<<3 | 2, 0, 2<<3 | 2, 0}, &slbv1.GetServerGroupRequest{}, 2, 2*perMessage + 4},
		{"an unknown field", protowire.AppendString(protowire.AppendTag(nil, 1000, protowire.BytesType), "text"), ids, 0, 7},
		{"cut off", marshal(ids)[:8], ids, 1, perElement + 8},
		{"no tag", []byte{0xff}, ids, 0, 1},
		{"a number where a message should be", protowire.AppendVarint(protowire.AppendTag(nil, 2, protowire.VarintType), 7),
			&slbv1.GetServerGroupRequest{}, 0, 2},
	} {
		if got := weigh(tt.wire, tt.of.ProtoReflect().Descriptor(), 10); got != (weight{tt.items, tt.bytes}) {
			t.Errorf("%s: got %v, want %v", tt.name, got, weight{tt.items, tt.bytes})
		}
	}
}

// TestWeightEnds: what is refused for its items isn't counted to the end, inside of messages neither.
func TestWeightEnds(t *testing.T) {
	t.Parallel()
	servers := make([]*slbv1.Server, 1000)
	for i := range servers {
		servers[i] = &slbv1.Server{}
	}
	for name, request := range map[string]proto.Message{
		"texts":                 &ecsv1.BatchGetInstancesRequest{InstanceIds: make([]string, 1000)},
		"messages":              &slbv1.ApplyServerChangesRequest{Add: servers},
		"messages in a message": &slbv1.GetServerGroupResponse{ServerGroup: &slbv1.ServerGroup{Servers: servers}},
	} {
		wire, err := proto.Marshal(request)
		if err != nil {
			t.Fatal(err)
		}
		if got := weigh(wire, request.ProtoReflect().Descriptor(), 10).items; got != 11 {
			t.Errorf("%s: %d items are counted, want 11", name, got)
		}
	}
}

// TestWeightIsEnough: no list of any request takes more memory than its weight says, if it has as many empty items as there is room for.
func TestWeightIsEnough(t *testing.T) { //nolint:paralleltest // It measures the memory of the process.
	const items = 20_000
	seen := map[string]bool{}
	for _, m := range method.All() {
		request, err := protoregistry.GlobalTypes.FindMessageByName(m.Descriptor.Input().FullName())
		if err != nil {
			t.Fatal(err)
		}
		for _, field := range lists(m.Descriptor.Input()) {
			kind := field.Kind().String()
			if of := field.Message(); of != nil {
				kind = string(of.FullName())
			}
			if seen[kind] {
				continue
			}
			seen[kind] = true
			wire := bytes.Repeat(protowire.AppendVarint(protowire.AppendTag(nil, field.Number(), protowire.BytesType), 0), items)
			into := request.New().Interface()
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			if err := proto.Unmarshal(wire, into); err != nil {
				t.Fatal(err)
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			took, says := int(after.HeapAlloc)-int(before.HeapAlloc), weigh(wire, m.Descriptor.Input(), items)
			if says.items != items || took > says.bytes {
				t.Errorf("%s of %s: %d bytes of memory, the weight is %v", field.Name(), m.Name, took, says)
			}
			runtime.KeepAlive(into)
		}
	}
	if len(seen) < 5 {
		t.Errorf("only %v was measured", seen)
	}
}

// TestWeightOfResults: what a batch of ids that are not there becomes, with an error for each, takes no more memory than
// the weight of the request says.
func TestWeightOfResults(t *testing.T) { //nolint:paralleltest // It measures the memory of the process.
	const items = 20_000
	request := &ecsv1.BatchGetInstancesRequest{}
	for i := range items {
		request.InstanceIds = append(request.InstanceIds, fmt.Sprintf("i-%020d", i))
	}
	wire, err := proto.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	answer, errs := &ecsv1.BatchGetInstancesResponse{}, make([]error, items)
	for i, id := range request.GetInstanceIds() {
		errs[i] = rpcerr.Errorf(rpcerr.InstanceNotFound, "instance %s does not exist", id).WithAPI("ecs/DescribeInstances")
		answer.Results = append(answer.Results, &ecsv1.InstanceResult{Requested: id, Error: rpcerr.ToItem(errs[i])})
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	took := int(after.HeapAlloc) - int(before.HeapAlloc)
	if says := weigh(wire, request.ProtoReflect().Descriptor(), items); took > says.bytes {
		t.Errorf("%d bytes of memory, %d for each id, the weight is %v", took, took/items, says)
	}
	runtime.KeepAlive(answer)
	runtime.KeepAlive(errs)
}

// lists are the lists of a message that are not inside of another one.
func lists(of protoreflect.MessageDescriptor) (found []protoreflect.FieldDescriptor) {
	for i := range of.Fields().Len() {
		if f := of.Fields().Get(i); f.IsList() {
			found = append(found, f)
		}
	}
	return found
}

// TestHeavyRequests: a request that would take too much memory is refused before it is decoded.
func TestHeavyRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) { c.Limits.BytesPerCaller = 2 * 20_000 * perMessage })
	client := w.dial(tokenViewer).Client().LoadBalancers
	list := func(items int) error {
		r := &slbv1.ListLoadBalancersRequest{}
		r.ProtoReflect().SetUnknown(bytes.Repeat([]byte{1<<3 | 2, 0}, items)) // tags
		_, err := client.ListLoadBalancers(t.Context(), r)
		return err
	}
	if err := list(60_001); rpcerr.ReasonOf(err) != rpcerr.InvalidField || !strings.Contains(err.Error(), "60000 items") {
		t.Errorf("too many items: got %v", err)
	}
	if err := list(50_000); err == nil || !strings.Contains(err.Error(), "bytes") {
		t.Errorf("too much for the caller: got %v", err)
	}
}
