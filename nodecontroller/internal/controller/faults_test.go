package controller_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	kubetesting "k8s.io/client-go/testing"

	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway/gatewaytest"
	"alicloud-controllers.dev/services/nodes"
)

// TestEveryCallMayFail lets each call of an initialisation fail once, with and without an effect: the end is always the same.
func TestEveryCallMayFail(t *testing.T) {
	unavailable := &rpcerr.Error{Code: codes.Unavailable, Reason: rpcerr.CloudUnavailable, Message: "no"}
	lost := &rpcerr.Error{Code: codes.Unknown, Reason: rpcerr.OutcomeUnknown, Message: "lost"}
	for name, fault := range map[string]gatewaytest.Fault{"without effect": {Before: unavailable}, "with effect": {After: lost}} {
		for bad := 0; ; bad++ {
			happened := false
			t.Run(fmt.Sprintf("call %d fails %s", bad, name), func(t *testing.T) { happened = playWithFault(t, bad, fault) })
			if !happened {
				break
			}
		}
	}
}

func playWithFault(t *testing.T, bad int, fault gatewaytest.Fault) bool {
	t.Helper()
	var happened atomic.Bool
	prepare := func(w *world) {
		furnished(2)(w)
		w.cloud.Interpose(func(seq int, _ string, _ proto.Message) gatewaytest.Fault {
			if seq == bad {
				happened.Store(true)
				return fault
			}
			return gatewaytest.Fault{}
		})
	}
	run(t, nil, prepare, func(w *world) {
		w.Pass(7 * time.Minute)
		for i := range 2 {
			node := w.Node(fmt.Sprintf("node-%d", i))
			if nodes.IsUninitialized(node) || condition(node, corev1.NodeNetworkUnavailable).Status != corev1.ConditionTrue {
				t.Errorf("%s: taints %+v, conditions %+v", node.Name, node.Spec.Taints, node.Status.Conditions)
			}
		}
		w.cloud.Lock()
		defer w.cloud.Unlock()
		for id, eni := range w.cloud.Interfaces {
			if eni.SourceDestCheck {
				t.Errorf("the source/destination check of %s is on", id)
			}
		}
	})
	return happened.Load()
}

// TestNodeMadeAnewIsNotBlamed makes a Node anew, with the right provider id, while the cloud is asked about the wrong
// one. The answer comes late, and is no reason for a warning about the new Node.
func TestNodeMadeAnewIsNotBlamed(t *testing.T) {
	node := func(providerID, uid string) *corev1.Node {
		n := fresh(0)
		n.Spec.ProviderID, n.UID = region+"."+providerID, types.UID(uid)
		return n
	}
	prepare := func(w *world) {
		w.instance(0)
		w.CreateNode(node("i-wrong", "old"))
		var late atomic.Bool
		w.cloud.Interpose(func(_ int, method string, _ proto.Message) gatewaytest.Fault {
			if method == "GetInstance" && late.CompareAndSwap(false, true) {
				w.DeleteNode("node-0")
				w.CreateNode(node("i-0", "new"))
				<-time.After(time.Second) // The answer takes so long; the controller sees the new Node meanwhile.
			}
			return gatewaytest.Fault{}
		})
	}
	run(t, nil, prepare, func(w *world) {
		w.Pass(time.Minute)
		if nodes.IsUninitialized(w.Node("node-0")) || len(w.Events.Matching("node-0 InitializedNode")) != 1 {
			t.Errorf("taints %+v, events %v, want the new Node initialised", w.Node("node-0").Spec.Taints, w.Events.Matching("node-0"))
		}
		if got := w.Events.Matching("node-0 SyncNodeFailed"); len(got) != 0 {
			t.Errorf("%v, want no warning", got)
		}
	})
}

// TestNodeMadeAnewWaitsForItsOwnInterface makes a Node anew, for another instance, while the network interface of the
// old one is changed. The new Node keeps its taint until its own interface is changed, and no longer, whatever becomes
// of the last write to the old one.
func TestNodeMadeAnewWaitsForItsOwnInterface(t *testing.T) {
	for name, unreadable := range map[string]bool{"last write is refused": false, "last write fails": true} {
		t.Run(name, func(t *testing.T) {
			node := func(i int, uid types.UID) *corev1.Node {
				n := fresh(i)
				n.Name, n.UID = "node", uid
				return n
			}
			prepare := func(w *world) {
				w.instance(0)
				w.instance(1)
				w.guardUIDs()
				failGet := w.failGet()
				w.CreateNode(node(0, "old"))
				var late atomic.Bool
				w.cloud.Interpose(func(_ int, method string, _ proto.Message) gatewaytest.Fault {
					if method == "UpdateNetworkInterface" && late.CompareAndSwap(false, true) {
						w.DeleteNode("node")
						w.CreateNode(node(1, "new"))
						<-time.After(5 * time.Second) // The answer takes so long; the new Node is queued behind the old one meanwhile.
						failGet(unreadable)
					}
					return gatewaytest.Fault{}
				})
			}
			run(t, nil, prepare, func(w *world) {
				w.Pass(time.Minute)
				if nodes.IsUninitialized(w.Node("node")) {
					t.Errorf("taints %+v, want the new Node initialised", w.Node("node").Spec.Taints)
				}
				if got := w.Events.Matching("node InitializedNode"); len(got) != 1 || !strings.HasSuffix(got[0], "i-1") {
					t.Errorf("events %v, want one about the new Node", got)
				}
				w.cloud.Lock()
				defer w.cloud.Unlock()
				if w.cloud.Interfaces["eni-1"].SourceDestCheck {
					t.Error("the source/destination check of the new Node is on")
				}
			})
		})
	}
}

// failGet lets the next reading of a node fail when the result is called so.
func (w *world) failGet() func(bool) {
	var fails atomic.Bool
	w.Client.PrependReactor("get", "nodes", func(kubetesting.Action) (bool, runtime.Object, error) {
		return fails.Swap(false), nil, apierrors.NewInternalError(errors.New("etcd has no leader"))
	})
	return fails.Store
}
