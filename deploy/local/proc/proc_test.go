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

func TestEndsBeforeReady(t *testing.T) {
	t.Parallel()
	spec := shell(t, `echo no room left >&2; exit 3`)
	spec.Ready = func(context.Context) error { return errors.New("not yet") }
	p := New(spec)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	err := p.WaitReady(t.Context())
	if err == nil || !strings.Contains(err.Error(), "no room left") || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("error %v does not tell the exit status and the log", err)
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
		t.Errorf("error %v does not tell what is missing", err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
}
