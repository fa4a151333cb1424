package replica_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"

	"alicloud-controllers.dev/services/tracing"
	"alicloud-controllers.dev/services/tracing/tracingtest"
)

// TestTraces checks that the controller's work and its calls to the gateway are traced under the process's name, and that the last
// spans are sent at the stop.
func TestTraces(t *testing.T) {
	collector := tracingtest.Start(t)
	w := &work{begun: make(chan string, 2)}
	cfg := settings(t, "")
	all := 1.0
	cfg.Tracing = tracing.Config{Endpoint: collector.Endpoint, Insecure: true, SampleRatio: &all}
	stop := start(t, process(w), cfg, &log{})
	<-w.begun
	<-w.begun
	ctx, span := tracing.Tracer(w.Tracers).Start(t.Context(), "the work")
	if _, err := w.Gateway.Capabilities.GetCapabilities(ctx, &commonv1.GetCapabilitiesRequest{}); err == nil {
		t.Error("a gateway answers that is not there")
	}
	span.End()
	stop()
	var names []string // Each attempt of a call has a span.
	for _, s := range collector.Spans() {
		names = append(names, s.Resource["service.name"]+": "+s.Name)
		if s.Name != "the work" && !s.Failed {
			t.Errorf("%s did not fail", s.Name)
		}
	}
	want := []string{"sample: cloudgateway.common.v1.CapabilitiesService/GetCapabilities", "sample: the work"}
	if diff := cmp.Diff(want, slices.Compact(names)); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
}

// TestNoTraces checks that a process without a collector hands out no tracers.
func TestNoTraces(t *testing.T) {
	w := &work{begun: make(chan string, 2)}
	stop := start(t, process(w), settings(t, ""), &log{})
	<-w.begun
	<-w.begun
	stop()
	if w.Tracers != nil {
		t.Error("there are tracers")
	}
}
