package controller_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/services/gateway/gatewaytest"
	"alicloud-controllers.dev/services/rpcerr"
)

// TestEveryCallMayFail lets each call of a story fail once, with and without an effect: the end is always the same.
func TestEveryCallMayFail(t *testing.T) {
	unavailable := &rpcerr.Error{Code: codes.Unavailable, Reason: rpcerr.CloudUnavailable, Message: "no"}
	lost := &rpcerr.Error{Code: codes.Unknown, Reason: rpcerr.OutcomeUnknown, Message: "lost"}
	for name, fault := range map[string]gatewaytest.Fault{"without effect": {Before: unavailable}, "with effect": {After: lost}} {
		for bad := 0; ; bad++ {
			happened := false
			t.Run(fmt.Sprintf("call %d fails %s", bad, name), func(t *testing.T) {
				happened = playWithFault(t, bad, fault)
			})
			if !happened {
				break
			}
		}
	}
}

// playWithFault plays a story: nodes with a leftover and a conflict in the table, one joins, one leaves. It reports whether the
// faulty call was ever made.
func playWithFault(t *testing.T, bad int, fault gatewaytest.Fault) bool {
	t.Helper()
	var happened atomic.Bool
	prepare := func(w *world) {
		w.entry(tableA, "10.0.0.0/24", "i-2", "")                      // In the way of node-0, to a node of ours.
		w.entry(tableA, "10.0.8.0/24", "i-8", "k8s/c-1/node-8")        // Left over.
		w.entry(tableA, "10.0.9.0/24", "i-9", "somebody else's route") // Foreign.
		w.cloud.Interpose(func(seq int, _ string, _ proto.Message) gatewaytest.Fault {
			if seq == bad {
				happened.Store(true)
				return fault
			}
			return gatewaytest.Fault{}
		})
	}
	run(t, nil, []*corev1.Node{makeNode(0), makeNode(1), makeNode(2)}, prepare, func(w *world) {
		joining := makeNode(3)
		w.instance(joining)
		w.CreateNode(joining)
		w.DeleteNode("node-1")
		w.Pass(25 * time.Minute) // Of five routes two may go in ten minutes.
		want := []string{"10.0.0.0/24→i-0", "10.0.2.0/24→i-2", "10.0.3.0/24→i-3", "10.0.9.0/24→i-9"}
		if diff := cmp.Diff(want, w.routes(tableA)); diff != "" {
			t.Errorf("routes (-want +got):\n%s", diff)
		}
		for _, name := range []string{"node-0", "node-2", "node-3"} {
			if got := w.network(name); got != "False RouteCreated" {
				t.Errorf("%s: NetworkUnavailable %s", name, got)
			}
		}
	})
	return happened.Load()
}
