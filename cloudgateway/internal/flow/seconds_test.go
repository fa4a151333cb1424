package flow

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/limit"
)

// untilRefused makes calls at a rate, which may change, until a bucket of the simulated cloud is empty.
func untilRefused(truth int, start time.Time, rate func(since time.Duration) float64) float64 {
	const action = "TagResources"
	cloud := limit.New(limit.Table{"slb/" + action: {Calls: truth, Window: api.Duration(time.Second)}}, true)
	var s seconds
	for now := start; ; {
		s.add(now)
		if _, ok := cloud.Allow("slb", action, now); !ok {
			return s.granted(now)
		}
		now = now.Add(time.Duration(float64(time.Second) / rate(now.Sub(start))))
	}
}

// TestSecondsFindTheBucket: what a bucket had saved does not make its rate look higher than it is.
func TestSecondsFindTheBucket(t *testing.T) {
	tests := []struct {
		name  string
		truth int
		rate  func(since time.Duration) float64
	}{
		{name: "a little too fast", truth: 50, rate: func(time.Duration) float64 { return 52 }},
		{name: "much too fast", truth: 50, rate: func(time.Duration) float64 { return 500 }},
		{name: "few calls", truth: 5, rate: func(time.Duration) float64 { return 7 }},
		{name: "faster and faster", truth: 50, rate: func(since time.Duration) float64 { return 35 + 0.3*since.Seconds() }},
		{name: "slowly faster and faster", truth: 10, rate: func(since time.Duration) float64 { return 7 + 0.015*since.Seconds() }},
		{name: "after a pause", truth: 50, rate: func(since time.Duration) float64 {
			if since < time.Second {
				return 1.0 / 300
			}
			return 60
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, phase := range []time.Duration{0, 300 * time.Millisecond, 999 * time.Millisecond} {
				if got := math.Round(untilRefused(tt.truth, epoch.Add(phase), tt.rate)); got != float64(tt.truth) {
					t.Errorf("phase %s: %g calls per second, want %d", phase, got, tt.truth)
				}
			}
		})
	}
}

// TestSecondsTellNeverTooMuch: whatever the traffic.
func TestSecondsTellNeverTooMuch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		truth := rapid.IntRange(1, 50).Draw(t, "truth")
		got := untilRefused(truth, epoch, func(time.Duration) float64 {
			return float64(truth) * rapid.Float64Range(0.5, 4).Draw(t, "rate")
		})
		if got > float64(truth)+epsilon {
			t.Fatalf("%g calls per second, the bucket gives %d", got, truth)
		}
	})
}
