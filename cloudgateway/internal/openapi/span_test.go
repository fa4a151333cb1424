package openapi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"alicloud-controllers.dev/services/tracing"
)

// spansOf makes a call within a trace and gives the spans of its attempts, each as lines of what it contains.
func spansOf(t *testing.T, sampler sdktrace.Sampler, w *world, call Call) ([][]string, string) {
	t.Helper()
	exporter := tracetest.NewInMemoryExporter()
	tracers := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter), sdktrace.WithSampler(sampler))
	ctx, parent := tracing.Tracer(tracers).Start(t.Context(), "the caller")
	if _, err := w.client.Do(ctx, call, nil); err != nil {
		t.Logf("the call fails: %v", err)
	}
	var spans [][]string
	for _, s := range exporter.GetSpans() {
		if s.Parent.SpanID() != parent.SpanContext().SpanID() || s.EndTime.IsZero() {
			t.Errorf("%s is not an ended part of the call", s.Name)
		}
		lines := []string{s.Name, s.Status.Code.String() + " " + s.Status.Description}
		for _, a := range s.Attributes {
			line := fmt.Sprintf("%s=%v", a.Key, a.Value.AsInterface())
			if a.Key == "budget.wait_ms" { // see TestWaitForTheBudget
				line = string(a.Key)
			}
			lines = append(lines, line)
		}
		spans = append(spans, lines)
	}
	parent.End()
	return spans, fmt.Sprint(exporter.GetSpans())
}

// TestSpans: every attempt has a span of its own, from the wait for the budget to the answer with its request id.
func TestSpans(t *testing.T) {
	tests := []struct {
		name   string
		script []step
		refuse func(n int) error
		want   [][]string // after what all spans have in common
	}{
		{name: "answered", want: [][]string{{"Unset ", "budget.wait_ms", "http.response.status_code=200", "aliyun.request_id=REQ-1"}}},
		{
			name: "repeated", script: []step{{status: 503, code: "ServiceUnavailable"}, {drop: true}},
			want: [][]string{
				{"Error ServiceUnavailable", "budget.wait_ms", "http.response.status_code=503", "aliyun.request_id=REQ-1",
					"error.type=ServiceUnavailable"},
				{"Error EOF", "budget.wait_ms"},
				{"Unset ", "budget.wait_ms", "http.response.status_code=200", "aliyun.request_id=REQ-3"},
			},
		},
		{
			name: "refused for good", script: []step{{status: 400, code: "SignatureDoesNotMatch", body: `{"RequestId":"REQ-1",
				"Code":"SignatureDoesNotMatch","Message":"server string to sign is: GET&%2F&AccessKeyId%3DLTAItest%26Signature=abc"}`}},
			want: [][]string{
				{"Error SignatureDoesNotMatch", "budget.wait_ms", "http.response.status_code=400", "aliyun.request_id=REQ-1",
					"error.type=SignatureDoesNotMatch"},
			},
		},
		{
			name: "page of a proxy", script: []step{{status: 403, body: "<html>"}},
			want: [][]string{
				{"Error server", "budget.wait_ms", "http.response.status_code=403", "aliyun.request_id=", "error.type=server"},
				{"Unset ", "budget.wait_ms", "http.response.status_code=200", "aliyun.request_id=REQ-2"},
			},
		},
		{
			name: "no room", refuse: func(int) error { return errors.New("the rate limit has no room") },
			want: [][]string{{"Error the rate limit has no room", "budget.wait_ms"}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cloud := newFakeCloud(t, tt.script...)
			w := newWorld(t, cloud.host(), nil)
			w.budget.refuse = tt.refuse
			call := idempotent
			call.Params = map[string]string{"ClientToken": "t", "LoadBalancerName": "of-the-user"}
			got, everything := spansOf(t, sdktrace.AlwaysSample(), w, call)
			var want [][]string
			for i, own := range tt.want {
				want = append(want, append([]string{
					"Slb.CreateLoadBalancer", own[0], "rpc.system.name=aliyun-openapi", "server.address=" + cloud.host(),
					"cloud.region=cn-test", "aliyun.product=Slb", "aliyun.action=CreateLoadBalancer", fmt.Sprintf("aliyun.attempt=%d", i+1),
				}, own[1:]...))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("spans (-want +got):\n%s", diff)
			}
			for _, secret := range []string{testKey.AccessKeyID, testKey.AccessKeySecret, testKey.SecurityToken, "Signature=", "of-the-user"} {
				if strings.Contains(everything, secret) {
					t.Errorf("the trace shows %q", secret)
				}
			}
		})
	}
}

// TestWaitForTheBudget: a trace says how long the call waited, also if it was not made in the end.
func TestWaitForTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "slb.test", nil)
		w.budget.refuse = func(int) error {
			<-time.After(1234 * time.Millisecond)
			return errors.New("no room")
		}
		exporter := tracetest.NewInMemoryExporter()
		ctx, parent := tracing.Tracer(sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))).Start(t.Context(), "the caller")
		defer parent.End()
		if _, err := w.client.Do(ctx, read, nil); err == nil {
			t.Error("no error")
		}
		spans := exporter.GetSpans()
		if len(spans) != 1 || !slices.Contains(spans[0].Attributes, attribute.Int64("budget.wait_ms", 1234)) {
			t.Errorf("spans %+v", spans)
		}
	})
}

// TestNoSpans: a call outside of a recorded trace makes no spans and begins no trace.
func TestNoSpans(t *testing.T) {
	w := newWorld(t, newFakeCloud(t).host(), nil)
	if got, _ := spansOf(t, sdktrace.NeverSample(), w, read); len(got) > 0 {
		t.Errorf("spans %v", got)
	}
	if _, err := w.client.Do(context.WithoutCancel(t.Context()), read, nil); err != nil {
		t.Error(err)
	}
}
