package lb_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/lb"
)

// state describes what the cloud holds, without ids, so that the outcome of two runs can be compared.
func (w *world) state() []string {
	w.cloud.Lock()
	defer w.cloud.Unlock()
	c := w.cloud.Cloud
	var lines []string
	for _, lb := range c.LoadBalancers {
		lines = append(lines, fmt.Sprintf("load balancer %s protected=%s tags=%d", lb.Name, lb.DeleteProtection, len(lb.Tags)))
		for _, s := range lb.DefaultServers {
			lines = append(lines, fmt.Sprintf("default group of %s %s=%d %s", lb.Name, s.ServerID, s.Weight, s.Description))
		}
	}
	names := map[string]string{}
	for id, g := range c.ServerGroups {
		names[id] = g.Name
		lines = append(lines, fmt.Sprintf("group %s of %s %s", g.Name, nameOfCLB(c, g.LoadBalancerID), placesText(placesOf(g.Servers))))
	}
	for lb, l := range clbListeners(c) {
		lines = append(lines, fmt.Sprintf("listener %s %d %s %s -> %s %s %ss", lb.Name, l.Port, l.Protocol, l.Status, names[l.Group()],
			l.Attributes["Scheduler"], l.Attributes["EstablishedTimeout"]))
		if l.Attributes["AclStatus"] == "on" {
			for _, id := range l.AclIDs {
				lines = append(lines, fmt.Sprintf("  for %s %s", l.Attributes["AclType"], c.Acls[id].Name))
			}
		}
		for _, d := range l.Domains {
			lines = append(lines, fmt.Sprintf("certificate of %d %s for %s: %s", l.Port, l.Protocol, d.Domain, d.CertificateID))
		}
	}
	for _, l := range c.Acls {
		lines = append(lines, fmt.Sprintf("list %s %s", l.Name, entriesOf(l)))
	}
	for _, e := range c.Eips {
		lines = append(lines, fmt.Sprintf("EIP %s %s on %s", e.Name, e.Status, nameOfCLB(c, e.InstanceID)))
	}
	lines = append(lines, w.nlbState()...)
	slices.Sort(lines)
	return lines
}

// reap removes what the API server would: Services that are being deleted and have no finalizers.
func (w *world) reap() {
	w.t.Helper()
	for _, svc := range w.services() {
		if svc.DeletionTimestamp != nil && len(svc.Finalizers) == 0 {
			if err := w.kube.CoreV1().Services(svc.Namespace).Delete(w.t.Context(), svc.Name, metav1.DeleteOptions{}); err != nil {
				w.t.Fatal(err)
			}
		}
	}
}

