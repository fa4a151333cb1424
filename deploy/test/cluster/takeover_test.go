//go:build linux

package cluster

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/deploy/chart"
)

// takeOver follows docs/migrate.md from the plan to the way back, in the cluster as another controller manager leaves
// it: nodes are initialised and have routes. The values name neither a region nor credentials: the metadata service of
// the instances has both.
func (c *cluster) takeOver(t *testing.T) {
	t.Helper()
	region := regexp.MustCompile("(?m)^region:.*\n")
	c.configure(t, func(values string) string { return region.ReplaceAllString(values, "") })
	begin := time.Now()
	plan := c.run(t, c.block(t, "migrate.md", "helm install"))
	for _, part := range []string{"vtb-test: 0 routes would be made and 0 deleted", fmt.Sprintf("%d are available", len(c.nodes))} {
		if !strings.Contains(plan, part) {
			t.Errorf("docs/migrate.md: the plan does not say %q:\n%s", part, plan)
		}
	}
	for _, component := range chart.Components()[1:] {
		planned := metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=" + component + "-plan"}
		jobs, err := c.client.BatchV1().Jobs(namespace).List(t.Context(), planned)
		// On a slow machine a first attempt may fail for a gateway that is not up yet: the Job repeats it.
		if err != nil || len(jobs.Items) != 1 || jobs.Items[0].Status.Succeeded != 1 {
			t.Errorf("the plan of %s: %+v, %v", component, jobs, err)
		}
	}
	c.run(t, c.block(t, "migrate.md", "helm upgrade"))
	c.wait(t, "the controllers run in place of the Jobs", c.deployed(chart.Components()...))
	c.run(t, c.block(t, "migrate.md", "kubectl get events"))
	counted := c.run(t, c.block(t, "migrate.md", "active="))
	if !strings.Contains(counted, `action="DescribeInstances"`) {
		t.Errorf("docs/migrate.md: the gateway counts these calls:\n%s", counted)
	}
	for _, call := range regexp.MustCompile(`action="([^"]+)"`).FindAllStringSubmatch(counted, -1) {
		if !regexp.MustCompile("^(Describe|List)").MatchString(call[1]) {
			t.Errorf("docs/migrate.md: %s is a call", call[1])
		}
	}
	t.Logf("the takeover took %.1f s", time.Since(begin).Seconds())
	if calls := c.writes(t, begin); len(calls) > 0 {
		t.Errorf("the takeover wrote to the cloud: %q", calls)
	}
	c.useService(t)
	// Whoever uninstalls with a Service left finds out how it goes without its controller.
	c.run(t, c.block(t, "migrate.md", "helm uninstall"))
	c.run(t, "kubectl delete service web --wait=false")
	c.run(t, fill(c.inline(t, "install.md", "kubectl -n NAMESPACE patch service NAME"), "default", "web"))
	c.wait(t, "the Service is gone", func(ctx context.Context) error {
		list, err := c.client.CoreV1().Services("default").List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=web"})
		if err == nil && len(list.Items) > 0 {
			err = fmt.Errorf("its finalizers are %q", list.Items[0].Finalizers)
		}
		return err
	})
	c.run(t, c.block(t, "migrate.md", "kubectl -n kube-system delete lease"))
	c.left(t)
	if s, err := c.cloud.State(t.Context()); err != nil || len(s.LoadBalancers) != 1 {
		t.Errorf("%d load balancers are left, want that of the Service that was freed; %v", len(s.LoadBalancers), err)
	}
}

// useService makes the Service of docs/install.md, and does to it what the docs say that users do.
func (c *cluster) useService(t *testing.T) {
	t.Helper()
	verify := strings.Split(c.documented(t, "kubectl -n kube-system exec"), "\n")
	c.run(t, strings.Replace(verify[2], "--image=nginx", "--image="+echoImage, 1))
	synced := c.inline(t, "services.md", "kubectl wait") + " --timeout=240s"
	c.run(t, synced)
	service, err := c.client.CoreV1().Services("default").Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil || !slices.ContainsFunc(service.Status.LoadBalancer.Ingress, func(i corev1.LoadBalancerIngress) bool { return i.IP != "" }) {
		t.Errorf("the Service is synced and has the status %+v, %v", service.Status, err)
	}
	if out := c.run(t, c.inline(t, "services.md", "kubectl describe service web")); !strings.Contains(out, "EnsuredLoadBalancer") {
		t.Errorf("no event says what was done:\n%s", out)
	}
	for page, beginnings := range map[string][]string{
		"troubleshooting.md": {"kubectl describe service NAME", "kubectl label service NAME", "kubectl -n kube-system logs"},
		"operations.md":      {"kubectl -n kube-system exec deploy/lbcontroller"},
		"runbook.md": {"kubectl -n kube-system describe deployment", "kubectl -n kube-system get lease",
			"kubectl get events", "kubectl label service NAME"},
	} {
		for _, beginning := range beginnings {
			c.run(t, fill(c.inline(t, page, beginning), "default", "web"))
		}
	}
	c.run(t, synced)
}

// inline finds the command in the text of a page that begins so.
func (c *cluster) inline(t *testing.T, page, beginning string) string {
	t.Helper()
	text := regexp.MustCompile("(?ms)^```.*?^```$").ReplaceAllString(c.page(t, page), "")
	for _, quoted := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(text, -1) {
		if strings.HasPrefix(quoted[1], beginning) {
			return quoted[1]
		}
	}
	t.Fatalf("docs/%s has no command that begins with %q", page, beginning)
	return ""
}

// fill puts names where the docs leave them open.
func fill(command, namespace, name string) string {
	return strings.NewReplacer("NAMESPACE", namespace, "NAME", name).Replace(command)
}

// writes are the actions that changed the cloud since then.
func (c *cluster) writes(t *testing.T, since time.Time) (actions []string) {
	t.Helper()
	calls, _, err := c.cloud.Calls(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range calls {
		if call.Mutating && call.Time.After(since) {
			actions = append(actions, call.Action)
		}
	}
	return actions
}
