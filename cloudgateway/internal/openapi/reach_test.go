package openapi

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

func TestReachable(t *testing.T) {
	refused := errors.New("connection refused")
	type attempt struct {
		product Product
		took    time.Duration
		err     error
	}
	failed := attempt{SLB, 0, refused}
	tests := []struct {
		name     string
		attempts []attempt
		later    time.Duration
		want     string // a part of the reason; empty: reachable
	}{
		{name: "nobody has called"},
		{name: "one broken connection", attempts: []attempt{failed}},
		{name: "no answer again and again", attempts: []attempt{failed, failed, failed},
			want: "no answer from slb.test to 3 attempts since 2000-01-01T00:00:00Z: connection refused"},
		{name: "an answer between", attempts: []attempt{failed, failed, {product: SLB}, failed}},
		{name: "an answer in the end", attempts: []attempt{failed, failed, failed, {product: SLB}}},
		{name: "another product answers", attempts: []attempt{failed, failed, failed, {product: VPC}}, want: "no answer from slb.test"},
		{name: "long ago", attempts: []attempt{failed, failed, failed}, later: staleFailure},
		{name: "callers that gave up", attempts: []attempt{failed, failed, {SLB, time.Minute, context.Canceled}}},
		{name: "answers for which callers have no room", attempts: []attempt{failed, failed, {SLB, 0, errTooLong}, failed}},
		{name: "callers in haste", attempts: []attempt{failed, failed, {SLB, time.Second, context.DeadlineExceeded}}},
		{name: "patient callers", attempts: []attempt{failed, failed, {SLB, connectTimeout, context.DeadlineExceeded}}, want: "3 attempts"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &Client{hosts: map[Product]string{SLB: "slb.test", VPC: "vpc.test"}, reach: newReach(nil)}
				for _, a := range tt.attempts {
					begun := time.Now()
					<-time.After(a.took)
					c.reach.note(a.product, begun, a.err)
				}
				<-time.After(tt.later)
				err := c.Reachable()
				if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
					t.Errorf("got %v, want %q", err, tt.want)
				}
			})
		})
	}
}

// TestUnansweredIsForgotten: the metric of a product that nobody calls any more says nothing about it. Else an alert about
// calls of a tool that is gone would fire until the gateway is started again.
func TestUnansweredIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		r := newReach(registry)
		fail := func() { r.note(Alidns, time.Now(), errors.New("no route to host")) }
		want := func(after time.Duration, want float64) {
			t.Helper()
			<-time.After(after)
			all, err := registry.Gather()
			if err != nil || len(all) != 1 || len(all[0].GetMetric()) != 1 {
				t.Fatalf("%v, %v", all, err)
			}
			if got := all[0].GetMetric()[0].GetGauge().GetValue(); got != want {
				t.Errorf("%g attempts without an answer, want %g", got, want)
			}
		}
		for range enoughFailures {
			fail()
		}
		want(0, enoughFailures)
		want(forgotten-time.Second, enoughFailures) // Who backs off calls every five or six minutes.
		fail()
		want(forgotten-time.Second, enoughFailures+1)
		want(time.Second, 0)
		fail() // One connection may break.
		want(0, 1)
		<-time.After(forgotten)
		fail()
		want(0, 1)
	})
}

// TestReachableFollowsCalls: a call whose attempts all break makes the product unreachable, and the next answer mends it, also a
// refusal.
func TestReachableFollowsCalls(t *testing.T) {
	gone := step{drop: true}
	cloud := newFakeCloud(t, gone, gone, gone, gone, step{status: 403, code: "Forbidden.RAM"})
	w := newWorld(t, cloud.host(), nil)
	if _, err := w.client.Do(t.Context(), read, nil); err == nil {
		t.Fatal("no error")
	}
	if err := w.client.Reachable(); err == nil || !strings.Contains(err.Error(), "no answer from "+cloud.host()) {
		t.Errorf("without an answer: %v", err)
	}
	if _, err := w.client.Do(t.Context(), read, nil); err == nil {
		t.Fatal("no error")
	}
	if err := w.client.Reachable(); err != nil {
		t.Errorf("after a refusal: %v", err)
	}
}
