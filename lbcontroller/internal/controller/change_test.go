package controller

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

func TestChange(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change       func(*corev1.Service)
		reason, text string
	}{
		"nothing": {change: func(*corev1.Service) {}},
		"a label": {change: func(svc *corev1.Service) { svc.Labels = map[string]string{"a": "b"} }},
		"status": {change: func(svc *corev1.Service) {
			svc.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "47.0.0.1"}}
		}},
		"kubectl's notes": {change: func(svc *corev1.Service) { svc.Annotations["kubectl.kubernetes.io/last-applied-configuration"] = "{}" }},
		"our notes":       {change: func(svc *corev1.Service) { svc.Annotations[annotation.OwnTags] = "team" }},
		"type":            {change: func(svc *corev1.Service) { svc.Spec.Type = corev1.ServiceTypeClusterIP }},
		"an annotation":   {annotated(annotation.Scheduler, "wlc"), "AnnotationChanged", "changed: " + annotation.Prefix + annotation.Scheduler},
		"one removed": {func(svc *corev1.Service) { clear(svc.Annotations) }, "AnnotationChanged", "changed: " +
			annotation.Prefix + annotation.Name},
		"the backend type": {eniMode, "AnnotationChanged", "changed: " + annotation.BackendType},
		"spec":             {local, "ServiceSpecChanged", "the spec of the Service was changed"},
		"deletion": {func(svc *corev1.Service) { svc.DeletionTimestamp = &metav1.Time{} }, "DeleteTimestampChanged",
			"the Service is being deleted"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reason, text := change(web(annotated(annotation.Name, "web")), web(annotated(annotation.Name, "web"), tt.change))
			check(t, "reason", tt.reason, reason)
			check(t, "text", tt.text, text)
		})
	}
}
