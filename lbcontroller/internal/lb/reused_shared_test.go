package lb_test

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/intstr"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

// TestFreedListenerWakesDespiteFailure: a Service that gives up a listener while something else fails lets the one that
// waits for it have it at once: the next try finds the listener gone, and frees nothing.
func TestFreedListenerWakesDespiteFailure(t *testing.T) {
	busy := &rpcerr.Error{Code: codes.Unavailable, Reason: rpcerr.ResourceBusy, Message: "busy"}
	otherPort := func(w *world) { w.update(func(svc *corev1.Service) { svc.Spec.Ports[0].Port = 8080 }) }
	for name, free := range map[string]func(w *world){
		"deleted": func(w *world) {
			w.cloud.Fail("DeleteServerGroup", 1, busy)
			w.remove()
		},
		"another port": func(w *world) {
			w.cloud.Fail("CreateListener", 1, busy)
			otherPort(w)
		},
		"another port, which can't be noted": func(w *world) {
			w.calls()
			var failed atomic.Bool
			w.failing = func() gatewaytest.Fault {
				freed := slices.ContainsFunc(w.cloud.Calls(), func(c gatewaytest.Call) bool { return c.Method == "DeleteListener" })
				if !freed || failed.Swap(true) {
					return gatewaytest.Fault{}
				}
				return gatewaytest.Fault{Before: apierrors.NewInternalError(errors.New("down"))}
			}
			otherPort(w)
			check(t, "failed", true, failed.Load())
		},
		"moved": func(w *world) {
			w.cloud.Fail("DeleteServerGroup", 1, busy)
			w.usersCLB("lb-next")
			w.update(naming("lb-next"))
			w.clearStatus()
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, func(w *world) {
				w.usersCLB(usersLB)
				w.create(web(naming(usersLB), override))
				w.create(api(80, naming(usersLB), override))
				free(w)
				w.after(2 * time.Minute)
				check(t, "the freed listener", true, slices.Contains(w.parts(usersLB), "80->"+apiGroup+" (k8s/80/api/default/c-test)"))
			})
		})
	}
}

// TestSharedCLBAtTheSameTime: Services that start together for one port of the user's take it one after the other.
func TestSharedCLBAtTheSameTime(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.usersCLB(usersLB)
		w.cloud.Lock()
		w.listen(usersLB, 80, "rsp-of-"+usersLB, "to be overridden")
		w.cloud.Unlock()
		w.stop()
		w.create(web(naming(usersLB), override))
		w.create(api(80, naming(usersLB), override))
		w.start()
		updates := 0
		for _, name := range w.writes() {
			if name == "UpdateListener" {
				updates++
			}
		}
		check(t, "takers of the listener", 1, updates)
		w.hasEvents("the start", "listener 80/tcp of the load balancer is that of Service default/", "EnsuredLoadBalancer")
	})
}

// TestHeldGroupsWakeNobody: two Services that are refused something, each with a vServer group that a rule of the user's holds, don't wake
// each other for ever.
func TestHeldGroupsWakeNobody(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.usersCLB(usersLB)
		wrong := annotated(annotation.AddressType, "intranet") // It is public.
		w.create(web(naming(usersLB), wrong))
		w.create(api(443, naming(usersLB), wrong))
		w.cloud.Fail("DeleteServerGroup", 1000, &rpcerr.Error{Code: codes.FailedPrecondition, Reason: rpcerr.ServerGroupInUse,
			Message: "a rule uses it"})
		for _, name := range []string{"web", "api"} {
			w.patch(name,
				map[string]any{"spec": map[string]any{"ports": []corev1.ServicePort{{Name: "http", Port: 80, NodePort: 32000,
					Protocol: corev1.ProtocolTCP}}}})
		}
		w.after(time.Hour)
		if calls := w.calls(); len(calls) > 30 {
			t.Errorf("%d calls in an hour: %v", len(calls), calls[:30])
		}
	})
}

