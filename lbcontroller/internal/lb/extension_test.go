package lb_test

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

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
