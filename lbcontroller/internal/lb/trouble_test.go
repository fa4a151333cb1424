package lb_test

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	kubetesting "k8s.io/client-go/testing"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

const (
	// neighbours are the Services that nothing is wrong with.
	neighbours = 20
	// sharedLB is a user's CLB that one of them shares.
	sharedLB = "lb-shared"
	// victim is the Service in trouble.
	victim = "victim"
)

// trouble is something that goes wrong with a Service.
type trouble struct {
	// services are those in trouble; if there are none, one without anything special is.
	services []*corev1.Service
	pods     []discoveryv1.Endpoint
	// late lets the Service come after the others.
	late bool
	// before is done before the Services are there, and strike once they are served.
	before, strike func(w *world)
	// fault decides about the calls for the victim.
	fault func(w *world, method string, request proto.Message) gatewaytest.Fault
	// event is a part of an event that reports the trouble.
	event string
}

// named makes a Service of its own name.
func named(name string, n int, changes ...func(*corev1.Service)) *corev1.Service {
	return web(append([]func(*corev1.Service){func(svc *corev1.Service) {
		svc.Name, svc.UID = name, types.UID(fmt.Sprintf("%08d-2222-3333-4444-555555555555", n))
		svc.Spec.Ports[0].NodePort = int32(30000 + n)
	}}, changes...)...)
}

func inTrouble(changes ...func(*corev1.Service)) []*corev1.Service {
	return []*corev1.Service{named(victim, 999, changes...)}
}

// always lets every call for the victim fail.
func always(err error) func(*world, string, proto.Message) gatewaytest.Fault {
	return func(*world, string, proto.Message) gatewaytest.Fault { return gatewaytest.Fault{Before: err} }
}

// at lets the calls of some methods fail.
func at(err error, methods ...string) func(*world, string, proto.Message) gatewaytest.Fault {
	return func(_ *world, method string, _ proto.Message) gatewaytest.Fault {
		if slices.Contains(methods, method) {
			return gatewaytest.Fault{Before: err}
		}
		return gatewaytest.Fault{}
	}
}

// badValues are Services with one bad value each, of each annotation.
func badValues() []*corev1.Service {
	var services []*corev1.Service
	for n, spec := range annotation.Table() {
		services = append(services, named("bad-"+spec.Key, 900+n, annotated(spec.Key, badValue(spec))))
	}
	return services
}

// shortTroubles are those that are left with -short: one of a node, one of the cloud, and one that strikes what is served.
var shortTroubles = []string{"unknown node", "quota of servers", "load balancer deleted by hand"}

