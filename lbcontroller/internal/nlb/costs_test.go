package nlb_test

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	simapi "alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
	"alicloud-controllers.dev/lbcontroller/internal/nlb"
)

// TestCosts are the writes of the usual situations. A creation of a server group with its servers is two calls to the cloud.
func TestCosts(t *testing.T) {
	inWorld(t, 200, func(w *world) {
		w.create(web())
		reads := len(w.cloud.Calls()) - len(w.cloud.Writes())
		check(t, "reads: the zones of the configured vSwitches, and those that have NLBs", 2, reads)
		w.expect("cold create", "CreateLoadBalancer", "CreateServerGroup", "CreateListener")
		svc := w.service()
		check(t, "status", []corev1.LoadBalancerIngress{{Hostname: w.balancer().DNSName}}, svc.Status.LoadBalancer.Ingress)
		check(t, "finalizer", []string{nlb.Finalizer}, svc.Finalizers)
		check(t, "servers", 200, len(w.group().Servers))
		check(t, "name", groupName, w.group().Name)
		check(t, "description", "k8s.80.TCP.web.default.c-test", w.listener().Description)

		w.update(func(svc *corev1.Service) { svc.Labels["team"] = "a" })
		check(t, "calls after a change that means nothing", 0, len(w.cloud.Calls()))
		w.addNode(201)
		w.settle()
		w.expect("one more node", "ApplyServerChanges")
		w.update(annotated(annotation.IdleTimeout, "60"))
		w.expect("an attribute of the listener", "UpdateListener")
		w.update(annotated(annotation.Scheduler, "rr"))
		w.expect("an attribute of the server group", "UpdateServerGroup")
		w.update(annotated(annotation.CrossZone, "off"))
		w.expect("an attribute of the NLB", "UpdateLoadBalancer")
		w.restart()
		w.expect("restart")
		w.after(8 * time.Hour)
		w.expect("drift checks")
		w.remove()
		w.expect("delete", "UpdateLoadBalancer", "DeleteLoadBalancer", "DeleteServerGroup")
		w.has("nothing")
		check(t, "finalizers", 0, len(w.service().Finalizers))
	})
}

// TestBesideEachOther: the server group is made while the cloud makes the NLB.
func TestBesideEachOther(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.set(func(s *simapi.Settings) { s.NLBActive, s.NLBJob = time.Minute, time.Second })
		w.create(web())
		check(t, "servers meanwhile", 2, len(w.group().Servers))
		check(t, "published meanwhile", 0, len(w.service().Status.LoadBalancer.Ingress))
		w.after(time.Minute)
		w.has("all", "balancer "+mark, "listener 80-0 TCP to "+groupName, "group "+groupName+" i-1:30080=100 i-2:30080=100")
		check(t, "published", 1, len(w.service().Status.LoadBalancer.Ingress))
	})
}

