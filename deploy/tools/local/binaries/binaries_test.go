package binaries

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// source is a recipe for a program with nothing to import, so that building it is quick and needs no network. It
// returns where the path goes.
func source(t *testing.T, code string) (recipe, *string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module tiny/v2\n\ngo 1.26\n", "main.go": code} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var path string
	return recipe{
		programs: []program{{path: &path, name: "small", pkg: "tiny/v2"}}, directory: "tiny-v1", took: "a moment", dir: dir,
		args: []string{"build", "-v"},
	}, &path
}

func TestEnsure(t *testing.T) {
	t.Parallel()
	cfg := Config{CacheDir: t.TempDir(), Out: &bytes.Buffer{}}
	r, path := source(t, "package main\n\nfunc main() {}\n")
	if err := ensure(t.Context(), cfg, r); err != nil {
		t.Fatal(err)
	}
	want := filepath.Join(cfg.CacheDir, "tiny-v1", "small")
	if *path != want || !executable(*path) {
		t.Errorf("path %s, want %s and executable", *path, want)
	}

	r.args = []string{"this is not run"}
	if err := ensure(t.Context(), cfg, r); err != nil || *path != want {
		t.Errorf("the second time: %s, %v", *path, err)
	}

	// Only what is missing is built.
	var other string
	r, _ = source(t, "package main\n\nfunc main() {}\n")
	r.programs = append(r.programs, program{path: &other, name: "small", pkg: "this/is/not/built"})
	if err := ensure(t.Context(), cfg, r); err != nil || other != want {
		t.Errorf("another program of the same cache: %s, %v", other, err)
	}
}

func TestEnsurePrefersAssets(t *testing.T) {
	t.Parallel()
	assets := t.TempDir()
	ready := filepath.Join(assets, "small")
	if err := os.WriteFile(ready, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	cfg := Config{CacheDir: t.TempDir(), Assets: assets, Out: &bytes.Buffer{}}
	r, path := source(t, "")
	if err := ensure(t.Context(), cfg, r); err != nil || *path != ready {
		t.Errorf("path %s, %v; want %s", *path, err, ready)
	}
}

// TestEnsureFails: the error has the compiler's words, and nothing half built stays in the cache.
func TestEnsureFails(t *testing.T) {
	t.Parallel()
	cfg := Config{CacheDir: t.TempDir(), Out: &bytes.Buffer{}}
	r, _ := source(t, "package main\n\nfunc main() { missing() }\n")
	err := ensure(t.Context(), cfg, r)
	if err == nil || !strings.Contains(err.Error(), "undefined: missing") {
		t.Errorf("error %v does not have the compiler's words", err)
	}
	entries, err := os.ReadDir(filepath.Join(cfg.CacheDir, "tiny-v1"))
	if err != nil || len(entries) != 1 {
		t.Errorf("left in the cache: %v, %v; want the lock only", entries, err)
	}
}

// TestEnsureInterrupted: whoever builds, or waits for another's build, can be stopped at any time, and leaves nothing.
func TestEnsureInterrupted(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		lock bool // somebody else builds
		says string
	}{
		{name: "building", says: "building small"},
		{name: "waiting", lock: true, says: "waiting for another process"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			out := &watched{wanted: tt.says, found: cancel}
			cfg := Config{CacheDir: t.TempDir(), Out: out}
			r, _ := source(t, "package main\n\nfunc main() {}\n")
			dir := filepath.Join(cfg.CacheDir, r.directory)
			if tt.lock {
				if err := os.Mkdir(dir, 0o700); err != nil {
					t.Fatal(err)
				}
				unlock, err := lock(ctx, filepath.Join(dir, ".lock"), func() { t.Error("the lock is not free") })
				if err != nil {
					t.Fatal(err)
				}
				defer unlock()
			}
			if err := ensure(ctx, cfg, r); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v, want that it was canceled", err)
			}
			entries, err := os.ReadDir(dir)
			if err != nil || len(entries) != 1 {
				t.Errorf("left in the cache: %v, %v; want the lock only", entries, err)
			}
		})
	}
}

// TestEnsureAfterKill: what a build that was killed has left goes with the next.
func TestEnsureAfterKill(t *testing.T) {
	t.Parallel()
	cfg := Config{CacheDir: t.TempDir(), Out: &bytes.Buffer{}}
	r, _ := source(t, "package main\n\nfunc main() {}\n")
	dead := filepath.Join(cfg.CacheDir, r.directory, ".build-1234")
	if err := os.MkdirAll(dead, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := ensure(t.Context(), cfg, r); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dead); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the dead build: %v, want that it is gone", err)
	}
}

