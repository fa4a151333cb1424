package replica_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/proto/tlstest"
	"alicloud-controllers.dev/services/admin"
	"alicloud-controllers.dev/services/config"
	"alicloud-controllers.dev/services/config/cloudconfig"
	"alicloud-controllers.dev/services/replica"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// work is a controller that does nothing but note when it does.
type work struct {
	replica.Dependencies

	mu    sync.Mutex
	notes []string
	// begun gets the name of each part of the work when it begins.
	begun chan string
}

func (w *work) note(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notes = append(w.notes, what)
}

func (w *work) until(ctx context.Context, what string) error {
	w.note(what)
	w.begun <- what
	<-ctx.Done()
	w.note(what + " ends")
	return nil
}

func (w *work) Watch(ctx context.Context) error { return w.until(ctx, "watch") }
func (w *work) Run(ctx context.Context) error   { return w.until(ctx, "run") }

func (w *work) Resume() {}

func (w *work) Checks() []admin.Check {
	return []admin.Check{{Name: "caches", Check: func(context.Context) error { return errors.New("not complete yet") }}}
}

// process makes a process that does w.
func process(w *work) replica.Process {
	return replica.Process{Name: "sample", EventSource: "sample-controller", New: func(s replica.Dependencies) (replica.Controller, error) {
		w.Dependencies = s
		s.Registerer.MustRegister(prometheus.NewCounter(prometheus.CounterOpts{Name: "sample_total"}))
		return w, nil
	}}
}

// settings points at an API server that holds nothing but, if holder is not empty, a lease, and at a gateway that nobody serves.
func settings(t *testing.T, holder string) replica.Config {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if holder == "" || !strings.HasSuffix(r.URL.Path, "/leases/sample") {
			http.NotFound(w, r)
			return
		}
		now := metav1.NowMicro()
		lease := coordinationv1.Lease{
			TypeMeta:   metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"},
			ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "sample"},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: new(int32(3600)), RenewTime: &now},
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(lease); err != nil {
			t.Errorf("answer with a lease: %v", err)
		}
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	tlstest.Issue(t, dir, "ca")
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	var cfg replica.Config
	cfg.Kubernetes.Kubeconfig = write("kubeconfig", `
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "`+server.URL+`"}}]
contexts: [{name: c, context: {cluster: c, user: ""}}]
current-context: c
`)
	cfg.Gateway.Address = strings.TrimPrefix(server.URL, "http://") // No TLS: it never answers.
	cfg.Gateway.CAFile, cfg.Gateway.TokenFile = filepath.Join(dir, "ca.crt"), write("token", "t")
	cfg.Admin.Listen = "127.0.0.1:0"
	cfg.ClusterID, cfg.Region = "c-1", "cn-hangzhou"
	cfg.LeaderElection.Enabled = holder != ""
	cfg.LeaderElection.Namespace, cfg.LeaderElection.Name = "kube-system", "sample"
	return cfg
}

// TestAlone checks that a process without election, whose gateway is away, works, says what it lacks, and stops in order: the
// work ends before the caches it needs.
func TestAlone(t *testing.T) {
	w := &work{begun: make(chan string, 2)}
	logs := &log{}
	stop := start(t, process(w), settings(t, ""), logs)
	if got := []string{<-w.begun, <-w.begun}; !slices.Contains(got, "watch") || !slices.Contains(got, "run") {
		t.Errorf("it began to %v", got)
	}
	address := logs.wait(t, `msg=starting version=dev\S* cluster=c-1 region=cn-hangzhou admin=(\S+)`)
	for _, question := range []struct {
		path string
		code int
		want []string
	}{
		{"/livez", http.StatusOK, []string{"ok"}},
		{"/readyz", http.StatusServiceUnavailable, []string{"not ready", "caches: not complete yet", "gateway: ask the gateway for its health"}},
		{"/metrics", http.StatusOK, []string{"sample_total", "go_goroutines", "process_cpu_seconds_total"}},
	} {
		code, body := get(t, "http://"+address+question.path)
		for _, part := range question.want {
			if code != question.code || !strings.Contains(body, part) {
				t.Errorf("%s answers %d %q, want %d with %q", question.path, code, body, question.code, part)
			}
		}
	}
	stop()
	slices.Sort(w.notes[:2]) // They begin at once.
	if diff := cmp.Diff([]string{"run", "watch", "run ends", "watch ends"}, w.notes); diff != "" {
		t.Errorf("what it did (-want +got):\n%s", diff)
	}
	if w.Client == nil || w.Gateway == nil || w.Recorder == nil || w.Drain != 0 {
		t.Errorf("dependencies %+v", w.Dependencies)
	}
}

