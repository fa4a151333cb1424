// Package binaries finds or builds the programs of the local world: a Kubernetes control plane and fake kubelets, which are
// built from Go modules once and kept by version in the user's cache directory, and our own processes.
package binaries

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// kwokVersion is not in local/kubernetes/go.mod: kwok and Kubernetes do not agree on the versions of what they share.
const kwokVersion = "v0.7.0"

// Kubernetes are the paths of the control plane's programs.
type Kubernetes struct {
	Etcd, APIServer, ControllerManager, Kwok string
}

// Config tells where things are.
type Config struct {
	// Root is the top of the source tree, see Root.
	Root string
	// Assets is a directory with ready-made programs, those of envtest for example; what it lacks is built.
	Assets string
	// CacheDir keeps what was built; empty: the user's cache directory.
	CacheDir string
	// Out gets progress lines, since the first build takes minutes.
	Out io.Writer
}

// Root finds the top of the source tree from the working directory.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the source tree: %w", err)
	}
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(filepath.Join(d, "go.work")); err == nil {
			return d, nil
		}
		if d == filepath.Dir(d) {
			return "", fmt.Errorf("find the source tree: no go.work in %s or above", dir)
		}
	}
}

// EnsureKubernetes returns the control plane's programs and builds those that are missing.
func EnsureKubernetes(ctx context.Context, cfg Config) (Kubernetes, error) {
	versions, err := pinnedVersions(ctx, cfg.Root)
	if err != nil {
		return Kubernetes{}, err
	}
	if cfg.CacheDir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return Kubernetes{}, fmt.Errorf("find the cache directory: %w", err)
		}
		cfg.CacheDir = filepath.Join(base, "alicloud-controllers")
	}
	if cfg.Assets != "" {
		// Otherwise a slip of the pen costs a quarter of an hour of building.
		if info, err := os.Stat(cfg.Assets); err != nil || !info.IsDir() || !filepath.IsAbs(cfg.Assets) {
			return Kubernetes{}, fmt.Errorf("KUBEBUILDER_ASSETS is %q: name the absolute path of a directory, or unset it", cfg.Assets)
		}
	}
	var k Kubernetes
	recipes := []struct {
		path *string
		recipe
	}{
		{&k.Etcd, etcdRecipe(cfg.Root, versions["go.etcd.io/etcd/server/v3"])},
		{&k.Kwok, kwokRecipe(kwokVersion)},
		{&k.APIServer, kubernetesRecipe(cfg.Root, "kube-apiserver", versions["k8s.io/kubernetes"], "about 6 minutes")},
		{&k.ControllerManager, kubernetesRecipe(cfg.Root, "kube-controller-manager", versions["k8s.io/kubernetes"], "about 2 minutes")},
	}
	for _, r := range recipes {
		if *r.path, err = ensure(ctx, cfg, r.recipe); err != nil {
			return Kubernetes{}, err
		}
	}
	return k, nil
}

// pinnedVersions reads what local/kubernetes/go.mod requires.
func pinnedVersions(ctx context.Context, root string) (map[string]string, error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "edit", "-json")
	cmd.Dir = filepath.Join(root, "deploy/local/kubernetes")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("read versions of the control plane: %w", err)
	}
	var mod struct {
		Require []struct{ Path, Version string }
	}
	if err := json.Unmarshal(out, &mod); err != nil {
		return nil, fmt.Errorf("read versions of the control plane: %w", err)
	}
	versions := make(map[string]string, len(mod.Require))
	for _, r := range mod.Require {
		versions[r.Path] = r.Version
	}
	return versions, nil
}

// ensure returns the program's path and builds it if neither the assets nor the cache has it. A lock keeps two worlds that
// start at the same time from building the same thing twice.
func ensure(ctx context.Context, cfg Config, r recipe) (string, error) {
	if cfg.Assets != "" {
		path := filepath.Join(cfg.Assets, r.name)
		if executable(path) {
			return path, nil
		}
	}
	dir := filepath.Join(cfg.CacheDir, r.directory)
	path := filepath.Join(dir, r.name)
	if executable(path) {
		return path, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // A cache of public programs.
		return "", fmt.Errorf("make cache directory: %w", err)
	}
	unlock, err := lock(ctx, filepath.Join(dir, ".lock"), func() {
		_, _ = fmt.Fprintf(cfg.Out, "waiting for somebody else who builds in %s\n", dir)
	})
	if err != nil {
		return "", err
	}
	defer unlock()
	if executable(path) {
		return path, nil
	}
	// Nobody else builds here, so that a build was killed if its directory is there.
	dead, err := filepath.Glob(filepath.Join(dir, buildDirs))
	if err != nil {
		return "", fmt.Errorf("find builds that were killed: %w", err)
	}
	for _, d := range dead {
		if err := os.RemoveAll(d); err != nil {
			return "", fmt.Errorf("remove a build that was killed: %w", err)
		}
	}
	return path, r.build(ctx, dir, cfg.Out)
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// lockInterval is short against what is done with the lock held.
const lockInterval = 200 * time.Millisecond

// lock takes the lock, and calls wait if somebody else has it.
func lock(ctx context.Context, path string, wait func()) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open build lock: %w", err)
	}
	ticker := time.NewTicker(lockInterval)
	defer ticker.Stop()
	for first := true; ; first = false {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if first {
			wait()
		}
		if errors.Is(err, syscall.EWOULDBLOCK) {
			select {
			case <-ctx.Done():
				err = ctx.Err()
			case <-ticker.C:
				continue
			}
		}
		_ = f.Close()
		return nil, fmt.Errorf("take build lock %s: %w", path, err)
	}
}

// Processes are our own programs, by name.
func Processes() []string {
	return []string{"openapisim", "cloudgateway", "lbcontroller", "nodecontroller", "routecontroller"}
}

// BuildProcesses builds our own programs into dir. The go command's cache makes it quick when nothing changed.
func BuildProcesses(ctx context.Context, root, dir string, race bool) error {
	for _, name := range Processes() {
		module := name
		if name == "openapisim" {
			module = "cloudgateway/openapisim"
		}
		args := []string{"build", "-o", filepath.Join(dir, name)}
		if race {
			args = append(args, "-race")
		}
		cmd := exec.CommandContext(ctx, "go", append(args, "./cmd/"+name)...) //nolint:gosec // The arguments are ours.
		cmd.Dir = filepath.Join(root, module)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", name, err, strings.TrimSpace(string(out)))
		}
	}
	return nil
}
