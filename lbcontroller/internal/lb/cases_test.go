package lb_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

func local(svc *corev1.Service) {
	svc.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
}

func eniMode(svc *corev1.Service) { svc.Annotations[annotation.BackendType] = "eni" }

func (w *world) addENI(id string, ips ...string) {
	w.cloud.Lock()
	defer w.cloud.Unlock()
	addInterface(w.cloud.Cloud, id, ips...)
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
