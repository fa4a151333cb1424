package batch

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestReader: what is fresh is not read, what is under way is shared, and the rest costs the fewest reads.
func TestReader(t *testing.T) {
	errAbsent := errors.New("absent")
	synctest.Test(t, func(t *testing.T) {
		s := &cloud{latency: time.Millisecond}
		r := newTestReader(t, s, func(cfg *Config[string, string]) {
			cfg.MaxItems = 3
			cfg.Absent = func(string) error { return errAbsent }
		})
		if got, err := r.Get(t.Context(), "a", time.Minute); got != "A" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
		keys := []string{"a", "b", "no-c", "b", "d", "e", "f"}
		want := []Result[string]{{Value: "A"}, {Value: "B"}, {Err: errAbsent}, {Value: "B"}, {Value: "D"}, {Value: "E"}, {Value: "F"}}
		got := r.GetMany(t.Context(), keys, time.Minute)
		if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b error) bool { return errors.Is(a, b) })); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([][]string{{"a"}, {"b", "d", "no-c"}, {"e", "f"}}, s.batches); diff != "" {
			t.Errorf("reads (-want +got):\n%s", diff)
		}
		if _, err := Values(got); !errors.Is(err, errAbsent) {
			t.Errorf("error %v", err)
		}
		if values, err := Values(got[:2]); err != nil || strings.Join(values, "") != "AB" {
			t.Errorf("values %q, %v", values, err)
		}
	})
}

func TestReaderOfACallerWhoIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &cloud{}
		r := newTestReader(t, s, nil)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for _, result := range r.GetMany(ctx, []string{"a", "b"}, 0) {
			if !errors.Is(result.Err, context.Canceled) {
				t.Errorf("error %v", result.Err)
			}
		}
		if value, err := r.Get(t.Context(), "no-a", 0); value != "" || err != nil {
			t.Errorf("got %q, %v of what does not exist", value, err)
		}
		if diff := cmp.Diff([][]string{{"no-a"}}, s.batches); diff != "" {
			t.Errorf("reads (-want +got):\n%s", diff)
		}
	})
}
