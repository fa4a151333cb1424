package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"alicloud-controllers.dev/deploy/tools/local/world"
)

// frontAccess lets a tool call through the OpenAPI front, as docs/openapi-front.md says.
const frontAccess = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: front-tool}
rules:
  - apiGroups: [cloudgateway.alibabacloud.com]
    resources: [openapi]
    verbs: [call]
    resourceNames: ["ecs:Describe*", "vpc:Describe*", "slb:*"]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: front-tool}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: front-tool}
subjects:
  - {kind: User, name: tool.example.com}
`

// The key pair of tools.
const frontKey, frontSecret = "front-key", "a-secret-of-the-front"

// frontOf is a free address for a front, and the file of its one key pair.
func frontOf(t *testing.T, key, secret string) (address, keys string) {
	t.Helper()
	keys = filepath.Join(t.TempDir(), "keys.yaml")
	if err := os.WriteFile(keys, fmt.Appendf(nil, "keys: [{id: %s, secret: %s, user: tool.example.com}]\n", key, secret), 0o600); err != nil {
		t.Fatal(err)
	}
	// The front listens only once the world is there. The ports are below those of worlds, and below the range from
	// which the kernel takes those of whatever else listens or connects meanwhile.
	const first, ports = 15_000, 5000
	start := rand.IntN(ports)
	for i := range ports {
		free, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(first+(start+i)%ports)))
		if err != nil {
			continue
		}
		if err := free.Close(); err != nil {
			t.Fatal(err)
		}
		return free.Addr().String(), keys
	}
	t.Fatalf("none of the ports from %d to %d is free", first, first+ports)
	return "", ""
}

// TestFrontBesideControllers: unmodified clients of others work through the OpenAPI front for as long as the
// environment variable FRONT says, e.g. 10m, beside all controllers, Services that come and change, nodes that join,
// and a gateway that is killed in the middle. In all that time the cloud refuses no call for its rate, but one of an
// action whose window the killed gateway had filled (ADR 8), and nothing that carries a ClientToken is made twice. The
// clients are those of cloudgateway/openapisim/thirdparty.
func TestFrontBesideControllers(t *testing.T) {
	if os.Getenv("FRONT") == "" {
		t.Skip("FRONT says no time")
	}
	length, err := time.ParseDuration(os.Getenv("FRONT"))
	if err != nil {
		t.Fatal(err)
	}
	address, keys := frontOf(t, frontKey, frontSecret)
	w := bootWith(t, world.Config{
		Nodes: 20, Controllers: world.Controllers(), Gateways: 2,
		Gateway: map[string]any{"front": map[string]any{"listen": address, "keysFile": keys}},
	})
	if err := w.Apply(t.Context(), []byte(frontAccess)); err != nil {
		t.Fatal(err)
	}
	if err := w.Cloud().EnableLimits(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	w.initialised(t)
	since := w.position(t)
	clients := w.behindFront(t, address, frontKey, frontSecret, false, length)
	var met *clientsMet
	var leader, heir string
	begin, killed, joined := time.Now(), false, false
	for n := 0; met == nil; {
		select {
		case met = <-clients:
		case <-time.After(length / 60):
		}
		switch passed := time.Since(begin); {
		case !joined && passed > length/3:
			joined = true
			w.addNodes(t, 100)
		case !killed && passed > length/2:
			killed = true
			leader, heir = w.leads(t)
			t.Logf("before the kill: %s", w.waits(t, leader))
			if err := w.Kill(leader); err != nil {
				t.Error(err)
			}
		case n < 20:
			w.create(t, newService(fmt.Sprintf("web-%d", n), nil, 80))
			n++
		case n < 50:
			w.change(t, fmt.Sprintf("web-%d", n%20), func(s *corev1.Service) {
				s.Spec.Ports = append(s.Spec.Ports[:1:1], corev1.ServicePort{Name: fmt.Sprint("q", n), Port: int32(1000 + n),
					TargetPort: intstr.FromInt32(8080)})
			})
			n++
		}
	}
	t.Logf("after the kill: %s", w.waits(t, heir))
	calls, _ := w.settle(t, since)
	codes, throttled := map[string]int{}, map[string]int{}
	for _, call := range calls {
		codes[call.Code]++
		if strings.HasPrefix(call.Code, "Throttling") {
			throttled[call.Action]++
			if throttled[call.Action] > 1 {
				t.Errorf("the cloud refused %s %s at %s", call.Product, call.Action, call.Time)
			}
		}
	}
	t.Logf("%d calls to the cloud, by code: %v", len(calls), codes)
	for _, lb := range w.state(t).LoadBalancers {
		if strings.Contains(lb.Name, "-") && (strings.HasPrefix(lb.Name, "SDK") || strings.HasPrefix(lb.Name, "Tea")) {
			t.Errorf("load balancer %s of a client is left", lb.Name)
		}
	}
}

// clientsMet is what clients of others met behind the front.
type clientsMet struct {
	Made     int            // load balancers
	Doubled  []string       // the tokens with which more than one was made
	Outcomes map[string]int // by client and code
}

// behindFront runs clients of others behind a front for a while. Each makes load balancers with a ClientToken, which it
// repeats until it hears what became of them, and deletes them. None may be made twice. In bad weather the client that
// doesn't repeat is left out.
func (w testWorld) behindFront(t *testing.T, address, key, secret string, badWeather bool, length time.Duration,
) <-chan *clientsMet {
	t.Helper()
	_, port, _ := net.SplitHostPort(address)
	plan, err := json.Marshal(map[string]any{
		"Address": "localhost:" + port, "CA": w.CAFile(), "Key": key, "Secret": secret, "Seconds": int(length.Seconds()),
		"BadWeather": badWeather,
	})
	if err != nil {
		t.Fatal(err)
	}
	clients := exec.CommandContext(t.Context(), "go", "test", "-v", "-count=1", "-timeout=2h", "-run=^TestFrontRun$", ".")
	clients.Dir = filepath.Join(built.root, "cloudgateway", "openapisim", "thirdparty")
	clients.Env = append(os.Environ(), "FRONT_RUN="+string(plan), "SSL_CERT_FILE="+w.CAFile())
	done := make(chan *clientsMet, 1)
	go func() {
		met := &clientsMet{}
		defer func() { done <- met }()
		output, err := clients.CombinedOutput()
		summary := regexp.MustCompile(`FRONT-RUN (.*)`).FindSubmatch(output)
		if err != nil || summary == nil {
			t.Errorf("the clients: %v\n%s", err, output)
			return
		}
		t.Logf("the clients met %s", summary[1])
		if err := json.Unmarshal(summary[1], met); err != nil || met.Made == 0 || len(met.Doubled) > 0 {
			t.Errorf("made %d, doubled %v: %v", met.Made, met.Doubled, err)
		}
	}()
	return done
}

// leads returns the gateway that is active, and the other one.
func (w testWorld) leads(t *testing.T) (leader, heir string) {
	t.Helper()
	leader, heir = active, standby
	if w.metric(t.Context(), standby, `leader_election_master_status{name="cloudgateway"}`) == 1 {
		leader, heir = standby, active
	}
	return leader, heir
}

// waits says how long calls waited for the budget of a gateway, by priority: how many more than 1, 5 and 10 seconds.
func (w testWorld) waits(t *testing.T, gateway string) string {
	t.Helper()
	value := func(series string) float64 { return w.metric(context.WithoutCancel(t.Context()), gateway, series) }
	var all []string
	for _, priority := range []string{"backend", "user", "deletion", "background"} {
		labels := fmt.Sprintf(`priority="%s",result="sent"`, priority)
		bucket := func(le string) float64 {
			return value(fmt.Sprintf(`cloudgateway_budget_wait_seconds_bucket{%s,le="%s"}`, labels, le))
		}
		sent := value("cloudgateway_budget_wait_seconds_count{" + labels + "}")
		all = append(all, fmt.Sprintf("%s: %.0f sent, %.0f after more than 1 s, %.0f than 5 s, %.0f than 10 s", priority,
			sent, sent-bucket("1"), sent-bucket("5"), sent-bucket("10")))
	}
	return strings.Join(all, "; ")
}
