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

// These are not in local/kubernetes/go.mod: they and Kubernetes do not agree on the versions of what they share.
const (
	kwokVersion    = "v0.7.0"
	coreDNSVersion = "v1.13.1"
)

// Kubernetes are the paths of the control plane's programs.
type Kubernetes struct {
	Etcd, APIServer, ControllerManager, Kwok string
}

// Config says where things are.
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

// Node are the paths of the programs that make a real node of a machine, and of those that people use.
type Node struct {
	Kubelet, Scheduler, Proxy, Kubectl, Helm string
	// CoreDNS is static, so that an image can be made of it.
	CoreDNS string
}

// program is where a path goes, and how the program is built if it is not there.
type program struct {
	path *string
	recipe
}

// EnsureKubernetes returns the control plane's programs and builds those that are missing.
func EnsureKubernetes(ctx context.Context, cfg Config) (Kubernetes, error) {
	versions, err := pinnedVersions(ctx, filepath.Join(cfg.Root, "deploy/local/kubernetes"))
	if err != nil {
		return Kubernetes{}, err
	}
	var k Kubernetes
	return k, ensureAll(ctx, cfg, []program{
		{&k.Etcd, etcdRecipe(cfg.Root, versions["go.etcd.io/etcd/server/v3"])},
		{&k.Kwok, installRecipe("kwok", "sigs.k8s.io/kwok/cmd/kwok", kwokVersion, "about 3 minutes")},
		{&k.APIServer, kubernetesRecipe(cfg.Root, "kube-apiserver", versions["k8s.io/kubernetes"], "about 6 minutes")},
		{&k.ControllerManager, kubernetesRecipe(cfg.Root, "kube-controller-manager", versions["k8s.io/kubernetes"], "about 2 minutes")},
	})
}

// EnsureNode returns the programs of a node, of the same version as the control plane's, and builds those that are missing.
func EnsureNode(ctx context.Context, cfg Config) (Node, error) {
	versions, err := pinnedVersions(ctx, filepath.Join(cfg.Root, "deploy/local/kubernetes"))
	if err != nil {
		return Node{}, err
	}
	ours, err := pinnedVersions(ctx, filepath.Join(cfg.Root, "deploy"))
	if err != nil {
		return Node{}, err
	}
	var n Node
	v := versions["k8s.io/kubernetes"]
	return n, ensureAll(ctx, cfg, []program{
		{&n.Kubelet, kubernetesRecipe(cfg.Root, "kubelet", v, "about 2 minutes")},
		{&n.Scheduler, kubernetesRecipe(cfg.Root, "kube-scheduler", v, "about 1 minute")},
		{&n.Proxy, kubernetesRecipe(cfg.Root, "kube-proxy", v, "about 1 minute")},
		{&n.Kubectl, kubernetesRecipe(cfg.Root, "kubectl", v, "about 1 minute")},
		{&n.Helm, installRecipe("helm", "helm.sh/helm/v3/cmd/helm", ours["helm.sh/helm/v3"], "about 2 minutes")},
		{&n.CoreDNS, installRecipe("coredns", "github.com/coredns/coredns", coreDNSVersion, "about 3 minutes")},
	})
}

// EnsureKubectl returns kubectl of the control plane's version, and builds it if it is missing.
func EnsureKubectl(ctx context.Context, cfg Config) (string, error) {
	versions, err := pinnedVersions(ctx, filepath.Join(cfg.Root, "deploy/local/kubernetes"))
	if err != nil {
		return "", err
	}
	var path string
	return path, ensureAll(ctx, cfg, []program{{&path, kubernetesRecipe(cfg.Root, "kubectl", versions["k8s.io/kubernetes"], "about 1 minute")}})
}

func ensureAll(ctx context.Context, cfg Config, programs []program) error {
	if cfg.CacheDir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return fmt.Errorf("find the cache directory: %w", err)
		}
		cfg.CacheDir = filepath.Join(base, "alicloud-controllers")
	}
	if cfg.Assets != "" {
		// Otherwise a slip of the pen costs a quarter of an hour of building.
		if info, err := os.Stat(cfg.Assets); err != nil || !info.IsDir() || !filepath.IsAbs(cfg.Assets) {
			return fmt.Errorf("KUBEBUILDER_ASSETS is %q: name the absolute path of a directory, or unset it", cfg.Assets)
		}
	}
	for _, p := range programs {
		path, err := ensure(ctx, cfg, p.recipe)
		if err != nil {
			return err
		}
		*p.path = path
	}
	return nil
}

// pinnedVersions reads what the go.mod in a directory requires.
func pinnedVersions(ctx context.Context, dir string) (map[string]string, error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "edit", "-json")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("read versions of %s: %w", dir, err)
	}
	var mod struct {
		Require []struct{ Path, Version string }
	}
	if err := json.Unmarshal(out, &mod); err != nil {
		return nil, fmt.Errorf("read versions of %s: %w", dir, err)
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