func (w *world) services() []*corev1.Service {
	w.t.Helper()
	list, err := w.kube.CoreV1().Services("default").List(w.t.Context(), metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	var services []*corev1.Service
	for i := range list.Items {
		services = append(services, &list.Items[i])
	}
	return services
}

// marks describe what is written on the Services and on their pods, and the record. Why a pod was released depends on when.
func (w *world) marks() []string {
	w.t.Helper()
	lines := append(w.podMarks(), w.recorded()...)
	for _, svc := range w.services() {
		lines = append(lines, svc.Name)
		lines = append(lines, slices.Sorted(maps.Keys(svc.Labels))...)
		lines = append(lines, svc.Finalizers...)
		lines = append(lines, svc.Annotations[annotation.Claims], svc.Annotations[annotation.Applied],
			fmt.Sprint(len(svc.Status.LoadBalancer.Ingress)))
		for _, c := range svc.Status.Conditions {
			lines = append(lines, c.Type+" "+string(c.Status)+" "+c.Reason)
		}
	}
	return lines
}

// recorded lists the Services in the record, and which parts are recorded of them: digests depend on ids.
func (w *world) recorded() (lines []string) {
	w.t.Helper()
	kept, err := w.kube.CoreV1().ConfigMaps("kube-system").Get(w.t.Context(), recordName, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		w.t.Fatal(err)
	}
	for name, value := range kept.Data {
		if strings.Contains(name, ".") { // The others are memos of the kind.
			made, applied, _ := strings.Cut(value, ".")
			applied, on, _ := strings.Cut(applied, ".")
			lines = append(lines, fmt.Sprintf("record %s made=%t applied=%t on=%s", name, made != "", applied != "", on))
		}
	}
	slices.Sort(lines)
	return lines
}

func (w *world) podMarks() (lines []string) {
	w.t.Helper()
	pods, err := w.kube.CoreV1().Pods("default").List(w.t.Context(), metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, pod := range pods.Items {
		for _, c := range pod.Status.Conditions {
			lines = append(lines, pod.Name+" "+string(c.Type)+" "+string(c.Status))
		}
	}
	return lines
}

// scenario is a way from one Service to another.
type scenario struct {
	nlb     bool         // the world has both kinds, and the Service is of the class of NLBs
	users   []string     // load balancers of users, of the kind of the Service
	prepare func(*world) // what there is before the first Service; nil for nothing
	before  *corev1.Service
	beside  *corev1.Service // comes after it
	change  func(*world)
}

// shortScenarios are those that are left with -short, for the inner loop.
var shortScenarios = []string{"create", "change ports", "add a node", "delete", "reuse", "move to a user's", "readiness gates", "takeover",
	"NLB: create", "NLB: change ports", "NLB: delete", "NLB: source ranges"}

// some: with -short, one of so many calls of a scenario.
const some = 4

// usersEIP is an EIP of a user's, which addEIP adds.
const usersEIP = "eip-user"

func addEIP(w *world) {
	w.cloud.Lock()
	defer w.cloud.Unlock()
	w.cloud.Eips[usersEIP] = &state.Eip{Name: "by hand", Address: "203.0.113.9", Status: "Available"}
}

func intranet(svc *corev1.Service) { annotated(annotation.AddressType, "intranet")(svc) }

func allocated(svc *corev1.Service) {
	intranet(svc)
	annotated(annotation.EIPAllocate, "on")(svc)
}

func scenarios() map[string]scenario {
	twoPorts := func(svc *corev1.Service) {
		svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{Name: "https", Port: 443, NodePort: 30443,
			Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(8443)})
	}
	mapped := annotated(annotation.VGroupPort, "rsp-of-"+usersLB+":80")
	all := map[string]scenario{
		"create": {change: func(w *world) { w.create(web(twoPorts)) }},
		"create with more nodes than a call takes": {
			prepare: func(w *world) {
				for n := 3; n <= lb.FirstServers+3; n++ {
					w.addNode(n)
				}
				w.settle()
			},
			change: func(w *world) { w.create(web()) },
		},
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
		"delete":   {before: web(twoPorts), change: func(w *world) { w.remove() }},
		"preserve": {before: web(twoPorts, annotated(annotation.PreserveOnDelete, "on")), change: func(w *world) { w.remove() }},
		"change type": {before: web(twoPorts),
			change: func(w *world) { w.update(func(svc *corev1.Service) { svc.Spec.Type = corev1.ServiceTypeNodePort }) }},
		"reuse": {users: []string{usersLB}, change: func(w *world) { w.create(web(twoPorts, naming(usersLB), override, mapped)) }},
		"leave": {users: []string{usersLB}, before: web(twoPorts, naming(usersLB), override, mapped),
			change: func(w *world) { w.remove() }},
		"move to a user's": {users: []string{usersLB}, before: web(), change: func(w *world) {
			w.update(func(svc *corev1.Service) { naming(usersLB)(svc); override(svc) })
			w.clearStatus()
		}},
		"move to its own": {users: []string{usersLB}, before: web(naming(usersLB), override), change: func(w *world) {
			w.update(func(svc *corev1.Service) { delete(svc.Annotations, annotation.Prefix+annotation.ID) })
			w.clearStatus()
		}},
		"move to another": {users: []string{usersLB, "lb-next"}, before: web(twoPorts, naming(usersLB), override, mapped),
			change: func(w *world) {
				w.update(func(svc *corev1.Service) {
					naming("lb-next")(svc)
					delete(svc.Annotations, annotation.Prefix+annotation.VGroupPort)
				})
				w.clearStatus()
			}},
		"change mapping": {users: []string{usersLB}, before: web(twoPorts, naming(usersLB), override, mapped), change: func(w *world) {
			w.update(annotated(annotation.VGroupPort, "rsp-of-"+usersLB+":443"))
		}},
		"default group":       {change: func(w *world) { w.create(web(defaultGroup)) }},
		"leave default group": {before: web(defaultGroup), change: func(w *world) { w.update(without(annotation.DefaultServerGroup)) }},
		"ask for the default group for a moment": {before: web(), change: func(w *world) {
			w.update(defaultGroup)
			w.update(without(annotation.DefaultServerGroup))
		}},
		"default group of a user's": {users: []string{usersLB}, before: web(naming(usersLB)), change: func(w *world) {
			w.update(defaultGroup)
			w.addNode(7)
			w.settle()
			w.remove()
		}},
		"allocate an EIP": {change: func(w *world) { w.create(web(allocated)) }},
		"change to the user's EIP": {prepare: addEIP, before: web(allocated), change: func(w *world) {
			w.update(changed(without(annotation.EIPAllocate), annotated(annotation.EIPID, usersEIP)))
		}},
		"change from the user's EIP": {prepare: addEIP, before: web(intranet, annotated(annotation.EIPID, usersEIP)), change: func(w *world) {
			w.update(changed(without(annotation.EIPID), annotated(annotation.EIPAllocate, "on")))
		}},
		"ask for an EIP for a moment": {before: web(intranet), change: func(w *world) {
			w.update(annotated(annotation.EIPAllocate, "on"))
			w.update(without(annotation.EIPAllocate))
		}},
		"delete with an EIP": {before: web(allocated), change: func(w *world) { w.remove() }},
		"move to a user's with an EIP": {users: []string{usersLB}, before: web(allocated), change: func(w *world) {
			w.update(changed(without(annotation.EIPAllocate), without(annotation.AddressType), naming(usersLB), override))
			w.clearStatus()
		}},
		"source ranges": {change: func(w *world) { w.create(web(twoPorts, ranges("10.0.0.0/8", "192.0.2.0/24"))) }},
		"add source ranges": {before: web(twoPorts), change: func(w *world) {
			w.update(ranges("10.0.0.0/8"))
		}},
		"change source ranges": {before: web(ranges("10.0.0.0/8", "192.0.2.0/24")), change: func(w *world) {
			w.update(changed(ranges("192.0.2.0/24", "198.51.100.0/24"), twoPorts))
		}},
		"remove source ranges": {before: web(twoPorts, ranges("10.0.0.0/8")), change: func(w *world) { w.update(ranges()) }},
		"add and remove source ranges": {before: web(), change: func(w *world) {
			w.update(ranges("10.0.0.0/8"))
			w.update(ranges())
			w.remove() // A list that a listener named stays until then.
		}},
		"delete with source ranges": {before: web(ranges("10.0.0.0/8")), change: func(w *world) { w.remove() }},
		"move with source ranges": {users: []string{usersLB}, before: web(ranges("10.0.0.0/8")), change: func(w *world) {
			w.update(changed(naming(usersLB), override))
			w.clearStatus()
		}},
		"move without source ranges": {users: []string{usersLB}, before: web(ranges("10.0.0.0/8")), change: func(w *world) {
			w.update(changed(naming(usersLB), override, ranges()))
			w.clearStatus()
		}},
		"leave with source ranges": {users: []string{usersLB}, before: web(naming(usersLB), override, ranges("10.0.0.0/8")),
			change: func(w *world) { w.remove() }},
		"from an access control list to source ranges": {before: web(annotated(annotation.ACLStatus, "on"),
			annotated(annotation.ACLID, "acl-of-users"), annotated(annotation.ACLType, "white")), change: func(w *world) {
			w.update(changed(without(annotation.ACLStatus), without(annotation.ACLID), without(annotation.ACLType), ranges("10.0.0.0/8")))
		}},
		"remove annotations": {before: web(twoPorts, annotated(annotation.Scheduler, "wlc"),
			annotated(annotation.EstablishedTimeout, "60")), change: func(w *world) {
			w.update(func(svc *corev1.Service) {
				without(annotation.Scheduler)(svc)
				without(annotation.EstablishedTimeout)(svc)
			})
		}},
		"change name": {before: web(), change: func(w *world) { w.update(annotated(annotation.Name, "mine")) }},
		"forward":     {change: func(w *world) { w.create(web(twoPorts, forwarding)) }},
		"change forward": {before: web(twoPorts, forwarding), change: func(w *world) {
			w.update(func(svc *corev1.Service) { delete(svc.Annotations, annotation.Prefix+annotation.ForwardPort) })
		}},
		"domain extensions": {change: func(w *world) { w.create(web(secure, domains("a.example.com:cert-2,b.example.com:cert-3"))) }},
		"change domain extensions": {before: web(secure, domains("a.example.com:cert-2,b.example.com:cert-3")), change: func(w *world) {
			w.update(domains("a.example.com:cert-9,c.example.com:cert-4"))
		}},
		"readiness gates": {change: func(w *world) {
			w.pods(w.gatedPod(1), w.gatedPod(2))
			w.create(web(podsMode))
		}},
		"rollout behind readiness gates": {before: web(podsMode), change: func(w *world) {
			w.pods(w.gatedPod(1))
			w.after(20 * time.Second)
			w.pods(waitingEndpoint("web-1", "10.0.0.1"), w.gatedPod(2))
			w.after(20 * time.Second)
			w.pods(waitingEndpoint("web-2", "10.0.0.2"))
		}},
		"delete in front of readiness gates": {before: web(podsMode), change: func(w *world) {
			w.pods(w.gatedPod(1))
			w.remove()
		}},
		"takeover": {change: func(w *world) { newLegacy().seed(w) }},
		"takeover of an old version": {change: func(w *world) {
			l := newLegacy()
			l.service.Labels, l.service.Finalizers, l.lb.Tags = nil, nil, l.lb.Tags[:1]
			l.seed(w)
		}},
		"takeover with changes due": {change: func(w *world) {
			l := newLegacy()
			l.groups[0].Servers = l.groups[0].Servers[:1]
			annotated(annotation.Scheduler, "wlc")(l.service)
			l.seed(w)
		}},
		"takeover of a deleted Service": {change: func(w *world) {
			l := newLegacy()
			l.service.DeletionTimestamp = new(metav1.Now())
			l.seed(w)
		}},
		"give up a shared listener": {
			users: []string{usersLB}, before: web(naming(usersLB), override), beside: api(80, naming(usersLB), override),
			change: func(w *world) { w.update(func(svc *corev1.Service) { svc.Spec.Ports[0].Port = 8080 }) },
		},
		"delete the holder of a shared listener": {
			users: []string{usersLB}, before: web(naming(usersLB), override), beside: api(80, naming(usersLB), override),
			change: func(w *world) { w.remove() },
		},
		"leave a shared default group": {
			users: []string{usersLB}, before: web(naming(usersLB), defaultGroup), beside: api(443, naming(usersLB), defaultGroup),
			change: func(w *world) { w.update(without(annotation.DefaultServerGroup)) },
		},
		"leave a shared server group": {
			users: []string{usersLB}, prepare: samePods, before: web(sharing(80)...), beside: api(443, sharing(443)...),
			change: func(w *world) { w.remove() },
		},
		"a pod changes hands": {
			users: []string{usersLB}, prepare: samePods, before: web(sharing(80)...), beside: api(443, sharing(443)...),
			change: func(w *world) { w.pods(pod("10.0.0.1", "node-1")) },
		},
		"move away from a shared server group": {
			users: []string{usersLB, "lb-next"}, prepare: samePods, before: web(sharing(80)...), beside: api(443, sharing(443)...),
			change: func(w *world) {
				w.update(func(svc *corev1.Service) {
					naming("lb-next")(svc)
					delete(svc.Annotations, annotation.Prefix+annotation.VGroupPort)
				})
				w.clearStatus()
			},
		},
	}
	maps.Copy(all, nlbScenarios())
	if testing.Short() {
		maps.DeleteFunc(all, func(name string, _ scenario) bool { return !slices.Contains(shortScenarios, name) })
	}
	return all
}

// samePods lets two Services have the same two pods.
func samePods(w *world) {
	w.addENI("eni-1", "10.0.0.1", "10.0.0.2")
	for _, service := range []string{"web", "api"} {
		w.endpoints(service, pod("10.0.0.1", "node-1"), pod("10.0.0.2", "node-1"))
	}
}

// sharing lets the pods behind a port fill the vServer group of the user's.
func sharing(port int) []func(*corev1.Service) {
	return []func(*corev1.Service){naming(usersLB), eniMode, annotated(annotation.VGroupPort, fmt.Sprintf("%s:%d", usersRsp, port))}
}

// forwarding redirects the first of two ports to the second.
func forwarding(svc *corev1.Service) {
	annotated(annotation.ProtocolPort, "http:80,https:443")(svc)
	annotated(annotation.ForwardPort, "80:443")(svc)
	annotated(annotation.CertID, "cert-1")(svc)
}

func domains(value string) func(*corev1.Service) {
	return annotated(annotation.DomainExtensions, value)
}

// run plays a scenario with a disturbance and returns what is there at the end, and whether the disturbance took place.
func (s scenario) run(t *testing.T, disturb func(w *world) (happened *atomic.Bool), heal func(w *world)) (state,
	marks []string, happened bool) {
	t.Helper()
	inWorld(t, 2, func(w *world) {
		withRecords(w)
		watchOver(w)
		kept := w.config
		w.config = func(cfg *settings) {
			kept(cfg)
			if s.nlb {
				bothKinds(cfg)
			}
			cfg.Kind.DriftCheck = 365 * 24 * time.Hour // What only that would find is lost.
		}
		if s.nlb {
			w.zones()
		}
		w.restart()
		for _, id := range s.users {
			if s.nlb {
				w.usersNLB(id)
			} else {
				w.usersCLB(id)
			}
		}
		if s.prepare != nil {
			s.prepare(w)
		}
		for _, svc := range []*corev1.Service{s.before, s.beside} {
			if svc != nil {
				w.create(svc.DeepCopy())
			}
		}
		flag := disturb(w)
		s.change(w)
		happened = flag.Load()
		w.reap()
		heal(w)
		w.settle()
		w.reap()
		w.after(10 * time.Minute)
		state, marks = w.state(), w.marks()
	})
	return state, marks, happened
}

func undisturbed(*world) *atomic.Bool { return &atomic.Bool{} }

// death is the end of a process before one of its calls of the gateway or writes to the API server. What comes after
// another has no effect either. So a death after a call took effect is one before the next: nothing is left of the
// answer.
type death struct {
	mu       sync.Mutex
	left     int // with an effect
	happened atomic.Bool
}

// next decides about the next call or write.
func (d *death) next() gatewaytest.Fault {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.left > 0 {
		d.left--
		return gatewaytest.Fault{}
	}
	d.happened.Store(true)
	return gatewaytest.Fault{Before: &rpcerr.Error{Code: codes.Unavailable, Reason: rpcerr.CloudUnavailable, Message: "the process is dead"}}
}

// dies lets the process of a world die.
func (w *world) dies(d *death) *atomic.Bool {
	w.cloud.Interpose(func(int, string, proto.Message) gatewaytest.Fault { return d.next() })
	w.failing = d.next
	return &d.happened
}

// revive starts another process.
func revive(w *world) {
	w.stop()
	w.cloud.Interpose(nil)
	w.failing = nil
	w.start()
}

// TestCrashAtEveryCall lets the process die before each call of the gateway and each write to the API server, and after
// the last one, and starts a new one. The end must be that of an undisturbed run.
func TestCrashAtEveryCall(t *testing.T) {
	t.Parallel()
	for name, s := range scenarios() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantState, wantMarks, _ := s.run(t, undisturbed, func(*world) {})
			for k, happened := gatewaytest.From(len(name), some), true; happened; k += gatewaytest.Every(some) {
				var state, marks []string
				state, marks, happened = s.run(t, func(w *world) *atomic.Bool { return w.dies(&death{left: k}) }, revive)
				check(t, fmt.Sprintf("death before %d", k), wantState, state)
				check(t, fmt.Sprintf("death before %d: marks", k), wantMarks, marks)
			}
		})
	}
}

