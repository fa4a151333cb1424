package kube

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"alicloud-controllers.dev/services/config"
)

// Durations of the election if the configuration has none; those of Kubernetes' own components.
const (
	defaultLease = 15 * time.Second
	defaultRenew = 10 * time.Second
	defaultRetry = 2 * time.Second
	// minSlack is the least time between a leader's giving up and the start of the next.
	minSlack = time.Second
	// releaseTimeout bounds the giving back of the lease, which only saves the next leader a wait.
	releaseTimeout = 5 * time.Second
)

// ElectionConfig describes the election of the one active replica.
type ElectionConfig struct {
	// Enabled lets one replica work and the others stand by. Without it, run one replica only.
	Enabled bool `json:"enabled"`
	// Namespace is where the Lease is.
	Namespace string `json:"namespace"`
	// Name of the Lease.
	Name string `json:"name"`
	// LeaseDuration is how long the others wait for a leader that has gone silent. Default: 15s.
	LeaseDuration config.Duration `json:"leaseDuration"`
	// RenewDeadline is when a leader gives up that can't renew its Lease. Default: 10s.
	RenewDeadline config.Duration `json:"renewDeadline"`
	// RetryPeriod is how often a leader renews its Lease, and the others look at it. Default: 2s.
	RetryPeriod config.Duration `json:"retryPeriod"`
}

// Validate notes what is wrong, under key.
func (c ElectionConfig) Validate(p *config.Problems, key string) {
	if !c.Enabled {
		return
	}
	p.Required(key+".namespace", c.Namespace)
	p.Required(key+".name", c.Name)
	lease, renew, retry := c.durations()
	if lease-renew < minSlack {
		p.Addf(key+".leaseDuration", "%s is not at least %s longer than renewDeadline, %s", lease, minSlack, renew)
	}
	if float64(renew) <= leaderelection.JitterFactor*float64(retry) {
		p.Addf(key+".renewDeadline", "%s is not longer than %g times retryPeriod, %s", renew, leaderelection.JitterFactor, retry)
	}
}

// Drain is how long work may go on after a leader has to stop: four fifths of the lease's slack, which is the time between a
// leader's giving up and the start of the next. The last fifth is for canceled work to return and for clocks that run unevenly.
// It is zero, which bounds nothing, without an election.
func (c ElectionConfig) Drain() time.Duration {
	if !c.Enabled {
		return 0
	}
	lease, renew, _ := c.durations()
	return (lease - renew) * 4 / 5 //nolint:mnd // The comment says so.
}

func (c ElectionConfig) durations() (lease, renew, retry time.Duration) {
	return c.LeaseDuration.Or(defaultLease), c.RenewDeadline.Or(defaultRenew), c.RetryPeriod.Or(defaultRetry)
}

// Identity names this replica in the Lease: in a cluster its pod, if POD_NAME and POD_UID name it. A container that is
// started again, which the kubelet does only after the one before it has ended, then goes on with its Lease at once.
func Identity() (string, error) {
	if pod, uid := os.Getenv("POD_NAME"), os.Getenv("POD_UID"); pod != "" && uid != "" {
		return pod + "_" + uid, nil
	}
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("name this replica: %w", err)
	}
	return host + "_" + string(uuid.NewUUID()), nil
}

// ErrLeaseLost ends a leader that could not renew its lease.
var ErrLeaseLost = errors.New("lost the lease")

// Election is a replica's part in the election of the active one, and what it knows of the others.
type Election struct {
	cfg  ElectionConfig
	lock *watchedLock
	log  *slog.Logger
}

// NewElection makes the part of the replica with that identity.
func NewElection(client kubernetes.Interface, cfg ElectionConfig, identity string, log *slog.Logger) *Election {
	return &Election{cfg: cfg, lock: &watchedLock{Interface: newLock(client, cfg, identity)}, log: log}
}

