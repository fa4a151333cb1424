//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// serve deploys a workload behind load balancers, and returns where it is reached: by way of the nodes, and at the pods.
func (c *cluster) serve(t *testing.T) (nodes, pods string) {
	t.Helper()
	manifest, err := os.ReadFile(filepath.Join(c.built.Root, "deploy/test/cluster/testdata/echo.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	c.apply(t, string(manifest))
	took := c.wait(t, "the Service has an address", func(ctx context.Context) error {
		service, err := c.client.CoreV1().Services("default").Get(ctx, "changing", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if len(service.Status.LoadBalancer.Ingress) == 0 || service.Status.LoadBalancer.Ingress[0].IP == "" {
			return errors.New("it has none")
		}
		return nil
	})
	t.Logf("the Service had an address after %.1f s", took.Seconds())
	nodes, pods = c.classicLoadBalancer(t, 80), c.classicLoadBalancer(t, 81)
	for _, url := range []string{nodes, pods, c.networkLoadBalancer(t)} {
		c.answers(t, url)
	}
	return nodes, pods
}

// classicLoadBalancer waits for the one that listens at a port, and returns where it is reached.
func (c *cluster) classicLoadBalancer(t *testing.T, port int) (url string) {
	t.Helper()
	c.wait(t, fmt.Sprintf("a load balancer listens at port %d", port), func(ctx context.Context) error {
		s, err := c.cloud.State(ctx)
		if err != nil {
			return err
		}
		for _, lb := range s.LoadBalancers {
			if slices.ContainsFunc(lb.Listeners, func(l *state.Listener) bool { return l.Port == port && l.Status == "running" }) {
				url = fmt.Sprintf("http://%s:%d/", lb.Address, port)
				return nil
			}
		}
		return fmt.Errorf("none of %d does", len(s.LoadBalancers))
	})
	return url
}

// networkLoadBalancer waits for that of the Service with the class, and returns where it is reached.
func (c *cluster) networkLoadBalancer(t *testing.T) (url string) {
	t.Helper()
	took := c.wait(t, "the Network Load Balancer listens", func(ctx context.Context) error {
		s, err := c.cloud.State(ctx)
		if err != nil {
			return err
		}
		service, err := c.client.CoreV1().Services("default").Get(ctx, "network", metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, l := range s.NLBListeners {
			lb, published := s.NLBs[l.NLBID], service.Status.LoadBalancer.Ingress
			if l.Status == "Running" && len(published) == 1 && published[0].Hostname == lb.DNSName {
				url = fmt.Sprintf("http://%s:%d/", lb.Zones[0].PublicIP, l.Port)
				return nil
			}
		}
		return fmt.Errorf("%d NLBs, %d listeners, status %v", len(s.NLBs), len(s.NLBListeners), service.Status.LoadBalancer.Ingress)
	})
	t.Logf("the Network Load Balancer listened after %.1f s more", took.Seconds())
	return url
}

// answers waits until both pods answer at an address.
func (c *cluster) answers(t *testing.T, url string) {
	t.Helper()
	took := c.wait(t, "both pods answer at "+url, func(context.Context) error {
		stop := c.load(t, url)
		<-time.After(time.Second)
		if saw := stop(); len(saw.Hosts) < 2 || len(saw.Failed) > 0 {
			return fmt.Errorf("%d requests were answered by %d pods; failed: %q", saw.Answered, len(saw.Hosts), saw.Failed)
		}
		return nil
	})
	t.Logf("both pods answered at %s after %.1f s more", url, took.Seconds())
}
