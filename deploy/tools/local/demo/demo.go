// Package demo shows what the controllers do, in a world that runs already: Services become load balancers of both
// kinds, a node comes and goes, the Services are deleted, and the cloud holds again what it held before.
package demo

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/deploy/tools/local/examples"
	"alicloud-controllers.dev/deploy/tools/local/world"
)

// The Services of the examples.
const (
	classic = "web"     // has a CLB
	network = "web-nlb" // has an NLB
)

// show is a demo on its way.
type show struct {
	world    *world.World
	out      io.Writer
	started  time.Time
	since    int64 // the calls in the cloud's journal are printed up to here
	backends backends
}

// Run plays the demo and fails when something does not turn out as announced.
func Run(ctx context.Context, w *world.World, out io.Writer) error {
	s := &show{world: w, out: out, started: time.Now(), backends: backends{servers: map[string]*http.Server{}}}
	defer s.backends.close()
	if err := s.nodes(ctx); err != nil {
		return err
	}
	before, err := w.Cloud().State(ctx)
	if err != nil {
		return err
	}
	for _, act := range []func(context.Context) error{s.create, s.scale, s.showNLB, s.remove} {
		if err := act(ctx); err != nil {
			return err
		}
	}
	return s.compare(ctx, before)
}

// nodes shows what the node and route controllers have done since the start.
func (s *show) nodes(ctx context.Context) error {
	s.title("The nodes that were there at the start")
	err := s.wait(ctx, "all nodes initialised and routed", func(ctx context.Context) (bool, error) {
		return s.routed(ctx)
	})
	if err != nil {
		return err
	}
	list, err := s.world.Client().CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	for _, node := range list.Items {
		s.line("%-27s %-25s pods %-13s %s", node.Name, node.Spec.ProviderID, node.Spec.PodCIDR, address(node))
	}
	return s.calls(ctx)
}

func (s *show) create(ctx context.Context) error {
	s.title("A Service with two ports: deploy/tools/local/examples/web.yaml")
	if err := s.world.Apply(ctx, examples.Web()); err != nil {
		return err
	}
	if err := s.world.Apply(ctx, examples.WebNLB()); err != nil { // It takes the cloud longer, and is shown later.
		return err
	}
	s.line("EXTERNAL-IP %s", externalIP(&corev1.Service{})) // It is made without an address, and may have one by now.
	if s.world.Traffic() {
		for _, name := range []string{classic, network} {
			if err := s.serve(ctx, name); err != nil {
				return err
			}
		}
	}
	service, err := s.published(ctx, classic, "an address")
	if err != nil {
		return err
	}
	err = s.waitCloud(ctx, "listeners running with all nodes behind them", func(c *state.Cloud) bool {
		nodes := len(c.Instances)
		return len(c.LoadBalancers) == 1 && len(c.ServerGroups) == 2 && running(c) == 2 && servers(c) == 2*nodes
	})
	if err != nil {
		return err
	}
	if err := s.balancers(ctx); err != nil {
		return err
	}
	if err := s.curl(ctx, service, externalIP(service)); err != nil {
		return err
	}
	return s.calls(ctx)
}

// published waits until a Service has an address, and prints that.
func (s *show) published(ctx context.Context, name, what string) (service *corev1.Service, err error) {
	err = s.wait(ctx, what, func(ctx context.Context) (bool, error) {
		service, err = s.service(ctx, name)
		return err == nil && len(service.Status.LoadBalancer.Ingress) > 0, err
	})
	if err == nil {
		s.line("EXTERNAL-IP %s", externalIP(service))
	}
	return service, err
}

// showNLB shows the Service that got its load balancer beside the first one.
func (s *show) showNLB(ctx context.Context) error {
	s.title("A Service of class alibabacloud.com/nlb, made with the first one: deploy/tools/local/examples/web-nlb.yaml")
	service, err := s.published(ctx, network, "the name of a Network Load Balancer")
	if err != nil {
		return err
	}
	var lb *state.NLB
	err = s.waitCloud(ctx, "a listener running with all nodes behind it", func(c *state.Cloud) bool {
		for _, one := range c.NLBs {
			lb = one
		}
		return len(c.NLBs) == 1 && len(c.NLBListeners) == 1 && nlbServers(c) == len(c.Instances) && len(c.NLBRunningJobs) == 0
	})
	if err != nil {
		return err
	}
	if err := s.networkBalancers(ctx); err != nil {
		return err
	}
	if err := s.curl(ctx, service, lb.Zones[0].PublicIP); err != nil {
		return err
	}
	return s.calls(ctx)
}

func (s *show) scale(ctx context.Context) error {
	s.title("A node joins")
	names, err := s.world.AddNodes(ctx, 1)
	if err != nil {
		return err
	}
	if err := s.follow(ctx, "the node "+names[0]); err != nil {
		return err
	}
	s.title("The node leaves")
	if err := s.world.RemoveNode(ctx, names[0]); err != nil {
		return err
	}
	return s.follow(ctx, "the rest")
}

// follow waits until the server groups and the routes have caught up with the nodes.
func (s *show) follow(ctx context.Context, what string) error {
	list, err := s.world.Client().CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	nodes := len(list.Items)
	err = s.waitCloud(ctx, what+" behind both listeners and in the route table", func(c *state.Cloud) bool {
		return servers(c) == 2*nodes && len(customRoutes(c)) == nodes
	})
	if err != nil {
		return err
	}
	if err := s.balancers(ctx); err != nil {
		return err
	}
	return s.calls(ctx)
}

func (s *show) remove(ctx context.Context) error {
	s.title("The Services are deleted")
	services := s.world.Client().CoreV1().Services(metav1.NamespaceDefault)
	names := []string{classic, network}
	for _, name := range names {
		if err := services.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			return fmt.Errorf("delete Service: %w", err)
		}
	}
	err := s.wait(ctx, "the Services gone", func(ctx context.Context) (bool, error) {
		for _, name := range names {
			if _, err := s.service(ctx, name); !apierrors.IsNotFound(err) {
				return false, err
			}
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	return s.calls(ctx)
}

// compare fails if the cloud holds anything that it did not hold before.
func (s *show) compare(ctx context.Context, before *state.Cloud) error {
	s.title("What is left in the cloud")
	after, err := s.world.Cloud().State(ctx)
	if err != nil {
		return err
	}
	if left := leftovers(before, after); len(left) > 0 {
		for _, l := range left {
			s.line("%s", l)
		}
		return fmt.Errorf("the cloud holds %d things that were not there before", len(left))
	}
	s.line("nothing but what was there before: %d VPC, %d vSwitches, %d instances, %d routes",
		len(after.Vpcs), len(after.VSwitches), len(after.Instances), len(customRoutes(after)))
	return nil
}

func (s *show) service(ctx context.Context, name string) (*corev1.Service, error) {
	service, err := s.world.Client().CoreV1().Services(metav1.NamespaceDefault).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("get Service: %w", err)
	}
	return service, nil
}

// routed reports whether every node has lost its taint and got its route.
func (s *show) routed(ctx context.Context) (bool, error) {
	list, err := s.world.Client().CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, fmt.Errorf("list nodes: %w", err)
	}
	for _, node := range list.Items {
		if !ready(node) {
			return false, nil
		}
	}
	return true, nil
}

func ready(node corev1.Node) bool {
	if len(node.Spec.Taints) > 0 {
		return false
	}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeNetworkUnavailable {
			return c.Status == corev1.ConditionFalse
		}
	}
	return false
}
