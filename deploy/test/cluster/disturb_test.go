//go:build linux

package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/deploy/chart"
)

// disturbed runs one thing that operators do, or that happens to them, while a client asks the workload on and on: no request may fail, and
// a change of a Service afterwards reaches the cloud.
func (c *cluster) disturbed(t *testing.T, url, what string, act func()) {
	t.Helper()
	c.underLoad(t, []string{url, url}, what, act)
}

// underLoad is disturbed with as many requests at once as there are URLs. It returns how many were answered by each.
func (c *cluster) underLoad(t *testing.T, urls []string, what string, act func()) map[string]int {
	t.Helper()
	c.settled(t)
	stop := c.load(t, urls...)
	begin := time.Now()
	act()
	acted := time.Since(begin)
	served := c.change(t)
	saw := stop()
	if served > expected {
		for _, component := range []string{"lbcontroller", "cloudgateway"} {
			t.Logf("%s:\n%s", what,
				c.run(t, "kubectl -n kube-system logs --selector app.kubernetes.io/name="+component+" --since=30s --prefix --tail=30"))
		}
		t.Logf("calls of the cloud:\n%s", c.calls(t, begin))
	}
	t.Logf("%s took %.1f s, a change of a Service was served %.1f s later; %d requests answered, %d failed",
		what, acted.Seconds(), served.Seconds(), saw.Answered, len(saw.Failed))
	if len(saw.Failed) > 0 || saw.Answered == 0 {
		since := fmt.Sprintf(" --since=%.0fs", time.Since(begin).Seconds()+1)
		t.Logf("the simulated cloud:\n%s", c.run(t, "kubectl -n cloud logs deployment/openapisim"+since))
		t.Logf("calls of the cloud:\n%s", c.calls(t, begin))
		t.Logf("the workload:\n%s", c.run(t, "kubectl get pods --selector app=echo -o wide; kubectl get endpointslices -o yaml"))
		t.Errorf("%s: %d requests were answered, these failed: %q", what, saw.Answered, saw.Failed)
	}
	return saw.URLs
}

// manyRequests disturbs while many requests come at once, by way of nodes and to pods.
func (c *cluster) manyRequests(t *testing.T, nodes, pods, what string, act func()) {
	t.Helper()
	const most, least = 16, 1000 // requests at once, and in all, to each URL
	answered := c.underLoad(t, slices.Repeat([]string{nodes, pods}, most), what, act)
	t.Logf("%s: %d requests were answered by way of nodes, %d by pods", what, answered[nodes], answered[pods])
	if min(answered[nodes], answered[pods]) < least {
		t.Errorf("%s: too few requests to show something, want %d of each", what, least)
	}
}

// rollOut replaces the pods of the workload. Its manifest declares no readiness gate; the API server gives them.
func (c *cluster) rollOut(t *testing.T, nodes, pods string) {
	t.Helper()
	c.run(t, fill(c.block(t, "services.md", "kubectl label namespace"), "default", ""))
	c.manyRequests(t, nodes, pods, "a rollout of the workload", func() {
		c.run(t, "kubectl rollout restart deployment/echo && kubectl rollout status deployment/echo --timeout=240s")
	})
	c.gated(t)
}

// removeNode takes a node with pods of the workload out of service, as docs/services.md says how, and starts its machine again.
func (c *cluster) removeNode(t *testing.T, nodes, pods string) {
	t.Helper()
	leaving := c.nodes[1]
	c.manyRequests(t, nodes, pods, "the removal of a node", func() {
		c.run(t, strings.ReplaceAll(c.block(t, "services.md", "kubectl drain"), "NODE", leaving.name))
		c.unused(t, leaving)
		if err := leaving.leave(); err != nil {
			t.Fatal(err)
		}
	})
	c.comeBack(t, leaving)
}

// gated looks whether the pods of the workload have the gates of both Services, and are ready for all that.
func (c *cluster) gated(t *testing.T) {
	t.Helper()
	list, err := c.client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{LabelSelector: "app=echo"})
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range list.Items {
		gates := map[corev1.PodConditionType]bool{}
		for _, gate := range pod.Spec.ReadinessGates {
			gates[gate.ConditionType] = true
		}
		const prefix = "service.readiness.alibabacloud.com/"
		if pod.DeletionTimestamp == nil && (!gates[prefix+"echo"] || !gates[prefix+"pods"]) {
			t.Errorf("%s has the gates %v", pod.Name, pod.Spec.ReadinessGates)
		}
	}
}

