//go:build linux

package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/deploy/chart"
)

const (
	uninitialized = "node.cloudprovider.kubernetes.io/uninitialized"
	unavailable   = "node.kubernetes.io/network-unavailable"
	namespace     = chart.Namespace
)

// TestInstall is the life of an installation, by the commands of docs/install.md.
func TestInstall(t *testing.T) {
	c := boot(t, 2)
	c.fresh(t)
	c.install(t)
	c.run(t, c.documented(t, "helm test"))
	nodes, pods := c.serve(t)
	c.rollOut(t, nodes, pods)
	c.disturb(t, nodes)
	c.commands(t)
	c.removeNode(t, nodes, pods)
	c.release(t)
	c.rights(t)
	c.uninstall(t)
	c.oneNode(t)
	c.takeOver(t)
}

// commands runs those of the docs that look and change nothing.
func (c *cluster) commands(t *testing.T) {
	t.Helper()
	verify := strings.SplitAfter(c.documented(t, "kubectl -n kube-system exec"), "\n")
	for _, text := range []string{
		verify[0], verify[1], c.documented(t, "helm template") + "kubectl apply --dry-run=server -f alicloud.yaml",
	} {
		if out, err := c.command(t.Context(), text).CombinedOutput(); err != nil {
			t.Errorf("docs/install.md: %s: %v\n%s", text, err, out)
		}
	}
	for _, page := range []string{"troubleshooting.md", "runbook.md", "operations.md"} {
		lines := c.prompts(t, page)
		if len(lines) == 0 {
			t.Errorf("docs/%s has no command", page)
		}
		for _, text := range lines {
			out, err := c.command(t.Context(), text).CombinedOutput()
			if t.Logf("docs/%s: %s\n%s", page, text, out); err != nil {
				t.Errorf("docs/%s: %s: %v", page, text, err)
			}
		}
	}
}

// prompts are the commands of kubectl that a page shows in lines of their own, but for those that need a terminal or a
// value, or are meant to fail. Those of the plugin are run by TestRelease, which has it.
func (c *cluster) prompts(t *testing.T, page string) (lines []string) {
	t.Helper()
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(c.page(t, page), -1) {
		for line := range strings.Lines(block[1]) {
			isOurs := strings.HasPrefix(line, "kubectl alicloud ")
			if strings.HasPrefix(line, "kubectl ") && !isOurs && !strings.Contains(line, " -it ") && !strings.Contains(line, "annotate") {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

func (c *cluster) page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(c.built.Root, "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// fresh has the cluster as it is before the chart: nodes that nobody has initialised, and CoreDNS waiting for them.
func (c *cluster) fresh(t *testing.T) {
	t.Helper()
	c.dns(t)
	for line := range strings.Lines(c.documented(t, "curl http://100.100.100.200")) {
		if err := script(c.nodes[1].enter(), strings.TrimSpace(line)+" --fail --silent"); err != nil {
			t.Errorf("docs/install.md: %v", err)
		}
	}
	withToken := strings.ReplaceAll(c.documented(t, "TOKEN="), "curl ", "curl --fail --silent ")
	if err := script(c.nodes[1].enter(), withToken); err != nil {
		t.Errorf("docs/install.md: %v", err)
	}
	c.wait(t, "nodes are ready but for the cloud", func(ctx context.Context) error {
		for n := range c.each(ctx) {
			if keys := taints(n); !slices.Equal(keys, []string{uninitialized}) {
				return fmt.Errorf("%s has the taints %q", n.Name, keys)
			}
		}
		return nil
	})
	c.wait(t, "CoreDNS waits for a node", func(ctx context.Context) error {
		pods, err := c.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: "k8s-app=kube-dns"})
		if err != nil {
			return err
		}
		waiting := 0
		for _, pod := range pods.Items {
			for _, condition := range pod.Status.Conditions {
				if condition.Type == corev1.PodScheduled && condition.Reason == corev1.PodReasonUnschedulable {
					waiting++
				}
			}
		}
		if waiting != 2 {
			return fmt.Errorf("%d of %d pods wait", waiting, len(pods.Items))
		}
		return nil
	})
}

// dns installs CoreDNS.
func (c *cluster) dns(t *testing.T) {
	t.Helper()
	manifest, err := os.ReadFile(filepath.Join(c.built.Root, "deploy/test/cluster/testdata/coredns.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	c.apply(t, string(manifest))
}

// each are the nodes as they are now; errors show as a node without a name.
func (c *cluster) each(ctx context.Context) func(func(*corev1.Node) bool) {
	return func(yield func(*corev1.Node) bool) {
		list, err := c.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil || len(list.Items) < len(c.nodes) {
			yield(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%d nodes, %v", len(list.Items), err)},
				Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "missing"}}}})
			return
		}
		for i := range list.Items {
			if !yield(&list.Items[i]) {
				return
			}
		}
	}
}

// documented finds the block of code in docs/install.md that begins so.
func (c *cluster) documented(t *testing.T, beginning string) string {
	t.Helper()
	return c.block(t, "install.md", beginning)
}

// block finds the block of code in a page of the docs that begins so.
func (c *cluster) block(t *testing.T, page, beginning string) string {
	t.Helper()
	for _, block := range regexp.MustCompile("(?s)```[a-z]+\n(.*?)```").FindAllStringSubmatch(c.page(t, page), -1) {
		if strings.HasPrefix(block[1], beginning) {
			return strings.ReplaceAll(block[1], "deploy/chart", cmp.Or(c.chart, "deploy/chart"))
		}
	}
	t.Fatalf("docs/%s has no block that begins with %q", page, beginning)
	return ""
}

// configure writes the docs' values, with what leads to the simulated cloud, and with other changes.
func (c *cluster) configure(t *testing.T, change func(values string) string) {
	t.Helper()
	address := c.host
	values := change(c.documented(t, "clusterID:")) + `components:
  cloudgateway:
    config:
      scheme: HTTP
      endpoints: {slb: "` + address + `:9101", vpc: "` + address + `:9102", ecs: "` + address + `:9103", sts: "` + address + `:9104",
        nlb: "` + address + `:9105", cas: "` + address + `:9106"}
` + c.components
	if err := os.WriteFile(filepath.Join(c.dir, "values.yaml"), []byte(values), 0o600); err != nil {
		t.Fatal(err)
	}
}

// install runs helm as the docs say, and prints how long everything took.
func (c *cluster) install(t *testing.T) {
	t.Helper()
	c.configure(t, func(values string) string {
		return values + "credentials: {existingSecret: cloud-key}\nreadinessGates: {enabled: true}\n"
	})
	c.run(t, "kubectl -n kube-system create secret generic cloud-key --from-literal=id="+accessKeyID+" --from-literal=secret="+c.secret)
	c.before = c.objects(t)
	begin := time.Now()
	helm := make(chan error, 1)
	go func() {
		out, err := c.command(t.Context(), c.documented(t, "helm install")).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%w\n%s", err, out)
		}
		helm <- err
	}()
	var reached sync.WaitGroup
	for _, step := range []struct {
		what      string
		limit     time.Duration // what the issue asks for; a loaded machine may take longer
		condition func(context.Context) error
	}{
		{"nodes are initialised", 5 * time.Second, c.without(uninitialized)},
		{"nodes have routes", 5*time.Second + routePending, c.without(unavailable)},
		{"all replicas are ready", 20 * time.Second, c.deployed(chart.Components()...)},
		{"CoreDNS runs", 30 * time.Second, c.deployed("coredns")},
	} {
		reached.Go(func() {
			c.wait(t, step.what, step.condition)
			t.Logf("%s %.1f s after the installation began (wanted: %s)", step.what, time.Since(begin).Seconds(), step.limit)
		})
	}
	reached.Wait()
	if err := <-helm; err != nil {
		t.Fatalf("helm install: %v\n%s", err, c.describe(t))
	}
	t.Logf("helm install returned after %.1f s", time.Since(begin).Seconds())
	for _, component := range chart.Components() {
		hosts := map[string]bool{}
		for _, pod := range c.pods(t, component) {
			hosts[pod.Spec.NodeName] = true
		}
		if len(hosts) < min(len(c.nodes), replicas) {
			t.Errorf("the replicas of %s are not spread: %v", component, hosts)
		}
	}
	t.Logf("what our processes and the cloud did meanwhile:\n%s", c.timeline(t, begin))
}

