package lb_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

// weights are the weights of all servers by address or instance.
func (w *world) weights() map[string]int32 {
	w.cloud.Lock()
	defer w.cloud.Unlock()
	weights := map[string]int32{}
	for _, g := range w.cloud.ServerGroups {
		for _, s := range g.Servers {
			name := s.ServerID
			if s.Type == "eni" {
				name = s.ServerIP
			}
			weights[name] = int32(s.Weight)
		}
	}
	return weights
}

// addInterface makes a network interface with an address.
func (w *world) addInterface(ip string) {
	w.cloud.Lock()
	defer w.cloud.Unlock()
	addInterface(w.cloud.Cloud, "eni-"+ip, ip)
}

func endpointOf(ip string, ready, terminating bool) discoveryv1.Endpoint {
	node := "node-1"
	return discoveryv1.Endpoint{Addresses: []string{ip}, NodeName: &node, Conditions: discoveryv1.EndpointConditions{
		Ready: new(ready && !terminating), Serving: new(ready), Terminating: new(terminating),
	}}
}

// slice replaces the endpoints of a family without waiting.
func (w *world) slice(family discoveryv1.AddressType, endpoints []discoveryv1.Endpoint) {
	w.t.Helper()
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-" + string(family),
			Labels: map[string]string{discoveryv1.LabelServiceName: "web"}},
		AddressType: family, Endpoints: endpoints,
	}
	client := w.kube.DiscoveryV1().EndpointSlices("default")
	_, err := client.Update(w.t.Context(), slice, metav1.UpdateOptions{})
	if err != nil {
		_, err = client.Create(w.t.Context(), slice, metav1.CreateOptions{})
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// TestRollout: 300 pods that are replaced within 30 seconds cost at most 20 writes and 5 reads, and none that terminates loses its
// connections.
func TestRollout(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes half a minute of processor time: make test runs it, make quick and -short do not")
	}
	const pods, span, grace = 300, 30 * time.Second, 30 // a pod is gone when so many others have followed
	for _, drain := range []string{"on", "off"} {
		t.Run("drain "+drain, func(t *testing.T) {
			inWorld(t, 1, func(w *world) {
				ip := func(generation, n int) string { return fmt.Sprintf("10.%d.%d.%d", generation, n/200, n%200+1) }
				w.quota(2 * pods)
				var before []discoveryv1.Endpoint
				for n := range pods {
					w.addInterface(ip(1, n))
					w.addInterface(ip(2, n))
					before = append(before, endpointOf(ip(1, n), true, false))
				}
				w.slice(discoveryv1.AddressTypeIPv4, before)
				w.create(web(podsMode, annotated(annotation.DrainTerminating, drain)))
				w.after(time.Minute)
				check(t, "servers at first", pods, len(w.weights()))
				w.cloud.ResetCalls()
				drained := map[string]bool{}
				for n := range pods + grace {
					var now []discoveryv1.Endpoint
					for i := range pods {
						switch {
						case i > n:
							now = append(now, endpointOf(ip(1, i), true, false))
						case i > n-grace:
							now = append(now, endpointOf(ip(1, i), true, true), endpointOf(ip(2, i), true, false))
						default:
							now = append(now, endpointOf(ip(2, i), true, false))
						}
					}
					w.slice(discoveryv1.AddressTypeIPv4, now)
					w.after(span / pods)
					for name, weight := range w.weights() {
						if weight == 0 {
							drained[name] = true
						}
					}
				}
				w.after(time.Minute)
				writes, reads := len(w.cloud.Writes()), len(w.cloud.Calls())-len(w.cloud.Writes())
				t.Logf("%d writes, %d reads", writes, reads)
				if writes > 20 || reads > 5 {
					t.Errorf("%d writes, at most 20 are allowed, and %d reads, at most 5", writes, reads)
				}
				for n := range pods {
					if weight := w.weights()[ip(2, n)]; weight != 100 {
						t.Errorf("weight %d of new pod %s", weight, ip(2, n))
					}
				}
				check(t, "servers at last", pods, len(w.weights()))
				if drain == "off" {
					check(t, "drained pods", 0, len(drained))
				} else if len(drained) < pods*9/10 { // One may come and go between two passes.
					t.Errorf("%d of %d old pods were drained", len(drained), pods)
				}
			})
		})
	}
}