// TestGroupsBesideEachOther: what concerns all server groups of an NLB is done within the time of two jobs, not in one group after the
// other. What is refused in some is done in the others, and tried again.
func TestGroupsBesideEachOther(t *testing.T) {
	const ports, job, others = 50, 20 * time.Second, 15 * time.Second
	has := func(id string) func(*state.NLBServerGroup) bool {
		return func(g *state.NLBServerGroup) bool {
			return slices.ContainsFunc(g.Servers, func(s *state.NLBServer) bool { return s.ServerID == id })
		}
	}
	isThere := func(*state.NLBServerGroup) bool { return true }
	isTurns := func(g *state.NLBServerGroup) bool { return strings.EqualFold(g.Scheduler, "rr") }
	join := func(w *world) { w.addNode(3) }
	leave := func(w *world) {
		if err := w.kube.CoreV1().Nodes().Delete(t.Context(), "node-2", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	change := func(to func(*corev1.Service)) func(*world) { return func(w *world) { w.update(to) } }
	for _, test := range []struct {
		name, action, method string // of the cloud, and of the gateway
		before               int32
		then                 func(w *world)
		is                   func(*state.NLBServerGroup) bool
		// want is how many groups are so then, and refused how many changes the cloud refuses at first.
		want, refused int
	}{
		{"a node joins", "AddServersToServerGroup", "nlb.ApplyServerChanges", ports, join, has("i-3"), ports, 0},
		{"a node joins, and groups are refused", "AddServersToServerGroup", "nlb.ApplyServerChanges", ports, join, has("i-3"), ports, 3},
		{"a node goes", "RemoveServersFromServerGroup", "nlb.ApplyServerChanges", ports, leave, has("i-2"), 0, 0},
		{"another scheduler", "UpdateServerGroupAttribute", "nlb.UpdateServerGroup", ports,
			change(annotated(annotation.Scheduler, "rr")), isTurns, ports, 0},
		{"ports more", "CreateServerGroup", "nlb.CreateServerGroup", 1, change(withPorts(ports)), isThere, ports, 0},
		{"the Service goes", "DeleteServerGroup", "nlb.DeleteServerGroup", ports, (*world).remove, isThere, 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			inWorld(t, 2, func(w *world) {
				w.create(web(withPorts(test.before)))
				w.after(time.Minute)
				w.job(test.action, 0, job, "")
				w.cloud.Fail(test.method, test.refused, rpcerr.Errorf(rpcerr.ServerNotFound, "refused"))
				begin := time.Now()
				test.then(w)
				for time.Since(begin) < 2*job+others {
					w.after(time.Second)
				}
				got := 0
				w.cloud.Look(func(c *state.Cloud) {
					for _, g := range c.NLBServerGroups {
						if test.is(g) {
							got++
						}
					}
				})
				w.quiet()
				check(t, "groups", test.want, got)
			})
		})
	}
}

// TestJobsThatFail: what the cloud could not make is deleted and made anew, once each time.
func TestJobsThatFail(t *testing.T) {
	for _, action := range []string{"CreateLoadBalancer", "CreateServerGroup", "AddServersToServerGroup", "CreateListener"} {
		for _, times := range []int{1, 3} {
			inWorld(t, 2, func(w *world) {
				w.job(action, times, 0, "InternalError")
				w.create(web())
				w.after(10 * time.Minute)
				var stuck []string // It is protected, and the cloud changes nothing about what it could not make.
				if action == "CreateLoadBalancer" {
					stuck = []string{mainLines}
				}
				w.has(action, append(stuck, mainLines, "listener 80-0 TCP to "+groupName, nodeLine(groupName))...)
				w.remove()
				w.after(time.Minute)
				w.has(action+" and deleted", stuck...)
			})
		}
	}
}

// TestJobThatNeverEnds: the Service says what it waits for, others are served, and nothing is made twice when it ends after all.
func TestJobThatNeverEnds(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.job("CreateLoadBalancer", 0, 2*time.Hour, "")
		w.create(web())
		w.after(5 * time.Minute)
		check(t, "creations at first", 1, len(w.cloud.CallsOf("nlb.CreateLoadBalancer")))
		w.cloud.ResetCalls()
		w.after(time.Hour)
		w.says(controller.ReasonSyncFailed)
		if calls := w.cloud.Calls(); len(calls) < 10 || len(calls) > 18 || len(w.cloud.CallsOf("nlb.GetLoadBalancer")) != len(calls) {
			t.Errorf("%d calls in an hour, of which %d look at the NLB by its id; about 12 and no others are right", len(calls),
				len(w.cloud.CallsOf("nlb.GetLoadBalancer")))
		}
		w.after(2 * time.Hour)
		w.has("in the end", "balancer "+mark, "listener 80-0 TCP to "+groupName, "group "+groupName+" i-1:30080=100 i-2:30080=100")
		check(t, "creations later", 0, len(w.cloud.CallsOf("nlb.CreateLoadBalancer")))
	})
}

// lives walks through the life of a Service.
func lives(w *world) {
	w.create(web())
	w.update(annotated(annotation.Scheduler, "rr", annotation.CrossZone, "off", annotation.IdleTimeout, "60"))
	w.update(annotated(annotation.ServerGroupType, "Ip"))
}

