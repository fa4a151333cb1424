package app_test

import (
	"bytes"
	"context"
	"encoding/pem"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"alicloud-controllers.dev/routecontroller/internal/app"
	"alicloud-controllers.dev/routecontroller/internal/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// settings points the process at an API server and a gateway that answer nothing of use.
func settings(t *testing.T) config.Config {
	t.Helper()
	nobody := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(nobody.Close)
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ca := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: nobody.Certificate().Raw}))
	cfg := config.Default()
	cfg.Kubernetes.Kubeconfig = write("kubeconfig", `
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "`+nobody.URL+`", insecure-skip-tls-verify: true}}]
contexts: [{name: c, context: {cluster: c, user: ""}}]
current-context: c
`)
	cfg.Gateway.Address = strings.TrimPrefix(nobody.URL, "https://")
	cfg.Gateway.CAFile, cfg.Gateway.TokenFile = write("ca.crt", ca), write("token", "t")
	cfg.ClusterID, cfg.Region = "c-1", "cn-hangzhou"
	cfg.ClusterCIDRs = []string{"10.0.0.0/8"}
	cfg.Admin.Listen = "127.0.0.1:0"
	cfg.LeaderElection.Enabled = false
	return cfg
}

// TestLiveWithoutItsSurroundings checks that a process whose API server and gateway are away lives, says what it lacks, and
// stops in order.
func TestLiveWithoutItsSurroundings(t *testing.T) {
	logs := &log{}
	a, err := app.New(settings(t), slog.New(slog.NewTextHandler(logs, nil)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	address := logs.wait(t, regexp.MustCompile(`admin=(\S+)`))
	for path, want := range map[string]struct {
		code int
		text string
	}{
		"/livez":   {http.StatusOK, "ok"},
		"/readyz":  {http.StatusServiceUnavailable, "gateway: "},
		"/metrics": {http.StatusOK, "reconcile_queue_depth"},
	} {
		code, body := get(t, "http://"+address+path)
		if code != want.code || !strings.Contains(body, want.text) {
			t.Errorf("%s answers %d %q, want %d with %q", path, code, body, want.code, want.text)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Run: %v", err)
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestBadKubeconfigIsNamed(t *testing.T) {
	cfg := settings(t)
	cfg.Kubernetes.Kubeconfig = "/nowhere"
	if _, err := app.New(cfg, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "kubernetes.kubeconfig") {
		t.Errorf("error %v, want it to name kubernetes.kubeconfig", err)
	}
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }() // Read to its end.
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// log collects log lines and wakes who waits for one.
type log struct {
	mu    sync.Mutex
	text  bytes.Buffer
	grown chan struct{}
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.grown != nil {
		close(l.grown)
		l.grown = nil
	}
	return l.text.Write(p)
}

// wait gives the first group of the first match of pattern.
func (l *log) wait(t *testing.T, pattern *regexp.Regexp) string {
	t.Helper()
	limit := time.After(10 * time.Second)
	for {
		l.mu.Lock()
		found := pattern.FindStringSubmatch(l.text.String())
		if l.grown == nil {
			l.grown = make(chan struct{})
		}
		grown := l.grown
		l.mu.Unlock()
		if found != nil {
			return found[1]
		}
		select {
		case <-grown:
		case <-limit:
			t.Fatalf("no line matches %s in time", pattern)
		}
	}
}