// replicas is how many the chart has of each component.
const replicas = 2

// routePending is how long the simulated cloud works on new routes. Nothing of ours can shorten it.
const routePending = 3 * time.Second

// timeline is what the processes logged and the cloud was asked since then, in the order of time.
func (c *cluster) timeline(t *testing.T, since time.Time) string {
	t.Helper()
	var lines []string
	note := func(at time.Time, what ...any) {
		lines = append(lines, fmt.Sprintf("%7.2fs  %s", at.Sub(since).Seconds(), fmt.Sprintln(what...)))
	}
	logs := c.run(t, "kubectl -n kube-system logs --selector app.kubernetes.io/instance=alicloud --prefix --tail=30")
	for line := range strings.Lines(logs) {
		var entry struct {
			Time time.Time
			Msg  string
		}
		pod, text, _ := strings.Cut(line, " ")
		if json.Unmarshal([]byte(text), &entry) == nil {
			note(entry.Time, pod, entry.Msg)
		}
	}
	calls, _, err := c.cloud.Calls(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range calls {
		if call.Time.After(since) {
			note(call.Time, "the cloud:", call.Action, call.Status, call.Code)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// without holds when no node has the taint.
func (c *cluster) without(key string) func(context.Context) error {
	return func(ctx context.Context) error {
		for n := range c.each(ctx) {
			if keys := taints(n); slices.Contains(keys, key) || slices.Contains(keys, uninitialized) || slices.Contains(keys, "missing") {
				return fmt.Errorf("%s has the taints %q", n.Name, keys)
			}
			for _, condition := range n.Status.Conditions {
				if key == unavailable && condition.Type == corev1.NodeNetworkUnavailable && condition.Status != corev1.ConditionFalse {
					return fmt.Errorf("%s: %s", n.Name, condition.Message)
				}
			}
		}
		return nil
	}
}

// deployed holds when all replicas of the Deployments are ready and of the present revision.
func (c *cluster) deployed(names ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		for _, name := range names {
			d, err := c.client.AppsV1().Deployments(namespace).Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if err := complete(d); err != nil {
				return err
			}
		}
		return nil
	}
}

func complete(d *appsv1.Deployment) error {
	s := d.Status
	if want := *d.Spec.Replicas; s.ObservedGeneration < d.Generation || s.UpdatedReplicas != want ||
		s.ReadyReplicas != want || s.Replicas != want {
		return fmt.Errorf("%s: %d replicas, %d ready, %d of the present revision", d.Name, s.Replicas, s.ReadyReplicas, s.UpdatedReplicas)
	}
	return nil
}