func troubles() map[string]trouble {
	shop := annotated(annotation.BackendLabel, "pool=shop")
	https := func(svc *corev1.Service) {
		shop(svc)
		annotated(annotation.ProtocolPort, "https:80")(svc)
		annotated(annotation.CertID, "cert-x")(svc)
	}
	edge := func(w *world) {
		w.addStranger("stranger")
		w.label("stranger", "edge")
	}
	return map[string]trouble{
		"unknown node": {before: edge, services: inTrouble(annotated(annotation.BackendLabel, "pool=edge")),
			event: "SkipSyncBackends"},
		"unknown node below a pod": {before: edge, services: inTrouble(local),
			pods: []discoveryv1.Endpoint{pod("10.9.0.1", "stranger")}, event: "SkipSyncBackends"},
		"network interface missing": {services: inTrouble(eniMode),
			pods: []discoveryv1.Endpoint{pod("10.9.0.1", "node-1")}, event: "SkipSyncBackends"},
		"bad value of each annotation": {services: badValues(), event: "SyncLoadBalancerFailed"},
		"bad value of each annotation, of a load balancer that is served": {event: "SyncLoadBalancerFailed", services: inTrouble(shop),
			strike: func(w *world) {
				for _, spec := range annotation.Table() {
					w.patch(victim, annotationPatch(spec.Key, badValue(spec)))
					w.after(time.Second)
				}
			}},
		// A quota that is used up holds for all Services that have no load balancer yet (TestQuotaHoldsForAll), and for no others.
		"quota of load balancers": {
			late: true, services: inTrouble(shop), event: "quota",
			fault: at(&rpcerr.Error{Code: codes.ResourceExhausted, Reason: rpcerr.QuotaExceeded, Message: "the quota of load balancers"},
				"CreateLoadBalancer"),
		},
		"quota of servers": {
			services: inTrouble(shop), event: "quota of servers",
			fault: func(_ *world, _ string, request proto.Message) gatewaytest.Fault {
				create, _ := request.(*slbv1.CreateServerGroupRequest)
				change, _ := request.(*slbv1.ApplyServerChangesRequest)
				if len(create.GetServers())+len(change.GetAdd()) > 0 {
					return gatewaytest.Fault{Before: &rpcerr.Error{Code: codes.ResourceExhausted, Reason: rpcerr.ServerLimit,
						Message: "the quota of servers"}}
				}
				return gatewaytest.Fault{}
			},
		},
		"missing certificate": {
			services: inTrouble(https), event: "no such certificate",
			fault: at(&rpcerr.Error{Code: codes.NotFound, Reason: rpcerr.CertificateNotFound, Message: "no such certificate"}, "CreateListener"),
		},
		"port of another Service": {late: true, services: inTrouble(naming(sharedLB), override), event: "SyncLoadBalancerFailed"},
		"another VPC": {services: inTrouble(shop), event: "NETWORK_CONFLICT",
			fault: always(&rpcerr.Error{Code: codes.FailedPrecondition, Reason: rpcerr.NetworkConflict})},
		"busy": {
			services: inTrouble(shop), event: "RESOURCE_BUSY",
			fault: always(&rpcerr.Error{Code: codes.Aborted, Reason: rpcerr.ResourceBusy, RetryAfter: 20 * time.Second}),
		},
		"throttled": {
			services: inTrouble(shop), event: "THROTTLED",
			fault: always(&rpcerr.Error{Code: codes.ResourceExhausted, Reason: rpcerr.Throttled, RetryAfter: 20 * time.Second}),
		},
		"no answer": {services: inTrouble(shop), event: "SyncLoadBalancerFailed", fault: func(w *world, _ string,
			_ proto.Message) gatewaytest.Fault {
			select {
			case <-time.After(10 * time.Minute):
			case <-w.t.Context().Done():
			}
			return gatewaytest.Fault{}
		}},
		"load balancer deleted by hand": {services: inTrouble(shop), event: "SyncLoadBalancerFailed", strike: func(w *world) {
			w.cloud.Lock()
			defer w.cloud.Unlock()
			for id, lb := range w.cloud.LoadBalancers {
				if strings.HasPrefix(lb.Name, "a00000999") {
					dropCLB(w.cloud.Cloud, id)
				}
			}
		}},
		"the API server refuses its status": {services: inTrouble(shop), event: "FailedUpdateStatus", before: func(w *world) {
			w.kube.PrependReactor("patch", "services", func(action kubetesting.Action) (bool, runtime.Object, error) {
				patch, ok := action.(kubetesting.PatchAction)
				refused := ok && patch.GetName() == victim && patch.GetSubresource() == "status"
				return refused, nil, errors.New("the webhook says no")
			})
		}},
		"its pods come and go": {services: inTrouble(eniMode), strike: func(w *world) {
			for n := range 300 {
				w.endpoints(victim, pod(fmt.Sprintf("10.9.0.%d", 1+n%7), "node-1"))
				w.after(200 * time.Millisecond)
			}
		}, event: "SkipSyncBackends"},
	}
}