// TestLostAnswersKeepTheBackoff: two Services that each can't take a pod out of the vServer group that both fill try it
// more and more seldom. Neither is woken by the other's attempts, whose outcome nobody knows.
func TestLostAnswersKeepTheBackoff(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.usersCLB(usersLB)
		samePods(w)
		w.create(web(sharing(80)...))
		w.create(api(443, sharing(443)...))
		lost := &rpcerr.Error{Code: codes.Unknown, Reason: rpcerr.OutcomeUnknown, Message: "the answer was lost"}
		w.cloud.Interpose(func(_ int, method string, _ proto.Message) gatewaytest.Fault {
			if method == "ApplyServerChanges" {
				return gatewaytest.Fault{Before: lost}
			}
			return gatewaytest.Fault{}
		})
		for _, service := range []string{"web", "api"} {
			w.endpoints(service, pod("10.0.0.1", "node-1"))
		}
		w.calls()
		w.after(time.Hour)
		if n := len(w.cloud.CallsOf("ApplyServerChanges")); n > 50 { // 2 with a delay of 1 s that doubles up to 5 min
			t.Errorf("%d attempts in an hour", n)
		}
		w.cloud.Interpose(nil)
		w.after(10 * time.Minute)
		check(t, "servers", []string{"eni-1:8080=100", "i-users:9000=7"}, w.servers())
	})
}

// TestTurnsKeepTheBackoff: Services that share a CLB and whose calls fail slowly are tried more and more seldom, though
// one often comes while another is at work.
func TestTurnsKeepTheBackoff(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.usersCLB(usersLB)
		w.cloud.Interpose(func(int, string, proto.Message) gatewaytest.Fault {
			<-time.After(20 * time.Second)
			return gatewaytest.Fault{Before: &rpcerr.Error{Code: codes.Unavailable, Reason: rpcerr.CloudUnavailable, Message: "down"}}
		})
		const services = 5
		for n := range services {
			w.create(named(fmt.Sprint("web-", n), n, naming(usersLB)))
		}
		w.after(time.Hour)
		if calls := len(w.cloud.Calls()); calls > 20*services { // With a delay of 1 s that doubles up to 5 min.
			t.Errorf("%d calls in an hour", calls)
		}
		w.cloud.Interpose(nil)
		w.after(10 * time.Minute)
		check(t, "server groups in the end", services+1, len(w.parts(usersLB))-1)
	})
}

// TestSharedGroupOfOneThatMayNotMove: a Service that names another CLB serves on where it is until its address is
// cleared. It puts back at once what another one takes out of the vServer group that both fill there, also if this
// leader has met it as one that may not move.
func TestSharedGroupOfOneThatMayNotMove(t *testing.T) {
	for _, restarted := range []bool{false, true} {
		inWorld(t, 1, func(w *world) {
			withRecords(w)
			w.usersCLB(usersLB)
			w.usersCLB("lb-next")
			samePods(w)
			w.create(web(sharing(80)...))
			w.create(api(443, sharing(443)...))
			w.patch("api", annotate(annotation.Prefix+annotation.ID, "lb-next"))
			w.settle()
			if restarted {
				w.restart()
			}
			w.remove()
			check(t, fmt.Sprintf("servers (restarted: %t)", restarted), []string{"eni-1:8080=100", "eni-1:8080=100",
				"i-users:9000=7", "i-users:9000=7"}, w.servers())
		})
	}
}

