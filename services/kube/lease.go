package kube

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// Standing is what a replica knows of the election.
type Standing struct {
	// Leader is the identity of the active replica, empty if there is none.
	Leader string
	// Leads reports whether that is this one.
	Leads bool
	// Since is when the leader took the Lease, by its own clock; zero if there is none.
	Since time.Time
	// Until is when a replica before this one may have worked last, zero if none is known.
	Until time.Time
}

// errNotStanding is the state before the Lease has been read for the first time.
var errNotStanding = errors.New("it has not been read yet")

// Standing says how the election stands. Its error is for people: why nothing is known of the Lease, or not any more.
func (e *Election) Standing() (Standing, error) {
	if !e.cfg.Enabled {
		return Standing{Leads: true}, nil
	}
	standing, err := e.lock.standing()
	if err != nil {
		return standing, fmt.Errorf("the Lease %s: %w", e.lock.Describe(), err)
	}
	return standing, nil
}

// Register makes the metric that shows who leads, the same one for all processes. Its name is that of Kubernetes' own components.
func (e *Election) Register(registerer prometheus.Registerer, process string) {
	promauto.With(registerer).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "leader_election_master_status", ConstLabels: prometheus.Labels{"name": process},
		Help: "1 in the replica that leads, 0 in a standby.",
	}, func() float64 {
		if standing, err := e.Standing(); err == nil && standing.Leads {
			return 1
		}
		return 0
	})
}

// Holds reports whether the lease is certain to be this replica's: it has been renewed, or there is no election. A process that did not
// run for a while, or whose machine was suspended, has lost the lease before its election notices that.
func (e *Election) Holds() bool {
	if !e.cfg.Enabled {
		return true
	}
	_, renew, _ := e.cfg.durations()
	now := time.Now()
	return e.lock.heldFor(now, now) < renew
}

// watchedLock is a lock that remembers what the election has seen on its way through it.
type watchedLock struct {
	resourcelock.Interface

	mu    sync.Mutex
	last  *resourcelock.LeaderElectionRecord // nil: none has been seen
	until time.Time
	held  time.Time // when the last request began that made or renewed the lease for this replica
	renew time.Duration
	lost  *time.Timer // goes off when the lease was held for that long without a renewal; nil before whenLost and after its stop
	read  bool
	err   error // of the last request, nil if it was answered
}

// Get reads the Lease.
func (l *watchedLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if apierrors.IsNotFound(err) {
		l.note(nil, nil)
	} else {
		l.note(record, err)
	}
	return record, raw, err
}

// Create makes the Lease.
func (l *watchedLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	begun := time.Now()
	err := l.Interface.Create(ctx, record)
	l.note(&record, err)
	l.hold(record, begun, err)
	return err
}

// Update takes, renews or gives back the Lease.
func (l *watchedLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	begun := time.Now()
	err := l.Interface.Update(ctx, record)
	l.note(&record, err)
	l.hold(record, begun, err)
	return err
}

// note remembers what a request has shown: the Lease, that there is none, or why it could not be known.
func (l *watchedLock) note(record *resourcelock.LeaderElectionRecord, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err):
		return // Another replica was faster, and the next read shows which.
	case err != nil:
		l.err = err
		return
	}
	l.read, l.err, l.last = true, nil, record
	if record != nil && record.HolderIdentity != l.Identity() {
		// Without a holder the record is that of a leader that has given it back when all work was done. The times are of the other's
		// clock; nodes' clocks differ by much less than the windows of the cloud's limits.
		l.until = record.RenewTime.Add(time.Duration(record.LeaseDurationSeconds) * time.Second)
	}
}

// hold notes that a request has made or renewed the lease for this replica, or given it back.
func (l *watchedLock) hold(record resourcelock.LeaderElectionRecord, begun time.Time, err error) {
	if err != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = begun
	if record.HolderIdentity != l.Identity() {
		l.held = time.Time{}
	}
	switch {
	case l.lost == nil:
	case l.held.IsZero():
		l.lost.Stop()
	default:
		l.lost.Reset(l.renew - time.Since(begun))
	}
}

// whenLost calls lost when the lease was held for so long without a renewal, until stop.
func (l *watchedLock) whenLost(renew time.Duration, lost func()) (stop func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.renew, l.lost = renew, time.AfterFunc(renew, lost)
	l.lost.Stop() // The lease is not held yet.
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.lost.Stop()
		l.lost = nil
	}
}

// heldFor is how long ago the lease was last seen to be this replica's, by the clock for which that is longer: the
// monotonic one stands still while the machine is suspended, and the other replicas' don't.
func (l *watchedLock) heldFor(now, wall time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return passed(l.held, now, wall)
}

// passed is the time since then by the monotonic clock of now, or by that on the wall.
func passed(since, now, wall time.Time) time.Duration {
	return max(now.Sub(since), wall.Round(0).Sub(since.Round(0)))
}

func (l *watchedLock) standing() (Standing, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	standing := Standing{Until: l.until}
	if l.last != nil {
		standing.Leader = l.last.HolderIdentity
	}
	if standing.Leader != "" {
		standing.Since = l.last.AcquireTime.Time
	}
	standing.Leads = standing.Leader == l.Identity()
	switch {
	case l.err != nil:
		return standing, l.err
	case !l.read:
		return standing, errNotStanding
	}
	return standing, nil
}
