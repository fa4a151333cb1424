package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/gateway"

	"alicloud-controllers.dev/cloudgateway/writetest"
	"alicloud-controllers.dev/deploy/chart"
	"alicloud-controllers.dev/deploy/tools/local/world"
)

// toolAccess lets a tool in, as docs/gateway-for-tools.md says.
const toolAccess = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: tool, namespace: kube-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: tool}
rules:
  - apiGroups: [cloudgateway.alibabacloud.com]
    resources: ["*"]
    verbs: [get, list, create, update, delete]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: tool}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: tool}
subjects:
  - {kind: ServiceAccount, name: tool, namespace: kube-system}
`

// tool connects to the gateways as a tool in the cluster does.
func (w testWorld) tool(t *testing.T) *gateway.Client {
	t.Helper()
	if err := w.Apply(t.Context(), []byte(toolAccess)); err != nil {
		t.Fatalf("let the tool in: %v", err)
	}
	token, err := w.Token(t.Context(), chart.Namespace, "tool", world.Audience)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(w.toolToken(), []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	conn, err := gateway.Dial(gateway.Config{
		Address: w.GatewayAddress(), CAFile: w.CAFile(), ServerName: "cloudgateway", TokenFile: w.toolToken(), UserAgent: "tool",
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return conn.Client()
}

// served waits until a gateway is active and answers.
func (w testWorld) served(t *testing.T, c *gateway.Client) {
	t.Helper()
	eventually(t, "a gateway serves", func(ctx context.Context) error {
		_, err := c.Capabilities.GetCapabilities(ctx, &commonv1.GetCapabilitiesRequest{}, grpc.WaitForReady(true))
		return err
	})
}

// listBalancers is a read that reaches the cloud.
func listBalancers(ctx context.Context, c *gateway.Client, _ *writetest.Site) error {
	_, err := c.LoadBalancers.ListLoadBalancers(ctx, &slbv1.ListLoadBalancersRequest{Name: "web"})
	return err
}

// topShows waits until `cloudgateway top`, run beside one of the gateways as in its pod, has the texts.
func (w testWorld) topShows(t *testing.T, gateway string, texts ...string) {
	t.Helper()
	eventually(t, "top of "+gateway, func(ctx context.Context) error { // It asks once, and the API server may be slow to review its token.
		out, err := exec.CommandContext(ctx, filepath.Join(built.bin, "cloudgateway"), "top",
			"--config", filepath.Join(w.Dir(), "config", gateway+".yaml"), "--token-file", w.toolToken()).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
		for _, text := range texts {
			if !strings.Contains(string(out), text) {
				return fmt.Errorf("it lacks %q:\n%s", text, out)
			}
		}
		return nil
	})
}

// toolToken is the file with the tool's token.
func (w testWorld) toolToken() string { return filepath.Join(w.Dir(), "secrets", "tool-gateway.token") }
