package clb

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	kubetesting "k8s.io/client-go/testing"

	"alicloud-controllers.dev/services/gateway/gatewaytest"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

// state describes what the cloud holds, without ids, so that the outcome of two runs can be compared.
func (w *world) state() []string {
	w.cloud.Lock()
	defer w.cloud.Unlock()
	var lines []string
	for _, lb := range w.cloud.LoadBalancers {
		lines = append(lines, fmt.Sprintf("CLB %s protected=%t tags=%d", lb.GetName(), lb.GetDeleteProtection(), len(lb.GetTags())))
	}
	names := map[string]string{}
	for id, g := range w.cloud.ServerGroups {
		names[id] = g.Name
		var servers []string
		for _, s := range g.Servers {
			servers = append(servers, fmt.Sprintf("%s:%d=%d", s.GetServerId(), s.GetPort(), s.GetWeight()))
		}
		slices.Sort(servers)
		lines = append(lines, fmt.Sprintf("group %s of %s %s", g.Name, w.cloud.LoadBalancers[g.LoadBalancerID].GetName(), strings.Join(servers, " ")))
	}
	for k, l := range w.cloud.Listeners {
		lines = append(lines, fmt.Sprintf("listener %s %d %s %s -> %s %s", w.cloud.LoadBalancers[k.LoadBalancerID].GetName(), k.Port, k.Protocol, l.GetStatus(), names[l.GetConfig().GetServerGroupId()], l.GetConfig().GetScheduler()))
	}
	slices.Sort(lines)
	return lines
}

// scenario is a way from one Service to another.
type scenario struct {
	users  []string // CLBs of users
	before *corev1.Service
	change func(*world)
}

func scenarios() map[string]scenario {
	twoPorts := func(svc *corev1.Service) {
		svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{Name: "https", Port: 443, NodePort: 30443, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(8443)})
	}
	mapped := annotated(annotation.VGroupPort, "rsp-of-"+usersLB+":80")
	return map[string]scenario{
		"create": {change: func(w *world) { w.create(web(twoPorts)) }},
		"change ports": {before: web(twoPorts), change: func(w *world) {
			w.update(func(svc *corev1.Service) {
				svc.Spec.Ports[0].NodePort = 31080
				svc.Spec.Ports[1].Port = 8443
				annotated(annotation.Scheduler, "wrr")(svc)
			})
		}},
		"change protocol": {before: web(twoPorts), change: func(w *world) { w.update(annotated(annotation.ProtocolPort, "http:80")) }},
		"add a node": {before: web(twoPorts), change: func(w *world) {
			w.addNode(7)
			w.settle()
		}},
		"delete":      {before: web(twoPorts), change: func(w *world) { w.remove() }},
		"preserve":    {before: web(twoPorts, annotated(annotation.PreserveOnDelete, "on")), change: func(w *world) { w.remove() }},
		"change type": {before: web(twoPorts), change: func(w *world) { w.update(func(svc *corev1.Service) { svc.Spec.Type = corev1.ServiceTypeNodePort }) }},
		"reuse":       {users: []string{usersLB}, change: func(w *world) { w.create(web(twoPorts, naming(usersLB), override, mapped)) }},
		"leave":       {users: []string{usersLB}, before: web(twoPorts, naming(usersLB), override, mapped), change: func(w *world) { w.remove() }},
		"move to a user's": {users: []string{usersLB}, before: web(), change: func(w *world) {
			w.update(func(svc *corev1.Service) { naming(usersLB)(svc); override(svc) })
			w.clearStatus()
		}},
		"move to its own": {users: []string{usersLB}, before: web(naming(usersLB), override), change: func(w *world) {
			w.update(func(svc *corev1.Service) { delete(svc.Annotations, annotation.Prefix+annotation.ID) })
			w.clearStatus()
		}},
		"move to another": {users: []string{usersLB, "lb-next"}, before: web(twoPorts, naming(usersLB), override, mapped), change: func(w *world) {
			w.update(func(svc *corev1.Service) {
				naming("lb-next")(svc)
				delete(svc.Annotations, annotation.Prefix+annotation.VGroupPort)
			})
			w.clearStatus()
		}},
		"change mapping": {users: []string{usersLB}, before: web(twoPorts, naming(usersLB), override, mapped), change: func(w *world) {
			w.update(annotated(annotation.VGroupPort, "rsp-of-"+usersLB+":443"))
		}},
		"change name": {before: web(), change: func(w *world) { w.update(annotated(annotation.Name, "mine")) }},
	}
}

