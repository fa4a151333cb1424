package e2e

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/gateway"

	"alicloud-controllers.dev/cloudgateway/writetest"
	"alicloud-controllers.dev/deploy/chart"
	"alicloud-controllers.dev/deploy/local/world"
)

// toolAccess lets a tool in, as docs/gateway-for-tools.md tells.
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
	file := filepath.Join(w.Dir(), "secrets", "tool-gateway.token")
	if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	conn, err := gateway.Dial(gateway.Config{
		Address: w.GatewayAddress(), CAFile: w.CAFile(), ServerName: "cloudgateway", TokenFile: file, UserAgent: "tool",
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
