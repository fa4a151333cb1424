package lb_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

// restricted puts access control in force.
func restricted(svc *corev1.Service) {
	annotated(annotation.ACLStatus, "on")(svc)
	annotated(annotation.ACLID, "acl-1")(svc)
	annotated(annotation.ACLType, "white")(svc)
}

// unrestricted says nothing of access control any more.
func unrestricted(svc *corev1.Service) {
	for _, key := range []string{annotation.ACLStatus, annotation.ACLID, annotation.ACLType} {
		without(key)(svc)
	}
}

// TestAccessNeverOpensByItself: only off ends access control, not a typing error nor a template that lost the
// annotation. Nor does a listener that is made or recreated afterwards let anyone in.
func TestAccessNeverOpensByItself(t *testing.T) {
	for name, test := range map[string]struct {
		lose  func(*corev1.Service)
		event string
	}{
		"a typing error": {func(svc *corev1.Service) {
			without(annotation.ACLStatus)(svc)
			annotated("acl-statuss", "on")(svc)
		}, "SyncLoadBalancerFailed"},
		"a template": {func(svc *corev1.Service) {
			unrestricted(svc)
		}, "AnnotationKept"},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, func(w *world) {
				w.create(web(restricted))
				w.events.take()
				w.update(test.lose)
				w.hasEvents("what is wrong", test.event, "acl-status")
				check(t, "access control", true, w.onlyListener().GetAclEnabled())
				w.restart()
				w.update(annotated(annotation.ProtocolPort, "http:80"))
				check(t, "listeners after a change of protocol", []string{"80/TCP"}, w.listeners())
				check(t, "access control after that", true, w.onlyListener().GetAclEnabled())
				w.update(without(annotation.ProtocolPort))
				w.update(morePort)
				check(t, "listeners after another port", []string{"80/TCP"}, w.listeners())
				w.hasEvents("why", "SyncLoadBalancerFailed", "acl-status")
				w.update(annotated(annotation.ACLStatus, "off"))
				check(t, "listeners once off is said", []string{"80/TCP", "8081/TCP"}, w.listeners())
				w.update(unrestricted)
				w.update(func(svc *corev1.Service) { svc.Spec.Ports[1].Port = 8082 })
				check(t, "listeners that were not restricted", []string{"80/TCP", "8082/TCP"}, w.listeners())
			})
		})
	}
}

// morePort adds a port.
func morePort(svc *corev1.Service) {
	svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{Name: "more", Port: 8081, NodePort: 30081, Protocol: corev1.ProtocolTCP})
}

// TestIntranetOpensNothingInPublic: while a Service with a public CLB asks for an intranet one, no port is opened there. Ports close.
func TestIntranetOpensNothingInPublic(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web(morePort))
		w.events.take()
		w.update(func(svc *corev1.Service) {
			annotated(annotation.AddressType, "intranet")(svc)
			svc.Spec.Ports[1].Port = 9200
		})
		check(t, "listeners", []string{"80/TCP"}, w.listeners())
		w.hasEvents("why", "SyncLoadBalancerFailed", "no listener is made on the public load balancer for 9200/tcp")
		w.update(without(annotation.AddressType))
		check(t, "listeners once that is taken back", []string{"80/TCP", "9200/TCP"}, w.listeners())
	})
}

// literally sets an annotation by its whole name.
func literally(key, value string) func(*corev1.Service) {
	return func(svc *corev1.Service) {
		if svc.Annotations == nil {
			svc.Annotations = map[string]string{}
		}
		svc.Annotations[key] = value
	}
}

// TestReleaseIsConfirmed: a Service that stays one of type LoadBalancer loses its CLB only if that is confirmed. Until
// then the CLB serves on, and its servers follow.
func TestReleaseIsConfirmed(t *testing.T) {
	for name, change := range map[string]func(*corev1.Service){
		"class":       literally(annotation.Class, "other"),
		"tunnel type": literally(annotation.TunnelType, "x"),
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, func(w *world) {
				w.create(web())
				w.update(change)
				w.hasEvents("what to do", "ReleaseUnconfirmed", `confirm-release: "true"`)
				check(t, "Synced", true, strings.Contains(strings.Join(w.conditions(), " "), "Synced=False Refused"))
				w.addNode(2)
				w.settle()
				check(t, "servers", []string{"i-1:30080=100", "i-2:30080=100"}, w.servers())
				w.update(func(svc *corev1.Service) {
					delete(svc.Annotations, annotation.Class)
					delete(svc.Annotations, annotation.TunnelType)
				})
				check(t, "conditions once it is taken back", []string{"LoadBalancerReady=True Published", "Synced=True Synced"}, w.conditions())
				w.update(change)
				w.update(literally(annotation.ConfirmRelease, "true"))
				check(t, "instances", 0, len(w.instances()))
				check(t, "finalizers", 0, len(w.service().Finalizers))
			})
		})
	}
	inWorld(t, 1, func(w *world) {
		w.create(web())
		w.calls()
		w.update(literally(annotation.TunnelType, ""))
		w.update(annotated(annotation.Scheduler, "wrr"))
		check(t, "scheduler with an empty tunnel type", "wrr", w.onlyListener().GetScheduler())
		check(t, "instances with an empty tunnel type", 1, len(w.instances()))
		w.update(func(svc *corev1.Service) { svc.Spec.Type = corev1.ServiceTypeClusterIP })
		check(t, "instances of another type", 0, len(w.instances()))
	})
	inWorld(t, 1, func(w *world) {
		w.create(web(annotated(annotation.Scheduler, "fastest")))
		w.update(literally(annotation.Class, "other"))
		check(t, "events of one that has nothing", false, strings.Contains(strings.Join(w.events.take(), "\n"), "ReleaseUnconfirmed"))
	})
}
