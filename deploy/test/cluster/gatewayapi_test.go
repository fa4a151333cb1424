//go:build linux

package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

// layer4Features are those of the suite that TCP and UDP need.
const layer4Features = "Gateway,ReferenceGrant,TCPRoute,UDPRoute"

// conformanceDeadline is for one run of the suite.
const conformanceDeadline = 20 * time.Minute

// TestGatewayAPI runs the conformance suite of the Gateway API, with an NLB with pods as servers and with nodes, and with a
// CLB with pods. With each kind of servers a Gateway takes over the NLB of a Service, too, and the Service takes it back.
func TestGatewayAPI(t *testing.T) {
	if os.Getenv(gatewaysAsked) == "" {
		t.Skip("takes half an hour; run make e2e-gateway-api")
	}
	c := start(t, 3)
	c.outside(t)
	c.dns(t)
	// The role that lets Secrets be read is in the namespace of the suite.
	c.suiteNamespace(t)
	c.components = "  lbcontroller:\n    config:\n      gatewayAPI: {enabled: true}\n      backendType: eni\n" +
		"      tlsSecretNamespaces: [gateway-conformance-infra]\n"
	c.install(t)
	c.run(t, "kubectl apply --server-side -f "+c.built.Gateways.Definitions)
	for _, class := range []string{"nlb", "clb"} {
		c.apply(t, fmt.Sprintf("apiVersion: gateway.networking.k8s.io/v1\nkind: GatewayClass\nmetadata: {name: %[1]s}\n"+
			"spec: {controllerName: alibabacloud.com/%[1]s}\n", class))
	}
	zones, err := os.ReadFile(filepath.Join(c.built.Root, "deploy/test/cluster/testdata/zones.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	c.apply(t, string(zones))
	c.run(t, "kubectl wait --for=condition=Accepted --timeout=180s gatewayclass/nlb gatewayclass/clb")
	for _, column := range []struct{ name, class, skip, profiles, features string }{
		// Listeners of a load balancer of layer 4 have no protocol HTTPS, and refuse no connection by the name that clients ask for.
		{"nlb-tls", "nlb", skippedCases + ",TLSRouteHostnameIntersection,TLSRouteInvalidNoMatchingListener", "GATEWAY-TLS",
			layer4Features + ",TLSRoute,TLSRouteModeTerminate"},
		{"nlb-pods", "nlb", skippedCases, "GATEWAY-TCP,GATEWAY-UDP", layer4Features},
		// The suite asks ten times within two seconds, and one of the servers of a CLB has no traffic by then.
		{"clb-pods", "clb", skippedCases + ",UDPRouteWeightedRouting", "GATEWAY-TCP,GATEWAY-UDP", layer4Features},
		{"nlb-nodes", "nlb", skippedCases + ",TCPRouteWeightedRouting,UDPRouteWeightedRouting", "GATEWAY-TCP,GATEWAY-UDP",
			layer4Features},
	} {
		t.Run(column.name, func(t *testing.T) {
			if column.name == "nlb-nodes" {
				c.suiteNamespace(t)
				c.run(t, c.documentedUpgrade()+" --set components.lbcontroller.config.backendType=node")
				c.run(t, "kubectl -n kube-system rollout status deployment/lbcontroller --timeout=180s")
			}
			if servers, isNLB := strings.CutPrefix(column.name, "nlb-"); isNLB && servers != "tls" {
				c.handOver(t, servers)
			}
			c.conform(t, column.name, "-gateway-class="+column.class, "-skip-tests="+column.skip,
				"-conformance-profiles="+column.profiles, "-supported-features="+column.features)
		})
	}
}

// suiteNamespace makes the namespace of the suite, in which the chart lets Secrets be read, when that of the run before is gone.
func (c *cluster) suiteNamespace(t *testing.T) {
	t.Helper()
	c.run(t, "while kubectl get namespace gateway-conformance-infra -o jsonpath='{.status.phase}' | grep Terminating; do sleep 1; done; "+
		"kubectl create namespace gateway-conformance-infra --dry-run=client -o yaml | kubectl apply -f -")
}

// handOver hands the NLB of a Service over to a Gateway and back, as the docs say how, while clients ask on and on: no request fails.
func (c *cluster) handOver(t *testing.T, servers string) {
	t.Helper()
	manifest, err := os.ReadFile(filepath.Join(c.built.Root, "deploy/test/cluster/testdata/echo.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	deployment, _, _ := strings.Cut(string(manifest), "\n---\n")
	c.apply(t, deployment+"\n---\n"+`apiVersion: v1
kind: Service
metadata:
  name: web
  annotations:
    service.beta.kubernetes.io/alibaba-cloud-loadbalancer-connection-drain: "on"
    service.beta.kubernetes.io/alibaba-cloud-loadbalancer-connection-drain-timeout: "10"
spec:
  type: LoadBalancer
  loadBalancerClass: alibabacloud.com/nlb
  selector: {app: echo}
  ports: [{name: http, port: 80, targetPort: 8080}]
`)
	c.run(t, "kubectl rollout status deployment/echo --timeout=240s; kubectl wait --for=condition=Synced --timeout=240s service/web")
	id := strings.TrimSpace(c.run(t, `kubectl get service web -o jsonpath='{.metadata.labels.service\.k8s\.alibaba/loadbalancer-id}'`))
	s, err := c.cloud.State(t.Context())
	if err != nil || s.NLBs[id] == nil {
		t.Fatalf("there is no NLB %q: %v", id, err)
	}
	url := fmt.Sprintf("http://%s:80/", s.NLBs[id].Zones[0].PublicIP)
	c.answers(t, url)
	const most, least = 24, 1000 // requests at once, and in all
	stop, begin := c.load(t, slices.Repeat([]string{url}, most)...), time.Now()
	c.run(t, c.block(t, "gateway-api-routes.md", "kubectl -n kube-system exec deploy/lbcontroller"))
	taken := time.Since(begin)
	c.run(t, c.block(t, "gateway-api-routes.md", "ID=$(kubectl get gateway"))
	saw := stop()
	t.Logf("with %s as servers a Gateway had the NLB after %.1f s, and the Service again after %.1f s; %d requests were answered, %d failed",
		servers, taken.Seconds(), time.Since(begin).Seconds(), saw.Answered, len(saw.Failed))
	if len(saw.Failed) > 0 || saw.Answered < least {
		t.Errorf("%d requests were answered, want %d; these failed: %q\n%s", saw.Answered, least, saw.Failed, c.calls(t, begin))
	}
	if back := strings.TrimSpace(c.run(t, "kubectl get service web -o jsonpath='{.metadata.labels}'")); !strings.Contains(back, id) {
		t.Errorf("the Service has %s, want %s", back, id)
	}
	c.run(t, "kubectl delete service/web deployment/echo")
}

// documentedUpgrade changes single values of the installation.
func (c *cluster) documentedUpgrade() string {
	return "helm -n kube-system upgrade alicloud deploy/chart --reuse-values"
}

// conform runs the suite, and keeps its report.
func (c *cluster) conform(t *testing.T, name string, flags ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), conformanceDeadline)
	defer cancel()
	// Those of the run before.
	c.run(t, "kubectl wait --for=delete --timeout=180s namespace/gateway-conformance-app-backend "+
		"namespace/gateway-conformance-web-backend")
	c.suiteNamespace(t)
	report := filepath.Join(c.dir, "gateway-api-"+name+".yaml")
	cmd := exec.CommandContext(ctx, c.built.Gateways.Tests, append(flags, "-test.v", "-test.timeout=20m",
		"-test.run=^TestConformance$", "-report-output="+report, "-allow-crds-mismatch",
		"-organization=alicloud-controllers", "-project=lbcontroller", "-url=https://alicloud-controllers.dev", "-version=dev",
		"-contact=none")...)
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
		path := filepath.Join(c.built.Root, gatewayReports, name+".yaml")
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Error(err)
		}
	}
}