// watched calls found when wanted is written.
type watched struct {
	wanted string
	found  func()
}

func (w *watched) Write(p []byte) (int, error) {
	if strings.Contains(string(p), w.wanted) {
		w.found()
	}
	return len(p), nil
}

func TestAssetsThatAreNot(t *testing.T) {
	t.Parallel()
	for _, assets := range []string{filepath.Join(t.TempDir(), "missing"), "relative"} {
		_, err := EnsureKubernetes(t.Context(), Config{Root: "../../../..", Assets: assets, CacheDir: t.TempDir(), Out: &bytes.Buffer{}})
		if err == nil || !strings.Contains(err.Error(), "KUBEBUILDER_ASSETS is \""+assets) {
			t.Errorf("error %v does not name KUBEBUILDER_ASSETS and %s", err, assets)
		}
	}
}

func TestRequired(t *testing.T) {
	t.Parallel()
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, "deploy/tools/local/kubernetes")
	for _, module := range []string{"k8s.io/kubernetes", "go.etcd.io/etcd/server/v3", "sigs.k8s.io/kwok"} {
		if version, err := required(t.Context(), dir, module); err != nil || version == "" {
			t.Errorf("%s: %q, %v", module, version, err)
		}
	}
	if version, err := required(t.Context(), dir, "example.com/missing"); err == nil {
		t.Errorf("a module that is not required has the version %q", version)
	}
}

// TestSharedModules: what our processes and the control plane share has the same version in both, so that it is compiled once. One small
// module below Kubernetes' client is enough to have the whole client compiled twice.
func TestSharedModules(t *testing.T) {
	t.Parallel()
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := requirements(t.Context(), filepath.Join(root, "deploy/tools/local/kubernetes"))
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"list", "-deps", "-f", "{{with .Module}}{{.Path}} {{.Version}}{{end}}", "./deploy/tools/local/cmd/world"}
	for _, name := range Processes() {
		args = append(args, packageOf(name))
	}
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir, cmd.Env = root, append(os.Environ(), "GOWORK="+filepath.Join(root, "go.work"))
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("list the modules of our processes: %v", err)
	}
	ours := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if module, version, _ := strings.Cut(strings.TrimSpace(line), " "); theirs[module] != "" {
			ours[module] = version
		}
	}
	if ours["k8s.io/client-go"] == "" {
		t.Fatalf("shared are %v: the test shows nothing", ours)
	}
	for module, version := range ours {
		if theirs[module] != version {
			t.Errorf("our processes use %s %s, deploy/tools/local/kubernetes %s", module, version, theirs[module])
		}
	}
}

func TestOldestAsked(t *testing.T) {
	for choice, want := range map[string]bool{"": false, "newest": false, "oldest": true} {
		t.Setenv("KUBERNETES", choice)
		if got, err := OldestAsked(); got != want || err != nil {
			t.Errorf("%q: %t, %v", choice, got, err)
		}
	}
	t.Setenv("KUBERNETES", "1.30")
	if _, err := OldestAsked(); err == nil || !strings.Contains(err.Error(), `KUBERNETES is "1.30"; use oldest or newest`) {
		t.Errorf("another choice: %v", err)
	}
}

// TestOldest: the API server that is called the oldest is of the version that the chart asks for.
func TestOldest(t *testing.T) {
	t.Parallel()
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	chart, err := os.ReadFile(filepath.Join(root, "deploy/chart/Chart.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var path string
	r, err := oldest(t.Context(), Config{Root: root, Downloads: Releases()}, &path)
	if err != nil {
		t.Fatal(err)
	}
	minor := regexp.MustCompile(`^kubernetes-v(1\.[0-9]+)\.`).FindStringSubmatch(r.directory)
	if minor == nil || !strings.Contains(string(chart), "\nkubeVersion: \">="+minor[1]+".0-0\"\n") {
		t.Errorf("%s is built, which is not the oldest that the chart takes", r.directory)
	}
	if url := r.programs[0].download.url; !strings.Contains(url, strings.SplitN(r.directory, "-", 3)[1]) {
		t.Errorf("%s is downloaded for %s", url, r.directory)
	}
}
