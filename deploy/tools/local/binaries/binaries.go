// Package binaries finds, downloads or builds the programs of the local world: a Kubernetes control plane and fake kubelets, which are
// kept by version in the user's cache directory, and our own processes.
package binaries

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// coreDNSVersion is not in tools/local/kubernetes/go.mod: CoreDNS and Kubernetes do not agree on the versions of what they share.
const coreDNSVersion = "v1.13.1"

// Kubernetes are the paths of the control plane's programs.
type Kubernetes struct {
	Etcd, APIServer string
	// Controllers are those of Kubernetes, and the fake kubelets.
	Controllers string
}

// Config says where things are.
type Config struct {
	// Root is the top of the source tree, see Root.
	Root string
	// Assets is a directory with ready-made programs, those of envtest for example; what it lacks is built.
	Assets string
	// Oldest takes the API server of the oldest Kubernetes that is supported.
	Oldest bool
	// Downloads are the releases that are taken instead of building, where a network reaches them.
	Downloads Downloads
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

// OldestAsked reads the environment variable KUBERNETES, which is oldest or newest; empty stands for newest.
func OldestAsked() (bool, error) {
	switch choice := os.Getenv("KUBERNETES"); choice {
	case "", "newest":
		return false, nil
	case "oldest":
		return true, nil
	default:
		return false, fmt.Errorf("KUBERNETES is %q; use oldest or newest", choice)
	}
}

// Node are the paths of the programs that make a real node of a machine, of the rest of a real control plane, and of those that people use.
type Node struct {
	Kubelet, Proxy, ControllerManager, Scheduler, Kubectl, Helm string
	// CoreDNS is static, so that an image can be made of it.
	CoreDNS string
}

// EnsureKubernetes returns the control plane's programs, and downloads or builds those that are missing.
func EnsureKubernetes(ctx context.Context, cfg Config) (Kubernetes, error) {
	var k Kubernetes
	versions, err := requirements(ctx, filepath.Join(cfg.Root, "deploy/tools/local/kubernetes"))
	if err != nil {
		return Kubernetes{}, err
	}
	const etcd = "go.etcd.io/etcd/server/v3"
	control, err := kubernetes(ctx, cfg.Root, "2 to 5 minutes", []program{
		{path: &k.Etcd, name: "etcd", pkg: etcd, download: cfg.Downloads.etcd(versions[etcd])},
		{path: &k.APIServer, name: apiServer, pkg: apiServerPackage,
			download: cfg.Downloads.apiServer(versions["k8s.io/kubernetes"])},
		{path: &k.Controllers, name: "kube-controllers", pkg: "alicloud-controllers.dev/deploy/tools/local/kubernetes/controllers"},
	})
	if err != nil {
		return Kubernetes{}, err
	}
	recipes := []recipe{control}
	if cfg.Oldest {
		old, err := oldest(ctx, cfg, &k.APIServer)
		if err != nil {
			return Kubernetes{}, err
		}
		recipes = append(recipes, old)
	}
	err = ensureAll(ctx, cfg, recipes...)
	return k, err
}

const (
	apiServer        = "kube-apiserver"
	apiServerPackage = "k8s.io/kubernetes/cmd/kube-apiserver"
)

// oldest builds the API server with the versions that tools/local/oldest/go.mod requires.
func oldest(ctx context.Context, cfg Config, path *string) (recipe, error) {
	dir := filepath.Join(cfg.Root, "deploy/tools/local/oldest")
	version, err := required(ctx, dir, "k8s.io/kubernetes")
	if err != nil {
		return recipe{}, err
	}
	return kubernetesOf(ctx, dir, []string{"go.mod"}, "about 3 minutes",
		[]program{{path: path, name: apiServer, pkg: apiServerPackage, download: cfg.Downloads.apiServer(version)}})
}

// EnsureNode returns the programs of a node, of the same version as the control plane's, and builds those that are missing.
func EnsureNode(ctx context.Context, cfg Config) (Node, error) {
	var n Node
	node, err := kubernetes(ctx, cfg.Root, "about 5 minutes", []program{
		{path: &n.Kubelet, name: "kubelet", pkg: "k8s.io/kubernetes/cmd/kubelet"},
		{path: &n.ControllerManager, name: "kube-controller-manager", pkg: "k8s.io/kubernetes/cmd/kube-controller-manager"},
		{path: &n.Scheduler, name: "kube-scheduler", pkg: "k8s.io/kubernetes/cmd/kube-scheduler"},
		{path: &n.Proxy, name: "kube-proxy", pkg: "k8s.io/kubernetes/cmd/kube-proxy"},
		{path: &n.Kubectl, name: "kubectl", pkg: "k8s.io/kubernetes/cmd/kubectl"},
	})
	if err != nil {
		return Node{}, err
	}
	helmVersion, err := required(ctx, filepath.Join(cfg.Root, "deploy"), "helm.sh/helm/v3")
	if err != nil {
		return Node{}, err
	}
	err = ensureAll(ctx, cfg, node,
		installed(program{path: &n.Helm, name: "helm", pkg: "helm.sh/helm/v3/cmd/helm"}, helmVersion, "about 2 minutes"),
		installed(program{path: &n.CoreDNS, name: "coredns", pkg: "github.com/coredns/coredns"}, coreDNSVersion, "about 3 minutes"))
	return n, err
}

// Upstream are the paths of what Kubernetes' own end-to-end tests need.
type Upstream struct {
	// Tests has the tests.
	Tests string
	// Agnhost is what their pods run; it is static.
	Agnhost string
}

// EnsureUpstream returns the programs of Kubernetes' own end-to-end tests, and builds those that are missing.
func EnsureUpstream(ctx context.Context, cfg Config) (Upstream, error) {
	var u Upstream
	dir, of := filepath.Join(cfg.Root, "deploy/test/upstream"), []string{"go.mod", "main.go"}
	tests, err := kubernetesOf(ctx, dir, of, "about 8 minutes",
		[]program{{path: &u.Tests, name: "upstream", pkg: "alicloud-controllers.dev/deploy/test/upstream"}})
	if err != nil {
		return Upstream{}, err
	}
	agnhost, err := kubernetesOf(ctx, dir, of, "about 3 minutes",
		[]program{{path: &u.Agnhost, name: "agnhost", pkg: "k8s.io/kubernetes/test/images/agnhost"}})
	if err != nil {
		return Upstream{}, err
	}
	agnhost.env = []string{"CGO_ENABLED=0"}
	err = ensureAll(ctx, cfg, tests, agnhost)
	return u, err
}

// EnsureKubectl returns kubectl of the control plane's version, and builds it if it is missing.
func EnsureKubectl(ctx context.Context, cfg Config) (string, error) {
	var path string
	r, err := kubernetes(ctx, cfg.Root, "about 1 minute", []program{{path: &path, name: "kubectl", pkg: "k8s.io/kubernetes/cmd/kubectl"}})
	if err != nil {
		return "", err
	}
	err = ensureAll(ctx, cfg, r)
	return path, err
}

func ensureAll(ctx context.Context, cfg Config, recipes ...recipe) error {
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
	for _, r := range recipes {
		if err := ensure(ctx, cfg, r); err != nil {
			return err
		}
	}
	return nil
}

// ensure sets the paths of the recipe's programs and builds those that neither the assets nor the cache has, or
// downloads them. A lock keeps two worlds that start at the same time from building the same thing twice.
func ensure(ctx context.Context, cfg Config, r recipe) error {
	dir := filepath.Join(cfg.CacheDir, r.directory)
	for _, p := range r.programs {
		*p.path = filepath.Join(dir, p.name)
		if ready := filepath.Join(cfg.Assets, p.name); cfg.Assets != "" && executable(ready) {
			*p.path = ready
		}
	}
	if len(r.missing()) == 0 {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // A cache of public programs.
		return fmt.Errorf("make cache directory: %w", err)
	}
	unlock, err := lock(ctx, filepath.Join(dir, ".lock"), func() {
		_, _ = fmt.Fprintf(cfg.Out, "waiting for another process that builds in %s\n", dir)
	})
	if err != nil {
		return err
	}
	defer unlock()
	if len(r.missing()) == 0 {
		return nil
	}
	// No other process builds here, so that a build was killed if its directory is there.
	dead, err := filepath.Glob(filepath.Join(dir, buildDirs))
	if err != nil {
		return fmt.Errorf("find builds that were killed: %w", err)
	}
	for _, d := range dead {
		if err := os.RemoveAll(d); err != nil {
			return fmt.Errorf("remove a build that was killed: %w", err)
		}
	}
	return r.provide(ctx, dir, cfg.Out)
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// lockInterval is short against what is done with the lock held.
const lockInterval = 200 * time.Millisecond

// lock takes the lock, and calls wait if another process has it.
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

// packageOf is the directory of a program of ours, from the top of the source tree.
func packageOf(name string) string {
	if name == "openapisim" {
		return "./cloudgateway/openapisim/cmd/openapisim"
	}
	return "./" + name + "/cmd/" + name
}

// BuildProcesses builds programs of ours into dir, all if none is named. The go command's cache makes it quick when nothing changed.
func BuildProcesses(ctx context.Context, root, dir string, race bool, names ...string) error {
	if len(names) == 0 {
		names = Processes()
	}
	args := []string{"build", "-o", dir + "/"}
	if race {
		args = append(args, "-race")
	}
	for _, name := range names {
		args = append(args, packageOf(name))
	}
	cmd := exec.CommandContext(ctx, "go", args...) //nolint:gosec // The arguments are ours.
	cmd.Dir, cmd.Env = root, slices.Concat(os.Environ(), []string{"GOWORK=" + filepath.Join(root, "go.work")}, compilerEnv())
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", strings.Join(names, ", "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
