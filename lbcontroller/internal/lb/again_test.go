package lb_test

import (
	"net/netip"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

// TestHeldGroupIsNotTriedAtEveryCheck: a vServer group that a rule of a user's holds is tried again after a day, or
// when the user changes the Service, and not at every check for drift, each time with an event and without the hash
// meanwhile.
func TestHeldGroupIsNotTriedAtEveryCheck(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web(morePort))
		w.cloud.Fail("DeleteServerGroup", 1000, &rpcerr.Error{Code: codes.FailedPrecondition, Reason: rpcerr.ServerGroupInUse,
			Message: "a rule uses it"})
		w.update(func(svc *corev1.Service) { svc.Spec.Ports = svc.Spec.Ports[:1] })
		w.events.take()
		w.cloud.ResetCalls()
		w.after(22 * time.Hour)
		if n := len(w.cloud.CallsOf("DeleteServerGroup")); n != 0 {
			t.Errorf("%d attempts within a day", n)
		}
		check(t, "events", []string(nil), w.events.take())
		w.after(10 * time.Hour)
		check(t, "attempts after a day", 1, len(w.cloud.CallsOf("DeleteServerGroup")))
		w.cloud.ResetCalls()
		w.update(annotated(annotation.Scheduler, "wrr"))
		check(t, "attempts after a change", 1, len(w.cloud.CallsOf("DeleteServerGroup")))
	})
}

// TestAddressOfAnotherPod: the address of a pod that is gone goes to another pod on another interface, in one change of the endpoints.
func TestAddressOfAnotherPod(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		is := func(uid string) discoveryv1.Endpoint {
			e := pod("10.0.0.1", "node-1")
			e.TargetRef = &corev1.ObjectReference{Kind: "Pod", Name: "p", UID: types.UID(uid)}
			return e
		}
		w.addENI("eni-1", "10.0.0.1")
		w.pods(is("u-1"))
		w.create(web(eniMode))
		check(t, "servers", []string{"eni-1:8080=100"}, w.servers())
		w.addENI("eni-1", netip.MustParseAddr("10.0.0.7").String())
		w.addENI("eni-2", "10.0.0.1")
		w.pods(is("u-2"))
		check(t, "servers", []string{"eni-2:8080=100"}, w.servers())
	})
}

// TestLockedLoadBalancer: who owes money is told so, and not that it is tried again.
func TestLockedLoadBalancer(t *testing.T) {
	for name, change := range map[string]func(*world){
		"attribute": func(w *world) { w.update(annotated(annotation.Scheduler, "wrr")) },
		"node":      func(w *world) { w.addNode(2); w.settle() },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, func(w *world) {
				w.create(web())
				w.cloud.Lock()
				for _, lb := range w.cloud.LoadBalancers {
					lb.Status = "locked"
				}
				w.cloud.Unlock()
				w.cloud.Interpose(func(_ int, method string, _ proto.Message) gatewaytest.Fault {
					if method == "UpdateListener" || method == "ApplyServerChanges" {
						return gatewaytest.Fault{Before: &rpcerr.Error{Code: codes.Aborted, Reason: rpcerr.ResourceBusy,
							Message: "the load balancer is busy"}}
					}
					return gatewaytest.Fault{}
				})
				w.events.take()
				change(w)
				w.hasEvents("what to do", "SyncLoadBalancerFailed", "is locked", "settle the bill")
				w.cloud.Interpose(nil)
				w.cloud.Lock()
				for _, lb := range w.cloud.LoadBalancers {
					lb.Status = ""
				}
				w.cloud.Unlock()
				w.after(30 * time.Minute)
				check(t, "Synced", "Synced=True Synced", w.conditions()[1])
			})
		})
	}
}

// TestNoListenerForAUsersLoadBalancer: an address without any listener that leads to the Service is told.
func TestNoListenerForAUsersLoadBalancer(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.usersCLB(usersLB)
		w.create(web(naming(usersLB)))
		w.hasEvents("what is missing", "Warning UnknownAnnotation",
			"no listener of load balancer "+usersLB+" forwards to a server group of the Service", "force-override")
		var group string
		w.cloud.Lock()
		for id, g := range w.cloud.ServerGroups {
			if g.Name != "mine" {
				group = id
			}
		}
		w.cloud.Unlock()
		w.events.take()
		w.listen(usersLB, 80, group, "by hand")
		w.update(annotated(annotation.Scheduler, "wrr"))
		for _, event := range w.events.take() {
			if event == "no listener" {
				t.Error(event)
			}
		}
	})
}

// TestRefusedListenerCostsNoReads: what the cloud refuses for good is tried again from time to time, without reading all each time.
func TestRefusedListenerCostsNoReads(t *testing.T) {
	for name, refusal := range map[string]*rpcerr.Error{
		"invalid": {Code: codes.InvalidArgument, Reason: rpcerr.InvalidField, Message: "no such port"},
		"quota":   {Code: codes.ResourceExhausted, Reason: rpcerr.QuotaExceeded, Message: "no more listeners"},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, func(w *world) {
				w.create(web())
				w.cloud.Interpose(func(_ int, _ string, req proto.Message) gatewaytest.Fault {
					if c, ok := req.(*slbv1.CreateListenerRequest); ok && c.GetKey().GetPort() == 8081 {
						return gatewaytest.Fault{Before: refusal}
					}
					return gatewaytest.Fault{}
				})
				w.update(morePort)
				w.cloud.ResetCalls()
				w.after(2 * time.Hour)
				if n := len(w.cloud.CallsOf("CreateListener")); n == 0 {
					t.Error("it isn't tried again")
				}
				check(t, "reads", 0, len(w.cloud.CallsOf("GetLoadBalancer")))
			})
		})
	}
}
