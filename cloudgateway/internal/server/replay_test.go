package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/testing/protocmp"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/cloudgateway/writetest"
)

// numbered is a connection on which every write that has no request_id gets one, and the same write the same one. It keeps the
// answers.
type numbered struct {
	grpc.ClientConnInterface

	answers []proto.Message
}

// Invoke implements grpc.ClientConnInterface.
func (n *numbered) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	request := args.(proto.Message).ProtoReflect()
	if id := request.Descriptor().Fields().ByName("request_id"); id != nil && request.Get(id).String() == "" {
		content, err := proto.MarshalOptions{Deterministic: true}.Marshal(request.Interface())
		if err != nil {
			return err
		}
		sum := sha256.Sum256(content)
		request.Set(id, protoreflect.ValueOfString(hex.EncodeToString(sum[:16])))
	}
	err := n.ClientConnInterface.Invoke(ctx, method, args, reply, opts...)
	n.answers = append(n.answers, reply.(proto.Message))
	return err
}

// TestRepeatedWritesCostNothing: each write RPC is answered the second time with what it answered the first time, and the cloud does
// not hear of it.
func TestRepeatedWritesCostNothing(t *testing.T) {
	for _, op := range writetest.Operations() {
		t.Run(op.Name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			at := w.site(t, op)
			conn := &numbered{ClientConnInterface: w.conn}
			client := gateway.NewClient(conn)
			if err := op.Run(t.Context(), client, at); err != nil {
				t.Fatal(err)
			}
			first := conn.answers
			conn.answers = nil
			w.forget()
			if err := op.Run(t.Context(), client, at); err != nil {
				t.Errorf("repeated: %v", err)
			}
			if diff := cmp.Diff(first, conn.answers, protocmp.Transform()); diff != "" {
				t.Errorf("answers (-first +repeated):\n%s", diff)
			}
			if calls := w.actions(true); len(calls) > 0 {
				t.Errorf("the cloud was asked again: %q", calls)
			}
		})
	}
}

// TestFirstResultStands: a repetition says what the first request did, not what became of it. Who wants it done anew takes a new
// request_id.
func TestFirstResultStands(t *testing.T) {
	w := newWorld(t)
	lb := w.createBalancer(t, "lb-1")
	request := groupRequest(lb, ecsServers(0, 2)...)
	first := w.createGroup(t, lb, ecsServers(0, 2)...)
	if _, err := w.ServerGroups.DeleteServerGroup(t.Context(),
		&slbv1.DeleteServerGroupRequest{LoadBalancerId: lb, ServerGroupId: first}); err != nil {
		t.Fatal(err)
	}
	w.forget()
	if again := w.createGroup(t, lb, ecsServers(0, 2)...); again != first {
		t.Errorf("repeated: got %s, want %s", again, first)
	}
	other := proto.CloneOf(request)
	other.Servers = ecsServers(0, 3)
	_, err := w.ServerGroups.CreateServerGroup(t.Context(), other)
	if e, _ := rpcerr.From(err); rpcerr.ReasonOf(err) != rpcerr.IdempotencyMismatch || len(e.Fields) != 1 ||
		e.Fields[0].Field != "request_id" {
		t.Errorf("other content: got %v, want a refusal of request_id", err)
	}
	if calls := w.actions(true); len(calls) > 0 {
		t.Errorf("the cloud was asked: %q", calls)
	}
	request.RequestId = "anew"
	if answer, err := w.ServerGroups.CreateServerGroup(t.Context(), request); err != nil || answer.GetServerGroupId() == first {
		t.Errorf("a new id: got %v, %v", answer, err)
	}
}

// TestRepetitionsMeet: callers who repeat a write before it is done share its result.
func TestRepetitionsMeet(t *testing.T) {
	w := newWorld(t)
	lb := w.createBalancer(t, "lb-1")
	w.strike(t, fault.Rule{Action: "CreateVServerGroup", When: fault.After, Latency: api.Duration(100 * time.Millisecond)})
	w.forget()
	const callers = 5
	var (
		calls  sync.WaitGroup
		groups [callers]string
	)
	for i := range groups {
		calls.Go(func() {
			answer, err := w.ServerGroups.CreateServerGroup(t.Context(), groupRequest(lb, ecsServers(0, 2)...))
			if err != nil {
				t.Error(err)
			}
			groups[i] = answer.GetServerGroupId()
		})
	}
	calls.Wait()
	for _, group := range groups {
		if group == "" || group != groups[0] {
			t.Errorf("groups %q, want one", groups)
		}
	}
	if diff := cmp.Diff([]string{"CreateVServerGroup"}, w.actions(true)); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// TestHalfABatchIsRepeated: a batch of which an item failed is tried again, and remembered once all is done.
func TestHalfABatchIsRepeated(t *testing.T) {
	w := newWorld(t)
	entry := func(n int, destination string) *vpcv1.RouteEntry {
		return &vpcv1.RouteEntry{RouteTableId: testTable, DestinationCidr: destination, NextHopId: instanceID(n)}
	}
	create := func(requestID string, entries ...*vpcv1.RouteEntry) []*vpcv1.RouteEntryResult {
		t.Helper()
		answer, err := w.Routes.BatchCreateRouteEntries(t.Context(), &vpcv1.BatchCreateRouteEntriesRequest{
			VpcId: testVPC, RequestId: requestID, RouteEntries: entries,
		})
		if err != nil {
			t.Fatal(err)
		}
		return answer.GetResults()
	}
	inTheWay := entry(9, "10.0.1.0/24")
	create("", inTheWay)
	batch := []*vpcv1.RouteEntry{entry(0, "10.0.0.0/24"), entry(1, "10.0.1.0/24")}
	got := create("batch", batch...)
	if rpcerr.ReasonOf(rpcerr.FromItem(got[1].GetError())) != rpcerr.RouteConflict {
		t.Fatalf("got %v, want a conflict", got)
	}
	if _, err := w.Routes.BatchDeleteRouteEntries(t.Context(), &vpcv1.BatchDeleteRouteEntriesRequest{
		VpcId: testVPC, RouteEntries: []*vpcv1.RouteEntry{inTheWay},
	}); err != nil {
		t.Fatal(err)
	}
	for _, wantCalls := range []bool{true, false} {
		w.forget()
		if err := writetest.FirstFailure(nil, create("batch", batch...)); err != nil {
			t.Errorf("repeated: %v", err)
		}
		if calls := w.actions(true); (len(calls) > 0) != wantCalls {
			t.Errorf("the cloud was asked %q", calls)
		}
	}
}
