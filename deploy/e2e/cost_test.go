package e2e

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/deploy/local/world"
)

// TestCosts counts the calls of the usual situations, one after another in one world. The counts are the budget: a change that
// needs more calls is a change for the worse.
func TestCosts(t *testing.T) {
	w := boot(t, 3, instant)
	w.initialised(t)
	steps := []struct {
		name string
		do   func(t *testing.T)
		want map[string]int // calls to SLB, reads included
	}{
		{
			name: "cold create of a Service with one port",
			do: func(t *testing.T) {
				w.create(t, newService("cost", nil, 80))
				w.balanced(t, "cost")
			},
			want: map[string]int{
				"CreateLoadBalancer": 1, "CreateVServerGroup": 1, "CreateLoadBalancerTCPListener": 1, "StartLoadBalancerListener": 1,
			},
		},
		{
			name: "an update that changes nothing",
			do: func(t *testing.T) {
				w.change(t, "cost", func(s *corev1.Service) { metav1.SetMetaDataLabel(&s.ObjectMeta, "team", "blue") })
			},
			want: map[string]int{},
		},
		{
			name: "one more node",
			do: func(t *testing.T) {
				w.addNodes(t, 1)
				w.serving(t, 4)
			},
			want: map[string]int{"AddVServerGroupBackendServers": 1},
		},
		{
			name: "one attribute of a listener",
			do: func(t *testing.T) {
				w.change(t, "cost", func(s *corev1.Service) {
					metav1.SetMetaDataAnnotation(&s.ObjectMeta, annotationPrefix+"scheduler", "wlc")
				})
				eventually(t, "the listener is changed", func(context.Context) error {
					for _, lb := range w.state(t).LoadBalancers {
						if got := lb.Listeners[0].Attributes["Scheduler"]; got != "wlc" {
							return fmt.Errorf("scheduler is %q", got)
						}
					}
					return nil
				})
			},
			want: map[string]int{"SetLoadBalancerTCPListenerAttribute": 1},
		},
		{
			name: "30 nodes within two seconds, of which a call takes 20",
			do: func(t *testing.T) {
				w.addNodes(t, 30)
				w.serving(t, 34)
			},
			want: map[string]int{"AddVServerGroupBackendServers": 2},
		},
		{
			name: "deletion",
			do:   func(t *testing.T) { w.remove(t, "cost") },
			want: map[string]int{"SetLoadBalancerDeleteProtection": 1, "DeleteLoadBalancer": 1},
		},
	}
	for _, step := range steps {
		ok := t.Run(step.name, func(t *testing.T) {
			since := w.position(t)
			step.do(t)
			calls, _ := w.settle(t, since)
			if diff := cmp.Diff(step.want, counts(calls, "slb")); diff != "" {
				t.Errorf("calls to SLB (-want +got):\n%s", diff)
			}
		})
		if !ok && t.Failed() {
			t.Logf("the state after the step: %d load balancers", len(w.state(t).LoadBalancers))
		}
	}
	if left := w.state(t); len(left.LoadBalancers)+len(left.ServerGroups) > 0 {
		t.Errorf("left in the cloud: %d load balancers, %d server groups", len(left.LoadBalancers), len(left.ServerGroups))
	}
}

// TestHundredNodes counts what it takes to initialise 100 nodes that wait for the controllers.
func TestHundredNodes(t *testing.T) {
	w := boot(t, 100, realistic)
	w.initialised(t)
	calls, _ := w.settle(t, 0)
	ecs, vpc := counts(calls, "ecs"), counts(calls, "vpc")
	if reads := ecs["DescribeInstances"] + ecs["DescribeNetworkInterfaces"]; reads > 3 {
		t.Errorf("%d reads of instances and interfaces for 100 nodes, want at most 3: %v", reads, ecs)
	}
	if writes := vpc["CreateRouteEntries"] + vpc["CreateRouteEntry"]; writes > 2 {
		t.Errorf("%d writes of routes for 100 nodes in one table, want at most 2: %v", writes, vpc)
	}
	for id, eni := range w.state(t).Interfaces {
		if eni.SourceDestCheck {
			t.Errorf("the source and destination check of %s is on", id)
		}
	}
}

// initialised waits until all nodes have lost their taint and got their route.
func (w testWorld) initialised(t *testing.T) {
	t.Helper()
	eventually(t, "nodes are initialised", func(ctx context.Context) error {
		list, err := w.Client().CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, node := range list.Items {
			if len(node.Spec.Taints) > 0 {
				return fmt.Errorf("%s has taints %v", node.Name, node.Spec.Taints)
			}
			if c := condition(&node, corev1.NodeNetworkUnavailable); c != corev1.ConditionFalse {
				return fmt.Errorf("%s has NetworkUnavailable %q", node.Name, c)
			}
		}
		return nil
	})
}

func condition(node *corev1.Node, kind corev1.NodeConditionType) corev1.ConditionStatus {
	for _, c := range node.Status.Conditions {
		if c.Type == kind {
			return c.Status
		}
	}
	return ""
}

func (w testWorld) addNodes(t *testing.T, n int) {
	t.Helper()
	if _, err := w.AddNodes(t.Context(), n); err != nil {
		t.Fatalf("add nodes: %v", err)
	}
}

// serving waits until every server group has n servers.
func (w testWorld) serving(t *testing.T, n int) {
	t.Helper()
	eventually(t, "all nodes serve", func(context.Context) error {
		for id, group := range w.state(t).ServerGroups {
			if len(group.Servers) != n {
				return fmt.Errorf("server group %s has %d servers, want %d", id, len(group.Servers), n)
			}
		}
		return nil
	})
}

// TestTypeChange takes a Service's type away and gives it back.
func TestTypeChange(t *testing.T) {
	w := boot(t, 1, realistic)
	w.initialised(t)
	w.create(t, newService("wavering", nil, 80))
	w.balanced(t, "wavering")
	w.change(t, "wavering", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeClusterIP })
	eventually(t, "the load balancer goes", func(ctx context.Context) error {
		s, err := w.Client().CoreV1().Services(metav1.NamespaceDefault).Get(ctx, "wavering", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if len(w.state(t).LoadBalancers) > 0 || len(s.Finalizers) > 0 || len(s.Status.LoadBalancer.Ingress) > 0 || len(s.Labels) > 0 {
			return fmt.Errorf("finalizers %v, labels %v, status %v", s.Finalizers, s.Labels, s.Status.LoadBalancer)
		}
		return nil
	})
	w.change(t, "wavering", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeLoadBalancer })
	w.balanced(t, "wavering")
	w.remove(t, "wavering")
	if left := w.state(t); len(left.LoadBalancers)+len(left.ServerGroups) > 0 {
		t.Errorf("left in the cloud: %d load balancers, %d server groups", len(left.LoadBalancers), len(left.ServerGroups))
	}
	for _, name := range world.Controllers() {
		if !w.Process(name).Running() {
			t.Errorf("%s does not run any more", name)
		}
	}
}
