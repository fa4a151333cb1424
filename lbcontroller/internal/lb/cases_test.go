package lb_test

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/lb"
)

func local(svc *corev1.Service) {
	svc.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
}

func eniMode(svc *corev1.Service) { svc.Annotations[annotation.BackendType] = "eni" }

func (w *world) addENI(id string, ips ...string) {
	w.cloud.Lock()
	defer w.cloud.Unlock()
	w.cloud.NetworkInterfaces[id] = &ecsv1.NetworkInterface{NetworkInterfaceId: id, VpcId: "vpc-test", PrivateIps: ips, Status: "InUse"}
}

func TestLocalFollowsThePods(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		w.pods(pod("10.0.0.1", "node-1"), pod("10.0.0.2", "node-1"))
		w.create(web(local))
		check(t, "servers", []string{"i-1:30080=2"}, w.servers())
		w.calls()
		w.pods(pod("10.0.0.1", "node-1"), pod("10.0.0.3", "node-2"))
		check(t, "servers", []string{"i-1:30080=1", "i-2:30080=1"}, w.servers())
		check(t, "calls", []string{"ApplyServerChanges"}, w.calls())
		w.updateNode(3, excluded)
		check(t, "calls for a node without pods", []string(nil), w.calls())
		w.updateNode(2, excluded)
		check(t, "servers", []string{"i-1:30080=1"}, w.servers())
	})
}

func TestClusterIgnoresPods(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web())
		w.calls()
		w.pods(pod("10.0.0.1", "node-1"))
		check(t, "calls", []string(nil), w.calls())
	})
}

func TestPodsAsBackends(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.addENI("eni-1", "10.0.0.1", "10.0.0.2")
		w.pods(pod("10.0.0.1", "node-1"))
		w.create(web(eniMode))
		check(t, "calls", []string{"BatchGetNetworkInterfaces", "CreateLoadBalancer", "CreateServerGroup", "CreateListener"}, w.calls())
		check(t, "servers", []string{"eni-1:8080=100"}, w.servers())
		w.pods(pod("10.0.0.1", "node-1"), pod("10.0.0.2", "node-1"))
		check(t, "calls for one more pod", []string{"BatchGetNetworkInterfaces", "ApplyServerChanges"}, w.calls())
		w.updateNode(1, func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionFalse })
		check(t, "calls for a node", []string(nil), w.calls())
	})
}

// A pod whose network interface isn't known yet neither blocks the others nor loses its place.
func TestUnknownNetworkInterface(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.addENI("eni-1", "10.0.0.1")
		w.pods(pod("10.0.0.1", "node-1"), pod("10.0.0.9", "node-1"))
		w.create(web(eniMode))
		check(t, "servers", []string{"eni-1:8080=100"}, w.servers())
		if got := w.events.reasons(); len(got) != 2 || got[1] != "SkipSyncBackends" {
			t.Errorf("events: %q", got)
		}
		w.addENI("eni-9", "10.0.0.9")
		w.after(time.Minute)
		check(t, "servers later", []string{"eni-1:8080=100", "eni-9:8080=100"}, w.servers())
		w.cloud.Lock()
		delete(w.cloud.NetworkInterfaces, "eni-9")
		w.cloud.Unlock()
		w.after(20 * time.Minute)
		w.pods(pod("10.0.0.9", "node-1"))
		check(t, "servers in the end", []string{"eni-9:8080=100"}, w.servers())
	})
}

func TestPublishedAddress(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web(annotated(annotation.Hostname, "www.example.com")))
		check(t, "host name", []corev1.LoadBalancerIngress{{Hostname: "www.example.com"}}, w.service().Status.LoadBalancer.Ingress)
		w.update(func(svc *corev1.Service) { svc.Annotations = nil })
		check(t, "address", []corev1.LoadBalancerIngress{{IP: w.instances()[0].GetAddress()}}, w.service().Status.LoadBalancer.Ingress)
		w.cloud.Lock()
		id := ""
		for id = range w.cloud.LoadBalancers {
			w.cloud.Eips["eip-1"] = &vpcv1.Eip{AllocationId: "eip-1", IpAddress: "8.8.4.4", InstanceId: id, InstanceType: "SlbInstance"}
		}
		w.cloud.Unlock()
		w.update(annotated(annotation.ExternalIPType, "eip"))
		check(t, "EIP", []corev1.LoadBalancerIngress{{IP: "8.8.4.4"}}, w.service().Status.LoadBalancer.Ingress)
	})
}

func TestThrottledWaitsAsLongAsAsked(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.cloud.Fail("CreateListener", 1, &rpcerr.Error{Code: codes.ResourceExhausted, Reason: rpcerr.Throttled,
			Message: "slow down", RetryAfter: 5 * time.Second})
		w.create(web())
		w.settle()
		check(t, "listeners", []string{"80/TCP"}, w.listeners())
		check(t, "instances", 1, len(w.instances()))
		check(t, "events", []string{"SyncLoadBalancerFailed", "EnsuredLoadBalancer"}, w.events.reasons())
	})
}