// unused waits until no load balancer sends anything to a node.
func (c *cluster) unused(t *testing.T, n *node) {
	t.Helper()
	took := c.wait(t, "no load balancer has servers on "+n.host, func(ctx context.Context) error {
		s, err := c.cloud.State(ctx)
		if err != nil {
			return err
		}
		for _, g := range s.ServerGroups {
			if slices.ContainsFunc(g.Servers, func(s *state.Server) bool { return s.ServerID == n.instance }) {
				return fmt.Errorf("%s has it", g.Name)
			}
		}
		for _, g := range s.NLBServerGroups {
			if slices.ContainsFunc(g.Servers, func(s *state.NLBServer) bool { return s.ServerID == n.instance }) {
				return fmt.Errorf("%s has it", g.Name)
			}
		}
		return nil
	})
	t.Logf("load balancers were without %s after %.1f s", n.host, took.Seconds())
}

// comeBack starts the machine of a node that was removed, and waits until all is as before.
func (c *cluster) comeBack(t *testing.T, n *node) {
	t.Helper()
	begin := time.Now()
	if err := n.comeBack(); err != nil {
		t.Fatal(err)
	}
	c.plug(t, n)
	c.wait(t, n.host+" is back", c.without(unavailable))
	c.wait(t, "every node has one route", func(ctx context.Context) error {
		s, err := c.cloud.State(ctx)
		if err != nil {
			return err
		}
		if routes := routesOf(s); len(routes) != len(c.nodes) {
			return fmt.Errorf("there are %d", len(routes))
		}
		return nil
	})
	t.Logf("%s was back after %.1f s", n.host, time.Since(begin).Seconds())
}

// routesOf are those that were made for nodes.
func routesOf(s *state.Cloud) []*state.RouteEntry {
	return slices.DeleteFunc(s.RouteTables["vtb-test"].Entries, func(e *state.RouteEntry) bool { return e.Type != "Custom" })
}

// expected is how long a change of a Service takes at most, on a machine that does nothing else.
const expected = 3 * time.Second

