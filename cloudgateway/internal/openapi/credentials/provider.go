package credentials

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

const (
	// how often files, and sources of credentials that never end, are read again, so that a change is noticed
	poll              = 30 * time.Second
	retryMin          = time.Second
	retryMax          = time.Minute
	fetchTimeout      = 20 * time.Second
	shortestRefresh   = 10 * time.Second // however soon the source says its credentials end
	renewLeastSpacing = 5 * time.Second  // a burst of refused calls asks the source once
)

// Provider hands out the current credentials without ever waiting for their source. Run refreshes them when a third of their
// life is left; until newer ones have arrived the old ones are used to their end.
type Provider struct {
	source  Source
	log     *slog.Logger
	now     func() time.Time
	current atomic.Pointer[snapshot]
	renew   chan chan struct{}
	tried   chan struct{}

	expiry    prometheus.Gauge
	refreshes *prometheus.CounterVec
}

// snapshot is what the last fetches brought: credentials that may still be good, and the error of the last attempt.
type snapshot struct {
	credentials Credentials
	fetched     time.Time
	err         error
}

// New makes a provider that has no credentials until Run has fetched them.
func New(source Source, registerer prometheus.Registerer, log *slog.Logger) *Provider {
	factory := promauto.With(registerer)
	labels := prometheus.Labels{"source": source.Name()}
	p := &Provider{
		source: source,
		log:    log.With("source", source.Name()),
		now:    time.Now,
		renew:  make(chan chan struct{}),
		tried:  make(chan struct{}),
		expiry: factory.NewGauge(prometheus.GaugeOpts{
			Name:        "cloudgateway_credentials_expiry_timestamp_seconds",
			Help:        "When the cloud credentials in use end, as Unix time; 0 if they never do or there are none.",
			ConstLabels: labels,
		}),
		refreshes: factory.NewCounterVec(prometheus.CounterOpts{
			Name:        "cloudgateway_credentials_refreshes_total",
			Help:        "Fetches of cloud credentials from their source, by outcome (changed, unchanged, error).",
			ConstLabels: labels,
		}, []string{"outcome"}),
	}
	p.current.Store(&snapshot{err: errors.New("they have not been fetched yet")})
	return p
}

// Current returns the credentials to sign with. Its error is for people: why there are none.
func (p *Provider) Current() (Credentials, error) {
	s := p.current.Load()
	err := s.credentials.Usable(p.now())
	if err == nil {
		return s.credentials, nil
	}
	if s.err != nil {
		err = s.err // why there are no newer ones
	}
	return Credentials{}, fmt.Errorf("no valid cloud credentials from %s: %w", p.source.Name(), err)
}

// Tried is closed once the source has answered or failed for the first time.
func (p *Provider) Tried() <-chan struct{} { return p.tried }

// Ready is nil when there are credentials; for readiness checks.
func (p *Provider) Ready() error {
	_, err := p.Current()
	return err
}

// Renew asks the source for newer credentials, because the cloud refused those with this AccessKeyId and SecurityToken, and
// waits for the attempt. It reports whether there are others now.
func (p *Provider) Renew(ctx context.Context, refused Credentials) bool {
	if p.differs(refused) {
		return true
	}
	done := make(chan struct{})
	select {
	case p.renew <- done:
	case <-ctx.Done():
		return false
	}
	select {
	case <-done:
	case <-ctx.Done():
	}
	return p.differs(refused)
}

func (p *Provider) differs(refused Credentials) bool {
	c, err := p.Current()
	return err == nil && c != refused
}

// Run fetches credentials and keeps them fresh until ctx ends. It never fails: Ready, logs and metrics show the state. It runs once.
func (p *Provider) Run(ctx context.Context) error {
	due := p.refresh(ctx)
	close(p.tried)
	for ctx.Err() == nil {
		// The clock is looked at every now and then: a timer stands still while the machine is suspended.
		timer := time.NewTimer(min(due.Sub(p.now()), poll))
		select {
		case <-ctx.Done():
		case <-timer.C:
			if reached(due, p.now()) {
				due = p.refresh(ctx)
			}
		case done := <-p.renew:
			if since := p.now().Sub(p.current.Load().fetched); since >= renewLeastSpacing {
				due = p.refresh(ctx)
			}
			close(done)
		}
		timer.Stop()
	}
	return nil
}

// reached reports whether a time has come: by what has passed, or by the clock on the wall, by which credentials end.
func reached(due, now time.Time) bool {
	return !now.Before(due) || !now.Round(0).Before(due.Round(0))
}

// refresh fetches once and returns when to fetch next.
func (p *Provider) refresh(ctx context.Context) time.Time {
	fetchCtx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	got, err := p.source.Fetch(fetchCtx)
	now := p.now()
	old := p.current.Load()
	if err == nil {
		err = got.Usable(now)
	}
	if err != nil {
		if ctx.Err() != nil {
			return now
		}
		p.refreshes.WithLabelValues("error").Inc()
		p.log.Error("cloud credentials not refreshed; the old ones are used until they end", "error", err, "expires",
			ends(old.credentials.Expires))
		p.current.Store(&snapshot{credentials: old.credentials, fetched: now, err: err})
		return now.Add(p.retryIn(old.credentials, now))
	}
	outcome := "unchanged"
	if got != old.credentials {
		outcome = "changed"
		p.log.Info("cloud credentials refreshed", "accessKeyId", got.AccessKeyID, "expires", ends(got.Expires))
	}
	p.refreshes.WithLabelValues(outcome).Inc()
	p.expiry.Set(float64(max(0, got.Expires.Unix()))) // The zero time is before 1970.
	p.current.Store(&snapshot{credentials: got, fetched: now})
	return now.Add(p.refreshIn(got, now))
}

// refreshIn leaves a third of the remaining life for failures of the source.
func (p *Provider) refreshIn(c Credentials, now time.Time) time.Duration {
	if c.Expires.IsZero() {
		return poll
	}
	wait := max(shortestRefresh, c.Expires.Sub(now)*2/3)
	switch p.source.(type) {
	case Files, TokenFile, AddonTokenFile: // Others may change them at any time, and to read them costs nothing.
		wait = min(wait, poll)
	}
	return wait
}

// retryIn is short while there is nothing to sign with. The jitter keeps replicas from asking together.
func (p *Provider) retryIn(c Credentials, now time.Time) time.Duration {
	wait := retryMax
	if c.Usable(now) != nil {
		wait = retryMin
	} else if !c.Expires.IsZero() {
		wait = max(retryMin, min(wait, c.Expires.Sub(now)/4))
	}
	return wait + rand.N(wait/4+1) //nolint:gosec // Jitter needs no secrecy.
}

// ends is what the log shows of an end; an AccessKey has none.
func ends(at time.Time) any {
	if at.IsZero() {
		return "never"
	}
	return at
}
