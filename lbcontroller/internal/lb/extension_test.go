package lb_test

import (
	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

// secure makes port 80 an https listener.
func secure(svc *corev1.Service) {
	annotated(annotation.ProtocolPort, "https:80")(svc)
	annotated(annotation.CertID, "cert-1")(svc)
}