// calls are those that the cloud has answered since then, one in a line.
func (c *cluster) calls(t *testing.T, since time.Time) string {
	t.Helper()
	calls, _, err := c.cloud.Calls(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	for _, call := range calls {
		if call.Time.After(since) {
			fmt.Fprintln(&lines, call.Time.Format("15:04:05.000"), call.Action, call.Params["ListenerPort"], call.Status, call.Code)
		}
	}
	return lines.String()
}

// settled waits until the last change of the second Service is done, the removal of its old port included.
func (c *cluster) settled(t *testing.T) {
	t.Helper()
	c.wait(t, "the last change is done", func(ctx context.Context) error {
		s, err := c.cloud.State(ctx)
		if err != nil {
			return err
		}
		for _, lb := range s.LoadBalancers {
			if len(lb.Listeners) != 1 || lb.Listeners[0].Status != "running" {
				return fmt.Errorf("%s has %d listeners", lb.ID, len(lb.Listeners))
			}
		}
		return nil
	})
}

// change gives the second Service another port and returns how long it took until the cloud listens there.
func (c *cluster) change(t *testing.T) time.Duration {
	t.Helper()
	c.port++
	patch := fmt.Sprintf(`{"spec":{"ports":[{"name":"http","port":%d,"targetPort":8080}]}}`, c.port)
	if _, err := c.client.CoreV1().Services("default").Patch(t.Context(), "changing", types.MergePatchType, []byte(patch),
		metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	return c.wait(t, fmt.Sprintf("the load balancer listens at port %d", c.port), func(ctx context.Context) error {
		s, err := c.cloud.State(ctx)
		if err != nil {
			return err
		}
		for _, lb := range s.LoadBalancers {
			for _, listener := range lb.Listeners {
				if listener.Port == c.port {
					return nil
				}
			}
		}
		return errors.New("no listener")
	})
}

// upgrade gives the same programs another tag, and runs helm as the docs say.
func (c *cluster) upgrade(t *testing.T) {
	t.Helper()
	const next = "next"
	for _, n := range c.nodes {
		for _, component := range chart.Components() {
			name := registry + "/alicloud-controllers/" + component + ":"
			if out, err := n.ctr(t.Context(), "images", "tag", "--force", name+c.tag(t), name+next); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
	}
	file := filepath.Join(c.dir, "values.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), "image:\n", "image:\n  tag: "+next+"\n", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	c.run(t, c.documented(t, "helm upgrade"))
	c.wait(t, "the new version runs alone", c.deployed(chart.Components()...))
	for _, pod := range c.pods(t, "") {
		if image := pod.Spec.Containers[0].Image; !strings.HasSuffix(image, ":"+next) {
			t.Errorf("%s runs %s", pod.Name, image)
		}
	}
}

// pods are those of a component, or of all, that have not begun to end.
func (c *cluster) pods(t *testing.T, component string) []corev1.Pod {
	t.Helper()
	selector := "app.kubernetes.io/instance=alicloud"
	if component != "" {
		selector += ",app.kubernetes.io/name=" + component
	}
	list, err := c.client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil })
}

// gone holds when there is no such pod, not even one that ends.
func (c *cluster) gone(pod string) func(context.Context) error {
	return func(ctx context.Context) error {
		switch _, err := c.client.CoreV1().Pods(namespace).Get(ctx, pod, metav1.GetOptions{}); {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return err
		}
		return fmt.Errorf("%s still ends", pod)
	}
}

// leader is the pod that holds the Lease of a component.
func (c *cluster) leader(t *testing.T, component string) corev1.Pod {
	t.Helper()
	var leader corev1.Pod
	c.wait(t, component+" has a leader", func(ctx context.Context) error {
		lease, err := c.client.CoordinationV1().Leases(namespace).Get(ctx, component, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, pod := range c.pods(t, component) {
			if holder := lease.Spec.HolderIdentity; holder != nil && strings.HasPrefix(*holder, pod.Name) {
				leader = pod
				return nil
			}
		}
		return fmt.Errorf("the Lease is held by %v", lease.Spec.HolderIdentity)
	})
	return leader
}

// kill ends the container of a pod as a crash does.
func (c *cluster) kill(t *testing.T, pod corev1.Pod) {
	t.Helper()
	_, id, _ := strings.Cut(pod.Status.ContainerStatuses[0].ContainerID, "://")
	for _, n := range c.nodes {
		if n.name == pod.Spec.NodeName {
			if out, err := n.ctr(t.Context(), "tasks", "kill", "--signal", "SIGKILL", id); err != nil {
				t.Fatalf("kill the container of %s: %v\n%s", pod.Name, err, out)
			}
		}
	}
}

// disturb is everything that must not be felt.
func (c *cluster) disturb(t *testing.T, url string) {
	t.Helper()
	c.disturbed(t, url, "an upgrade of the chart", func() { c.upgrade(t) })
	c.disturbed(t, url, "a rollback", func() {
		c.run(t, c.inline(t, "install.md", "helm rollback")+" --wait")
		c.wait(t, "the old version runs alone", c.deployed(chart.Components()...))
	})
	c.disturbed(t, url, "an upgrade that fails and the one that mends it", func() {
		upgrade := strings.TrimSpace(c.documented(t, "helm upgrade"))
		if out, err := c.command(t.Context(), upgrade+" --set image.tag=missing --timeout 15s").CombinedOutput(); err == nil {
			t.Errorf("helm does not notice that there are no images: %s", out)
		}
		c.run(t, upgrade)
		c.wait(t, "the right version runs alone", c.deployed(chart.Components()...))
	})
	c.disturbed(t, url, "another certificate, without which a pod can't start meanwhile", func() {
		c.run(t, c.inline(t, "install.md", "kubectl -n kube-system delete secret cloudgateway-tls"))
		c.run(t, "kubectl -n kube-system delete pod --wait=false "+c.leader(t, "lbcontroller").Name)
		c.wait(t, "a new lbcontroller waits for the Secret", func(ctx context.Context) error {
			list, err := c.client.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: "reason=FailedMount"})
			if err != nil {
				return err
			}
			for _, pod := range c.pods(t, "lbcontroller") {
				if slices.ContainsFunc(list.Items, func(e corev1.Event) bool { return e.InvolvedObject.UID == pod.UID }) {
					return nil
				}
			}
			return errors.New("no pod misses a volume")
		})
		begin := time.Now()
		c.run(t, c.documented(t, "helm upgrade"))
		c.wait(t, "lbcontroller is back", c.deployed("lbcontroller"))
		t.Logf("all pods ran %.1f s after the upgrade began", time.Since(begin).Seconds())
	})
	c.certified(t)
	for _, component := range chart.Components() {
		c.disturbed(t, url, "a kill -9 of the leading "+component, func() { c.kill(t, c.leader(t, component)) })
		c.wait(t, component+" is back", c.deployed(component))
		c.disturbed(t, url, "a rollout restart of "+component, func() {
			c.run(t, "kubectl -n kube-system rollout restart deployment/"+component+" && kubectl -n kube-system rollout "+
				"status deployment/"+component+" --timeout=240s")
		})
		for _, pod := range c.pods(t, component) {
			c.disturbed(t, url, "the deletion of "+pod.Name, func() {
				c.run(t, "kubectl -n kube-system delete pod --wait=false "+pod.Name)
			})
			// The Deployment's status may not have heard of the deletion yet.
			c.wait(t, pod.Name+" is gone", c.gone(pod.Name))
			c.wait(t, component+" is back", c.deployed(component))
		}
	}
}

// certified waits until both replicas of the gateway show the certificate that the Secret has.
func (c *cluster) certified(t *testing.T) {
	t.Helper()
	secret, err := c.client.CoreV1().Secrets(namespace).Get(t.Context(), "cloudgateway-tls", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(secret.Data["ca.crt"]) {
		t.Fatal("the Secret of the gateway has no authority")
	}
	dialer := tls.Dialer{Config: &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: pool, ServerName: "cloudgateway." + namespace + ".svc"}}
	took := c.wait(t, "the gateway shows its new certificate", func(ctx context.Context) error {
		for _, n := range c.nodes {
			conn, err := dialer.DialContext(ctx, "tcp", n.address.String()+":7443")
			if err != nil {
				return err
			}
			_ = conn.Close() // Nothing was sent.
		}
		return nil
	})
	t.Logf("the new certificate was there after %.1f s more", took.Seconds())
}

// release deletes the Services, and looks for load balancers that outlive them.
func (c *cluster) release(t *testing.T) {
	t.Helper()
	c.run(t, "kubectl delete service echo pods changing network --timeout=240s")
	s, err := c.cloud.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(s.LoadBalancers)+len(s.NLBs)+len(s.NLBServerGroups) > 0 {
		t.Errorf("%d CLBs, %d NLBs and %d groups of theirs are left", len(s.LoadBalancers), len(s.NLBs), len(s.NLBServerGroups))
	}
}

// uninstall follows the docs, and looks at what stays.
func (c *cluster) uninstall(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	c.run(t, "helm uninstall alicloud --namespace kube-system")
	c.run(t, c.inline(t, "install.md", "kubectl -n kube-system wait --for=delete pod"))
	for _, component := range chart.Components() {
		lease, err := c.client.CoordinationV1().Leases(namespace).Get(ctx, component, metav1.GetOptions{})
		if err != nil {
			t.Error(err)
		} else if holder := lease.Spec.HolderIdentity; holder != nil && *holder != "" {
			t.Errorf("the Lease of %s is still held by %s", component, *holder)
		}
	}
	s, err := c.cloud.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if routes := routesOf(s); len(routes) != len(c.nodes) {
		t.Errorf("%d routes are left, want one for each node", len(routes))
	}
	kept := []string{"serviceaccount", "role.rbac.authorization.k8s.io", "rolebinding.rbac.authorization.k8s.io",
		"lease.coordination.k8s.io", "configmap", "secret/cloudgateway-tls", "customresourcedefinition.apiextensions.k8s.io"}
	c.left(t, kept...)
	c.run(t, c.documented(t, "kubectl -n kube-system delete lease"))
	c.left(t)
}

// left waits until nothing is left of the installation but what is kept: objects by kind or by kind and name. What
// belonged to others goes some time after them.
func (c *cluster) left(t *testing.T, kept ...string) {
	t.Helper()
	c.wait(t, "no more is left than docs/install.md says", func(context.Context) error {
		rest := slices.DeleteFunc(c.objects(t), func(object string) bool {
			kind, _, _ := strings.Cut(object, "/")
			return slices.Contains(c.before, object) || slices.Contains(kept, kind) || slices.Contains(kept, object)
		})
		if len(rest) > 0 {
			return fmt.Errorf("there are still %q", rest)
		}
		return nil
	})
}

// objects are all in the namespace that an installation may leave, and those of no namespace. CoreDNS is not among them: its
// pods move when a node goes.
func (c *cluster) objects(t *testing.T) []string {
	t.Helper()
	return strings.Fields(c.run(t,
		"kubectl -n kube-system get all,configmap,secret,serviceaccount,role,rolebinding,poddisruptionbudget,networkpolicy,lease -o name "+
			"--selector 'k8s-app!=kube-dns'; "+
			"kubectl get clusterrole,clusterrolebinding,customresourcedefinition -o name"))
}
