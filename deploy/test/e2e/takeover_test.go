package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/deploy/chart"
	"alicloud-controllers.dev/deploy/tools/local/world"
)

// takeoverLimit is the longest that a standby of the default lease waits: it looks every 2 to 4.4 s, so it may see the
// last renewal 4.4 s late, and the end of the 15 s after it, too.
const takeoverLimit = 24 * time.Second

// TestTakeover kills the active gateway, of two with the default lease, while users change Services and nodes join. The standby must
// serve in time, and every change must come through, with the controllers that were there from the beginning.
func TestTakeover(t *testing.T) {
	t.Parallel()
	const step, before, after = 500 * time.Millisecond, 8, 8 // changes before the kill, and after the standby serves
	w := bootWith(t, world.Config{
		Nodes: 3, Controllers: world.Controllers(), Fast: true, Gateways: 2,
		Gateway: map[string]any{
			"leaderElection": map[string]any{"enabled": true, "namespace": chart.Namespace, "name": "cloudgateway"},
		},
	})
	w.initialised(t)
	client := w.tool(t)
	w.served(t, client)
	w.topShows(t, active, "\nactive since ", "\necs ", "kube-system/nodecontroller")
	w.topShows(t, standby, "\nstandby; run this command in the active replica, ")
	// Answers that take a while let the gateway die with calls under way.
	if err := w.Cloud().SetFaults(t.Context(), fault.Rule{When: fault.After, Latency: api.Duration(step)}); err != nil {
		t.Fatal(err)
	}

	users := stream{world: w, alive: map[string]bool{}, nodes: 3}
	// What this machine is slow at is measured: a takeover is about five calls to the API server, of which a change of a user has one or more.
	slowest := time.Duration(0)
	change := func() {
		begun := time.Now()
		users.change(t)
		slowest = max(slowest, time.Since(begun))
	}
	ticker := time.NewTicker(step)
	defer ticker.Stop()
	for range before {
		<-ticker.C
		change()
	}
	killed := time.Now()
	if err := w.Kill(active); err != nil {
		t.Fatal(err)
	}
	served := make(chan time.Duration, 1)
	go func() {
		if goOn(t.Context(), client, listBalancers, nil) == nil {
			served <- time.Since(killed)
		}
		close(served)
	}()
	for took := time.Duration(0); took == 0; {
		select {
		case <-ticker.C:
			change()
		case took = <-served:
			t.Logf("the standby served after %s, %d changes after the kill", took.Round(time.Millisecond), users.made-before)
			if most := takeoverLimit + 5*slowest + 4*step; took == 0 || took > most {
				t.Fatalf("the standby served after %s, at most %s are right where a change takes %s and a call of the cloud %s",
					took, most, slowest, step)
			}
		}
	}
	w.topShows(t, standby, "\nactive since ", "kube-system/tool")
	for range after {
		<-ticker.C
		change()
	}
	if err := w.Cloud().ClearFaults(t.Context()); err != nil {
		t.Fatal(err)
	}
	users.check(t)
	w.stayed(t)
}

// stream makes changes for all controllers, one after another.
type stream struct {
	world testWorld
	made  int
	alive map[string]bool // Services that are to be there; true: changed
	nodes int
}

func streamed(n int) string { return fmt.Sprintf("stream-%d", n) }

// change makes the next change: of four, one creates a Service, one changes it, one adds a node, and every other time one deletes
// the Service.
func (s *stream) change(t *testing.T) {
	t.Helper()
	round, kind := s.made/4, s.made%4
	name := streamed(round)
	s.made++
	switch kind {
	case 0:
		s.world.create(t, newService(name, nil, 80))
		s.alive[name] = false
	case 1:
		s.world.change(t, name, balanceByWeight)
		s.alive[name] = true
	case 2:
		s.world.addNodes(t, 1)
		s.nodes++
	default:
		if round%2 == 1 {
			s.world.delete(t, name)
			delete(s.alive, name)
		}
	}
}

func balanceByWeight(s *corev1.Service) {
	metav1.SetMetaDataAnnotation(&s.ObjectMeta, annotationPrefix+"scheduler", "wrr")
}

// check compares what came of the changes with what comes of the same without a disturbance.
func (s *stream) check(t *testing.T) {
	t.Helper()
	w := s.world
	w.initialised(t)
	for name := range s.alive {
		w.balanced(t, name)
	}
	changed := newService("undisturbed", nil, 80)
	balanceByWeight(changed)
	w.create(t, changed)
	w.create(t, newService("undisturbed-plain", nil, 80))
	want := map[bool]string{true: w.balanced(t, "undisturbed").Status.LoadBalancer.Ingress[0].IP}
	want[false] = w.balanced(t, "undisturbed-plain").Status.LoadBalancer.Ingress[0].IP
	s.alive["undisturbed"], s.alive["undisturbed-plain"] = true, false

	addresses := map[string]string{}
	for name := range s.alive {
		addresses[name] = w.balanced(t, name).Status.LoadBalancer.Ingress[0].IP
	}
	eventually(t, "every change is there", func(context.Context) error {
		cloud := w.state(t)
		shapes := map[string]shape{}
		for _, lb := range cloud.LoadBalancers {
			shapes[lb.Address] = shapeOf(cloud, lb)
		}
		if len(cloud.LoadBalancers) != len(s.alive) || len(cloud.ServerGroups) != len(s.alive) {
			return fmt.Errorf("%d load balancers and %d server groups for %d Services", len(cloud.LoadBalancers),
				len(cloud.ServerGroups), len(s.alive))
		}
		routes := 0
		for _, table := range cloud.RouteTables {
			routes += len(table.Entries)
		}
		if routes < s.nodes {
			return fmt.Errorf("%d routes for %d nodes", routes, s.nodes)
		}
		for name, isChanged := range s.alive {
			got := shapes[addresses[name]]
			if diff := cmp.Diff(shapes[want[isChanged]], got); diff != "" {
				return fmt.Errorf("service %s differs from one that was not disturbed (-want +got):\n%s", name, diff)
			}
			if servers := len(got.Servers["tcp:80"]); servers != s.nodes {
				return fmt.Errorf("service %s has %d servers, want %d", name, servers, s.nodes)
			}
		}
		return nil
	})
	eventually(t, "the deleted Services go", func(ctx context.Context) error { // They go after their load balancers.
		list, err := w.Client().CoreV1().Services(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		if n := len(balancedServices(list)); n != len(s.alive) {
			return fmt.Errorf("%d Services, want %d", n, len(s.alive))
		}
		return nil
	})
	w.checkAddresses(t, w.state(t))
}
