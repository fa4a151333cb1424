package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestProcess runs the command as far as it gets without a cluster: to a configuration that lacks everything.
func TestProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr strings.Builder
	if code := process().Execute(t.Context(), []string{"--config", path}, &stdout, &stderr); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	if want := "lbcontroller: configuration " + path + ": gateway.address: is required\n"; !strings.HasPrefix(stderr.String(), want) {
		t.Errorf("got %q, want it to begin with %q", stderr.String(), want)
	}
}

// TestConvertArguments: what is wrong with the arguments is said before a cluster is asked.
func TestConvertArguments(t *testing.T) {
	for args, want := range map[string]string{
		"":      "lbcontroller: convert: name one Service as NAMESPACE/SERVICE, after the flags\n",
		"web":   "lbcontroller: convert: \"web\" is no NAMESPACE/SERVICE\n",
		"a/b c": "lbcontroller: convert: name one Service as NAMESPACE/SERVICE, after the flags\n",
	} {
		var stdout, stderr strings.Builder
		if code := process().Execute(t.Context(), append([]string{"convert"}, strings.Fields(args)...), &stdout, &stderr); code != 1 ||
			stderr.String() != want {
			t.Errorf("%q: exit code %d, %q, want %q", args, code, stderr.String(), want)
		}
	}
}
