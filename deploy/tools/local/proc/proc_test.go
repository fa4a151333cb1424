package proc

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func shell(t *testing.T, script string) Spec {
	t.Helper()
	return Spec{Name: "sh", Path: "/bin/sh", Args: []string{"-c", script}, LogFile: filepath.Join(t.TempDir(), "log")}
}

// writes is ready when the process has written something.
func writes(spec *Spec) {
	file := spec.LogFile
	spec.Ready = func(context.Context) error {
		if data, err := os.ReadFile(file); err != nil || len(data) == 0 {
			return errors.New("nothing is written")
		}
		return nil
	}
}

func TestStartStop(t *testing.T) {
	t.Parallel()
	spec := shell(t, `trap 'echo stopping; exit 0' TERM; echo up; while :; do sleep 0.01; done`)
	writes(&spec)
	p := New(spec)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	if err := p.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err == nil {
		t.Error("a second start is no error")
	}
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	if p.Running() {
		t.Error("it runs after Stop")
	}
	if log := Tail(spec.LogFile); log != "up\nstopping\n" {
		t.Errorf("log is %q", log)
	}
	if err := p.Stop(); err != nil {
		t.Errorf("to stop what does not run is an error: %v", err)
	}
}

func TestKillRestart(t *testing.T) {
	t.Parallel()
	spec := shell(t, `trap 'echo stopping; exit 0' TERM; echo up; while :; do sleep 0.01; done`)
	writes(&spec)
	p := New(spec)
	for range 2 {
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		if err := p.WaitReady(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := p.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	if log := Tail(spec.LogFile); strings.Contains(log, "stopping") {
		t.Errorf("it could stop in order: %q", log)
	}
}

// TestEndsByItself: a process that was ready is started again, and one that was stopped is not.
func TestEndsByItself(t *testing.T) {
	t.Parallel()
	spec := shell(t, `echo up >> "$LOG"; exec sleep 60`)
	starts := filepath.Join(t.TempDir(), "starts")
	spec.Env, spec.Restart = []string{"LOG=" + starts}, true
	started := func(times int) func(context.Context) error {
		return func(context.Context) error {
			if data, err := os.ReadFile(starts); err != nil || strings.Count(string(data), "up") < times {
				return errors.New("it is not up")
			}
			return nil
		}
	}
	spec.Ready = started(1)
	p := New(spec)
	if err := errors.Join(p.Start(), p.WaitReady(t.Context())); err != nil {
		t.Fatal(err)
	}
	for n := range 2 {
		child, err := os.FindProcess(p.Pid())
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Kill(); err != nil {
			t.Fatal(err)
		}
		p.spec.Ready = started(n + 2)
		if err := waitFor(t, p); err != nil {
			t.Fatal(err)
		}
		if p.Ends() != n+1 {
			t.Errorf("it ended %d times by itself, want %d", p.Ends(), n+1)
		}
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	if p.Running() || p.Ends() != 2 {
		t.Errorf("after it was killed: it runs: %v; it ended %d times by itself", p.Running(), p.Ends())
	}
	if p.again != nil {
		t.Error("what was killed is to be started again")
	}
}

// waitFor waits until a process that ended by itself is ready again.
func waitFor(t *testing.T, p *Process) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(readyInterval)
	defer tick.Stop()
	for p.spec.Ready(ctx) != nil || !p.Running() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}

func TestEndsBeforeReady(t *testing.T) {
	t.Parallel()
	spec := shell(t, `echo no room left >&2; exit 3`)
	spec.Restart = true
	spec.Ready = func(context.Context) error { return errors.New("not yet") }
	p := New(spec)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	err := p.WaitReady(t.Context())
	if err == nil || !strings.Contains(err.Error(), "no room left") || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("error %v does not have the exit status and the log", err)
	}
	if p.Running() || p.Ends() > 0 {
		t.Errorf("a process that was never ready was started again, or counts: %d", p.Ends())
	}
}

func TestNeverReady(t *testing.T) {
	t.Parallel()
	spec := shell(t, `exec sleep 60`)
	spec.Ready = func(context.Context) error { return errors.New("the disk is slow") }
	spec.ReadyTimeout = 100 * time.Millisecond
	p := New(spec)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	if err := p.WaitReady(t.Context()); err == nil || !strings.Contains(err.Error(), "the disk is slow") {
		t.Errorf("error %v does not say what is missing", err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
}
