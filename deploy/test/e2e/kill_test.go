package e2e

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/deploy/tools/local/world"
)

// shape is what matters of a load balancer, without what differs between any two: ids, addresses, times.
type shape struct {
	AddressType, Spec, Protection string
	Listeners                     []string
	Servers                       map[string][]string // by listener
}

func shapeOf(c *state.Cloud, lb *state.LoadBalancer) shape {
	s := shape{AddressType: lb.AddressType, Spec: lb.Spec, Protection: lb.DeleteProtection, Servers: map[string][]string{}}
	for _, l := range lb.Listeners {
		name := fmt.Sprintf("%s:%d", l.Protocol, l.Port)
		attributes := maps.Clone(l.Attributes)
		group := c.ServerGroups[attributes["VServerGroupId"]]
		// These have the id or the name of the Service in them.
		for _, key := range []string{"VServerGroupId", "Description", "LoadBalancerId"} {
			delete(attributes, key)
		}
		var text []string
		for _, key := range slices.Sorted(maps.Keys(attributes)) {
			text = append(text, key+"="+attributes[key])
		}
		s.Listeners = append(s.Listeners, name+" "+strings.Join(text, " "))
		if group != nil {
			for _, server := range group.Servers {
				s.Servers[name] = append(s.Servers[name], fmt.Sprintf("%s weight %d", server.ServerID, server.Weight))
			}
			slices.Sort(s.Servers[name])
		}
	}
	slices.Sort(s.Listeners)
	return s
}

// TestKill kills each process at a random moment while 20 Services are created. What comes out must be what comes out when
// nothing happens.
func TestKill(t *testing.T) {
	t.Parallel()
	const services = 20
	w := bootWith(t, world.Config{Nodes: 3, Controllers: world.Controllers(), BinDir: racing(t)})
	w.initialised(t)

	w.create(t, newService("undisturbed", nil, 80, 443))
	w.balanced(t, "undisturbed")
	w.settle(t, 0)
	before := w.state(t)
	var want shape
	for _, lb := range before.LoadBalancers {
		want = shapeOf(before, lb)
	}
	w.remove(t, "undisturbed")

	random := rand.New(rand.NewPCG(seed(t), 0))
	processes := []string{world.LB, "cloudgateway", world.Node, world.Route}
	random.Shuffle(len(processes), func(i, j int) { processes[i], processes[j] = processes[j], processes[i] })
	created := 0
	for _, name := range processes {
		// Some new Services for each, so that it dies while they are created.
		for range services / len(processes) {
			w.create(t, newService(fmt.Sprintf("disturbed-%d", created), nil, 80, 443))
			created++
		}
		w.afterCalls(t, 1+random.IntN(15))
		// On a busy machine all may be served by now, which makes the death duller and nothing wrong.
		t.Logf("%s is killed with %d of %d Services pending", name, w.pending(t), created)
		if err := w.Kill(name); err != nil {
			t.Fatalf("kill: %v", err)
		}
		if err := w.Restart(t.Context(), name); err != nil {
			t.Fatalf("restart: %v", err)
		}
	}
	for i := range services {
		w.balanced(t, fmt.Sprintf("disturbed-%d", i))
	}
	w.settle(t, 0)

	after := w.state(t)
	if n := len(after.LoadBalancers); n != services {
		t.Errorf("%d load balancers for %d Services", n, services)
	}
	if n := len(after.ServerGroups); n != 2*services {
		t.Errorf("%d server groups for %d ports", n, 2*services)
	}
	for id, lb := range after.LoadBalancers {
		if diff := cmp.Diff(want, shapeOf(after, lb)); diff != "" {
			t.Errorf("load balancer %s differs from one that was not disturbed (-want +got):\n%s", id, diff)
		}
	}
	w.checkAddresses(t, after)
	for i := range services {
		w.delete(t, fmt.Sprintf("disturbed-%d", i))
	}
	eventually(t, "all Services go", func(ctx context.Context) error {
		list, err := w.Client().CoreV1().Services(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
		if n := len(balancedServices(list)); err == nil && n > 0 {
			err = fmt.Errorf("%d are there", n)
		}
		return err
	})
	if left := w.state(t); len(left.LoadBalancers)+len(left.ServerGroups) > 0 {
		t.Errorf("left in the cloud: %d load balancers, %d server groups", len(left.LoadBalancers), len(left.ServerGroups))
	}
}

// pending counts the Services without an address.
func (w testWorld) pending(t *testing.T) int {
	t.Helper()
	list, err := w.Client().CoreV1().Services(metav1.NamespaceDefault).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatalf("list Services: %v", err)
	}
	n := 0
	for _, s := range balancedServices(list) {
		if len(s.Status.LoadBalancer.Ingress) == 0 {
			n++
		}
	}
	return n
}

// balancedServices are the Services that are to have a load balancer, which the API server's own isn't.
func balancedServices(list *corev1.ServiceList) []corev1.Service {
	return slices.DeleteFunc(slices.Clone(list.Items), func(s corev1.Service) bool { return s.Spec.Type != corev1.ServiceTypeLoadBalancer })
}

// afterCalls waits until the cloud got n more calls, or until it is clear that it will not.
func (w testWorld) afterCalls(t *testing.T, n int) {
	t.Helper()
	_, start, err := w.Cloud().Calls(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(quiet)
	eventually(t, "the cloud is called", func(ctx context.Context) error {
		_, next, err := w.Cloud().Calls(ctx, start)
		if err == nil && next < start+int64(n) && time.Now().Before(deadline) {
			err = fmt.Errorf("%d calls, want %d", next-start, n)
		}
		return err
	})
}

// checkAddresses compares the addresses that users see with those of the cloud.
func (w testWorld) checkAddresses(t *testing.T, c *state.Cloud) {
	t.Helper()
	addresses := map[string]bool{}
	for _, lb := range c.LoadBalancers {
		addresses[lb.Address] = true
	}
	list, err := w.Client().CoreV1().Services(metav1.NamespaceDefault).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatalf("list Services: %v", err)
	}
	for _, s := range list.Items {
		for _, ingress := range s.Status.LoadBalancer.Ingress {
			if !addresses[ingress.IP] {
				t.Errorf("Service %s has address %s, which no load balancer has", s.Name, ingress.IP)
			}
			delete(addresses, ingress.IP)
		}
	}
	for address := range addresses {
		t.Errorf("address %s belongs to no Service", address)
	}
}
