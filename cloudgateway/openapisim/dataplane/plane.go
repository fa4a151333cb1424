package dataplane

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

const (
	// pollInterval is how often the plane looks whether the cloud changed; a look costs next to nothing.
	pollInterval = 20 * time.Millisecond
	// restFactor is how much longer than a look the time between two looks is at least.
	restFactor = 9
	// retryInterval is how often a listener that could not be opened is tried again.
	retryInterval = time.Second
)

// Cloud is the cloud whose load balancers the plane serves.
type Cloud interface {
	// Generation is another number after every change of the state.
	Generation() uint64
	// Now is the time that ends transitions of the state.
	Now() time.Time
	// View calls f with the state, in which all transitions that have ended are complete.
	View(f func(*state.Cloud))
}

// Config describes a plane.
type Config struct {
	Cloud  Cloud
	Ranges Ranges // complete ones
	Logger *slog.Logger
}

// Plane carries the traffic of a cloud's load balancers. Its methods are safe for concurrent use.
type Plane struct {
	cloud  Cloud
	ranges Ranges
	log    *slog.Logger
	checks *checks
	meters *meters
	wake   chan struct{} // the health of a server changed

	// What the loop alone uses.
	open   map[socket]running
	failed map[socket]string // why a socket is not open
	looked bool
	rest   time.Time // when the next look may be

	mu    sync.Mutex // guards what follows
	world *world
	shown []place
}

// running is a frontend of any protocol.
type running interface {
	apply(*listener)
	close()
	connections(targetID) int
	clientsHidden() int64
}

// New returns a plane that serves nothing until it is run.
func New(cfg Config) (*Plane, error) {
	if err := supported(); err != nil {
		return nil, err
	}
	if err := cfg.Ranges.present(context.Background()); err != nil {
		return nil, err
	}
	p := &Plane{
		cloud: cfg.Cloud, ranges: cfg.Ranges, log: cfg.Logger, wake: make(chan struct{}, 1), open: map[socket]running{},
		failed: map[socket]string{}, meters: &meters{now: time.Now}, world: &world{},
	}
	p.checks = newChecks(attempt, func() {
		select {
		case p.wake <- struct{}{}:
		default: // it will look anyway
		}
	})
	return p, nil
}

// Traffic is what handlers of the cloud need to know of the plane.
func (p *Plane) Traffic() *api.Traffic {
	return &api.Traffic{Internet: p.ranges.Internet, Intranet: p.ranges.Intranet, Health: p.Health}
}

// Sockets are what [Plane.Listeners] returns.
func (p *Plane) Sockets() any { return p.Listeners() }

// Run serves until ctx ends. It returns when everything it opened is closed.
func (p *Plane) Run(ctx context.Context) {
	poll, retry := time.NewTicker(pollInterval), time.NewTicker(retryInterval)
	defer poll.Stop()
	defer retry.Stop()
	for {
		if p.stale() {
			p.look(ctx)
		}
		select {
		case <-ctx.Done():
			p.shutDown()
			return
		case <-poll.C:
		case <-retry.C:
			if len(p.failed) > 0 {
				p.reconcile(ctx, p.current())
			}
		case <-p.wake:
			p.reconcile(ctx, p.current())
		}
	}
}

// stale reports whether the state may have changed since the last look.
func (p *Plane) stale() bool {
	if time.Now().Before(p.rest) {
		return false
	}
	w := p.current()
	return !p.looked || w.generation != p.cloud.Generation() || (!w.due.IsZero() && !p.cloud.Now().Before(w.due))
}

// look derives anew what to do.
func (p *Plane) look(ctx context.Context) {
	generation := p.cloud.Generation() // before the look: what changes meanwhile is looked at again
	var next *world
	begun := time.Now()
	p.cloud.View(func(c *state.Cloud) { next = derive(c, p.ranges) })
	p.rest = time.Now().Add(restFactor * time.Since(begun)) // looks at a large cloud must not keep others from it
	next.generation, p.looked = generation, true
	p.checks.set(ctx, next.probes)
	p.reconcile(ctx, next)
}

// reconcile closes and opens sockets until they are those of the world, and gives every one its settings.
func (p *Plane) reconcile(ctx context.Context, w *world) {
	for s, r := range p.open {
		if w.listeners[s] == nil {
			r.close()
			delete(p.open, s)
			p.log.Info("listener closed", "address", s.addr, "protocol", s.protocol)
		}
	}
	for s := range p.failed {
		if w.listeners[s] == nil {
			delete(p.failed, s)
		}
	}
	for s, spec := range w.listeners {
		if r := p.open[s]; r != nil {
			r.apply(spec)
			continue
		}
		r, err := p.start(ctx, s, spec)
		if err != nil {
			if p.failed[s] != err.Error() { // logged once
				p.log.Warn("listener can't be opened; ports below 1024 may need a capability", "address", s.addr, "protocol", s.protocol, "error", err)
			}
			p.failed[s] = err.Error()
			continue
		}
		delete(p.failed, s)
		p.open[s] = r
		p.log.Info("listener open", "address", s.addr, "protocol", s.protocol, "loadBalancerId", spec.loadBalancerID)
	}
	p.publish(w)
}

// publish shows others what the loop did.
func (p *Plane) publish(w *world) {
	shown := make([]place, 0, len(w.listeners))
	for s, spec := range w.listeners {
		shown = append(shown, place{socket: s, spec: spec, running: p.open[s], problem: p.failed[s]})
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.world, p.shown = w, shown
}

func (p *Plane) start(ctx context.Context, s socket, spec *listener) (running, error) {
	if spec.problem != "" {
		return nil, errors.New(spec.problem)
	}
	f := newFrontend(s, spec, p.checks.standing, p.meters, p.log)
	f.transparent = p.ranges.Transparent
	switch s.protocol {
	case protoTCP, protoTLS:
		return openTCP(ctx, f)
	case protoUDP:
		return openUDP(ctx, f)
	case protoHTTP, protoHTTPS:
		return openHTTP(ctx, f)
	}
	return nil, fmt.Errorf("protocol %q is not known", s.protocol)
}

func (p *Plane) shutDown() {
	var closing sync.WaitGroup
	for _, r := range p.open {
		closing.Go(r.close)
	}
	closing.Wait()
	clear(p.open)
	p.checks.wait()
}

func (p *Plane) current() *world {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.world
}

// Health is what the health checks of a listener know of a server, as DescribeHealthStatus names it.
func (p *Plane) Health(loadBalancerID string, l *state.Listener, s *state.Server) string {
	spec := p.current().byKey[listenerKey{loadBalancerID, l.Port, l.Protocol}]
	if spec == nil {
		return unavailable // the plane has not seen it yet
	}
	key := serverKey{kind: s.Type, serverID: s.ServerID, serverIP: s.ServerIP, port: s.Port}
	for _, t := range spec.pool.targets {
		if t.key == key {
			return standings(p.checks.standing).report(t)
		}
	}
	return unavailable
}
