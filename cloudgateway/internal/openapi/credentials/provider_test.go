package credentials

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// source hands out credentials with a number, which live for life; zero: for ever.
type source struct {
	mu      sync.Mutex
	life    time.Duration
	n       int
	err     error
	fetched []time.Duration // since the beginning
	begin   time.Time
	fixed   bool // always number 1
}

func (s *source) Name() string { return "test" }

func (s *source) Fetch(context.Context) (Credentials, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fetched = append(s.fetched, time.Since(s.begin))
	if s.err != nil {
		return Credentials{}, s.err
	}
	if !s.fixed || s.n == 0 {
		s.n++
	}
	c := Credentials{AccessKeyID: fmt.Sprintf("key-%d", s.n), AccessKeySecret: "s"}
	if s.life > 0 {
		c.SecurityToken, c.Expires = "t", time.Now().Add(s.life)
	}
	return c, nil
}

func (s *source) setLife(life time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.life = life
}

func (s *source) failWith(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// run starts a provider inside a synctest bubble.
func run(t *testing.T, s *source, reg prometheus.Registerer) *Provider {
	t.Helper()
	s.begin = time.Now()
	return keep(t, s, reg)
}

// keep runs a provider of any source.
func keep(t *testing.T, s Source, reg prometheus.Registerer) *Provider {
	t.Helper()
	p := New(s, reg, slog.New(slog.DiscardHandler))
	start(t, p)
	return p
}

func start(t *testing.T, p *Provider) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := p.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { stop(); running.Wait() })
	synctest.Wait()
}

func after(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func current(t *testing.T, p *Provider) string {
	t.Helper()
	c, err := p.Current()
	if err != nil {
		t.Fatal(err)
	}
	return c.AccessKeyID
}

func TestRefreshWithAThirdOfLifeLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{life: 3 * time.Hour}
		p := run(t, s, nil)
		after(2*time.Hour - time.Second)
		if got := current(t, p); got != "key-1" {
			t.Errorf("before two thirds of its life: %s", got)
		}
		after(time.Second)
		if got := current(t, p); got != "key-2" {
			t.Errorf("after two thirds of its life: %s", got)
		}
	})
}

// TestClockThatJumps: after a machine slept, or its clock was set, new credentials come with the next look at the clock.
func TestClockThatJumps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{life: 3 * time.Hour}
		p := New(s, nil, slog.New(slog.DiscardHandler))
		var slept atomic.Int64
		p.now = func() time.Time { return time.Now().Round(0).Add(time.Duration(slept.Load())) }
		start(t, p)
		slept.Store(int64(4 * time.Hour))
		if err := p.Ready(); err == nil || !strings.Contains(err.Error(), "they expired at") {
			t.Errorf("just woken up: %v", err)
		}
		s.setLife(12 * time.Hour) // of the clock that stood still
		after(30 * time.Second)
		if got := current(t, p); got != "key-2" {
			t.Errorf("half a minute later: %s", got)
		}
	})
	now := time.Now()
	for _, tt := range []struct {
		name     string
		due, now time.Time
		want     bool
	}{
		{"not yet", now.Add(time.Second), now, false},
		{"now", now, now, true},
		{"by the clock only", now.Add(time.Hour), now.Round(0).Add(2 * time.Hour), true},
	} {
		if got := reached(tt.due, tt.now); got != tt.want {
			t.Errorf("%s: %t", tt.name, got)
		}
	}
}

func TestOldCredentialsServeToTheirEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewPedanticRegistry()
		s := &source{life: 3 * time.Hour}
		p := run(t, s, reg)
		s.failWith(errors.New("connection refused"))
		after(3*time.Hour - time.Second)
		if got := current(t, p); got != "key-1" || p.Ready() != nil {
			t.Errorf("just before the end: %s", got)
		}
		after(time.Second)
		if err := p.Ready(); err == nil || err.Error() != "no valid cloud credentials from test: connection refused" {
			t.Errorf("after the end: %v", err)
		}
		s.failWith(nil)
		after(2 * time.Second)
		if got := current(t, p); got != "key-2" {
			t.Errorf("after the source came back: %s", got)
		}
		n, err := testutil.GatherAndCount(reg, "cloudgateway_credentials_expiry_timestamp_seconds", "cloudgateway_credentials_refreshes_total")
		if n != 3 || err != nil { // expiry, and the outcomes changed and error
			t.Errorf("%d metrics, %v", n, err)
		}
	})
}

func TestLongLivedKeysArePolled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{}
		p := run(t, s, nil)
		after(30 * time.Second)
		if got := current(t, p); got != "key-2" {
			t.Errorf("after the file changed: %s", got)
		}
	})
}

func TestBeforeTheFirstFetch(t *testing.T) {
	p := New(&source{}, nil, slog.New(slog.DiscardHandler))
	if err := p.Ready(); err == nil || !strings.Contains(err.Error(), "not been fetched yet") {
		t.Errorf("Ready = %v", err)
	}
}

func TestExpiredCredentialsAreNotTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := run(t, &source{life: time.Nanosecond}, nil)
		after(time.Millisecond)
		if err := p.Ready(); err == nil || !strings.Contains(err.Error(), "they expired at") {
			t.Errorf("Ready = %v", err)
		}
	})
}

func TestRenew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{life: 3 * time.Hour}
		p := run(t, s, nil)
		after(time.Minute)
		refused, err := p.Current()
		if err != nil {
			t.Fatal(err)
		}
		var callers sync.WaitGroup
		for range 10 {
			callers.Go(func() {
				if !p.Renew(t.Context(), refused) {
					t.Error("no newer credentials")
				}
			})
		}
		callers.Wait()
		if got := current(t, p); got != "key-2" {
			t.Errorf("%s after ten calls were refused, want one renewal", got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		newest, err := p.Current()
		if err != nil {
			t.Fatal(err)
		}
		if p.Renew(ctx, newest) {
			t.Error("renewed for a caller that has gone")
		}
	})
}

func TestRenewInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{fixed: true}
		p := run(t, s, nil)
		after(10 * time.Second)
		same, err := p.Current()
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if p.Renew(t.Context(), same) {
				t.Error("the same credentials count as newer")
			}
		}
		if n := len(s.fetched); n != 2 {
			t.Errorf("the source was asked %d times, want 2: refusals in a burst ask once", n)
		}
	})
}

func TestExpiryInTheLog(t *testing.T) {
	t.Parallel()
	if got := ends(time.Time{}); got != "never" {
		t.Errorf("an AccessKey ends %v", got)
	}
	if end := time.Unix(1, 0); ends(end) != end {
		t.Errorf("got %v, want %v", ends(end), end)
	}
}