// TestSharedGroupOfOneThatNamesNoCLB: a Service whose annotation for the CLB is removed serves on in the vServer group
// that it fills with another one, until its address is cleared. Then it has a CLB of its own, and the group what the
// other one asks for.
func TestSharedGroupOfOneThatNamesNoCLB(t *testing.T) {
	for _, first := range []string{"web", "api"} { // Its name is on the servers.
		for _, mapped := range []bool{true, false} {
			for _, restarted := range []bool{false, true} {
				inWorld(t, 1, func(w *world) {
					holds := func(what string, want ...string) {
						t.Helper()
						if restarted {
							w.restart()
						}
						check(t, fmt.Sprintf("%s (first %s, mapped: %t, restarted: %t)", what, first, mapped, restarted), want, w.serversOf("mine"))
					}
					withRecords(w)
					w.usersCLB(usersLB)
					w.addENI("eni-1", "10.0.0.1", "10.0.0.2", "10.0.0.3")
					pods := func(service string, ips ...string) {
						var list []discoveryv1.Endpoint
						for _, ip := range ips {
							list = append(list, pod(ip, "node-1"))
						}
						w.endpoints(service, list...)
					}
					pods("web", "10.0.0.1", "10.0.0.2")
					pods("api", "10.0.0.1", "10.0.0.2")
					services := map[string]*corev1.Service{"web": web(sharing(80)...), "api": api(443, sharing(443)...)}
					w.create(services[first])
					delete(services, first)
					for _, svc := range services {
						w.create(svc)
					}
					holds("before", "10.0.0.1", "10.0.0.2")
					w.update(func(svc *corev1.Service) {
						delete(svc.Annotations, annotation.Prefix+annotation.ID)
						if !mapped {
							delete(svc.Annotations, annotation.Prefix+annotation.VGroupPort)
						}
					})
					holds("without the id", "10.0.0.1", "10.0.0.2")
					pods("web", "10.0.0.1", "10.0.0.3")
					pods("api", "10.0.0.1", "10.0.0.3")
					w.settle()
					holds("other pods", "10.0.0.1", "10.0.0.3")
					pods("api", "10.0.0.3")
					w.settle()
					holds("one of one Service only", "10.0.0.1", "10.0.0.3")
					pods("web", "10.0.0.2")
					w.settle()
					holds("pods of their own", "10.0.0.2", "10.0.0.3")
					pods("web", "10.0.0.2", "10.0.0.3")
					w.settle()
					w.clearStatus()
					if mapped { // It has no effect without the CLB, and may be refused.
						w.update(func(svc *corev1.Service) { delete(svc.Annotations, annotation.Prefix+annotation.VGroupPort) })
					}
					holds("after the move", "10.0.0.3")
					if n := len(w.instances()); n != 2 {
						t.Errorf("%d load balancers, want that of the user and one of its own", n)
					}
				})
			}
		}
	}
}

// TestFilledGroupsOfOneThatNamesNoCLB: the same with several ports, as long as annotation vgroup-port says which group is for which.
func TestFilledGroupsOfOneThatNamesNoCLB(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.usersCLB(usersLB)
		w.cloud.Lock()
		w.cloud.ServerGroups["rsp-2"] = &state.ServerGroup{LoadBalancerID: usersLB, Name: "second"}
		w.cloud.Unlock()
		w.addENI("eni-1", "10.0.0.1")
		w.create(web(naming(usersLB), eniMode, annotated(annotation.VGroupPort, usersRsp+":80,rsp-2:443"), func(svc *corev1.Service) {
			svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{Name: "https", Port: 443, NodePort: 30443,
				Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(8443)})
		}))
		w.pods(pod("10.0.0.1", "node-1"))
		before := w.servers()
		w.update(func(svc *corev1.Service) { delete(svc.Annotations, annotation.Prefix+annotation.ID) })
		check(t, "servers without the id", []string{"eni-1:8080=100", "eni-1:8443=100", "i-users:9000=7"}, w.servers())
		w.pods()
		check(t, "servers without pods", []string{"i-users:9000=7"}, w.servers())
		w.pods(pod("10.0.0.1", "node-1"))
		check(t, "servers with pods", before, w.servers())
		check(t, "those of the second group", []string{"10.0.0.1"}, w.serversOf("second"))
	})
}

// serversOf lists the addresses of the network interfaces in a vServer group.
func (w *world) serversOf(group string) (list []string) {
	w.cloud.Lock()
	defer w.cloud.Unlock()
	for _, g := range w.cloud.ServerGroups {
		for _, s := range g.Servers {
			if g.Name == group && s.Type == "eni" {
				list = append(list, s.ServerIP)
			}
		}
	}
	slices.Sort(list)
	return list
}
