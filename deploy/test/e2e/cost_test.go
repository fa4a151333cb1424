package e2e

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/deploy/tools/local/world"
	"alicloud-controllers.dev/services/nodes"
)

// step is a usual situation and what it may cost.
type step struct {
	name string
	// do brings the situation about. An error says that this machine was too slow for it, so that it must be tried again.
	do func(t *testing.T) error
	// want are the calls to SLB, reads included.
	want map[string]int
	// nodes says that nodes join, so that other controllers call other products. Without them nothing else may be called.
	nodes bool
}

// attempts is how often a step is tried on a machine that is too slow for it.
const attempts = 5

// TestCosts counts the calls of the usual situations, one after another in one world. The counts are the budget: a change that
// needs more calls is a change for the worse.
func TestCosts(t *testing.T) {
	t.Parallel()
	// Nodes are gathered for longer than by default: on a busy machine it takes seconds until all that join at once are ready.
	w := bootWith(t, world.Config{
		Nodes: 20, Controllers: world.Controllers(), Fast: bool(instant),
		// Security groups are looked at a minute after a change, which would be in the middle of another situation.
		LB: map[string]any{
			"nodeGather": map[string]any{"quiet": "10s", "max": "1m"}, "securityGroups": map[string]any{"check": false},
		},
		Node: seldom(), Route: seldom(),
	})
	w.initialised(t)
	since := w.position(t)
	for _, step := range w.steps() {
		ok := t.Run(step.name, func(t *testing.T) {
			for range attempts {
				err := step.do(t)
				calls, next := w.settle(t, since)
				since = next
				if err != nil {
					t.Logf("again, since %v", err)
					continue
				}
				got := counts(calls, "slb")
				if diff := cmp.Diff(step.want, got); diff != "" {
					t.Errorf("calls to SLB (-want +got):\n%s", diff)
				}
				if others := len(calls) - total(got); others > 0 && !step.nodes {
					t.Errorf("%d calls to other products: VPC %v, ECS %v", others, counts(calls, "vpc"), counts(calls, "ecs"))
				}
				return
			}
			t.Errorf("this machine was too slow %d times", attempts)
		})
		if !ok {
			t.Logf("the state after the step: %d load balancers", len(w.state(t).LoadBalancers))
		}
	}
	if left := w.state(t); len(left.LoadBalancers)+len(left.ServerGroups) > 0 {
		t.Errorf("left in the cloud: %d load balancers, %d server groups", len(left.LoadBalancers), len(left.ServerGroups))
	}
}

func (w testWorld) steps() []step {
	return []step{
		{
			name: "cold create of a Service with one port and 20 nodes",
			do: func(t *testing.T) error {
				w.create(t, newService("cost", nil, 80))
				w.balanced(t, "cost")
				w.complete(t)
				return nil
			},
			want: map[string]int{
				"CreateLoadBalancer": 1, "CreateVServerGroup": 1, "CreateLoadBalancerTCPListener": 1, "StartLoadBalancerListener": 1,
				"DescribeLoadBalancerListeners": 1, // Whether it runs.
			},
		},
		{
			name: "an update that changes nothing",
			do: func(t *testing.T) error {
				w.change(t, "cost", func(s *corev1.Service) { metav1.SetMetaDataLabel(&s.ObjectMeta, "team", "blue") })
				return nil
			},
			want: map[string]int{},
		},
		{
			name: "one more node",
			do: func(t *testing.T) error {
				w.addNodes(t, 1)
				w.serving(t)
				return nil
			},
			want:  map[string]int{"AddVServerGroupBackendServers": 1},
			nodes: true,
		},
		{
			name: "one attribute of a listener",
			do: func(t *testing.T) error {
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
				return nil
			},
			// What a user changes is compared with what the cloud holds.
			want: map[string]int{
				"SetLoadBalancerTCPListenerAttribute": 1,
				"DescribeLoadBalancers":               1, "DescribeLoadBalancerListeners": 1, "DescribeVServerGroups": 1,
				"DescribeVServerGroupAttribute": 1,
			},
		},
		{
			name: "30 nodes at once, which one call takes",
			do: func(t *testing.T) error {
				const within = 8 * time.Second // Less than changes are gathered for.
				took := w.joinNodes(t, 30)
				w.serving(t)
				if took > within {
					return fmt.Errorf("the nodes became ready within %s, not %s", took, within)
				}
				return nil
			},
			want:  map[string]int{"AddVServerGroupBackendServers": 1},
			nodes: true,
		},
		{
			name: "deletion",
			do:   func(t *testing.T) error { w.remove(t, "cost"); return nil },
			// An access list of the Service may stand beside its load balancer, which is looked for by its tags.
			want: map[string]int{
				"DescribeLoadBalancers": 1, "SetLoadBalancerDeleteProtection": 1, "DeleteLoadBalancer": 1, "DescribeAccessControlLists": 1,
			},
		},
	}
}

