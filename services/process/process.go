// Package process runs the components of a process: started in order, stopped in reverse, all ended by the first failure or a
// signal.
package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/signal"
	"runtime/debug"
	"slices"
	"syscall"
	"time"
)

// stopTimeout bounds the stop of all components together. It stays below Kubernetes' default termination grace of 30 seconds.
const stopTimeout = 25 * time.Second

// Component is a part of the process with a life of its own.
type Component struct {
	// Name is for logs and errors.
	Name string
	// Run works until ctx ends. Returning nil earlier means that the component has done its work; the others go on.
	Run func(ctx context.Context) error
	// Ready, if not nil, is closed by the component when the next one may start.
	Ready <-chan struct{}
}

// Run runs the components until ctx ends, SIGINT or SIGTERM comes, one fails, or all are done. It then stops them from the last
// to the first, each only after those behind it have returned, and gives the first failure. A second signal kills the process
// at once.
func Run(ctx context.Context, log *slog.Logger, components ...Component) error {
	ctx, release := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer release()
	// Giving the signals back lets a second one have its default effect.
	defer context.AfterFunc(ctx, release)()
	return supervise(ctx, log, components)
}

// supervise is Run without the signals.
func supervise(ctx context.Context, log *slog.Logger, components []Component) error {
	g := &group{log: log}
	ctx, g.fail = context.WithCancelCause(ctx)
	defer g.fail(nil)
	g.start(ctx, components)
	g.wait(ctx)
	return g.stop(ctx)
}

// group holds the started components.
type group struct {
	log     *slog.Logger
	started []*running
	fail    context.CancelCauseFunc // ends the common context with the first failure
}

// running is a started component.
type running struct {
	name   string
	cancel context.CancelFunc
	done   chan struct{} // closed when the component has returned
}

// start starts the components in order, waiting for each to be ready, until ctx ends.
func (g *group) start(ctx context.Context, components []Component) {
	for _, c := range components {
		if ctx.Err() != nil {
			return
		}
		// The component's context is not the common one, so that the stop can go one by one.
		own, cancel := context.WithCancel(context.WithoutCancel(ctx))
		r := &running{name: c.Name, cancel: cancel, done: make(chan struct{})}
		g.started = append(g.started, r)
		go func() {
			defer close(r.done)
			if err := guarded(own, c.Run); err != nil && own.Err() == nil {
				g.fail(&componentError{name: c.Name, err: err})
			} else if err != nil && !errors.Is(err, context.Canceled) {
				g.log.Warn("stopped with an error", "component", c.Name, "error", err)
			}
		}()
		g.log.Debug("started", "component", c.Name)
		if c.Ready == nil {
			continue
		}
		select {
		case <-c.Ready:
		case <-r.done:
		case <-ctx.Done():
		}
	}
}

// guarded turns a panic into an error with its stack.
func guarded(ctx context.Context, run func(context.Context) error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("panic: %v\n%s", value, debug.Stack())
		}
	}()
	return run(ctx)
}

// wait returns when ctx has ended or every component is done.
func (g *group) wait(ctx context.Context) {
	for _, r := range g.started {
		select {
		case <-r.done:
		case <-ctx.Done():
			return
		}
	}
}

// stop ends the components in reverse and gives the failure that ended the process, if any.
func (g *group) stop(ctx context.Context) error {
	if ctx.Err() != nil {
		g.log.Info("stopping", "cause", context.Cause(ctx))
	}
	limit := time.NewTimer(stopTimeout)
	defer limit.Stop()
	var stuck error
	for _, r := range slices.Backward(g.started) {
		r.cancel()
		if stuck != nil {
			continue
		}
		select {
		case <-r.done:
		case <-limit.C:
			stuck = fmt.Errorf("%s did not stop within %s", r.name, stopTimeout)
		}
	}
	return errors.Join(failure(ctx), stuck)
}

// componentError is a failure that ended the process. Its type distinguishes it from a signal and from the caller's cancel.
type componentError struct {
	name string
	err  error
}

func (e *componentError) Error() string { return e.name + ": " + e.err.Error() }
func (e *componentError) Unwrap() error { return e.err }

// failure gives the component's error that ended ctx, if one did.
func failure(ctx context.Context) error {
	if failed, ok := errors.AsType[*componentError](context.Cause(ctx)); ok {
		return failed
	}
	return nil
}
