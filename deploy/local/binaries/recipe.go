package binaries

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// recipe says how to build a program.
type recipe struct {
	name      string
	directory string // in the cache, with the version in its name
	took      string // on two cores, told to the user
	dir       string // where the go command runs
	args      []string
	env       []string // added to the own environment
	// install means that the go command names the file itself and puts it into GOBIN.
	install bool
}

func kubernetesRecipe(root, name, version, took string) recipe {
	v := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	const pkg = "k8s.io/component-base/version"
	// Clients parse the version and refuse the placeholder of an unstamped build.
	ldflags := fmt.Sprintf("-s -w -X %[1]s.gitVersion=%[2]s -X %[1]s.gitMajor=%[3]s -X %[1]s.gitMinor=%[4]s", pkg, version, v[0], v[1])
	return recipe{
		name: name, directory: "kubernetes-" + version, took: took, dir: filepath.Join(root, "deploy/local/kubernetes"),
		args: []string{"build", "-v", "-trimpath", "-ldflags", ldflags, "k8s.io/kubernetes/cmd/" + name},
	}
}

func etcdRecipe(root, version string) recipe {
	return recipe{
		name: "etcd", directory: "etcd-" + version, took: "about 1 minute", dir: filepath.Join(root, "deploy/local/kubernetes"),
		args: []string{"build", "-v", "-trimpath", "-ldflags", "-s -w", "go.etcd.io/etcd/server/v3"},
	}
}

// installRecipe builds a program with the versions that its own module requires, static, so that it runs in a container, too.
func installRecipe(name, pkg, version, took string) recipe {
	return recipe{
		name: name, directory: name + "-" + version, took: took, dir: os.TempDir(), install: true,
		args: []string{"install", "-v", "-trimpath", "-ldflags", "-s -w", pkg + "@" + version}, env: []string{"CGO_ENABLED=0"},
	}
}

// progressInterval is short enough that nobody thinks the build hangs.
const progressInterval = 15 * time.Second

// buildDirs matches the directories in which programs are built.
const buildDirs = ".build-*"

// build runs the go command and puts the program into dir only when it is complete.
func (r recipe) build(ctx context.Context, dir string, out io.Writer) error {
	tmp, err := os.MkdirTemp(dir, buildDirs)
	if err != nil {
		return fmt.Errorf("build %s: %w", r.name, err)
	}
	defer os.RemoveAll(tmp)

	args := r.args
	env := append(os.Environ(), "GOWORK=off", "TMPDIR="+tmp, "GOTMPDIR="+tmp)
	env = append(env, r.env...)
	if r.install {
		env = append(env, "GOBIN="+tmp)
	} else {
		args = append([]string{args[0], "-o", filepath.Join(tmp, r.name)}, args[1:]...)
	}
	cmd := exec.CommandContext(ctx, "go", args...) //nolint:gosec // The arguments are ours.
	cmd.Dir, cmd.Env = r.dir, env
	// An interrupted go command leaves its compilers running. All of them are ended, and their files are in tmp.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return fmt.Errorf("build %s: %w", r.name, err)
	}
	start := time.Now()
	_, _ = fmt.Fprintf(out, "building %s into %s, once: %s on 2 cores\n", r.name, dir, r.took)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("build %s: %w", r.name, err)
	}
	tail := follow(stderr, r.name, start, out)
	if err := cmd.Wait(); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("build %s: %w", r.name, ctx.Err())
		}
		return fmt.Errorf("build %s: %w\n%s", r.name, err, strings.Join(tail, "\n"))
	}
	if err := os.Rename(filepath.Join(tmp, r.name), filepath.Join(dir, r.name)); err != nil {
		return fmt.Errorf("build %s: %w", r.name, err)
	}
	_, _ = fmt.Fprintf(out, "  %s built in %s\n", r.name, time.Since(start).Round(time.Second))
	return nil
}

// follow reads what go build -v says, one line for each package, until the go command ends, tells the number of packages now
// and then, and returns the last lines, which hold the error if there is one.
func follow(stderr io.Reader, name string, start time.Time, out io.Writer) []string {
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
				_, _ = fmt.Fprintf(out, "  %s: %d packages, %s\n", name, packages.Load(), time.Since(start).Round(time.Second))
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