// TestDrain: a pod that terminates loses its weight, and its place when it is gone. Nobody becomes a server for that,
// and the last ones keep their weight.
func TestDrain(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		for n := range 4 {
			w.addInterface(fmt.Sprint("10.0.0.", n+1))
		}
		w.create(web(podsMode, annotated(annotation.DrainTerminating, "on")))
		show := func(what string, want map[string]int32, endpoints ...discoveryv1.Endpoint) {
			t.Helper()
			w.slice(discoveryv1.AddressTypeIPv4, endpoints)
			w.after(30 * time.Second)
			check(t, what, want, w.weights())
		}
		show("two pods, and one that isn't ready", map[string]int32{"10.0.0.1": 100, "10.0.0.2": 100},
			endpointOf("10.0.0.1", true, false), endpointOf("10.0.0.2", true, false), endpointOf("10.0.0.4", false, false))
		show("one terminates, and one that never served", map[string]int32{"10.0.0.1": 0, "10.0.0.2": 100},
			endpointOf("10.0.0.1", true, true), endpointOf("10.0.0.2", true, false), endpointOf("10.0.0.3", false, true))
		w.restart()
		show("it serves no more", map[string]int32{"10.0.0.1": 0, "10.0.0.2": 100},
			endpointOf("10.0.0.1", false, true), endpointOf("10.0.0.2", true, false), endpointOf("10.0.0.3", false, true))
		show("it is gone", map[string]int32{"10.0.0.2": 100}, endpointOf("10.0.0.2", true, false))
		show("all terminate", map[string]int32{"10.0.0.2": 100}, endpointOf("10.0.0.2", true, true))
	})
}

// TestQuotaOfNoServers: a cloud that takes no servers at all is tried more and more seldom, and an event gives the reason.
func TestQuotaOfNoServers(t *testing.T) {
	inWorld(t, 12, func(w *world) {
		w.cloud.Interpose(func(_ int, _ string, request proto.Message) gatewaytest.Fault {
			if change, ok := request.(*slbv1.ApplyServerChangesRequest); ok && len(change.GetAdd()) > 0 {
				return gatewaytest.Fault{Before: &rpcerr.Error{Code: codes.ResourceExhausted, Reason: rpcerr.ServerLimit, Message: "no more servers"}}
			}
			return gatewaytest.Fault{}
		})
		w.create(web(annotated(annotation.BackendLabel, "pool=none")))
		w.calls()
		w.update(func(svc *corev1.Service) { svc.Annotations = nil })
		w.after(time.Hour)
		if n := len(w.cloud.CallsOf("ApplyServerChanges")); n > 30 {
			t.Errorf("%d calls in an hour", n)
		}
		w.hasEvents("the refusal", "SyncLoadBalancerFailed", "no more servers")
		w.cloud.Interpose(nil)
		w.after(5 * time.Hour)
		check(t, "servers when it takes them again", 12, len(w.servers()))
	})
}

// TestNodeJoinsManySubsets: with 500 nodes, 200 Services and subsets of 25, a node that joins costs one write for each
// Service that takes it, and no call for anybody else. backend.TestSubsetStability shows how many take it.
func TestNodeJoinsManySubsets(t *testing.T) {
	t.Parallel()
	const size = 25
	nodes, services := 500, 200
	if testing.Short() {
		nodes, services = 100, 40
	}
	inWorld(t, nodes, func(w *world) {
		w.stop()
		w.config = func(s *settings) { s.Kind.Desired.MaxNodes = size }
		w.start()
		w.many(services)
		for n := range 3 {
			w.calls()
			w.addNode(nodes + 1 + n)
			w.settle()
			joined, takers := fmt.Sprintf("i-%d", nodes+1+n), map[string]bool{}
			w.cloud.Lock()
			check(t, "server groups", services, len(w.cloud.ServerGroups))
			for id, g := range w.cloud.ServerGroups {
				check(t, "servers of a subset", size, len(g.Servers))
				if slices.ContainsFunc(g.Servers, func(s *state.Server) bool { return s.ServerID == joined }) {
					takers[id] = true
				}
			}
			w.cloud.Unlock()
			written := map[string]bool{}
			for _, call := range w.cloud.Calls() {
				request, ok := call.Request.(*slbv1.ApplyServerChangesRequest)
				if !ok || written[request.GetServerGroupId()] {
					t.Fatalf("unexpected call %s %v", call.Method, call.Request)
				}
				written[request.GetServerGroupId()] = true
			}
			t.Logf("%d Services take %s", len(takers), joined)
			check(t, "written to", takers, written)
		}
	})
}

