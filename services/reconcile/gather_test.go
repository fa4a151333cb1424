package reconcile

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestGather(t *testing.T) {
	t.Parallel()
	const second = time.Second
	for _, tc := range []struct {
		name string
		// gaps are the times before each trigger.
		gaps []time.Duration
		// apart is the least time between two calls.
		apart time.Duration
		// want are the times of the calls.
		want []time.Duration
	}{
		{name: "none"},
		{name: "one", gaps: []time.Duration{0}, want: []time.Duration{second}},
		{name: "burst", gaps: []time.Duration{0, second / 2, second / 2, 0}, want: []time.Duration{2 * second}},
		{name: "two bursts", gaps: []time.Duration{0, 3 * second, second / 2}, want: []time.Duration{second, 4*second + second/2}},
		{name: "no end", gaps: []time.Duration{
			0, second * 9 / 10, second * 9 / 10, second * 9 / 10, second * 9 / 10, second * 9 / 10, second * 9 / 10,
		}, want: []time.Duration{5 * second, 6*second + second*4/10}},
		{name: "bursts apart", gaps: []time.Duration{0, 2 * second, 2 * second, 9 * second}, apart: 4 * second,
			want: []time.Duration{second, 5 * second, 14 * second}},
		{name: "a trickle apart", gaps: []time.Duration{0, 2 * second, 2 * second, 2 * second}, apart: 4 * second,
			want: []time.Duration{second, 5 * second, 9 * second}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				var got []time.Duration
				g := NewGather(second, 5*second, func(context.Context) { got = append(got, time.Since(begin)) }).Apart(tc.apart)
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- g.Run(ctx) }()
				for _, gap := range tc.gaps {
					wait(gap)
					g.Trigger()
					synctest.Wait()
				}
				wait(time.Minute)
				g.Trigger() // Pending at the end: dropped.
				cancel()
				if err := <-ended; err != nil {
					t.Errorf("Run = %v", err)
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("calls (-want +got):\n%s", diff)
				}
			})
		})
	}
}
