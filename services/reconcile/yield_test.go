package reconcile

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestYielding: a part of an attempt gives way to its key that is added more urgently, also before the part begins, and
// to whoever asks for it.
func TestYielding(t *testing.T) {
	for name, tt := range map[string]struct {
		add    func(r *Runner)
		yields bool
	}{
		"nothing":         {func(*Runner) {}, false},
		"as urgent":       {func(r *Runner) { r.Add("a", Periodic) }, false},
		"more urgent":     {func(r *Runner) { r.Add("a", Endpoint) }, true},
		"another key":     {func(r *Runner) { r.Add("b", User) }, false},
		"asked for":       {func(r *Runner) { r.Yield("a") }, true},
		"later":           {func(r *Runner) { r.AddAfter("a", User, time.Second) }, true},
		"asked of others": {func(r *Runner) { r.Yield("b") }, false},
	} {
		for _, early := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var r *Runner
					var seen []Priority
					gaveWay := false
					reconciler := Func(func(ctx context.Context, key string) error {
						seen = append(seen, PriorityOf(ctx))
						if key != "a" || len(seen) > 1 {
							return nil
						}
						if early {
							tt.add(r)
						}
						part, end := Yielding(ctx)
						defer end()
						if !early {
							tt.add(r)
						}
						select {
						case <-part.Done():
							gaveWay = errors.Is(context.Cause(part), ErrYielded)
						case <-time.After(time.Minute):
						}
						return nil
					})
					var err error
					r, err = New(Config{Name: "test", Reconciler: reconciler, Logger: slog.New(slog.DiscardHandler)})
					if err != nil {
						t.Fatal(err)
					}
					ctx, cancel := context.WithCancel(t.Context())
					r.Add("a", Periodic)
					done := make(chan struct{})
					go func() {
						defer close(done)
						_ = r.Run(ctx) // It reports no errors.
					}()
					<-time.After(2 * time.Minute)
					cancel()
					<-done
					yields := tt.yields && (!early || name != "asked for") // There was no part yet.
					if gaveWay != yields || !slices.Contains(seen, Periodic) {
						t.Errorf("gave way: %t, attempts %v", gaveWay, seen)
					}
				})
			})
		}
	}
}