// TestFamilies: which addresses of pods become servers.
func TestFamilies(t *testing.T) {
	const v4, v6 = "10.0.0.1", "2408:4005::1"
	local := func(svc *corev1.Service) {
		svc.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
	}
	both := []discoveryv1.AddressType{discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6}
	tests := []struct {
		name     string
		service  []func(*corev1.Service)
		families []discoveryv1.AddressType
		ignored  bool
		want     map[string]int32
		warned   bool
	}{
		{name: "IPv4", service: []func(*corev1.Service){podsMode}, families: both, want: map[string]int32{v4: 100}},
		{
			name: "IPv6", families: both, want: map[string]int32{v6: 100},
			service: []func(*corev1.Service){podsMode, annotated(annotation.IPVersion, "ipv6"), annotated(annotation.BackendIPVersion, "IPv6")},
		},
		{
			name: "IPv6 behind IPv4", families: both, want: map[string]int32{v4: 100}, warned: true,
			service: []func(*corev1.Service){podsMode, annotated(annotation.BackendIPVersion, "ipv6")},
		},
		{
			name: "IPv6 while the configuration ignores it", families: both, ignored: true, want: map[string]int32{v4: 100}, warned: true,
			service: []func(*corev1.Service){podsMode, annotated(annotation.IPVersion, "ipv6"), annotated(annotation.BackendIPVersion, "ipv6")},
		},
		{name: "pods have IPv6 only", service: []func(*corev1.Service){podsMode}, families: both[1:], want: map[string]int32{}, warned: true},
		{name: "nodes of pods that have IPv6 only", service: []func(*corev1.Service){local}, families: both[1:],
			want: map[string]int32{"i-1": 1}},
		{name: "nodes of pods that have both", service: []func(*corev1.Service){local}, families: both, want: map[string]int32{"i-1": 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inWorld(t, 2, func(w *world) {
				w.config = func(cfg *settings) { cfg.Kind.Desired.IgnoreBackendIPv6 = tt.ignored }
				w.restart()
				w.addInterface(v4)
				w.addInterface(v6)
				for _, family := range tt.families {
					ip := v4
					if family == discoveryv1.AddressTypeIPv6 {
						ip = v6
					}
					w.slice(family, []discoveryv1.Endpoint{endpointOf(ip, true, false)})
				}
				w.settle() // Else the Service may be seen before one of its slices.
				w.create(web(tt.service...))
				check(t, "servers", tt.want, w.weights())
				check(t, "warned", tt.warned, slices.ContainsFunc(w.events.reasons(), func(reason string) bool {
					return reason == "SkipSyncBackends" || reason == "UnknownAnnotation"
				}))
			})
		})
	}
}

// TestSliceThatChangesHands: an EndpointSlice made by hand gets the label of its Service late, and then that of another
// one. Its endpoints are the same all the time.
func TestSliceThatChangesHands(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.create(web(local))
		w.create(api(443, local))
		slices := w.kube.DiscoveryV1().EndpointSlices("default")
		slice := &discoveryv1.EndpointSlice{
			ObjectMeta:  metav1.ObjectMeta{Namespace: "default", Name: "by-hand"},
			AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{pod("10.0.0.1", "node-1")},
		}
		if _, err := slices.Create(t.Context(), slice, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		belongsTo := func(service string) {
			t.Helper()
			slice.Labels = map[string]string{discoveryv1.LabelServiceName: service}
			if _, err := slices.Update(t.Context(), slice, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			w.settle()
		}
		check(t, "servers before", []string(nil), w.servers())
		belongsTo("web")
		check(t, "servers of the first", []string{"i-1:30080=1"}, w.servers())
		belongsTo("api")
		check(t, "servers of the second", []string{"i-1:31080=1"}, w.servers())
	})
}