// TestStandby checks that a replica whose lease another one holds keeps its caches and does nothing else.
func TestStandby(t *testing.T) {
	w := &work{begun: make(chan string, 2)}
	logs := &log{}
	stop := start(t, process(w), settings(t, "another"), logs)
	logs.wait(t, `msg="leader elected" lease=kube-system/sample leader=(another) own=false`)
	if got := <-w.begun; got != "watch" {
		t.Errorf("it began to %s", got)
	}
	stop()
	if diff := cmp.Diff([]string{"watch", "watch ends"}, w.notes); diff != "" {
		t.Errorf("what it did (-want +got):\n%s", diff)
	}
	if w.Drain != 4*time.Second { // Of the default lease.
		t.Errorf("drain %s", w.Drain)
	}
}

func TestWhatCannotStartIsNamed(t *testing.T) {
	tests := []struct {
		name string
		edit func(*replica.Config, *replica.Process)
		want string
	}{
		{"kubeconfig", func(cfg *replica.Config, _ *replica.Process) { cfg.Kubernetes.Kubeconfig = "/nowhere" }, "kubernetes.kubeconfig"},
		{"certificates", func(cfg *replica.Config, _ *replica.Process) { cfg.Gateway.CAFile = "/nowhere" },
			"connect to the gateway: gateway: CAFile: open"},
		{"address", func(cfg *replica.Config, _ *replica.Process) { cfg.Admin.Listen = "256.0.0.1:0" }, "admin.listen"},
		{"controller", func(_ *replica.Config, p *replica.Process) {
			p.New = func(replica.Dependencies) (replica.Controller, error) { return nil, errors.New("no metrics") }
		}, "make the controller: no metrics"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg, p := settings(t, ""), process(&work{})
			tt.edit(&cfg, &p)
			if err := p.Run(t.Context(), cfg, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want it to name %s", err, tt.want)
			}
		})
	}
}

// TestPreviewNeedsTheGateway: without it a preview would call everything it looks for a failure, or nothing at all.
func TestPreviewNeedsTheGateway(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := replica.Preview(ctx, "sample", settings(t, ""), func(context.Context, replica.Dependencies) (int, error) {
		t.Error("it looks without the gateway")
		return 0, nil
	})
	if err == nil || !strings.Contains(err.Error(), "ask the gateway for its health") {
		t.Errorf("error %v", err)
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	cfg := replica.Config{Region: "cn-hangzhou"}
	cfg.Fill(&cloudconfig.CloudConfig{ClusterID: "c-old", Region: "cn-beijing", VpcID: "vpc-1"})
	if cfg.ClusterID != "c-old" || cfg.Region != "cn-hangzhou" || cfg.VPCID != "vpc-1" {
		t.Errorf("filled: %+v", cfg)
	}
	cfg = replica.Config{}
	cfg.Kubernetes.QPS = -1
	cfg.LeaderElection.Enabled = true
	cfg.Logging.Level = "loud"
	var p config.Problems
	cfg.Validate(&p)
	for _, key := range []string{"kubernetes.qps", "gateway.address", "admin.listen", "leaderElection.name", "logging.level", "clusterID"} {
		if !strings.Contains(fmt.Sprint(p.Err()), key+": ") {
			t.Errorf("nothing about %s in: %v", key, p.Err())
		}
	}
}

// start runs a process until the returned function is called.
func start(t *testing.T, p replica.Process, cfg replica.Config, logs io.Writer) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx, cfg, slog.New(slog.NewTextHandler(logs, nil))) }()
	return func() {
		t.Helper()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 2 * time.Minute}
	resp, err := client.Do(req)
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

// wait gives the first group of the first match of a pattern.
func (l *log) wait(t *testing.T, pattern string) string {
	t.Helper()
	limit := time.After(2 * time.Minute)
	for {
		l.mu.Lock()
		found := regexp.MustCompile(pattern).FindStringSubmatch(l.text.String())
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
