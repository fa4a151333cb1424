package tracing

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/services/config"
)

func TestConfig(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, text, want string }{
		{name: "off", text: `{}`},
		{name: "host and port", text: `{endpoint: "collector:4317", caFile: ca.crt, sampleRatio: 1}`},
		{name: "IPv6", text: `{endpoint: "[::1]:4317", insecure: true, sampleRatio: 0}`},
		{name: "URLs", text: `{endpoint: "https://collector:4317/", caFile: ca.crt}`},
		{name: "plain URL", text: `{endpoint: "http://collector:4317", insecure: true}`},
		{name: "no port", text: `{endpoint: collector}`, want: `tracing.endpoint: "collector" is not of the form "host:port"`},
		{name: "no port in the URL", text: `{endpoint: "http://collector"}`,
			want: `tracing.endpoint: "collector" is not of the form "host:port"`},
		{name: "other scheme", text: `{endpoint: "grpc://collector:4317"}`,
			want: `tracing.endpoint: "grpc://collector:4317" is not of the form "host:port", "http://host:port" or "https://host:port"`},
		{name: "more than an address", text: `{endpoint: "https://collector:4317/v1/traces"}`,
			want: `tracing.endpoint: "https://collector:4317/v1/traces" is not of the form "host:port", "http://host:port" or "https://host:port"`},
		{name: "contradictions", text: `{endpoint: "https://collector:4317", insecure: true, caFile: ca.crt, sampleRatio: 1.5}`,
			want: `tracing.sampleRatio: 1.5 is not in 0 to 1
tracing.insecure: contradicts tracing.endpoint, which asks for TLS; drop one of them
tracing.caFile: has no use without TLS; drop it, or tracing.insecure and http://`},
		{name: "ratio below zero, though off", text: `{sampleRatio: -0.5}`, want: `tracing.sampleRatio: -0.5 is not in 0 to 1`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var cfg Config
			if err := config.Parse([]byte(tc.text), &cfg); err != nil {
				t.Fatal(err)
			}
			var p config.Problems
			cfg.Validate(&p, "tracing")
			got := ""
			if err := p.Err(); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}
