package admin_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"alicloud-controllers.dev/services/admin"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func check(name string, err error) admin.Check {
	return admin.Check{Name: name, Check: func(context.Context) error { return err }}
}

func TestHandler(t *testing.T) {
	t.Parallel()
	good, bad := check("informers", nil), check("gateway", errors.New("connection refused\ntwice"))
	standby, forbidden := check("leadership", nil), check("leadership", errors.New("forbidden"))
	standby.Detail = func() string { return "standby: other leads" }
	forbidden.Remedy = "install the RBAC"
	for _, tc := range []struct {
		name, method, path, remote string
		checks                     []admin.Check
		wantCode                   int
		wantBody                   string // a part
	}{
		{name: "live", path: "/livez", checks: []admin.Check{bad}, wantCode: 200, wantBody: "ok"},
		{name: "live, by the path of the existing CCM", path: "/healthz", checks: []admin.Check{bad}, wantCode: 200, wantBody: "ok"},
		{name: "ready without checks", path: "/readyz", wantCode: 200, wantBody: "ready\n"},
		{name: "ready", path: "/readyz", checks: []admin.Check{good}, wantCode: 200, wantBody: "ready\ninformers: ok\n"},
		{name: "not ready", path: "/readyz", checks: []admin.Check{good, bad}, wantCode: 503,
			wantBody: "not ready\ninformers: ok\ngateway: connection refused; twice\n"},
		{name: "ready, with a word more", path: "/readyz", checks: []admin.Check{standby}, wantCode: 200,
			wantBody: "ready\nleadership: ok, standby: other leads\n"},
		{name: "not ready, and what to do", path: "/readyz?verbose", checks: []admin.Check{forbidden}, wantCode: 503,
			wantBody: "not ready\nleadership: forbidden; next step: install the RBAC\n"},
		{name: "metrics", path: "/metrics", wantCode: 200, wantBody: "things_total 0"},
		{name: "version", path: "/version", wantCode: 200, wantBody: "dev"},
		{name: "profile, local", path: "/debug/pprof/goroutine?debug=1", remote: "127.0.0.1:5", wantCode: 200, wantBody: "goroutine profile"},
		{name: "profile, local IPv6", path: "/debug/pprof/", remote: "[::1]:5", wantCode: 200, wantBody: "goroutine"},
		{name: "profile, from elsewhere", path: "/debug/pprof/heap", remote: "10.0.0.7:5", wantCode: 403, wantBody: "kubectl port-forward"},
		{name: "post", method: http.MethodPost, path: "/livez", wantCode: 405},
		{name: "unknown", path: "/nothing", wantCode: 404},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			method := tc.method
			if method == "" {
				method = http.MethodGet
			}
			request := httptest.NewRequestWithContext(t.Context(), method, tc.path, nil)
			if tc.remote != "" {
				request.RemoteAddr = tc.remote
			}
			registry := prometheus.NewRegistry()
			registry.MustRegister(prometheus.NewCounter(prometheus.CounterOpts{Name: "things_total"}))
			recorder := httptest.NewRecorder()
			admin.Handler(registry, tc.checks...).ServeHTTP(recorder, request)
			if recorder.Code != tc.wantCode || !strings.Contains(recorder.Body.String(), tc.wantBody) {
				t.Errorf("%s = %d %q, want %d with %q", tc.path, recorder.Code, recorder.Body, tc.wantCode, tc.wantBody)
			}
		})
	}
}

// TestReadinessIsAMetric: alerts see what the kubelet's probes saw last.
func TestReadinessIsAMetric(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var failure error
		handler := admin.Handler(prometheus.NewRegistry(),
			admin.Check{Name: "gateway", Check: func(context.Context) error { return failure }}, check("nodes", nil))
		get := func(path string) string {
			recorder := httptest.NewRecorder()
			handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
			return recorder.Body.String()
		}
		for want, err := range map[string]error{`readiness_check{check="gateway"} 1`: nil,
			`readiness_check{check="gateway"} 0`: errors.New("gone")} {
			failure = err
			<-time.After(time.Second) // A probe comes every few seconds.
			get("/readyz")
			if got := get("/metrics"); !strings.Contains(got, want) || !strings.Contains(got, `readiness_check{check="nodes"} 1`) {
				t.Errorf("with error %v the metrics lack %s:\n%s", err, want, got)
			}
		}
	})
}

// TestProbeOfAnotherRevision is not parallel: it sets the environment.
func TestProbeOfAnotherRevision(t *testing.T) {
	t.Setenv("POD_REVISION", "a1")
	registry := prometheus.NewRegistry()
	handler := admin.Handler(registry, check("credentials", errors.New("none")))
	get := func(path, revision string) *httptest.ResponseRecorder {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		request.Header.Set("Pod-Revision", revision)
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, request)
		return recorder
	}
	for revision, want := range map[string]int{"": 503, "a1": 503, "b2": 200} {
		if got := get("/readyz", revision); got.Code != want {
			t.Errorf("a pod of revision %q: %d %q, want %d", revision, got.Code, got.Body, want)
		}
	}
	if page := get("/metrics", "").Body.String(); !strings.Contains(page, `readiness_check{check="credentials"} 0`) {
		t.Errorf("the probe of another pod changes what is known of this one:\n%s", page)
	}
}

func TestServer(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	server, err := admin.New(t.Context(), admin.Config{Listen: "127.0.0.1:0"}, nil, log, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := admin.New(ended, admin.Config{Listen: server.Addr()}, nil, log, prometheus.NewRegistry()); err == nil ||
		!strings.HasPrefix(err.Error(), "admin.listen: ") {
		t.Errorf("an address that stays taken gives %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- server.Run(ctx) }()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+server.Addr()+"/livez", nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	if err != nil || answer.StatusCode != http.StatusOK || string(body) != "ok\n" {
		t.Errorf("/livez = %d %q, %v", answer.StatusCode, body, err)
	}
	cancel()
	if err := <-stopped; err != nil {
		t.Errorf("Run = %v", err)
	}
}

// TestAlsoListen: the pages are on each address, and an address that can't be had is an error that leaves none open.
func TestAlsoListen(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	server, err := admin.New(t.Context(), admin.Config{Listen: "127.0.0.1:0", AlsoListen: []string{"127.0.0.1:0",
		"127.0.0.1:0"}}, nil, log, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx) }()
	if len(server.Addrs()) != 3 {
		t.Fatalf("addresses %v", server.Addrs())
	}
	for i, address := range server.Addrs() {
		path := []string{"/livez", "/metrics", "/healthz"}[i]
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusOK {
			t.Errorf("%s%s: %d, %v", address, path, response.StatusCode, err)
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := admin.New(t.Context(), admin.Config{Listen: "127.0.0.1:0", AlsoListen: []string{"203.0.113.1:1"}}, nil,
		log, prometheus.NewRegistry()); err == nil {
		t.Error("an address of another machine was listened on")
	}
}
