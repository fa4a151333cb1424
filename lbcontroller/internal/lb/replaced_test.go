package lb_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
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

// TestPutService: what a client takes off a Service by replacing it is put back, so that nothing is forgotten in the cloud.
func TestPutService(t *testing.T) {
	t.Run("by a class", func(t *testing.T) {
		inWorld(t, 2, func(w *world) {
			w.create(web())
			w.replace(literally(annotation.Class, "other"))
			check(t, "instances", 1, len(w.instances()))
			w.hasEvents("what to do", "ReleaseUnconfirmed")
		})
	})
	t.Run("and being deleted", func(t *testing.T) {
		inWorld(t, 2, func(w *world) {
			w.create(web())
			w.replace()
			w.remove()
			check(t, "instances", 0, len(w.instances()))
		})
	})
	t.Run("a fight", func(t *testing.T) {
		inWorld(t, 2, func(w *world) {
			w.create(web())
			for range 20 {
				w.replace()
			}
			check(t, "finalizers", []string{Finalizer}, w.service().Finalizers)
			check(t, "writes", 0, len(w.cloud.Writes())-3)
		})
	})
}

// TestFilledGroupOfPutService: servers in a user's vServer group go with the annotation that names the group, and with
// the Service, whatever has taken the notes off, also while no controller ran.
func TestFilledGroupOfPutService(t *testing.T) {
	withGroup := func(w *world) {
		w.usersCLB("lb-a")
		w.cloud.Lock()
		w.cloud.ServerGroups["rsp-mine"] = &gatewaytest.ServerGroup{ID: "rsp-mine", LoadBalancerID: "lb-a", Name: "filled"}
		w.cloud.Unlock()
	}
	mapping := annotated(annotation.VGroupPort, "rsp-mine:80")
	for name, offline := range map[string]bool{"seen": false, "while no controller ran": true} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 2, func(w *world) {
				withGroup(w)
				w.create(web(naming("lb-a"), mapping))
				check(t, "servers", 3, len(w.servers()))
				if offline {
					w.stop()
					label := w.service().Labels[LabelLoadBalancerID]
					w.update(func(svc *corev1.Service) {
						svc.Annotations, svc.Labels = nil, map[string]string{LabelLoadBalancerID: label}
					})
					w.start()
				} else {
					w.replace(naming("lb-a"))
					check(t, "the user's group has no servers", true, slices.Contains(w.parts("lb-a"), "filled:"))
				}
				w.remove()
				check(t, "what is left", []string{usersListener, "filled:", usersGroup}, w.parts("lb-a"))
			})
		})
	}
}
