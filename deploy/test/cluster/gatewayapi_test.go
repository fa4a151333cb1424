//go:build linux

package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	// gatewaysAsked has the make target say that the conformance suite of the Gateway API is wanted.
	gatewaysAsked = "E2E_GATEWAY_API"
	// gatewayReports is where the reports of the suite are kept.
	gatewayReports = "docs/reference/gateway-api"
)

// conformance is what the suite of the Gateway API needs.
type conformance struct {
	// Tests are the suite, and Definitions the directory of its custom resources.
	Tests, Definitions string
}

// echoImages are those of the pods in the suite's manifests.
func echoImages() []string {
	return []string{"registry.k8s.io/gateway-api/echo-basic:v1.5.1", "registry.k8s.io/gateway-api/echo-basic:v1.6.0-dev.2"}
}

// buildConformance builds the suite of deploy/test/gatewayapi and the images of its pods.
func buildConformance(ctx context.Context, root, work, images string) (c conformance, err error) {
	c.Tests = filepath.Join(work, "conformance")
	echo := filepath.Join(work, "echo-basic")
	run := func(args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir, cmd.Env = filepath.Join(root, "deploy/test/gatewayapi"), append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
		out, err := cmd.CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("go %v: %w\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out)), nil
	}
	if _, err = run("test", "-c", "-vet=off", "-trimpath", "-ldflags", "-s -w", "-o", c.Tests, "."); err != nil {
		return c, err
	}
	if _, err = run("build", "-trimpath", "-ldflags", "-s -w", "-o", echo, "sigs.k8s.io/gateway-api/conformance/echo-basic"); err != nil {
		return c, err
	}
	dir, err := run("list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/gateway-api")
	if err != nil {
		return c, err
	}
	c.Definitions = filepath.Join(dir, "config/crd/standard")
	for i, name := range echoImages() {
		if err := image(filepath.Join(images, fmt.Sprintf("echo-basic-%d.tar", i)), name, "echo-basic", echo, nil); err != nil {
			return c, err
		}
	}
	return c, nil
}

// skippedCases are those of the profiles that need what a load balancer of layer 4 doesn't have: listeners of protocol
// HTTP or HTTPS that serve.
const skippedCases = "GatewayListenerUnsupportedProtocol,GatewayInvalidRouteKind,GatewayInvalidTLSConfiguration,GatewayModifyListeners," +
	"GatewayObservedGenerationBump,GatewaySecretInvalidReferenceGrant,GatewaySecretMissingReferenceGrant," +
	"GatewaySecretReferenceGrantAllInNamespace,GatewaySecretReferenceGrantSpecific"

// conformanceDeadline is for one run of the suite.
const conformanceDeadline = 20 * time.Minute

// TestGatewayAPI runs the conformance suite of the Gateway API, with pods as servers and with nodes.
func TestGatewayAPI(t *testing.T) {
	if os.Getenv(gatewaysAsked) == "" {
		t.Skip("takes half an hour; run make e2e-gateway-api")
	}
	c := start(t, 3)
	c.outside(t)
	c.dns(t)
	c.components = "  lbcontroller:\n    config:\n      gatewayAPI: {enabled: true}\n      backendType: eni\n"
	c.install(t)
	c.run(t, "kubectl apply --server-side -f "+c.built.Gateways.Definitions)
	c.apply(t, "apiVersion: gateway.networking.k8s.io/v1\nkind: GatewayClass\nmetadata: {name: nlb}\n"+
		"spec: {controllerName: alibabacloud.com/nlb}\n")
	zones, err := os.ReadFile(filepath.Join(c.built.Root, "deploy/test/cluster/testdata/zones.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	c.apply(t, string(zones))
	c.run(t, "kubectl wait --for=condition=Accepted --timeout=180s gatewayclass/nlb")
	for _, column := range []struct{ name, skip string }{
		{"pods", skippedCases}, {"nodes", skippedCases + ",TCPRouteWeightedRouting,UDPRouteWeightedRouting"},
	} {
		t.Run(column.name, func(t *testing.T) {
			if column.name == "nodes" {
				c.run(t, c.documentedUpgrade()+" --set components.lbcontroller.config.backendType=node")
				c.run(t, "kubectl -n kube-system rollout status deployment/lbcontroller --timeout=180s")
			}
			c.conform(t, column.name, column.skip)
		})
	}
}

// documentedUpgrade changes single values of the installation.
func (c *cluster) documentedUpgrade() string {
	return "helm -n kube-system upgrade alicloud deploy/chart --reuse-values"
}

// conform runs the suite, and keeps its report.
func (c *cluster) conform(t *testing.T, name, skip string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), conformanceDeadline)
	defer cancel()
	report := filepath.Join(c.dir, "gateway-api-"+name+".yaml")
	cmd := exec.CommandContext(ctx, c.built.Gateways.Tests, "-test.v", "-test.timeout=20m", "-test.run=^TestConformance$",
		"-gateway-class=nlb", "-conformance-profiles=GATEWAY-TCP,GATEWAY-UDP", "-supported-features=Gateway,ReferenceGrant,TCPRoute,UDPRoute",
		"-skip-tests="+skip, "-report-output="+report, "-allow-crds-mismatch", "-organization=alicloud-controllers",
		"-project=lbcontroller", "-url=https://alicloud-controllers.dev", "-version=dev", "-contact=none")
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.kubeconfig("admin"))
	cmd.Dir = c.dir
	out, err := cmd.CombinedOutput()
	if dir := os.Getenv(reportsVariable); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, "gateway-api-"+name+".log"), out, 0o600); err != nil {
			t.Error(err)
		}
	}
	if err != nil {
		t.Errorf("%v\n%s\n%s", err, out, c.run(t, "kubectl get gateways,tcproutes,udproutes,services -A -o yaml | tail -400"))
	}
	text, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the report:\n%s", text)
	if *record {
		path := filepath.Join(c.built.Root, gatewayReports, "nlb-"+name+".yaml")
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Error(err)
		}
	}
}
