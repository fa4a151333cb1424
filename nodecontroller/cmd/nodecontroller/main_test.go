package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	t.Parallel()
	bad := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(bad, []byte("regoin: x"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name     string
		args     []string
		out, err string
	}{
		{name: "version", args: []string{"--version"}, out: "dev"},
		{name: "no configuration", err: "--config FILE is required"},
		{name: "no such file", args: []string{"--config", "/nowhere"}, err: "/nowhere"},
		{name: "bad configuration", args: []string{"--config", bad}, err: `unknown field "regoin"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var out, logs bytes.Buffer
			err := run(t.Context(), tt.args, &out, &logs)
			if (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
			if !strings.HasPrefix(out.String(), tt.out) {
				t.Errorf("prints %q, want %q", out.String(), tt.out)
			}
		})
	}
}