// TestNoWritesFromSomewhereOn: the API server takes no more writes while the cloud goes on, until the process is replaced.
func TestNoWritesFromSomewhereOn(t *testing.T) {
	t.Parallel()
	for name, s := range scenarios() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantState, wantMarks, _ := s.run(t, undisturbed, func(*world) {})
			for k := gatewaytest.From(len(name), some); ; k += gatewaytest.Every(some) {
				state, marks, happened := s.run(t, func(w *world) *atomic.Bool {
					d := &death{left: k}
					w.failing = d.next
					return &d.happened
				}, revive)
				if !happened {
					break
				}
				check(t, fmt.Sprintf("no writes from %d on", k), wantState, state)
				check(t, fmt.Sprintf("no writes from %d on: marks", k), wantMarks, marks)
			}
		})
	}
}

// TestLostAnswerAtEveryCall loses single answers, after the call took effect, while the process lives on.
func TestLostAnswerAtEveryCall(t *testing.T) {
	t.Parallel()
	lost := &rpcerr.Error{Code: codes.Unknown, Reason: rpcerr.OutcomeUnknown, Message: "the answer was lost"}
	for name, s := range scenarios() {
		wantState, wantMarks, _ := s.run(t, undisturbed, func(*world) {})
		for k := gatewaytest.From(len(name), some); ; k += gatewaytest.Every(some) {
			state, marks, happened := s.run(t, func(w *world) *atomic.Bool {
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
			check(t, fmt.Sprintf("%s, lost answer of call %d: marks", name, k), wantMarks, marks)
		}
	}
}

// TestPutOffFromEveryCallOn: from a call on the gateway has no room to send any more, for a while. What a plan has
// brought about until then is remembered, and the next attempts go on there.
func TestPutOffFromEveryCallOn(t *testing.T) {
	t.Parallel()
	for name, s := range scenarios() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantState, wantMarks, _ := s.run(t, undisturbed, func(*world) {})
			for k, happened := gatewaytest.From(len(name), some), true; happened; k += gatewaytest.Every(some) {
				var state, marks []string
				state, marks, happened = s.run(t, func(w *world) *atomic.Bool {
					happened := &atomic.Bool{}
					w.cloud.Interpose(func(seq int, method string, _ proto.Message) gatewaytest.Fault {
						if seq < k {
							return gatewaytest.Fault{}
						}
						happened.Store(true)
						return gatewaytest.Fault{Before: noRoomFor(method, time.Second)}
					})
					return happened
				}, func(w *world) { w.cloud.Interpose(nil) })
				check(t, fmt.Sprintf("put off from %d on", k), wantState, state)
				check(t, fmt.Sprintf("put off from %d on: marks", k), wantMarks, marks)
			}
		})
	}
}