// mishap is how a call goes wrong once, and whether the process dies then.
type mishap struct {
	name  string
	fault gatewaytest.Fault
	dies  bool
}

// mishaps are those of the nth call: all, and with -short one of them, in turn.
func mishaps(n int) []mishap {
	all := []mishap{
		{"fails", gatewaytest.Fault{Before: unavailable()}, false},
		{"is lost", gatewaytest.Fault{After: unavailable()}, false},
		{"fails, and the process dies", gatewaytest.Fault{Before: unavailable()}, true},
		{"is lost, and the process dies", gatewaytest.Fault{After: unavailable()}, true},
	}
	if testing.Short() {
		return all[n%len(all):][:1]
	}
	return all
}

// TestTroubleAtEveryCall: each call of a life fails, or its answer is lost, once, and the process dies at once. The end
// is the same, nothing is there twice, and nothing is left when the Service goes.
func TestTroubleAtEveryCall(t *testing.T) {
	end := []string{"balancer " + mark, "listener 80-0 TCP to " + groupName, "group " + groupName + " 10.1.0.1:30080=100 10.1.0.2:30080=100"}
	calls := 0
	inWorld(t, 2, func(w *world) {
		lives(w)
		w.has("without trouble", end...)
		w.remove()
		w.has("without trouble, deleted")
		calls = len(w.cloud.Calls())
	})
	if calls < 15 {
		t.Fatalf("only %d calls", calls)
	}
	for n := 1; n <= calls; n++ {
		for _, m := range mishaps(n) {
			inWorld(t, 2, func(w *world) {
				var count atomic.Int64 // Some calls are made at the same time.
				var died atomic.Bool
				w.cloud.Interpose(func(int, string, proto.Message) gatewaytest.Fault {
					if count.Add(1) == int64(n) {
						died.Store(true)
						return m.fault
					}
					return gatewaytest.Fault{}
				})
				mend := func() {
					if m.dies && died.Swap(false) {
						w.restart()
					}
					w.after(10 * time.Minute)
				}
				w.create(web())
				mend()
				w.update(annotated(annotation.Scheduler, "rr", annotation.CrossZone, "off", annotation.IdleTimeout, "60"))
				mend()
				w.update(annotated(annotation.ServerGroupType, "Ip"))
				mend()
				what := fmt.Sprintf("call %d %s", n, m.name)
				w.has(what, end...)
				w.remove()
				mend()
				w.has(what + ", deleted")
			})
		}
	}
}

// TestTroubleAfterAFailedJob: what is made in the place of an NLB that could not be made is protected in the end, too,
// whichever call fails and whenever the process dies.
func TestTroubleAfterAFailedJob(t *testing.T) {
	const most = 20
	for n := 1; n <= most; n++ {
		for _, m := range mishaps(n) {
			inWorld(t, 1, func(w *world) {
				w.job("CreateLoadBalancer", 1, 0, "InternalError")
				var count atomic.Int64 // Some calls are made at the same time.
				var died atomic.Bool
				w.cloud.Interpose(func(int, string, proto.Message) gatewaytest.Fault {
					if count.Add(1) == int64(n) {
						died.Store(true)
						return m.fault
					}
					return gatewaytest.Fault{}
				})
				w.create(web())
				if m.dies && died.Load() {
					w.restart()
				}
				w.after(10 * time.Minute)
				what := fmt.Sprintf("call %d %s", n, m.name)
				made := 0
				w.cloud.Look(func(c *state.Cloud) {
					for _, lb := range c.NLBs {
						if lb.Status == "CreateFailed" {
							continue
						}
						if made++; !lb.Deletion.On {
							t.Errorf("%s: the NLB is not protected", what)
						}
						for _, tag := range lb.Tags {
							if !slices.Contains([]string{ownership.TagService, ownership.TagCluster}, tag.Key) {
								t.Errorf("%s: the NLB has the tag %v", what, tag)
							}
						}
					}
				})
				check(t, what+": NLBs", 1, made)
			})
		}
	}
}
