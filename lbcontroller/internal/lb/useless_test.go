package lb_test

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

// TestWhatHasNoEffectIsSaid: whatever a user wrote on a Service and that means nothing there has an event.
func TestWhatHasNoEffectIsSaid(t *testing.T) {
	for name, tt := range map[string]struct {
		service []func(*corev1.Service)
		says    string
	}{
		"listeners of a user's": {[]func(*corev1.Service){naming(usersLB), annotated(annotation.ProtocolPort,
			"http:80"), annotated(annotation.HealthCheckFlag, "on")}, "protocol-port, health-check-flag have no effect"},
		"a port that there isn't": {[]func(*corev1.Service){annotated(annotation.ProtocolPort, "https:8888")}, "no effect for port 8888"},
		"a certificate without https": {[]func(*corev1.Service){annotated(annotation.CertID, "cert-1")},
			"cert-id has no effect: it is for https"},
		"stickiness on tcp": {[]func(*corev1.Service){annotated(annotation.StickySession, "on")}, "sticky-session has no effect"},
		"a group without id": {[]func(*corev1.Service){annotated(annotation.VGroupPort, "rsp-1:80"),
			annotated(annotation.Weight, "60")}, "vgroup-port has no effect without"},
		"session affinity": {
			[]func(*corev1.Service){func(svc *corev1.Service) { svc.Spec.SessionAffinity = corev1.ServiceAffinityClientIP }},
			"spec.sessionAffinity has no effect"},
		"an address in the spec": {
			[]func(*corev1.Service){func(svc *corev1.Service) { svc.Spec.LoadBalancerIP = "10.0.0.9" }}, "spec.loadBalancerIP has no effect"},
		"source ranges": {
			[]func(*corev1.Service){ranges("10.0.0.0/8"), naming(usersLB)}, "spec.loadBalancerSourceRanges has no effect"},
		"source ranges of the other family": {[]func(*corev1.Service){ranges("10.0.0.0/8", "2001:db8::/32")},
			"2001:db8::/32 in spec.loadBalancerSourceRanges have no effect"},
		"another kind": {[]func(*corev1.Service){literally(annotation.LoadBalancerType, "nlb")}, "the Service has a CLB"},
		"a misspelt older key": {[]func(*corev1.Service){literally(annotation.LegacyPrefix+"address-tipe",
			"intranet")}, "alicloud-loadbalancer-address-tipe is not known"},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, func(w *world) {
				w.usersCLB(usersLB)
				w.create(web(tt.service...))
				w.hasEvents("what has no effect", "Warning UnknownAnnotation", tt.says)
			})
		})
	}
}

// TestWeightIsOfSharedGroups: the total weight rules the groups that are shared, and no other one.
func TestWeightIsOfSharedGroups(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.usersCLB(usersLB)
		w.create(web(naming(usersLB), override, annotated(annotation.VGroupPort, "rsp-of-"+usersLB+":80"),
			annotated(annotation.Weight, "0"), morePort))
		check(t, "groups", []string{
			"k8s/30081/web/default/c-test: i-1:30081=100 i-2:30081=100", "mine: i-1:30080=0 i-2:30080=0 i-users:9000=7",
		}, w.parts(usersLB)[len(w.parts(usersLB))-2:])
		w.hasEvents("the port without servers that take traffic", "UnAvailableLoadBalancer")
	})
}

// TestOnePortKeepsNoAddress: a listener that the cloud refuses keeps the address from none of the others.
func TestOnePortKeepsNoAddress(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.cloud.Interpose(func(_ int, _ string, req proto.Message) gatewaytest.Fault {
			if c, ok := req.(*slbv1.CreateListenerRequest); ok && c.GetKey().GetPort() == 8081 {
				return gatewaytest.Fault{Before: &rpcerr.Error{Code: codes.InvalidArgument, Reason: rpcerr.InvalidField, Message: "no such port"}}
			}
			return gatewaytest.Fault{}
		})
		w.create(web(morePort))
		check(t, "addresses", 1, len(w.service().Status.LoadBalancer.Ingress))
		check(t, "conditions", "LoadBalancerReady=True Published", w.conditions()[0])
		check(t, "Synced", true, strings.HasPrefix(w.conditions()[1], "Synced=False"))
	})
}

// TestEventsAreBounded: a text ends with what to do, however long the value is that it is about.
func TestEventsAreBounded(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web(annotated(annotation.Scheduler, strings.Repeat("x", 100_000))))
		for _, text := range w.events.take() {
			if len(text) > 1100 || !strings.Contains(text, "use one of rr, wrr") {
				t.Errorf("%d bytes: %.300s", len(text), text)
			}
		}
	})
}
