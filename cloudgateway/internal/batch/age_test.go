package batch

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestAge: an answer is as old as its oldest part, whether it was remembered or read.
func TestAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTestReader(t, &cloud{latency: time.Second}, nil)
		asOf := func(maxAge time.Duration, keys ...string) time.Time {
			t.Helper()
			ctx, age := WithAge(t.Context())
			if _, err := Values(r.GetMany(ctx, keys, maxAge)); err != nil {
				t.Fatal(err)
			}
			return age.AsOf()
		}
		begun := time.Now()
		if got := asOf(time.Minute, "a"); !got.Equal(begun) {
			t.Errorf("read now: %s, want %s", got, begun)
		}
		<-time.After(10 * time.Second)
		if got := asOf(time.Minute, "b", "a"); !got.Equal(begun) {
			t.Errorf("one remembered, one read: %s, want %s", got, begun)
		}
		now := time.Now()
		if got := asOf(0, "a"); !got.Equal(now) {
			t.Errorf("read again: %s, want %s", got, now)
		}
		_, age := WithAge(t.Context())
		if got := age.AsOf(); !got.Equal(time.Now()) {
			t.Errorf("nothing read: %s, want now", got)
		}
	})
}

// TestWithRetention: what is read is remembered for those who come later, though its reader wants it fresh.
func TestWithRetention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &cloud{}
		r := newTestReader(t, s, nil)
		for range 2 {
			if _, err := r.Get(WithRetention(t.Context(), time.Minute), "a", 0); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := r.Get(t.Context(), "a", time.Second); err != nil || len(s.batches) != 2 {
			t.Errorf("%d reads, want 2: error %v", len(s.batches), err)
		}
	})
}
