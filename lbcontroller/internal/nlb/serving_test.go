package nlb_test

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

// watchServing fails the test as soon as a listener whose server group had a server that takes traffic is there without any, or is gone: it
// looks before each call.
func (w *world) watchServing(fault func(method string) gatewaytest.Fault) {
	var mu sync.Mutex
	served := map[int]bool{}
	w.cloud.Interpose(func(_ int, method string, _ proto.Message) gatewaytest.Fault {
		mu.Lock()
		defer mu.Unlock()
		now := map[int]bool{}
		w.cloud.Look(func(c *state.Cloud) {
			for _, l := range c.NLBListeners {
				for _, s := range c.NLBServerGroups[l.ServerGroupID].Servers {
					now[l.Port] = now[l.Port] || s.Weight > 0
				}
			}
		})
		for port := range served {
			if !now[port] {
				w.t.Errorf("before %s: listener %d has no server that takes traffic", method, port)
			}
		}
		served = now
		return fault(method)
	})
}

func noFault(string) gatewaytest.Fault { return gatewaytest.Fault{} }

// refusing refuses the calls of a method.
func refusing(refused string, err error) func(string) gatewaytest.Fault {
	return func(method string) gatewaytest.Fault {
		if method == refused {
			return gatewaytest.Fault{Before: err}
		}
		return gatewaytest.Fault{}
	}
}

// TestListenerStaysWhereItHasServers: a listener goes to no server group that would leave it without servers, whatever makes the group
// another one, and the one that it has stays.
func TestListenerStaysWhereItHasServers(t *testing.T) {
	t.Parallel()
	throttled := refusing("BatchGetNetworkInterfaces", rpcerr.Errorf(rpcerr.Throttled, "too many requests"))
	for name, test := range map[string]struct {
		before []func(*corev1.Service)
		world  func(w *world)
		fault  func(string) gatewaytest.Fault
		change []func(*corev1.Service)
		// says is the event; empty while nothing is refused.
		says string
		// follows says that nodes become servers of the group that stays, once the load balancer is looked at.
		follows bool
	}{
		"pods without a network interface": {
			world: func(w *world) { w.homeless = "10.9.0.1"; w.pods("10.9.0.1") }, change: []func(*corev1.Service){onPods}, says: "LastServersKept",
			follows: true,
		},
		"network interfaces are not looked up yet": {
			world: func(w *world) { w.pods("10.0.0.1") }, change: []func(*corev1.Service){onPods}, fault: throttled, follows: true,
		},
		"no EndpointSlice yet": {change: []func(*corev1.Service){onPods}, says: "LastServersKept", follows: true},
		"a port gets another name and target port before the EndpointSlices say so": {
			before: []func(*corev1.Service){onPods}, world: func(w *world) { w.pods("10.0.0.1") },
			change: []func(*corev1.Service){func(svc *corev1.Service) {
				svc.Spec.Ports[0].Name, svc.Spec.Ports[0].TargetPort = "web", intstr.FromInt32(9090)
			}}, says: "LastServersKept",
		},
		"another protocol, which has a server group of its own": {
			world:  func(w *world) { w.homeless = "10.9.0.1"; w.pods("10.9.0.1") },
			change: []func(*corev1.Service){onPods, annotated(annotation.ProtocolPort, "tcpssl:80", annotation.CertID, "cert-1")},
			says:   "LastServersKept",
		},
		"a range in place of a port": {
			world:  func(w *world) { w.homeless = "10.9.0.1"; w.pods("10.9.0.1") },
			change: []func(*corev1.Service){onPods, annotated(annotation.ListenerPortRange, "80-90:80")}, says: "LastServersKept",
		},
		"servers can't be added": {
			change: []func(*corev1.Service){func(svc *corev1.Service) { svc.Spec.Ports[0].NodePort = 31080 }},
			fault:  refusing("nlb.CreateServerGroup", rpcerr.Errorf(rpcerr.QuotaExceeded, "no more servers")), says: "QUOTA_EXCEEDED",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, 1, func(w *world) {
				if test.fault == nil {
					test.fault = noFault
				}
				if len(test.before) > 0 {
					test.world(w)
				}
				w.create(web(test.before...))
				if len(test.before) == 0 && test.world != nil {
					test.world(w)
				}
				before := w.state()
				w.events.take()
				w.writes()
				w.watchServing(test.fault)
				w.update(test.change...)
				w.after(10 * time.Minute)
				w.has("after the change", before...)
				if test.says != "" {
					w.says(test.says)
				}
				if test.follows {
					w.addNode(2)
					w.after(6 * time.Hour) // Node events are nothing to a Service with pods as servers.
					check(t, "servers of the group that stays", 2, len(w.group().Servers))
				}
				synced := conditionOf(w.service(), "Synced")
				if synced.Status != metav1.ConditionFalse {
					t.Errorf("Synced is %s: %s", synced.Status, synced.Message)
				}
				w.cloud.Interpose(nil)
				w.remove()
				w.after(time.Minute)
				w.has("once the Service is gone")
			})
		})
	}
}