// play goes through the life of the neighbours, with the trouble beside them or without, and returns what the controller did for them.
func (tr trouble) play(t *testing.T, with bool) map[string][]string {
	t.Helper()
	var lines map[string][]string
	inWorld(t, 3, func(w *world) {
		for n := range 3 {
			w.label(fmt.Sprintf("node-%d", n+1), "shop")
		}
		w.usersCLB(sharedLB)
		j := keepJournal(w)
		var names []string
		var services []*corev1.Service
		for n := range neighbours {
			svc := neighbour(w, n)
			names, services = append(names, svc.Name), append(services, svc)
			j.owns(svc.Name, string(svc.UID), fmt.Sprintf("10.%d.0.", 100+n))
		}
		if with {
			tr.begin(w, j)
			at := neighbours / 2
			if tr.late {
				at = neighbours
			}
			services = slices.Insert(services, at, tr.services...)
		}
		w.after(time.Minute - time.Since(j.start)) // What happens to the neighbours happens at the same time in both worlds.
		from := time.Now()
		till := func(d time.Duration) { w.after(d - time.Since(from)) }
		for _, svc := range services {
			if svc.Name == victim && tr.late {
				till(time.Second)
			}
			if _, err := w.kube.CoreV1().Services(svc.Namespace).Create(t.Context(), svc, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		till(time.Minute)
		if with && tr.strike != nil {
			tr.strike(w)
		}
		till(3 * time.Minute)
		w.addNode(4)
		w.label("node-4", "shop")
		till(4 * time.Minute)
		w.updateNode(1, excluded)
		till(5 * time.Minute)
		for n, name := range names {
			w.endpoints(name, pod(fmt.Sprintf("10.%d.0.2", 100+n), "node-2"), pod(fmt.Sprintf("10.%d.0.3", 100+n), "node-3"))
		}
		till(6 * time.Minute)
		for n, name := range names {
			if n%2 == 0 {
				w.patch(name, annotationPatch(annotation.Scheduler, "wrr"))
			}
		}
		till(10 * time.Minute)
		w.stop()
		till(11 * time.Minute) // What waits for an answer holds the process up for a while.
		w.start()
		till(6 * time.Hour)
		for n, name := range names {
			if n%2 == 1 {
				w.patch(name, map[string]any{"metadata": map[string]any{"deletionTimestamp": metav1.Now()}})
			}
		}
		till(7 * time.Hour)
		lines = j.of(names)
		if with {
			if events := w.events.take(); !slices.ContainsFunc(events, func(e string) bool { return strings.Contains(e, tr.event) }) {
				t.Errorf("no event has %q:\n%s", tr.event, strings.Join(events, "\n"))
			}
		}
	})
	return lines
}

// begin prepares the trouble.
func (tr trouble) begin(w *world, j *journal) {
	for _, svc := range tr.services {
		j.owns(svc.Name, string(svc.UID), "")
	}
	j.owners["10.9.0."] = victim
	if tr.fault != nil {
		j.fault = func(service, method string, request proto.Message) gatewaytest.Fault {
			if service == victim {
				return tr.fault(w, method, request)
			}
			return gatewaytest.Fault{}
		}
	}
	if tr.before != nil {
		tr.before(w)
	}
	if tr.pods != nil {
		w.endpoints(victim, tr.pods...)
	}
}

// neighbour is the n-th Service that nothing is wrong with, of one of several kinds.
func neighbour(w *world, n int) *corev1.Service {
	shop := annotated(annotation.BackendLabel, "pool=shop")
	name := fmt.Sprintf("fine-%d", n)
	for pod := 1; pod <= 3; pod++ {
		w.addENI(fmt.Sprintf("eni-%d-%d", n, pod), fmt.Sprintf("10.%d.0.%d", 100+n, pod))
	}
	w.endpoints(name, pod(fmt.Sprintf("10.%d.0.1", 100+n), "node-1"), pod(fmt.Sprintf("10.%d.0.2", 100+n), "node-2"))
	switch {
	case n == neighbours-1:
		return named(name, n, shop, naming(sharedLB), override)
	case n%4 == 1:
		return named(name, n, local)
	case n%4 == 2:
		return named(name, n, eniMode)
	case n%4 == 3:
		return named(name, n, shop, annotated(annotation.ProtocolPort, "http:80,https:443"), annotated(annotation.ForwardPort, "80:443"),
			annotated(annotation.CertID, "cert-1"), func(svc *corev1.Service) {
				svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{
					Name: "https", Port: 443, NodePort: int32(31000 + n), Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(8443),
				})
			})
	default:
		return named(name, n, shop)
	}
}

// TestTroubleStaysWhereItIs: one Service in trouble changes nothing of what is asked of the cloud, and written, for
// twenty others, nor when.
func TestTroubleStaysWhereItIs(t *testing.T) {
	t.Parallel()
	want := trouble{}.play(t, false)
	for name, lines := range want {
		if len(lines) < 5 {
			t.Errorf("little happens to %s: %q", name, lines)
		}
	}
	for name, tr := range troubles() {
		if testing.Short() && !slices.Contains(shortTroubles, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := tr.play(t, true)
			for service := range want {
				texts, times := doings(want[service])
				textsToo, timesToo := doings(got[service])
				check(t, "what was done for "+service, texts, textsToo)
				for i := range min(len(times), len(timesToo)) {
					if math.Abs(times[i]-timesToo[i]) > 1 { // Calls of the gateway take some milliseconds, which all share.
						t.Errorf("%s: %s at %.3f s, and with the trouble beside at %.3f s", service, texts[i], times[i], timesToo[i])
					}
				}
			}
		})
	}
}

// doings are the lines of a journal by what was done, and when each was.
func doings(lines []string) (texts []string, seconds []float64) {
	type doing struct {
		text string
		at   float64
	}
	var all []doing
	for _, line := range lines {
		at, text, _ := strings.Cut(strings.TrimSpace(line), "s ")
		when, err := strconv.ParseFloat(at, 64)
		if err != nil {
			panic(err) // A journal has the time in each line.
		}
		all = append(all, doing{text, when})
	}
	slices.SortFunc(all, func(a, b doing) int { return cmp.Or(strings.Compare(a.text, b.text), cmp.Compare(a.at, b.at)) })
	for _, d := range all {
		texts, seconds = append(texts, d.text), append(seconds, d.at)
	}
	return texts, seconds
}
