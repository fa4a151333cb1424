package binaries

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// source is a recipe for a program with nothing to import, so that building it is quick and needs no network.
func source(t *testing.T, code string) recipe {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module tiny\n\ngo 1.26\n", "main.go": code} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return recipe{name: "tiny", directory: "tiny-v1", took: "a moment", dir: dir, args: []string{"build", "-v", "."}}
}

func TestEnsure(t *testing.T) {
	t.Parallel()
	cfg := Config{CacheDir: t.TempDir(), Out: &bytes.Buffer{}}
	r := source(t, "package main\n\nfunc main() {}\n")
	built, err := ensure(t.Context(), cfg, r)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(cfg.CacheDir, "tiny-v1", "tiny"); built != want || !executable(built) {
		t.Errorf("path %s, want %s and executable", built, want)
	}

	r.args = []string{"this is not run"}
	if again, err := ensure(t.Context(), cfg, r); err != nil || again != built {
		t.Errorf("the second time: %s, %v", again, err)
	}
}

func TestEnsurePrefersAssets(t *testing.T) {
	t.Parallel()
	assets := t.TempDir()
	ready := filepath.Join(assets, "tiny")
	if err := os.WriteFile(ready, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	cfg := Config{CacheDir: t.TempDir(), Assets: assets, Out: &bytes.Buffer{}}
	got, err := ensure(t.Context(), cfg, recipe{name: "tiny", directory: "tiny-v1"})
	if err != nil || got != ready {
		t.Errorf("path %s, %v; want %s", got, err, ready)
	}
}

// TestEnsureFails: the error has the compiler's words, and nothing half built stays in the cache.
func TestEnsureFails(t *testing.T) {
	t.Parallel()
	cfg := Config{CacheDir: t.TempDir(), Out: &bytes.Buffer{}}
	_, err := ensure(t.Context(), cfg, source(t, "package main\n\nfunc main() { missing() }\n"))
	if err == nil || !strings.Contains(err.Error(), "undefined: missing") {
		t.Errorf("error %v does not have the compiler's words", err)
	}
	entries, err := os.ReadDir(filepath.Join(cfg.CacheDir, "tiny-v1"))
	if err != nil || len(entries) != 1 {
		t.Errorf("left in the cache: %v, %v; want the lock only", entries, err)
	}
}

func TestPinnedVersions(t *testing.T) {
	t.Parallel()
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	versions, err := pinnedVersions(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	for _, module := range []string{"k8s.io/kubernetes", "go.etcd.io/etcd/server/v3"} {
		if versions[module] == "" {
			t.Errorf("%s is not required by deploy/local/kubernetes/go.mod", module)
		}
	}
}
