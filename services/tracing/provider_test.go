package tracing

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"alicloud-controllers.dev/proto/tlstest"
	"alicloud-controllers.dev/services/tracing/tracingtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// start starts a provider and gives what stops it.
func start(t *testing.T, cfg Config) (*Provider, func()) {
	t.Helper()
	p, err := Start(t.Context(), cfg, "lbcontroller", "1.2.3", quiet())
	if err != nil {
		t.Fatal(err)
	}
	return p, run(t, p)
}

// run runs a provider until the result is called.
func run(t *testing.T, p *Provider) func() {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run = %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// TestOff is not parallel: it counts goroutines.
func TestOff(t *testing.T) {
	before := runtime.NumGoroutine()
	p, err := Start(t.Context(), Config{}, "x", "1", quiet())
	if err != nil {
		t.Fatal(err)
	}
	if after := runtime.NumGoroutine(); after > before { // Those of a test before this one may end meanwhile.
		t.Errorf("%d goroutines run, %d did before", after, before)
	}
	if p.Tracers() != nil || ServerOptions(p.Tracers()) != nil || DialOptions(p.Tracers()) != nil {
		t.Error("something takes part in traces")
	}
	if err := p.Run(context.WithoutCancel(t.Context())); err != nil { // It does not wait for the end of the process.
		t.Errorf("Run = %v", err)
	}
	ctx, span := Tracer(p.Tracers()).Start(t.Context(), "nothing")
	if span.IsRecording() || trace.SpanContextFromContext(ctx).IsValid() {
		t.Error("a span is recorded")
	}
}

func TestSpansReachTheCollector(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tlstest.Issue(t, dir, "localhost")
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "localhost.crt"), filepath.Join(dir, "localhost.key"))
	if err != nil {
		t.Fatal(err)
	}
	all := 1.0
	for _, tc := range []struct {
		name   string
		server []grpc.ServerOption
		cfg    func(address string) Config
	}{
		{name: "insecure", cfg: func(a string) Config { return Config{Endpoint: a, Insecure: true, SampleRatio: &all} }},
		{name: "http", cfg: func(a string) Config { return Config{Endpoint: "http://" + a, SampleRatio: &all} }},
		{name: "TLS", server: []grpc.ServerOption{grpc.Creds(credentials.NewServerTLSFromCert(&pair))}, cfg: func(a string) Config {
			return Config{Endpoint: "https://" + a, CAFile: filepath.Join(dir, "localhost.crt"), SampleRatio: &all}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			collector := tracingtest.Start(t, tc.server...)
			p, stop := start(t, tc.cfg(collector.Endpoint))
			ctx, parent := Tracer(p.Tracers()).Start(t.Context(), "parent")
			_, child := Child(ctx, "child")
			Fail(child, errors.New("refused, AccessKeySecret=hush"))
			child.End()
			parent.End()
			stop()
			spans := collector.Spans()
			if len(spans) != 2 {
				t.Fatalf("%d spans were received, want 2", len(spans))
			}
			got := spans[0]
			if got.Name != "child" || got.Parent != spans[1].ID || got.Trace != spans[1].Trace || spans[1].Parent != "" {
				t.Errorf("spans %+v", spans)
			}
			if !got.Failed || got.Error != "refused, AccessKeySecret=REDACTED" || spans[1].Failed {
				t.Errorf("status %q", got.Error)
			}
			if got.Resource["service.instance.id"] == "" {
				t.Error("the process has no id")
			}
			delete(got.Resource, "service.instance.id")
			if diff := cmp.Diff(map[string]string{"service.name": "lbcontroller", "service.version": "1.2.3"}, got.Resource); diff != "" {
				t.Errorf("resource (-want +got):\n%s", diff)
			}
		})
	}
}

func TestStartReportsWhatIsWrong(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tlstest.Issue(t, dir, "x")
	for want, cfg := range map[string]Config{
		"tracing.endpoint: ":                      {Endpoint: "collector"},
		"tracing.caFile: open ":                   {Endpoint: "collector:4317", CAFile: filepath.Join(dir, "none")},
		"tracing.caFile: " + dir + "/x.key holds": {Endpoint: "collector:4317", CAFile: filepath.Join(dir, "x.key")},
	} {
		if _, err := Start(t.Context(), cfg, "x", "1", quiet()); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("Start = %v, want %s", err, want)
		}
	}
}