func conditionOf(svc *corev1.Service, kind string) metav1.Condition {
	for _, c := range svc.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return metav1.Condition{}
}

// TestListenerGoesWhereItHasServers: what was put off is done as soon as the servers are known, and before they are in the new server group
// the listener doesn't go there. A Service without pods has nothing to lose.
func TestListenerGoesWhereItHasServers(t *testing.T) {
	t.Parallel()
	inWorld(t, 1, func(w *world) {
		w.create(web())
		w.watchServing(noFault)
		w.update(onPods)
		w.says("LastServersKept")
		w.pods("10.0.0.1", "10.0.0.2")
		w.after(time.Minute)
		w.has("once there are pods", "balancer "+w.balancer().Name, "listener 80-0 TCP to k8s.8080.TCP.web.default."+clusterID,
			"group k8s.8080.TCP.web.default."+clusterID+" eni-10.0.0.1:8080=100 eni-10.0.0.2:8080=100")
		w.update(func(svc *corev1.Service) {
			svc.Spec.Ports[0].Name, svc.Spec.Ports[0].TargetPort = "web", intstr.FromInt32(9090)
		})
		slice := &discoveryv1.EndpointSlice{
			ObjectMeta:  metav1.ObjectMeta{Namespace: "default", Name: "web-1", Labels: map[string]string{discoveryv1.LabelServiceName: "web"}},
			AddressType: discoveryv1.AddressTypeIPv4,
			Ports:       []discoveryv1.EndpointPort{{Name: new("web"), Port: new(int32(9090)), Protocol: new(corev1.ProtocolTCP)}},
			Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.2"}}},
		}
		if _, err := w.kube.DiscoveryV1().EndpointSlices("default").Update(t.Context(), slice, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		w.after(time.Minute)
		w.has("once the slices have the port", "balancer "+w.balancer().Name, "listener 80-0 TCP to k8s.9090.TCP.web.default."+clusterID,
			"group k8s.9090.TCP.web.default."+clusterID+" eni-10.0.0.2:9090=100")
	})
	inWorld(t, 1, func(w *world) {
		w.create(web())
		w.pods()
		w.update(onPods)
		if group := w.group().Name; !strings.Contains(group, "8080") {
			t.Errorf("without pods the listener stays at %s", group)
		}
	})
}

// TestReplacementIsProvedFirst: a listener that is to have another protocol serves until it is known that the other one can be made, and
// comes back if it can't be made all the same.
func TestReplacementIsProvedFirst(t *testing.T) {
	t.Parallel()
	secure := annotated(annotation.ProtocolPort, "tcpssl:80", annotation.CertID, "cert-1")
	notFound := rpcerr.Errorf(rpcerr.CertificateNotFound, "there is no certificate cert-1")
	for name, test := range map[string]struct {
		fault func(method string, r proto.Message) error
		goes  bool
	}{
		"the cloud doesn't have the certificate": {fault: func(method string, r proto.Message) error {
			if create, ok := r.(*nlbv1.CreateListenerRequest); ok && create.GetProtocol() == nlbv1.ListenerProtocol_LISTENER_PROTOCOL_TCPSSL {
				return notFound
			}
			return nil
		}},
		"the server group can't be made": {fault: func(method string, _ proto.Message) error {
			if method == "nlb.CreateServerGroup" {
				return rpcerr.Errorf(rpcerr.Throttled, "too many calls")
			}
			return nil
		}},
		"it is refused all the same": {goes: true, fault: func(method string, r proto.Message) error {
			if create, ok := r.(*nlbv1.CreateListenerRequest); ok && !create.GetValidateOnly() &&
				create.GetProtocol() == nlbv1.ListenerProtocol_LISTENER_PROTOCOL_TCPSSL {
				return rpcerr.Errorf(rpcerr.QuotaExceeded, "no more listeners")
			}
			return nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, 1, func(w *world) {
				w.create(web())
				group := w.listener().ServerGroupID
				w.writes()
				w.cloud.Interpose(func(_ int, method string, r proto.Message) gatewaytest.Fault {
					return gatewaytest.Fault{Before: test.fault(method, r)}
				})
				w.update(secure)
				w.after(time.Minute)
				w.rest()
				if has := slices.Contains(w.writes(), "DeleteListener"); has != test.goes {
					t.Errorf("the listener is deleted: %t, want %t", has, test.goes)
				}
				now := w.listener()
				check(t, "protocol", "TCP", now.Protocol)
				check(t, "server group", group, now.ServerGroupID)
				w.says("SyncLoadBalancerFailed")
				w.cloud.Interpose(nil)
				w.after(time.Hour)
				check(t, "protocol in the end", "TCPSSL", w.listener().Protocol)
			})
		})
	}
}

