package bench

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"alicloud-controllers.dev/services/gateway"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/openapisimtest"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// world is a gateway, a process of its own, between callers and a simulated cloud in this process. Everything is on loopback and as
// in production: TLS, tokens, permissions, signatures.
type world struct {
	t     testing.TB
	dir   string
	file  string // the gateway's configuration
	sim   *openapisim.Simulator
	addr  string
	admin string
}

// wide are limits that no benchmark reaches, for the actions it calls.
func wide(actions ...string) string {
	overrides := make([]string, 0, len(actions))
	for _, action := range actions {
		overrides = append(overrides, action+": {calls: 100000, window: 60s}")
	}
	return "{share: 1, overrides: {" + strings.Join(overrides, ", ") + "}}"
}

// newWorld runs a gateway; more is added to its configuration.
func newWorld(t testing.TB, seed *state.Cloud, budget string, more ...string) *world {
	t.Helper()
	settings := api.FastSettings()
	w := &world{t: t, dir: t.TempDir()}
	w.sim = openapisimtest.New(t, openapisim.Config{LimitsOff: true, Settings: &settings, Seed: seed})
	kube := httptest.NewServer(kubernetes(t))
	t.Cleanup(kube.Close)
	w.write("kubeconfig", fmt.Sprintf(`
apiVersion: v1
kind: Config
current-context: bench
contexts: [{name: bench, context: {cluster: bench, user: bench}}]
clusters: [{name: bench, cluster: {server: %q}}]
users: [{name: bench, user: {token: gateway}}]
`, kube.URL))
	w.certificate()
	w.write("id", openapisim.DefaultAccessKeyID)
	w.write("secret", openapisim.DefaultAccessKeySecret)
	w.write("token", "caller")
	w.file = w.write("gateway.yaml", fmt.Sprintf(`
region: cn-hangzhou
listen: 127.0.0.1:0
admin: {listen: 127.0.0.1:0}
tls: {certFile: %[1]s/tls.crt, keyFile: %[1]s/tls.key}
kubernetes: {kubeconfig: %[1]s/kubeconfig}
credentials: {accessKey: {idFile: %[1]s/id, secretFile: %[1]s/secret}}
endpoints: {slb: %[2]q, vpc: %[3]q, ecs: %[4]q}
scheme: HTTP
budget: %[5]s
%[6]s
`, w.dir, w.sim.Endpoint("slb"), w.sim.Endpoint("vpc"), w.sim.Endpoint("ecs"), budget, strings.Join(more, "\n")))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w.run(self)
	return w
}

// run starts a gateway, which is these tests' binary or that of another commit, and learns from its log where it
// listens; the last one started is that of the world. It runs from a copy. From the file that the linker wrote, the
// first call after an idle second takes 1.5 times as long, presumably since the kernel keeps that file in smaller pages.
func (w *world) run(binary string) {
	w.t.Helper()
	w.addr = ""
	ctx, own := context.WithoutCancel(w.t.Context()), filepath.Join(w.t.TempDir(), "gateway")
	if out, err := exec.CommandContext(ctx, "cp", binary, own).CombinedOutput(); err != nil {
		w.t.Fatalf("copy the gateway: %v\n%s", err, out)
	}
	command := exec.CommandContext(ctx, own)
	command.Env = append(os.Environ(), asGateway+"="+w.file)
	log, err := command.StderrPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		w.t.Fatal(err)
	}
	lines, logged := bufio.NewReader(log), make(chan struct{})
	w.t.Cleanup(func() {
		if err := command.Process.Signal(syscall.SIGTERM); err != nil {
			w.t.Errorf("stop the gateway: %v", err)
		}
		<-logged
		if err := command.Wait(); err != nil {
			w.t.Errorf("the gateway ended with: %v", err)
		}
	})
	defer func() {
		go func() {
			defer close(logged)
			_, _ = io.Copy(io.Discard, lines) // until the gateway ends
		}()
	}()
	for w.addr == "" {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			w.t.Fatalf("the gateway did not start: %v", err)
		}
		var start struct{ Listen, Admin string }
		if json.Unmarshal(line, &start) != nil || start.Listen == "" {
			w.t.Logf("gateway: %s", line)
			continue
		}
		w.addr, w.admin = start.Listen, start.Admin
	}
}

// dial connects a caller and waits until the gateway serves.
func (w *world) dial() *gateway.Client {
	w.t.Helper()
	conn, err := gateway.Dial(gateway.Config{
		Address: w.addr, CAFile: filepath.Join(w.dir, "tls.crt"), ServerName: "cloudgateway", TokenFile: filepath.Join(w.dir, "token"),
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			w.t.Errorf("close: %v", err)
		}
	})
	ctx, cancel := context.WithTimeout(w.t.Context(), 2*time.Minute)
	defer cancel()
	for err = conn.Ready(ctx); err != nil && ctx.Err() == nil; err = conn.Ready(ctx) {
		continue
	}
	if err != nil {
		w.t.Fatalf("the gateway is not ready: %v", err)
	}
	return conn.Client()
}

// metric reads one metric of the gateway.
func (w *world) metric(name string) float64 {
	w.t.Helper()
	request, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, "http://"+w.admin+"/metrics", http.NoBody)
	if err != nil {
		w.t.Fatal(err)
	}
	answer, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		w.t.Fatal(err)
	}
	defer answer.Body.Close()
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			value, err := strconv.ParseFloat(text, 64)
			if err != nil {
				w.t.Fatal(err)
			}
			return value
		}
	}
	w.t.Fatalf("the gateway has no metric %s", name)
	return 0
}

func (w *world) write(name, text string) string {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// certificate makes the server's certificate, which vouches for itself.
func (w *world) certificate() {
	w.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		w.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"cloudgateway"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		w.t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		w.t.Fatal(err)
	}
	w.write("tls.crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	w.write("tls.key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
}