// TestSampling: what belongs to the trace of another process follows it, and the ratio is for our own.
func TestSampling(t *testing.T) {
	t.Parallel()
	caller := func(flags trace.TraceFlags) context.Context {
		return trace.ContextWithRemoteSpanContext(context.Background(), trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: flags, Remote: true,
		}))
	}
	none, all := 0.0, 1.0
	for _, tc := range []struct {
		name  string
		ratio *float64
		ctx   context.Context
		want  bool
	}{
		{name: "own, none", ratio: &none, ctx: context.Background()},
		{name: "own, all", ratio: &all, ctx: context.Background(), want: true},
		{name: "the caller records", ratio: &none, ctx: caller(trace.FlagsSampled), want: true},
		{name: "the caller does not", ratio: &all, ctx: caller(0)},
	} {
		p := newProvider(Config{SampleRatio: tc.ratio}, &faulty{}, quiet())
		_, span := Tracer(p.Tracers()).Start(tc.ctx, "x")
		if span.IsRecording() != tc.want {
			t.Errorf("%s: recorded %t, want %t", tc.name, span.IsRecording(), tc.want)
		}
		run(t, p)()
	}
	p := newProvider(Config{}, &faulty{}, quiet())
	defer run(t, p)()
	recorded := 0
	const traces = 20_000
	for range traces {
		_, span := Tracer(p.Tracers()).Start(context.Background(), "x")
		if span.IsRecording() {
			recorded++
		}
	}
	// 1 % of them are 200, with a standard deviation of 14.
	if recorded < 100 || recorded > 300 {
		t.Errorf("%d of %d traces are recorded by default, want about 200", recorded, traces)
	}
}

// faulty is an exporter that fails or hangs.
type faulty struct {
	mu       sync.Mutex
	err      error
	hang     chan struct{} // closed by Shutdown
	exported int
	closed   sync.Once
}

func (f *faulty) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	if f.hang != nil {
		<-f.hang
		return errors.New("closed")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.exported += len(spans)
	}
	return f.err
}

func (f *faulty) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

func (f *faulty) Shutdown(context.Context) error {
	if f.hang != nil {
		f.closed.Do(func() { close(f.hang) })
	}
	return nil
}

// TestOutage: an outage of the collector is logged once, and its end.
func TestOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		all, exporter := 1.0, &faulty{err: errors.New("connection refused")}
		p := newProvider(Config{SampleRatio: &all}, exporter, slog.New(slog.NewTextHandler(&log, nil)))
		stop := run(t, p)
		minute := func() {
			for range 60 {
				_, span := Tracer(p.Tracers()).Start(t.Context(), "x")
				span.End()
				<-time.After(time.Second)
			}
		}
		minute()
		exporter.fail(nil)
		minute()
		exporter.fail(errors.New("connection refused"))
		minute()
		stop()
		if got := strings.Count(log.String(), "level=WARN"); got != 2 || strings.Count(log.String(), "error=\"connection refused\"") != 2 {
			t.Errorf("%d warnings, want 2 with the reason:\n%s", got, log.String())
		}
		if strings.Count(log.String(), "\n") != 3 || !strings.Contains(log.String(), `msg="the collector takes traces again" lostSpans=`) {
			t.Errorf("want one more line in the log, about the end of the outage:\n%s", log.String())
		}
		if exporter.exported < 55 || exporter.exported > 65 {
			t.Errorf("%d spans were exported, want those of a minute", exporter.exported)
		}
	})
}

// TestStopWithAHangingCollector: making spans does not wait for it, nor does the end of the process for longer than flushTimeout.
func TestStopWithAHangingCollector(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		all := 1.0
		p := newProvider(Config{SampleRatio: &all}, &faulty{hang: make(chan struct{})}, slog.New(slog.NewTextHandler(&log, nil)))
		stop := run(t, p)
		begin := time.Now()
		for range 10_000 { // More than the SDK keeps.
			_, span := Tracer(p.Tracers()).Start(t.Context(), "x")
			span.End()
		}
		if took := time.Since(begin); took != 0 {
			t.Errorf("making spans took %s", took)
		}
		stop()
		if took := time.Since(begin); took != flushTimeout {
			t.Errorf("the stop took %s, want %s", took, flushTimeout)
		}
		synctest.Wait() // The SDK's goroutine still logs its failure.
		if !strings.Contains(log.String(), "the last spans were not sent") {
			t.Errorf("the log does not say that spans are lost:\n%s", log.String())
		}
	})
}
