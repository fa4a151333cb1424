package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// status is what the tests say of a mutant. One that makes them run forever is noticed, too.
type status string

const (
	notCovered status = "not covered"
	lived      status = "survived"
	killed     status = "killed"
	timedOut   status = "timed out"
)

const (
	// Tests may take this many times as much processor time with a mutant as without, and never less than the least. The time of the clock
	// would take a busy machine for a killed mutant.
	timesAsMuch = 10
	leastCPU    = 10 * time.Second
	// mostTime is for mutants that wait for something that never comes, and for the tests without one.
	mostTime = 10 * time.Minute
)

// isolateCommand is the first argument of this program where it runs itself to run tests, and failedIsolation its exit code if it could
// not; those of tests are 1 and 2.
const (
	isolateCommand  = "isolate"
	failedIsolation = 125
)

// tester runs the tests of a package on each of its mutants.
type tester struct {
	root, dir string // the checkout, a directory for what is compiled
	self      string // this program
	jobs      int
	cpu, time time.Duration // that the tests of a mutant may take: the least of one, the most of the other
}

func (t tester) test(ctx context.Context, target target) ([]mutant, error) {
	module, err := filepath.Abs(filepath.Join(t.root, target.module))
	if err != nil {
		return nil, fmt.Errorf("find the module: %w", err)
	}
	pkg, err := load(ctx, module, target.pkg, t.dir)
	if err != nil {
		return nil, err
	}
	files, mutants, err := instrument(pkg, target)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(t.dir, "")
	if err != nil {
		return nil, fmt.Errorf("make a directory: %w", err)
	}
	defer os.RemoveAll(dir)
	program, err := compile(ctx, module, target.pkg, dir, files)
	if err != nil {
		return nil, err
	}
	tests := tests{self: t.self, dir: dir, pkg: pkg.dir, program: program}
	reached, used, err := tests.unchanged(ctx)
	if err != nil {
		return nil, err
	}
	limit := limits{cpu: max(t.cpu, timesAsMuch*used), time: t.time}
	workers, ctx := errgroup.WithContext(ctx)
	workers.SetLimit(t.jobs)
	for i := range mutants {
		m := &mutants[i]
		if m.Status = notCovered; !reached[m.id] {
			continue
		}
		workers.Go(func() (err error) {
			m.Status, err = tests.with(ctx, *m, limit)
			return err
		})
	}
	return mutants, workers.Wait()
}

// compile makes the package's tests with other files in place of some of its own.
func compile(ctx context.Context, module, pkg, dir string, files map[string]string) (string, error) {
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for name, text := range files {
		overlay.Replace[name] = filepath.Join(dir, filepath.Base(name))
		if err := os.WriteFile(overlay.Replace[name], []byte(text), 0o600); err != nil {
			return "", fmt.Errorf("write a source: %w", err)
		}
	}
	list, err := json.Marshal(overlay)
	if err != nil {
		return "", fmt.Errorf("list the sources: %w", err)
	}
	name, program := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "tests")
	if err := os.WriteFile(name, list, 0o600); err != nil {
		return "", fmt.Errorf("list the sources: %w", err)
	}
	_, err = output(ctx, module, dir, "go", "test", "-c", "-vet=off", "-overlay", name, "-o", program, "./"+pkg)
	return program, err
}

// tests are the compiled tests of a package.
type tests struct {
	self, dir, pkg, program string
}

type limits struct{ cpu, time time.Duration }

// outcome of a run: what the tests printed, and the processor time that they took.
type outcome struct {
	status status
	output string
	used   time.Duration
}

// unchanged runs the tests with no mutant. It gives the mutants that they come across, and the processor time that they take.
func (t tests) unchanged(ctx context.Context) (map[int]bool, time.Duration, error) {
	work, err := os.MkdirTemp(t.dir, "")
	if err != nil {
		return nil, 0, fmt.Errorf("make a directory: %w", err)
	}
	list := filepath.Join(work, "reached")
	got, err := t.run(ctx, work, limits{mostTime, mostTime}, envReached+"="+list)
	if err != nil {
		return nil, 0, err
	}
	if got.status != lived {
		return nil, 0, fmt.Errorf("the tests fail without a mutant, or take longer than %s:\n%s", mostTime, got.output)
	}
	data, err := os.ReadFile(list)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, 0, fmt.Errorf("read what the tests reach: %w", err)
	}
	reached := map[int]bool{}
	for line := range strings.Lines(string(data)) {
		id, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			return nil, 0, fmt.Errorf("read what the tests reach: %w", err)
		}
		reached[id] = true
	}
	return reached, got.used, nil
}

// with runs the tests with one mutant.
func (t tests) with(ctx context.Context, m mutant, limit limits) (status, error) {
	work, err := os.MkdirTemp(t.dir, "")
	if err != nil {
		return "", fmt.Errorf("make a directory: %w", err)
	}
	got, err := t.run(ctx, work, limit, envMutant+"="+strconv.Itoa(m.id))
	if err != nil {
		return "", fmt.Errorf("%s: %w", m, err)
	}
	return got.status, os.RemoveAll(work)
}

// run runs the tests where go test does, except that they can write to nothing but the directory work, have a network with nothing but
// loopback, and know nothing of this process's environment.
func (t tests) run(ctx context.Context, work string, limit limits, env string) (outcome, error) {
	limited, cancel := context.WithTimeout(ctx, limit.time)
	defer cancel()
	seconds := strconv.Itoa(int(math.Ceil(limit.cpu.Seconds())))
	//nolint:gosec // Compiled above.
	cmd := exec.CommandContext(limited, t.self, isolateCommand, seconds, work, t.program, "-test.failfast", "-test.timeout=0")
	cmd.Dir, cmd.Env = t.pkg, []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + work, "TMPDIR=" + work, env,
		// Properties are tried with the same values in each run, and the first ones that contradict are enough.
		"RAPID_SEED=1", "RAPID_SHRINKTIME=0s", "RAPID_NOFAILFILE=true",
	}
	cmd.SysProcAttr = namespaces()
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // and what the tests started
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return outcome{}, ctx.Err()
	}
	if cmd.ProcessState == nil {
		return outcome{}, fmt.Errorf("run the tests: %w", err)
	}
	got := outcome{output: string(out), used: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
	switch exit := cmd.ProcessState.ExitCode(); {
	case err == nil:
		got.status = lived
	case limited.Err() != nil || exit < 0: // A signal: of this program's, or of the system's when the processor time is used up.
		got.status = timedOut
	case exit == 1 || exit == 2: // of a failed test, of a panic
		got.status = killed
	default:
		return outcome{}, fmt.Errorf("run the tests: %w\n%s", err, out)
	}
	return got, nil
}
