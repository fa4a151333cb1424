package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/deploy/tools/local/world"
)

// TestEips: a Service binds a user's EIP, changes to one of its own, and releases that when it goes. The user's is there as before.
func TestEips(t *testing.T) {
	t.Parallel()
	w := bootWith(t, world.Config{Nodes: 1, Controllers: []string{"lbcontroller"}, Fast: bool(instant)})
	const users = "eip-user"
	before := &state.Eip{ID: users, Address: "203.0.113.7", Status: "Available", Bandwidth: "5"}
	if err := w.Cloud().Seed(t.Context(), &state.Cloud{Eips: map[string]*state.Eip{users: before}}); err != nil {
		t.Fatal(err)
	}
	seeded := slices.Sorted(maps.Keys(w.state(t).Eips))
	asks := map[string]string{"address-type": "intranet", "eip-id": users}
	w.create(t, newService("web", asks, 80))
	shows := func(isUsers bool) {
		t.Helper()
		eventually(t, "the address of the EIP is published", func(ctx context.Context) error {
			service, err := w.Client().CoreV1().Services(metav1.NamespaceDefault).Get(ctx, "web", metav1.GetOptions{})
			if err != nil {
				return err
			}
			for id, e := range w.state(t).Eips {
				ingress := service.Status.LoadBalancer.Ingress
				if (id == users) == isUsers && e.InstanceType == "SlbInstance" && len(ingress) == 1 && ingress[0].IP == e.Address {
					return nil
				}
			}
			return fmt.Errorf("it has %v; events: %v", service.Status.LoadBalancer.Ingress, w.events(ctx, "web"))
		})
	}
	shows(true)
	w.change(t, "web", func(s *corev1.Service) {
		delete(s.Annotations, annotationPrefix+"eip-id")
		s.Annotations[annotationPrefix+"eip-allocate"] = "on"
	})
	shows(false)
	w.remove(t, "web")
	left := w.state(t)
	if ids := slices.Sorted(maps.Keys(left.Eips)); len(left.LoadBalancers) > 0 || !slices.Equal(ids, seeded) ||
		left.Eips[users].Status != "Available" {
		t.Errorf("left in the cloud: %d load balancers, EIPs %v, the user's %+v", len(left.LoadBalancers), ids, left.Eips[users])
	}
}
