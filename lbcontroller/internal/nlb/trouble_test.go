package nlb_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"

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
		state := w.state()
		w.cloud.Lock()
		for _, lb := range w.cloud.NLB.LoadBalancers {
			var zones []string
			for _, z := range lb.GetZoneMappings() {
				zones = append(zones, z.GetZoneId())
			}
			state = append(state, fmt.Sprintf("%v %v, protected %t, cross-zone %t", lb.GetAddressType(), zones,
				lb.GetDeletionProtection().GetEnabled(), lb.GetCrossZoneEnabled()))
		}
		w.cloud.Unlock()
		states = append(states, state)
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

// undisturbed is the life without trouble, and the methods of its writes.
func undisturbed(t *testing.T) (states [][]string, methods []string) {
	t.Helper()
	inWorld(t, 2, func(w *world) {
		states = w.live(time.Minute)
		named := map[string]bool{}
		for _, call := range w.cloud.Writes() {
			named[call.Method] = true
		}
		methods = slices.Sorted(maps.Keys(named))
	})
	if last := len(states) - 1; len(states[last]) > 0 {
		t.Errorf("left: %q", states[last])
	}
	want := strings.Fields("nlb.ApplyServerChanges nlb.CreateListener nlb.CreateLoadBalancer nlb.CreateServerGroup nlb.DeleteListener " +
		"nlb.DeleteLoadBalancer nlb.DeleteServerGroup nlb.UpdateListener nlb.UpdateLoadBalancer nlb.UpdateServerGroup")
	check(t, "writes of the life", want, methods)
	return states, methods
}

// TestBurstsOfLocks: the cloud refuses each kind of write some times, since a job of somebody else's is under way. What
// comes out is the same.
func TestBurstsOfLocks(t *testing.T) {
	want, methods := undisturbed(t)
	for _, method := range methods {
		inWorld(t, 2, func(w *world) {
			refused := map[string]int{}
			w.cloud.Interpose(func(_ int, m string, _ proto.Message) gatewaytest.Fault {
				const burst = 4
				if m != method || refused[m] == burst {
					return gatewaytest.Fault{}
				}
				refused[m]++
				return gatewaytest.Fault{Before: rpcerr.Errorf(rpcerr.ResourceBusy, "another job is under way").WithRetry(2 * time.Second)}
			})
			check(t, method+" is locked", want, w.live(10*time.Minute))
			check(t, method+" was refused", true, refused[method] > 1)
		})
	}
}

// TestJobsOfEachKind: the first two jobs of each kind of write fail, or take longer than anybody waits. What comes out
// is the same.
func TestJobsOfEachKind(t *testing.T) {
	want, methods := undisturbed(t)
	for _, method := range methods {
		for name, job := range map[string]gatewaytest.Job{"fails": {Fails: "InternalError"}, "takes long": {Takes: 8 * time.Minute}} {
			if method == "nlb.CreateLoadBalancer" && job.Fails != "" {
				continue // What could not be made stays; see TestJobsThatFail.
			}
			inWorld(t, 2, func(w *world) {
				left := 2
				w.cloud.Lock()
				w.cloud.NLB.Job = func(m string, _ proto.Message) gatewaytest.Job {
					if m != method || left == 0 {
						return gatewaytest.Job{}
					}
					left--
					return job
				}
				w.cloud.Unlock()
				check(t, method+" "+name, want, w.live(time.Hour))
				check(t, method+" was struck", true, left < 2)
			})
		}
	}
}

// TestChangeDuringAChange: what is wanted changes while the cloud still changes zones and address type.
func TestChangeDuringAChange(t *testing.T) {
	for _, dies := range []bool{false, true} {
		inWorld(t, 2, func(w *world) {
			w.create(web())
			w.cloud.Lock()
			w.cloud.NLB.Job = func(m string, _ proto.Message) gatewaytest.Job {
				if m == "nlb.UpdateLoadBalancer" {
					return gatewaytest.Job{Takes: 5 * time.Minute}
				}
				return gatewaytest.Job{}
			}
			w.cloud.Unlock()
			for _, change := range changes() {
				w.update(change...)
				if dies {
					w.restart()
				}
			}
			w.after(2 * time.Hour)
			w.has("in the end", mainLines, "listener 80-0 TCP to "+groupName, "group "+groupName+" 10.1.0.1:30080=100 10.1.0.2:30080=100")
			lb := w.balancer()
			check(t, "zones", 2, len(lb.GetZoneMappings()))
			check(t, "address type", nlbv1.AddressType_ADDRESS_TYPE_INTERNET, lb.GetAddressType())
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
			fails := true
			w.cloud.Lock()
			w.cloud.NLB.Job = func(m string, _ proto.Message) gatewaytest.Job {
				if m != "nlb.CreateLoadBalancer" || !fails {
					return gatewaytest.Job{}
				}
				fails = false
				return gatewaytest.Job{Fails: "InternalError"}
			}
			w.cloud.Unlock()
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
			for id, lb := range w.cloud.NLB.LoadBalancers {
				if lb.GetStatus() == nlbv1.LoadBalancerStatus_LOAD_BALANCER_STATUS_ACTIVE {
					check(t, id+" is protected", true, lb.GetDeletionProtection().GetEnabled())
					check(t, id+" has tags", n+2, len(lb.GetTags()))
				}
			}
		})
	}
}
