package binaries

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// program is what a recipe builds, and where its path goes.
type program struct {
	path *string
	name string
	pkg  string
	// download is nil if the program is always built.
	download *download
}

// recipe says how to build programs with one go command, which compiles what they share once and links one while it compiles the other.
type recipe struct {
	programs  []program
	directory string // in the cache, with the versions in its name
	took      string // how long the build takes on two cores, as it is printed
	dir       string // where the go command runs
	args      []string
	env       []string // added to the own environment
}

// The compilers write nothing that only a debugger reads, which takes a fifth of their time, and they inline nothing in
// what only a control plane is built of, which takes a quarter of its time.
const (
	compilerFlags   = "-gcflags=all=-dwarf=false"
	kubernetesFlags = "-gcflags=k8s.io/kubernetes/...=-dwarf=false -l"
)

// kubernetes builds programs with the versions that tools/local/kubernetes/go.mod requires.
func kubernetes(ctx context.Context, root, took string, programs []program) (recipe, error) {
	dir := filepath.Join(root, "deploy/tools/local/kubernetes")
	return kubernetesOf(ctx, dir, []string{"go.mod", "controllers/main.go", "controllers/kubelets.go"}, took, programs)
}

// kubernetesOf builds programs of Kubernetes with the versions that the go.mod of a directory requires, and keeps them by the digest of
// the files there that decide what is built.
func kubernetesOf(ctx context.Context, dir string, of []string, took string, programs []program) (recipe, error) {
	version, err := required(ctx, dir, "k8s.io/kubernetes")
	if err != nil {
		return recipe{}, err
	}
	digest := sha256.New()
	for _, name := range of {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return recipe{}, fmt.Errorf("read what Kubernetes is built of: %w", err)
		}
		_, _ = digest.Write(text)
	}
	v := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	const pkg = "k8s.io/component-base/version"
	// Clients parse the version and refuse the placeholder of an unstamped build.
	ldflags := fmt.Sprintf("-s -w -X %[1]s.gitVersion=%[2]s -X %[1]s.gitMajor=%[3]s -X %[1]s.gitMinor=%[4]s", pkg, version, v[0], v[1])
	return recipe{
		programs: programs, directory: fmt.Sprintf("kubernetes-%s-%.8x", version, digest.Sum(nil)), took: took, dir: dir,
		args: []string{"build", "-v", "-trimpath", compilerFlags, kubernetesFlags, "-ldflags", ldflags},
	}, nil
}

// installed builds a program with the versions that its own module requires, static, so that it runs in a container, too.
func installed(p program, version, took string) recipe {
	p.pkg += "@" + version
	return recipe{
		programs: []program{p}, directory: p.name + "-" + version, took: took, dir: os.TempDir(),
		args: []string{"install", "-v", "-trimpath", compilerFlags, "-ldflags", "-s -w"}, env: []string{"CGO_ENABLED=0"},
	}
}

// compilerEnv lets compilers and linkers collect their garbage less often, which saves a tenth of their CPU time for a
// quarter more memory. The limit holds for each of them: one that comes near it collects as often as it needs.
func compilerEnv() []string { return []string{"GOGC=400", "GOMEMLIMIT=1GiB"} }

// missing are the programs that are not where their paths say.
func (r recipe) missing() []program {
	var missing []program
	for _, p := range r.programs {
		if !executable(*p.path) {
			missing = append(missing, p)
		}
	}
	return missing
}

// progressInterval is short enough that the build does not seem to hang.
const progressInterval = 15 * time.Second

// buildDirs matches the directories in which programs are built.
const buildDirs = ".build-*"

// build runs the go command and puts the programs into dir only when all are complete.
func (r recipe) build(ctx context.Context, dir string, programs []program, out io.Writer) error {
	var names, packages []string
	for _, p := range programs {
		names, packages = append(names, p.name), append(packages, p.pkg)
	}
	what := strings.Join(names, ", ")
	tmp, err := os.MkdirTemp(dir, buildDirs)
	if err != nil {
		return fmt.Errorf("build %s: %w", what, err)
	}
	defer os.RemoveAll(tmp)

	args := slices.Concat(r.args[:1], []string{"-o", tmp + "/"}, r.args[1:], packages)
	if r.args[0] == "install" {
		args = slices.Concat(r.args, packages)
	}
	cmd := exec.CommandContext(ctx, "go", args...) //nolint:gosec // The arguments are ours.
	cmd.Dir, cmd.Env = r.dir, slices.Concat(os.Environ(), []string{"GOWORK=off", "TMPDIR=" + tmp, "GOTMPDIR=" +
		tmp, "GOBIN=" + tmp}, compilerEnv(), r.env)
	// An interrupted go command leaves its compilers running. All of them are ended, and their files are in tmp.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return fmt.Errorf("build %s: %w", what, err)
	}
	start := time.Now()
	_, _ = fmt.Fprintf(out, "building %s into %s, once: %s on 2 cores\n", what, dir, r.took)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("build %s: %w", what, err)
	}
	tail := follow(stderr, start, out)
	if err := cmd.Wait(); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("build %s: %w", what, ctx.Err())
		}
		return fmt.Errorf("build %s: %w\n%s", what, err, strings.Join(tail, "\n"))
	}
	for _, p := range programs {
		if err := os.Rename(filepath.Join(tmp, p.built()), filepath.Join(dir, p.name)); err != nil {
			return fmt.Errorf("build %s: %w", p.name, err)
		}
	}
	_, _ = fmt.Fprintf(out, "  built in %s\n", time.Since(start).Round(time.Second))
	return nil
}

// majorVersion is the end of the path of a module from version 2 on.
var majorVersion = regexp.MustCompile(`/v[0-9]+$`)

// built is the name that the go command gives the program.
func (p program) built() string {
	pkg, _, _ := strings.Cut(p.pkg, "@")
	return path.Base(majorVersion.ReplaceAllString(pkg, ""))
}

// required is the version of a module that the go.mod in a directory requires.
func required(ctx context.Context, dir, module string) (string, error) {
	versions, err := requirements(ctx, dir)
	if err != nil {
		return "", err
	}
	version, ok := versions[module]
	if !ok {
		return "", fmt.Errorf("%s/go.mod does not require %s", dir, module)
	}
	return version, nil
}

// requirements are the modules that the go.mod in a directory requires, with the versions that are built.
func requirements(ctx context.Context, dir string) (map[string]string, error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "edit", "-json")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("read versions of %s: %w", dir, err)
	}
	type module struct{ Path, Version string }
	var mod struct {
		Require []module
		Replace []struct{ Old, New module }
	}
	if err := json.Unmarshal(out, &mod); err != nil {
		return nil, fmt.Errorf("read versions of %s: %w", dir, err)
	}
	versions := map[string]string{}
	for _, r := range mod.Require {
		versions[r.Path] = r.Version
	}
	for _, r := range mod.Replace {
		versions[r.Old.Path] = r.New.Version
	}
	return versions, nil
}

// follow reads what go build -v says, one line for each package, until the go command ends, prints the number of packages now
// and then, and returns the last lines, which hold the error if there is one.
func follow(stderr io.Reader, start time.Time, out io.Writer) []string {
	var packages atomic.Int64
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(progressInterval)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				_, _ = fmt.Fprintf(out, "  %d packages, %s\n", packages.Load(), time.Since(start).Round(time.Second))
			}
		}
	}()
	const kept = 20
	var tail []string
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		packages.Add(1)
		tail = append(tail, lines.Text())
		tail = tail[max(0, len(tail)-kept):]
	}
	close(done)
	<-stopped
	return tail
}
