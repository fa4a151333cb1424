package lb_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

// secure makes port 80 an https listener.
func secure(svc *corev1.Service) {
	annotated(annotation.ProtocolPort, "https:80")(svc)
	annotated(annotation.CertID, "cert-1")(svc)
}

// extensions lists the certificates by domain.
func (w *world) extensions() (list []string) {
	w.cloud.Lock()
	defer w.cloud.Unlock()
	for _, e := range w.cloud.DomainExtensions {
		list = append(list, fmt.Sprintf("%d %s %s", e.Listener.Port, e.Extension.GetDomain(), e.Extension.GetServerCertificateId()))
	}
	slices.Sort(list)
	return list
}

// TestDomainExtensions: an https listener has the further certificates that the annotation names, each changed with one call. Without the
// annotation those that there are stay.
func TestDomainExtensions(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		asked := func(value string) func(*corev1.Service) { return annotated(annotation.DomainExtensions, value) }
		w.create(web(secure, asked("b.example.com:cert-3, a.example.com:cert-2")))
		check(t, "calls of a creation", []string{"CreateLoadBalancer", "CreateServerGroup", "CreateListener",
			"CreateDomainExtension", "CreateDomainExtension"}, w.calls())
		check(t, "extensions", []string{"80 a.example.com cert-2", "80 b.example.com cert-3"}, w.extensions())

		w.update(asked("a.example.com:cert-9,*.c.example.com:cert-4"))
		check(t, "calls of a change", []string{
			"GetLoadBalancer", "ListDomainExtensions", "CreateDomainExtension", "UpdateDomainExtension", "DeleteDomainExtension",
		}, w.calls())
		check(t, "extensions", []string{"80 *.c.example.com cert-4", "80 a.example.com cert-9"}, w.extensions())

		w.cloud.Lock()
		w.cloud.DomainExtensions["de-by-hand"] = &gatewaytest.DomainExtension{
			Listener:  gatewaytest.ListenerKey{LoadBalancerID: w.service().Labels[LabelLoadBalancerID], Port: 80, Protocol: https},
			Extension: &slbv1.DomainExtension{DomainExtensionId: "de-by-hand", Domain: "d.example.com", ServerCertificateId: "cert-5"},
		}
		w.cloud.Unlock()
		w.update(func(svc *corev1.Service) { delete(svc.Annotations, annotation.Prefix+annotation.DomainExtensions) })
		check(t, "calls when the annotation goes", []string{"GetLoadBalancer"}, w.calls())
		check(t, "extensions", 3, len(w.extensions()))

		w.update(annotated(annotation.ProtocolPort, "tcp:80"))
		check(t, "extensions of a listener that is gone", []string(nil), w.extensions())
	})
}

// TestDomainExtensionFails: a certificate that isn't there costs the Service neither its listener nor its address.
func TestDomainExtensionFails(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		missing := &rpcerr.Error{Code: codes.NotFound, Reason: rpcerr.CertificateNotFound, Message: "no certificate cert-2"}
		w.cloud.Fail("CreateDomainExtension", 1, missing)
		w.create(web(secure, annotated(annotation.DomainExtensions, "a.example.com:cert-2")))
		check(t, "listeners", []string{"80/HTTPS"}, w.listeners())
		check(t, "addresses", 1, len(w.service().Status.LoadBalancer.Ingress))
		if got := strings.Join(w.events.take(), "\n"); !strings.Contains(got,
			"give listener 80/https certificate cert-2 for a.example.com: no certificate cert-2") {
			t.Errorf("events:\n%s", got)
		}
		w.after(10 * time.Minute)
		check(t, "extensions in the end", []string{"80 a.example.com cert-2"}, w.extensions())
		w.calls()
		w.restart()
		check(t, "writes of the next start", 0, len(w.cloud.Writes()))
	})
}

// TestDomainExtensionDrift: what somebody changed by hand is brought back by the check for drift.
func TestDomainExtensionDrift(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web(secure, annotated(annotation.DomainExtensions, "a.example.com:cert-2")))
		w.cloud.Lock()
		clear(w.cloud.DomainExtensions)
		w.cloud.Unlock()
		w.after(6 * time.Hour)
		check(t, "extensions", []string{"80 a.example.com cert-2"}, w.extensions())
	})
}

// TestDomainExtensionsBadValues: each is named, and nothing is created.
func TestDomainExtensionsBadValues(t *testing.T) {
	for _, value := range []string{"a_b.example.com:cert-2", "a.example.com:", "a.example.com:cert-2,A.example.com:cert-3",
		strings.Repeat("x", 254) + ":cert-2"} {
		inWorld(t, 1, func(w *world) {
			w.create(web(secure, annotated(annotation.DomainExtensions, value)))
			check(t, "calls with "+value, []string(nil), w.calls())
			check(t, "events", []string{"SyncLoadBalancerFailed"}, w.events.reasons())
		})
	}
}
