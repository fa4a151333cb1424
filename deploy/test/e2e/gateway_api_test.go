package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim/journal"
	"alicloud-controllers.dev/deploy/tools/local/world"
)

// takingGateway is a Gateway that names the load balancer of a Service, and a route to this Service.
const takingGateway = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: default}
spec:
  gatewayClassName: nlb
  addresses: [{type: alibabacloud.com/load-balancer, value: %s}]
  infrastructure:
    annotations:
      service.beta.kubernetes.io/alibaba-cloud-loadbalancer-force-override-listeners: "on"
      service.beta.kubernetes.io/alibaba-cloud-loadbalancer-preserve-lb-on-delete: "on"
  listeners: [{name: web, protocol: TCP, port: 8080}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: TCPRoute
metadata: {name: web, namespace: default}
spec:
  parentRefs: [{name: edge}]
  rules: [{backendRefs: [{name: web, port: 8080}]}]
`

// ownGateway is a Gateway with a load balancer of its own, and a route to a Service at each of its listeners.
const ownGateway = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: own, namespace: default}
spec: {gatewayClassName: nlb, listeners: %s}
---
apiVersion: gateway.networking.k8s.io/v1
kind: TCPRoute
metadata: {name: own, namespace: default}
spec:
  parentRefs: [{name: own}]
  rules: [{backendRefs: [{name: web, port: 8080}]}]
`

// TestGatewayOfTheLocalWorld: with GATEWAY_API=true a Gateway takes the NLB of a Service, and the Service takes it back.
// The load balancer and its listener stay, and each step writes only what it needs. What clients see of it is in
// deploy/test/cluster, where nodes serve. A route with its listener costs its calls, and nothing of the rest is read.
func TestGatewayOfTheLocalWorld(t *testing.T) {
	t.Parallel()
	w := bootWith(t, world.Config{Nodes: 2, Controllers: world.Controllers(), Fast: true, GatewayAPI: true})
	w.initialised(t)
	w.create(t, newNLBService("web", map[string]string{"preserve-lb-on-delete": "on"}, 8080))
	w.balanced(t, "web")
	id, listener := w.listensFor(t, "web")
	since := w.position(t)
	wrote := func(step string, want map[string]int) {
		t.Helper()
		calls, next := w.settle(t, since)
		since = next
		got := counts(slices.DeleteFunc(calls, func(c journal.Call) bool { return !c.Mutating }), "nlb")
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s wrote %v, want %v", step, got, want)
		}
	}

	w.change(t, "web", func(s *corev1.Service) { s.Spec.Type, s.Spec.LoadBalancerClass = corev1.ServiceTypeNodePort, nil })
	w.released(t, "web")
	wrote("letting it go", map[string]int{"TagResources": 1, "UntagResources": 2, "UpdateLoadBalancerProtection": 1})
	w.planned(t, fmt.Sprintf(takingGateway, id))
	wrote("planning it", map[string]int{})
	if err := w.ApplyAny(t.Context(), fmt.Appendf(nil, takingGateway, id)); err != nil {
		t.Fatal(err)
	}
	made := w.ofGateway(t, "edge")
	if nlb, l := w.listensFor(t, made); nlb != id || l != listener {
		t.Errorf("the Gateway has listener %s of %s, want %s of %s", l, nlb, listener, id)
	}
	wrote("taking it", map[string]int{"TagResources": 1, "CreateServerGroup": 1, "AddServersToServerGroup": 1, "UpdateListenerAttribute": 1})

	w.orphan(t, "edge")
	w.change(t, made, func(s *corev1.Service) { s.Spec.Type, s.Spec.LoadBalancerClass = corev1.ServiceTypeNodePort, nil })
	w.released(t, made)
	wrote("letting it go again", map[string]int{"TagResources": 1})
	w.change(t, "web", func(s *corev1.Service) {
		s.Spec.Type, s.Spec.LoadBalancerClass = corev1.ServiceTypeLoadBalancer, new(nlbClass)
		s.Annotations[annotationPrefix+"id"], s.Annotations[annotationPrefix+"force-override-listeners"] = id, "on"
	})
	if nlb, l := w.listensFor(t, "web"); nlb != id || l != listener {
		t.Errorf("the Service has listener %s of %s, want %s of %s", l, nlb, listener, id)
	}
	wrote("taking it back", map[string]int{"CreateServerGroup": 1, "AddServersToServerGroup": 1, "UpdateListenerAttribute": 1})
	w.remove(t, made)

	if n := len(w.state(t).NLBs); n != 1 {
		t.Errorf("there are %d NLBs", n)
	}

	apply := func(listeners string) {
		t.Helper()
		if err := w.ApplyAny(t.Context(), fmt.Appendf(nil, ownGateway, listeners)); err != nil {
			t.Fatal(err)
		}
	}
	apply("[{name: a, protocol: TCP, port: 8081}]")
	w.listensFor(t, w.ofGateway(t, "own"))
	_, since = w.settle(t, since)
	apply("[{name: a, protocol: TCP, port: 8081}, {name: b, protocol: TCP, port: 8082}]")
	eventually(t, "there is a listener more", func(context.Context) error {
		if n := len(w.state(t).NLBListeners); n != 3 {
			return fmt.Errorf("there are %d", n)
		}
		return nil
	})
	calls, _ := w.settle(t, since)
	got := counts(calls, "nlb")
	delete(got, "ListAsynJobs") // The gateway waits.
	if fmt.Sprint(got) != fmt.Sprint(map[string]int{"CreateServerGroup": 1, "AddServersToServerGroup": 1, "CreateListener": 1}) {
		t.Errorf("a route with its listener costs %v", got)
	}
}