func total(counts map[string]int) int {
	n := 0
	for _, count := range counts {
		n += count
	}
	return n
}

// complete checks that the only load balancer has all that its creation is to give it, for which no further call was made.
func (w testWorld) complete(t *testing.T) {
	t.Helper()
	cloud := w.state(t)
	for _, lb := range cloud.LoadBalancers {
		if lb.DeleteProtection != "on" || lb.ModificationStatus != "ConsoleProtection" {
			t.Errorf("protection against deletion %q, against modification %q", lb.DeleteProtection, lb.ModificationStatus)
		}
		for _, key := range []string{"kubernetes.do.not.delete", "ack.aliyun.com"} {
			if !slices.ContainsFunc(lb.Tags, func(tag state.Tag) bool { return tag.Key == key }) {
				t.Errorf("tags %v, want %s among them", lb.Tags, key)
			}
		}
	}
	w.serving(t)
}

// joinNodes adds nodes and waits until all are ready. It returns how much later than the first the last one became so.
func (w testWorld) joinNodes(t *testing.T, n int) time.Duration {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	nodes := w.Client().CoreV1().Nodes()
	before, err := nodes.List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatalf("list nodes: %v", err)
	}
	known := map[string]bool{}
	for _, node := range before.Items {
		known[node.Name] = true
	}
	// The API server ends the watch of a client that can't keep up, as on a busy machine; this one goes on where it ended.
	changes, err := watchtools.NewRetryWatcherWithContext(ctx, before.ResourceVersion, &cache.ListWatch{
		WatchFuncWithContext: nodes.Watch,
	})
	if err != nil {
		t.Fatalf("watch nodes: %v", err)
	}
	defer changes.Stop()
	w.addNodes(t, n)
	var first, last time.Time
	for change := range changes.ResultChan() {
		node, ok := change.Object.(*corev1.Node)
		if !ok || known[node.Name] || condition(node, corev1.NodeReady) != corev1.ConditionTrue {
			continue
		}
		last = time.Now()
		if known[node.Name] = true; first.IsZero() {
			first = last
		}
		if len(known) == len(before.Items)+n {
			return last.Sub(first)
		}
	}
	t.Fatalf("%d of %d nodes became ready", len(known)-len(before.Items), n)
	return 0
}

// TestHundredNodes counts what it takes to initialise 100 nodes that wait for the controllers, with their ranges of
// pods. The gateway gathers reads for as long as it can: on a busy machine with the race detector a hundred calls come
// in with pauses between them, and over more than one such period.
func TestHundredNodes(t *testing.T) {
	t.Parallel()
	const many = 100
	w := bootWith(t, world.Config{
		Controllers: world.Controllers(),
		Gateway:     map[string]any{"coalesce": map[string]any{"idle": gathered.String(), "max": gathered.String()}},
	})
	w.hold(t)
	w.addNodes(t, many)
	w.ranged(t)
	w.release(t)
	w.initialised(t)
	calls, _ := w.settle(t, 0)
	ecs, vpc := counts(calls, "ecs"), counts(calls, "vpc")
	var reads []time.Time
	for _, call := range calls {
		if call.Action == "DescribeInstances" || call.Action == "DescribeNetworkInterfaces" {
			reads = append(reads, call.Time)
		}
	}
	slices.SortFunc(reads, time.Time.Compare)
	if len(reads) == 0 {
		t.Fatalf("nobody read an instance: %v", ecs)
	}
	took := reads[len(reads)-1].Sub(reads[0])
	if most := 3 * (1 + int(took/gathered)); len(reads) > most {
		t.Errorf("%d reads of instances and interfaces for %d nodes, want at most 3 for each %s of %s: %v", len(reads), many, gathered, took, ecs)
	}
	if writes := vpc["CreateRouteEntries"] + vpc["CreateRouteEntry"]; writes > many/routesPerWrite {
		t.Errorf("%d writes of routes for %d nodes in one table, want at most %d: %v", writes, many, many/routesPerWrite, vpc)
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
			silent := condition(&node, corev1.NodeReady) == corev1.ConditionUnknown // It is tainted for that.
			if len(node.Spec.Taints) > 0 && (!silent || nodes.IsUninitialized(&node)) {
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

// serving waits until all nodes are in every server group.
func (w testWorld) serving(t *testing.T) {
	t.Helper()
	eventually(t, "all nodes serve", func(context.Context) error {
		cloud := w.state(t)
		for id, group := range cloud.ServerGroups {
			if len(group.Servers) != len(cloud.Instances) {
				return fmt.Errorf("server group %s has %d servers, want %d", id, len(group.Servers), len(cloud.Instances))
			}
		}
		return nil
	})
}

// TestTypeChange takes a Service's type away and gives it back. In the same world a Service gets the type while it is being deleted.
func TestTypeChange(t *testing.T) {
	t.Parallel()
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
	w.deletedPastTheFinalizer(t)
	w.stayed(t)
}