// GiveBack gives the lease back that this replica has from its last life, when it can't go on with it. It must not run.
func (e *Election) GiveBack(ctx context.Context) {
	if !e.cfg.Enabled {
		return
	}
	if err := release(ctx, e.lock); err != nil {
		e.log.Info("the lease of the last life was not given back", "lease", e.lock.Describe(), "error", err)
	}
}

// Run waits for the lease and then runs run, whose context ends with ctx or with the lease. The lease is renewed for as long as
// run takes to return and given back only then, so that two leaders never work at once. The result is run's, or ErrLeaseLost;
// nil if ctx ends before the lease was won.
func (e *Election) Run(ctx context.Context, run func(ctx context.Context) error) error {
	if !e.cfg.Enabled {
		return run(ctx)
	}
	leading, endLeading := context.WithCancelCause(ctx)
	defer endLeading(nil)
	// client-go gives up a retryPeriod later: it counts from the answer to the last renewal, and begins to count with the
	// next attempt. The others count from the renewal itself.
	_, renew, _ := e.cfg.durations()
	defer e.lock.whenLost(renew, func() { endLeading(ErrLeaseLost) })()
	// The election outlives ctx, until run has returned. client-go takes its logger from the context.
	electing, endElecting := context.WithCancel(klog.NewContext(context.WithoutCancel(ctx), logr.FromSlogHandler(e.log.Handler())))
	defer endElecting()
	won, ended := make(chan struct{}), make(chan struct{})
	elector, err := newElector(e.cfg, e.lock, leaderelection.LeaderCallbacks{
		OnStartedLeading: func(context.Context) { close(won) },
		OnStoppedLeading: func() { endLeading(ErrLeaseLost) },
		OnNewLeader: func(leader string) {
			e.log.Info("leader elected", "lease", e.lock.Describe(), "leader", leader, "own", leader == e.lock.Identity())
		},
	})
	if err != nil {
		return err
	}
	go func() {
		defer close(ended)
		elector.Run(electing)
	}()
	select {
	case <-won:
		err = run(leading)
		if errors.Is(context.Cause(leading), ErrLeaseLost) {
			err = errors.Join(fmt.Errorf("%w %s", ErrLeaseLost, e.lock.Describe()), err)
		}
	case <-ctx.Done():
	case <-ended:
		err = fmt.Errorf("%w %s", ErrLeaseLost, e.lock.Describe())
	}
	endElecting()
	<-ended
	if releaseErr := release(ctx, e.lock); releaseErr != nil {
		e.log.Info("the lease was not given back; the next leader has to wait for its end", "lease", e.lock.Describe(), "error", releaseErr)
	}
	return err
}

func newLock(client kubernetes.Interface, cfg ElectionConfig, identity string) *resourcelock.LeaseLock {
	return &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: cfg.Namespace, Name: cfg.Name},
		Client:     client.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
	}
}

func newElector(cfg ElectionConfig, lock resourcelock.Interface, callbacks leaderelection.LeaderCallbacks,
) (*leaderelection.LeaderElector, error) {
	lease, renew, retry := cfg.durations()
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: lease, RenewDeadline: renew, RetryPeriod: retry, Callbacks: callbacks, Name: cfg.Name,
		// Not by client-go, which would do it on a failed renewal, too, with the work still going on.
		ReleaseOnCancel: false,
	})
	if err != nil {
		return nil, fmt.Errorf("leader election: %w", err)
	}
	return elector, nil
}

// release gives the lease back if it is still ours.
func release(ctx context.Context, lock resourcelock.Interface) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	held, _, err := lock.Get(ctx)
	if apierrors.IsNotFound(err) || err == nil && held.HolderIdentity != lock.Identity() {
		return nil
	}
	if err != nil {
		return err
	}
	now := metav1.Now()
	return lock.Update(ctx, resourcelock.LeaderElectionRecord{
		LeaderTransitions: held.LeaderTransitions, LeaseDurationSeconds: 1, RenewTime: now, AcquireTime: now,
	})
}