// run plays a scenario with a disturbance and returns what is there at the end, and whether the disturbance took place.
func (s scenario) run(t *testing.T, disturb func(w *world) (happened *atomic.Bool), heal func(w *world)) (state, labels []string, happened bool) {
	t.Helper()
	inWorld(t, 2, func(w *world) {
		for _, id := range s.users {
			w.usersCLB(id)
		}
		if s.before != nil {
			w.create(s.before.DeepCopy())
		}
		flag := disturb(w)
		s.change(w)
		happened = flag.Load()
		heal(w)
		w.settle()
		w.after(30 * time.Second * 20)
		state = w.state()
		svc := w.service()
		labels = slices.Sorted(maps.Keys(svc.Labels))
		labels = append(labels, svc.Finalizers...)
		labels = append(labels, svc.Annotations[annotation.Claims])
		labels = append(labels, fmt.Sprint(len(svc.Status.LoadBalancer.Ingress)))
	})
	return state, labels, happened
}

func undisturbed(*world) *atomic.Bool { return &atomic.Bool{} }

// TestCrashAtEveryCall lets the process die at each call to the gateway, before the call or after it took effect, and at each
// write to Kubernetes, and starts a new one. The end must be that of an undisturbed run.
func TestCrashAtEveryCall(t *testing.T) {
	dead := &rpcerr.Error{Code: codes.Unavailable, Reason: rpcerr.CloudUnavailable, Message: "the process is dead"}
	for name, s := range scenarios() {
		wantState, wantLabels, _ := s.run(t, undisturbed, func(*world) {})
		for _, effective := range []bool{false, true} {
			for k := 0; ; k++ {
				state, labels, happened := s.run(t, func(w *world) *atomic.Bool {
					happened := &atomic.Bool{}
					w.cloud.Interpose(func(seq int, _ string, _ proto.Message) gatewaytest.Fault {
						switch {
						case seq < k:
							return gatewaytest.Fault{}
						case seq == k && effective:
							happened.Store(true)
							return gatewaytest.Fault{After: dead}
						default:
							happened.Store(true)
							return gatewaytest.Fault{Before: dead}
						}
					})
					return happened
				}, func(w *world) {
					w.stop()
					w.cloud.Interpose(nil)
					w.start()
				})
				if !happened {
					t.Logf("%s: %d calls", name, k)
					break
				}
				check(t, fmt.Sprintf("%s, death at call %d, effective %t", name, k, effective), wantState, state)
				check(t, fmt.Sprintf("%s, death at call %d, effective %t: marks", name, k, effective), wantLabels, labels)
			}
		}
		for k := 0; ; k++ {
			state, labels, happened := s.run(t, func(w *world) *atomic.Bool { return w.failPatches(k) }, func(w *world) {
				w.stop()
				w.failing = nil
				w.start()
			})
			if !happened {
				t.Logf("%s: %d patches", name, k)
				break
			}
			check(t, fmt.Sprintf("%s, death at patch %d", name, k), wantState, state)
			check(t, fmt.Sprintf("%s, death at patch %d: marks", name, k), wantLabels, labels)
		}
	}
}

// TestLostAnswerAtEveryCall loses single answers, after the call took effect, while the process lives on.
func TestLostAnswerAtEveryCall(t *testing.T) {
	lost := &rpcerr.Error{Code: codes.Unknown, Reason: rpcerr.OutcomeUnknown, Message: "the answer was lost"}
	for name, s := range scenarios() {
		wantState, wantLabels, _ := s.run(t, undisturbed, func(*world) {})
		for k := 0; ; k++ {
			state, labels, happened := s.run(t, func(w *world) *atomic.Bool {
				happened := &atomic.Bool{}
				w.cloud.Interpose(func(seq int, _ string, _ proto.Message) gatewaytest.Fault {
					if seq != k {
						return gatewaytest.Fault{}
					}
					happened.Store(true)
					return gatewaytest.Fault{After: lost}
				})
				return happened
			}, func(w *world) { w.cloud.Interpose(nil) })
			if !happened {
				break
			}
			check(t, fmt.Sprintf("%s, lost answer of call %d", name, k), wantState, state)
			check(t, fmt.Sprintf("%s, lost answer of call %d: marks", name, k), wantLabels, labels)
		}
	}
}

// failPatches lets all patches from the k-th on fail.
func (w *world) failPatches(k int) *atomic.Bool {
	happened := &atomic.Bool{}
	count := 0
	w.failing = func() error {
		count++
		if count <= k {
			return nil
		}
		happened.Store(true)
		return errors.New("the process is dead")
	}
	w.kube.PrependReactor("patch", "services", func(action kubetesting.Action) (bool, runtime.Object, error) {
		patch, ok := action.(kubetesting.PatchAction)
		ours := ok && bytes.Contains(patch.GetPatch(), []byte(`"uid"`)) // Not a user's.
		if failing := w.failing; failing != nil && ours {
			if err := failing(); err != nil {
				return true, nil, err
			}
		}
		return false, nil, nil
	})
	return happened
}
