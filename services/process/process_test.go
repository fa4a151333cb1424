package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// journal records what happens, in order.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) note(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, fmt.Sprintf(format, args...))
}

// untilEnd is a component that notes its start and its end.
func (j *journal) untilEnd(name string) Component {
	ready := make(chan struct{})
	return Component{Name: name, Ready: ready, Run: func(ctx context.Context) error {
		j.note("start %s", name)
		close(ready)
		<-ctx.Done()
		j.note("stop %s", name)
		return ctx.Err()
	}}
}

// run supervises: in a bubble of synctest, the signals of Run would start goroutines that never end.
func run(ctx context.Context, components ...Component) error {
	return supervise(ctx, slog.New(slog.DiscardHandler), components)
}

func TestOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		failure := errors.New("no disk")
		err := run(t.Context(), j.untilEnd("a"), j.untilEnd("b"), Component{Name: "c", Run: func(context.Context) error {
			j.note("fail c")
			return failure
		}})
		if !errors.Is(err, failure) || err.Error() != "c: no disk" {
			t.Errorf("Run = %v", err)
		}
		if diff := cmp.Diff([]string{"start a", "start b", "fail c", "stop b", "stop a"}, j.lines); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
	})
}

func TestFailureBeforeAllHaveStarted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		never := make(chan struct{})
		err := run(t.Context(), j.untilEnd("a"), Component{Name: "b", Ready: never, Run: func(context.Context) error {
			return errors.New("port taken")
		}}, j.untilEnd("c"))
		if err == nil || err.Error() != "b: port taken" {
			t.Errorf("Run = %v", err)
		}
		if diff := cmp.Diff([]string{"start a", "stop a"}, j.lines); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
	})
}

func TestCancelIsNoFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		j := &journal{}
		late := Component{Name: "late", Run: func(ctx context.Context) error {
			<-ctx.Done()
			return errors.New("connection closed") // An error because of the stop, not the cause of it.
		}}
		time.AfterFunc(time.Minute, cancel)
		if err := run(ctx, j.untilEnd("a"), late); err != nil {
			t.Errorf("Run = %v", err)
		}
	})
}

func TestAllDone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		done := Component{Name: "done", Run: func(context.Context) error { return nil }}
		if err := run(t.Context(), done, done); err != nil {
			t.Errorf("Run = %v", err)
		}
	})
}

func TestOneDoneOthersGoOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		err := run(t.Context(),
			Component{Name: "done", Run: func(context.Context) error { return nil }},
			Component{Name: "work", Run: func(context.Context) error { <-time.After(time.Hour); return nil }})
		if err != nil || time.Since(begin) != time.Hour {
			t.Errorf("Run = %v after %s", err, time.Since(begin))
		}
	})
}

func TestPanic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		err := run(t.Context(), j.untilEnd("a"), Component{Name: "b", Run: func(context.Context) error { panic("boom") }})
		if err == nil || !strings.HasPrefix(err.Error(), "b: panic: boom\n") || !strings.Contains(err.Error(), "process_test.go") {
			t.Errorf("Run = %v, want the panic with its stack", err)
		}
	})
}

func TestStuckComponent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		stuck := Component{Name: "stuck", Run: func(context.Context) error { <-release; return nil }}
		failing := Component{Name: "failing", Run: func(context.Context) error { return errors.New("no") }}
		begin := time.Now()
		err := run(t.Context(), stuck, failing)
		if err == nil || err.Error() != "failing: no\nstuck did not stop within 25s" {
			t.Errorf("Run = %v", err)
		}
		if took := time.Since(begin); took != 25*time.Second {
			t.Errorf("Run took %s", took)
		}
	})
}

// TestSignal is not parallel: the signal is sent to the whole test process.
func TestSignal(t *testing.T) {
	j := &journal{}
	err := Run(t.Context(), slog.New(slog.DiscardHandler), j.untilEnd("a"), Component{Name: "b", Run: func(ctx context.Context) error {
		if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
			return err
		}
		<-ctx.Done()
		return nil
	}})
	if err != nil {
		t.Errorf("Run = %v", err)
	}
	if diff := cmp.Diff([]string{"start a", "stop a"}, j.lines); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}
