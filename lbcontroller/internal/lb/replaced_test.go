package lb_test

import (
	corev1 "k8s.io/api/core/v1"
)

// replace replaces a Service by a manifest that knows nothing of what the controller notes, as kubectl replace and helm
// upgrade --force do. Only the status stays.
func (w *world) replace(changes ...func(*corev1.Service)) {
	w.t.Helper()
	w.update(func(svc *corev1.Service) {
		svc.Finalizers, svc.Labels, svc.Annotations = nil, nil, map[string]string{}
		for _, change := range changes {
			change(svc)
		}
	})
}
