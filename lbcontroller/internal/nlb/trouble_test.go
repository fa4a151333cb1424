package nlb_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

// otherPort gives a Service a second port.
func otherPort(svc *corev1.Service) {
	svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{Name: "x", Port: 81, NodePort: 30081, Protocol: corev1.ProtocolTCP})
}

// changes are those of a life in which every write is made that lbcontroller makes for a Service with an NLB of its own.
func changes() [][]func(*corev1.Service) {
	return [][]func(*corev1.Service){
		{annotated(annotation.ZoneMaps, "cn-hangzhou-h:vsw-h,cn-hangzhou-i:vsw-i,cn-hangzhou-j:vsw-j"),
			annotated(annotation.AddressType, "intranet", annotation.CrossZone, "off")},
		{annotated(annotation.Scheduler, "rr", annotation.IdleTimeout, "60"), otherPort},
		{annotated(annotation.AddressType, "internet"),
			annotated(annotation.ZoneMaps, "cn-hangzhou-h:vsw-h,cn-hangzhou-j:vsw-j")},
		{annotated(annotation.ServerGroupType, "Ip"), func(svc *corev1.Service) { svc.Spec.Ports = svc.Spec.Ports[:1] }},
	}
}

// live goes through the life, with some time after each change, and returns what there was after each, and in the end.
func (w *world) live(pause time.Duration) (states [][]string) {
	note := func() {
		w.after(pause)
		lines := w.state()
		w.cloud.Look(func(c *state.Cloud) {
			for _, lb := range c.NLBs {
				var zones []string
				for _, z := range lb.Zones {
					zones = append(zones, z.ZoneID)
				}
				lines = append(lines, fmt.Sprintf("%s %v, protected %t, cross-zone %t", lb.AddressType, zones, lb.Deletion.On, !lb.CrossZoneOff))
			}
		})
		states = append(states, lines)
	}
	w.create(web())
	note()
	for _, change := range changes() {
		w.update(change...)
		note()
	}
	w.addNode(3)
	note()
	w.remove()
	note()
	return states
}

// undisturbed is the life without trouble, the methods of its writes, and the actions of the cloud of which each begins a job.
func undisturbed(t *testing.T) (states [][]string, methods, actions []string) {
	t.Helper()
	inWorld(t, 2, func(w *world) {
		states = w.live(time.Minute)
		named := map[string]bool{}
		for _, call := range w.cloud.Writes() {
			named[call.Method] = true
		}
		methods = slices.Sorted(maps.Keys(named))
		begun := map[string]bool{}
		w.cloud.Look(func(c *state.Cloud) {
			for _, j := range c.NLBJobs {
				begun[j.Action] = true
			}
		})
		actions = slices.Sorted(maps.Keys(begun))
	})
	if last := len(states) - 1; len(states[last]) > 0 {
		t.Errorf("left: %q", states[last])
	}
	want := strings.Fields("nlb.ApplyServerChanges nlb.CreateListener nlb.CreateLoadBalancer nlb.CreateServerGroup nlb.DeleteListener " +
		"nlb.DeleteLoadBalancer nlb.DeleteServerGroup nlb.UpdateListener nlb.UpdateLoadBalancer nlb.UpdateServerGroup")
	check(t, "writes of the life", want, methods)
	return states, methods, actions
}

// TestBurstsOfLocks: the cloud refuses each kind of write some times, since a job of somebody else's is under way. What
// comes out is the same.
func TestBurstsOfLocks(t *testing.T) {
	want, methods, _ := undisturbed(t)
	for _, method := range methods {
		inWorld(t, 2, func(w *world) {
			const burst = 4
			var refused atomic.Int64 // Calls of one method run side by side.
			w.cloud.Interpose(func(_ int, m string, _ proto.Message) gatewaytest.Fault {
				if m != method || refused.Add(1) > burst {
					return gatewaytest.Fault{}
				}
				return gatewaytest.Fault{Before: rpcerr.Errorf(rpcerr.ResourceBusy, "another job is under way").WithRetry(2 * time.Second)}
			})
			check(t, method+" is locked", want, w.live(10*time.Minute))
			check(t, method+" was refused", true, refused.Load() > 1)
		})
	}
}

// TestJobsOfEachKind: the first two jobs of each kind of write fail, or take longer than anybody waits. What comes out
// is the same.
func TestJobsOfEachKind(t *testing.T) {
	want, _, actions := undisturbed(t)
	for i, action := range actions {
		for name, job := range map[string]struct {
			takes time.Duration
			fails string
		}{"fails": {fails: "InternalError"}, "takes long": {takes: 8 * time.Minute}} {
			if testing.Short() && (job.fails != "") != (i%2 == 0) {
				continue // One of the two for each kind.
			}
			if action == "CreateLoadBalancer" && job.fails != "" {
				continue // What could not be made stays; see TestJobsThatFail.
			}
			inWorld(t, 2, func(w *world) {
				w.job(action, 2, job.takes, job.fails)
				check(t, action+" "+name, want, w.live(time.Hour))
				check(t, action+" was struck", true, w.cloud.Sim.Faults()[0].Struck > 0)
			})
		}
	}
}

// TestChangeDuringAChange: what is wanted changes while the cloud still changes zones and address type.
func TestChangeDuringAChange(t *testing.T) {
	for _, dies := range []bool{false, true} {
		inWorld(t, 2, func(w *world) {
			w.create(web())
			w.job("UpdateLoadBalancer*", 0, 5*time.Minute, "")
			for _, change := range changes() {
				w.update(change...)
				if dies {
					w.restart()
				}
			}
			w.after(2 * time.Hour)
			w.has("in the end", mainLines, "listener 80-0 TCP to "+groupName, "group "+groupName+" 10.1.0.1:30080=100 10.1.0.2:30080=100")
			lb := w.balancer()
			check(t, "zones", 2, len(lb.Zones))
			check(t, "address type", "Internet", lb.AddressType)
			w.remove()
			w.after(time.Hour)
			w.has("deleted")
		})
	}
}

// TestFailedCreationWithAllTags: with as many tags as there is room for, an NLB has none for the controller's note that it is to be
// protected.
// After a creation that fails it is protected from the beginning.
func TestFailedCreationWithAllTags(t *testing.T) {
	for n, protectedLate := range map[int]bool{17: true, 18: false} {
		inWorld(t, 2, func(w *world) {
			w.job("CreateLoadBalancer", 1, 0, "InternalError")
			tags := make([]string, n)
			for i := range tags {
				tags[i] = fmt.Sprintf("team-%d=a", i)
			}
			w.create(web(annotated(annotation.AdditionalTags, strings.Join(tags, ","))))
			w.after(time.Minute)
			check(t, fmt.Sprintf("%d tags: published", n), 1, len(w.service().Status.LoadBalancer.Ingress))
			creations := w.cloud.CallsOf("nlb.CreateLoadBalancer")
			check(t, fmt.Sprintf("%d tags: creations", n), 2, len(creations))
			last, _ := creations[1].Request.(*nlbv1.CreateLoadBalancerRequest)
			check(t, fmt.Sprintf("%d tags: protected later", n), protectedLate, last.GetDeletionProtection() == nil)
			w.cloud.Look(func(c *state.Cloud) {
				for id, lb := range c.NLBs {
					if lb.Status == "Active" {
						check(t, id+" is protected", true, lb.Deletion.On)
						check(t, id+" has tags", n+2, len(lb.Tags))
					}
				}
			})
		})
	}
}