// planned has lbcontroller print what a Gateway that takes over a listener would do, before it is in the cluster.
func (w testWorld) planned(t *testing.T, manifest string) {
	t.Helper()
	config := filepath.Join(filepath.Dir(w.Kubeconfig()), "config", "lbcontroller.yaml")
	cmd := exec.CommandContext(t.Context(), filepath.Join(built.bin, "lbcontroller"), "plan", "--config", config, "--gateways", "-",
		"-o", "json")
	cmd.Stdin = strings.NewReader(manifest)
	out, err := cmd.Output()
	var found struct {
		Services []struct {
			Error                      string
			Actions, Refused, Warnings []string
		}
	}
	if err == nil {
		err = json.Unmarshal(out, &found)
	}
	if err != nil || len(found.Services) != 1 {
		t.Fatalf("%v: %s", err, out)
	}
	s := found.Services[0]
	takes := slices.ContainsFunc(s.Actions, func(text string) bool {
		return strings.HasPrefix(text, "change listener 8080/tcp: ") && strings.Contains(text, "server group")
	})
	notMade := slices.ContainsFunc(s.Warnings, func(text string) bool { return strings.HasPrefix(text, "its Service is not made yet") })
	if s.Error != "" || len(s.Refused) > 0 || !takes || !notMade || len(s.Warnings) != 1 {
		t.Errorf("the plan: %+v", s)
	}
}

// listensFor waits until the listener of an NLB serves a Service, and returns both.
func (w testWorld) listensFor(t *testing.T, service string) (nlb, listener string) {
	t.Helper()
	eventually(t, "a listener serves "+service, func(ctx context.Context) error {
		for _, l := range w.state(t).NLBListeners {
			group := w.state(t).NLBServerGroups[l.ServerGroupID]
			if group != nil && strings.Contains(group.Name, ".TCP."+service+".") && len(group.Servers) > 0 {
				nlb, listener = l.NLBID, l.ID
				return nil
			}
		}
		return fmt.Errorf("none does; events: %v", w.events(ctx, service))
	})
	return nlb, listener
}

// released waits until a Service has given up its load balancer.
func (w testWorld) released(t *testing.T, name string) {
	t.Helper()
	eventually(t, "Service "+name+" gives up its load balancer", func(ctx context.Context) error {
		s, err := w.Client().CoreV1().Services(metav1.NamespaceDefault).Get(ctx, name, metav1.GetOptions{})
		if err == nil && len(s.Finalizers) > 0 {
			err = fmt.Errorf("it has not; events: %v", w.events(ctx, name))
		}
		return err
	})
}

// ofGateway waits for the Service of a Gateway.
func (w testWorld) ofGateway(t *testing.T, gateway string) (name string) {
	t.Helper()
	eventually(t, "Gateway "+gateway+" has a Service", func(ctx context.Context) error {
		list, err := w.Client().CoreV1().Services(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{
			LabelSelector: "gateway.networking.k8s.io/gateway-name=" + gateway})
		if err != nil {
			return err
		}
		for _, s := range list.Items {
			name = s.Name
			return nil
		}
		return errors.New("it has none")
	})
	return name
}

// orphan deletes a Gateway and its routes, and leaves its Service.
func (w testWorld) orphan(t *testing.T, gateway string) {
	t.Helper()
	gateways := w.dynamic(t, "gateways")
	orphan := metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationOrphan)}
	if err := gateways.Namespace(metav1.NamespaceDefault).Delete(t.Context(), gateway, orphan); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the Gateway is gone", func(ctx context.Context) error {
		list, err := gateways.List(ctx, metav1.ListOptions{})
		if err == nil && len(list.Items) > 0 {
			err = errors.New("it is there")
		}
		return err
	})
}