func TestCloudRefusalIsFinalUntilTheServiceChanges(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		refused := &rpcerr.Error{Code: codes.InvalidArgument, Reason: rpcerr.InvalidField, Message: "no such certificate",
			API: "slb/CreateLoadBalancerHTTPSListener", CloudRequestID: "R-1"}
		w.cloud.Interpose(func(_ int, _ string, request proto.Message) gatewaytest.Fault {
			if r, ok := request.(*slbv1.CreateListenerRequest); ok && r.GetConfig().GetServerCertificateId() == "cert-x" {
				return gatewaytest.Fault{Before: refused}
			}
			return gatewaytest.Fault{}
		})
		w.create(web(annotated(annotation.ProtocolPort, "https:80"), annotated(annotation.CertID, "cert-x")))
		events := w.events.take()
		if len(events) != 1 || !strings.Contains(events[0], "no such certificate") || !strings.Contains(events[0], "R-1") {
			t.Errorf("events: %q", events)
		}
		w.calls()
		w.after(lb.RetryRefused - time.Minute)
		check(t, "calls", []string(nil), w.calls())
		w.after(2 * time.Minute)
		check(t, "calls after a while: what is missing may have been made", []string{"CreateListener"}, w.calls())
		check(t, "events", []string(nil), w.events.take())
		w.update(annotated(annotation.CertID, "cert-y"))
		check(t, "listeners", []string{"80/HTTPS"}, w.listeners())
	})
}

// A group at its quota gives way before it takes more.
func TestFullGroupRemovesFirst(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.cloud.Lock()
		w.cloud.ServersPerGroup = 2
		w.cloud.Unlock()
		w.create(web())
		w.addNode(3)
		w.updateNode(1, func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionFalse })
		w.after(time.Minute)
		check(t, "servers", []string{"i-2:30080=100", "i-3:30080=100"}, w.servers())
	})
}

func TestVSwitchWithoutAddressesIsReplaced(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.cloud.Fail("CreateLoadBalancer", 1, &rpcerr.Error{Code: codes.FailedPrecondition, Reason: rpcerr.NoFreeAddress, Message: "full"})
		w.create(web(annotated(annotation.AddressType, "intranet")))
		check(t, "calls", []string{"CreateLoadBalancer", "ListVSwitches", "CreateLoadBalancer", "CreateServerGroup", "CreateListener"}, w.calls())
		check(t, "ingress", 1, len(w.service().Status.LoadBalancer.Ingress))
	})
}

// What can't be changed is refused, and the rest is done.
func TestFixedAttributeIsRefused(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web())
		w.events.take()
		w.update(func(svc *corev1.Service) {
			annotated(annotation.AddressType, "intranet")(svc)
			annotated(annotation.Scheduler, "wrr")(svc)
		})
		events := strings.Join(w.events.take(), "\n")
		if !strings.Contains(events, "SyncLoadBalancerFailed") || !strings.Contains(events, "address-type") {
			t.Errorf("events: %s", events)
		}
		w.cloud.Lock()
		for _, l := range w.cloud.Listeners {
			check(t, "scheduler", "wrr", l.GetConfig().GetScheduler())
		}
		w.cloud.Unlock()
		if w.service().Labels[LabelHash] != "" {
			t.Error("the hash label says that all is in place")
		}
	})
}

// A copy of a Service brings the labels of the original along. They prove nothing.
func TestCopiedLabelsDontTakeOver(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web())
		original := w.service()
		copied := web(func(svc *corev1.Service) {
			svc.Name, svc.UID, svc.Labels = "copy", "11111111-2222-3333-4444-555555555555", original.Labels
			svc.Spec.Ports[0].NodePort = 31000
		})
		w.create(copied)
		check(t, "instances", 2, len(w.instances()))
		w.calls()
		w.remove()
		check(t, "instances", 1, len(w.instances()))
		check(t, "the other one stays", "a11111111222233334444555555555555"[:32], w.instances()[0].GetName())
	})
}

// badValue is a value that is not allowed for an annotation.
func badValue(spec annotation.Spec) string {
	switch {
	case spec.Kind == annotation.Text && spec.Pattern == annotation.AnyText, spec.Kind == annotation.List:
		return " "
	case spec.Kind == annotation.Pairs:
		return "=:"
	default:
		return "\x01bad"
	}
}

// TestEveryBadAnnotation holds for each annotation that is supported: one event that names it, its value and what is allowed, no
// call, and other Services go on.
func TestEveryBadAnnotation(t *testing.T) {
	for _, spec := range annotation.Table() {
		t.Run(spec.Key, func(t *testing.T) {
			inWorld(t, 1, func(w *world) {
				w.create(web(func(svc *corev1.Service) { svc.Name, svc.UID = "good", "22222222-2222-3333-4444-555555555555" }))
				w.calls()
				w.events.take()
				w.create(web(annotated(spec.Key, badValue(spec))))
				check(t, "calls", []string(nil), w.calls())
				got := w.events.take()
				if len(got) != 1 || !strings.HasPrefix(got[0], "Warning SyncLoadBalancerFailed") ||
					!strings.Contains(got[0], annotation.Prefix+spec.Key) {
					t.Fatalf("events: %q", got)
				}
				w.addNode(2)
				w.settle()
				check(t, "other Services", []string{"ApplyServerChanges"}, w.calls())
			})
		})
	}
}