// TestLookupsThatFailAreNoSuccess: while the network interface of a pod can't be looked up, nothing says that all is well, the Service is
// written once, and the lookups become seldom.
func TestLookupsThatFailAreNoSuccess(t *testing.T) {
	t.Parallel()
	inWorld(t, 1, func(w *world) {
		w.pods("10.0.0.1")
		w.create(web(onPods))
		w.events.take()
		var lookups atomic.Int64
		w.cloud.Interpose(func(_ int, method string, _ proto.Message) gatewaytest.Fault {
			if method != "BatchGetNetworkInterfaces" {
				return gatewaytest.Fault{}
			}
			lookups.Add(1)
			return gatewaytest.Fault{Before: rpcerr.Errorf(rpcerr.Throttled, "too many calls")}
		})
		w.kube.ClearActions()
		w.pods("10.0.0.1", "10.0.0.2")
		w.after(30 * time.Minute)
		w.update(func(svc *corev1.Service) { svc.Labels["team"] = "a" }) // A pass that may not look yet must not say that all is well.
		writes := 0
		for _, a := range w.kube.Actions() {
			if a.GetVerb() == "patch" && a.GetResource().Resource == "services" {
				writes++
			}
		}
		// The condition goes to False, to Unknown when the Service is changed, and to False again.
		if writes > 3 || lookups.Load() > 20 {
			t.Errorf("%d writes and %d lookups in 30 minutes", writes, lookups.Load())
		}
		for _, e := range w.events.take() {
			if strings.Contains(e, "Resolved") || strings.Contains(e, "is over") {
				t.Errorf("event %s", e)
			}
		}
		check(t, "synced", metav1.ConditionFalse, conditionOf(w.service(), "Synced").Status)
		w.cloud.Interpose(nil)
		w.after(20 * time.Minute)
		check(t, "synced in the end", metav1.ConditionTrue, conditionOf(w.service(), "Synced").Status)
		check(t, "servers", 2, len(w.group().Servers))
	})
}
