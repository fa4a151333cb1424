package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestTop: what is missing is named with the flag that gives it. The command against a gateway is tested in deploy/test/e2e.
func TestTop(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		args       []string
	}{
		{name: "nothing", want: "either with --config FILE or with --address HOST:PORT"},
		{name: "both", args: []string{"--config", "f", "--address", "a:1"}, want: "either with --config FILE or with --address HOST:PORT"},
		{name: "form", args: []string{"--address", "a:1", "-o", "yaml"}, want: `"yaml" is neither text nor json`},
		{name: "no authority", args: []string{"--address", "a:1"}, want: "gateway.caFile"},
		{name: "no file", args: []string{"--config", filepath.Join(t.TempDir(), "gone.yaml")}, want: "gone.yaml"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := showStatus(tt.args, &strings.Builder{}); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}
