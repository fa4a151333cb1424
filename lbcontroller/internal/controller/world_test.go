package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func check(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// web returns a Service.
func web(changes ...func(*corev1.Service)) *corev1.Service {
	svc := &corev1.Service{}
	svc.Namespace, svc.Name, svc.Annotations = "default", "web", map[string]string{}
	svc.Spec.Type, svc.Spec.ExternalTrafficPolicy = corev1.ServiceTypeLoadBalancer, corev1.ServiceExternalTrafficPolicyCluster
	for _, change := range changes {
		change(svc)
	}
	return svc
}

func annotated(suffix, value string) func(*corev1.Service) {
	return func(svc *corev1.Service) { svc.Annotations[annotation.Prefix+suffix] = value }
}

func local(svc *corev1.Service) {
	svc.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
}

func eniMode(svc *corev1.Service) { svc.Annotations[annotation.BackendType] = "eni" }
