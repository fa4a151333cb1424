//go:build linux

package cluster

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"alicloud-controllers.dev/deploy/chart"
)

// oneNode installs everything on a single node, at first without credentials for the cloud, and mends that by an
// upgrade. Both gateways are on the node's network: the first has the ports though it is not ready, the second waits
// for them, and so do the pods of the upgrade.
func (c *cluster) oneNode(t *testing.T) {
	t.Helper()
	c.run(t, "kubectl cordon "+c.nodes[1].name)
	c.configure(t, func(values string) string { return values + "credentials: {ramRole: nobody}\n" })
	install := strings.TrimSpace(c.documented(t, "helm install"))
	if out, err := c.command(t.Context(), install+" --timeout 15s").CombinedOutput(); err == nil {
		t.Errorf("helm does not notice that the gateway has no credentials: %s", out)
	}
	c.wait(t, "two gateways run and are not ready", func(context.Context) error {
		running := 0
		for _, pod := range c.pods(t, "cloudgateway") {
			for _, status := range pod.Status.ContainerStatuses {
				if status.Started != nil && *status.Started && !status.Ready {
					running++
				}
			}
		}
		if running != 2 {
			return fmt.Errorf("%d do", running)
		}
		return nil
	})
	c.configure(t, func(values string) string { return values + "credentials: {existingSecret: cloud-key}\n" })
	c.run(t, c.documented(t, "helm upgrade"))
	url, _ := c.serve(t)
	c.disturbed(t, url, "an upgrade on one node", func() { c.upgrade(t) })
	c.disturbed(t, url, "a kill -9 of the leading cloudgateway on one node", func() { c.kill(t, c.leader(t, "cloudgateway")) })
	c.wait(t, "all are back", c.deployed(chart.Components()...))
	for _, pod := range c.pods(t, "") {
		if pod.Spec.NodeName != c.nodes[0].name {
			t.Errorf("%s is on %s", pod.Name, pod.Spec.NodeName)
		}
	}
	c.release(t)
	c.uninstall(t)
	c.run(t, "kubectl uncordon "+c.nodes[1].name)
}
