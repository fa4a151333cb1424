package kube_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"alicloud-controllers.dev/services/config"
	"alicloud-controllers.dev/services/kube"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("k8s.io/klog/v2.(*flushDaemon).run.func1"))
}

func election() kube.ElectionConfig {
	return kube.ElectionConfig{Enabled: true, Namespace: "kube-system", Name: "lbcontroller"}
}

var discard = slog.New(slog.DiscardHandler)

// candidate takes part in the election.
type candidate struct {
	leading chan struct{} // closed when it leads
	finish  chan error    // what its work gives after the end of its context
	result  chan error    // of Run
	stop    context.CancelFunc
}

func stand(t *testing.T, client *fake.Clientset, identity string) *candidate {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	c := &candidate{leading: make(chan struct{}), finish: make(chan error, 1), result: make(chan error, 1), stop: cancel}
	go func() {
		c.result <- kube.NewElection(client, election(), identity, discard).Run(ctx, func(ctx context.Context) error {
			close(c.leading)
			<-ctx.Done()
			return <-c.finish
		})
	}()
	return c
}

func holder(t *testing.T, client *fake.Clientset) string {
	t.Helper()
	lease, err := client.CoordinationV1().Leases("kube-system").Get(t.Context(), "lbcontroller", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

func TestLeaseIsHeldUntilTheWorkHasEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		first := stand(t, client, "first")
		<-first.leading
		second := stand(t, client, "second")
		first.stop()
		// The work goes on for much longer than the lease lasts without renewal.
		select {
		case <-second.leading:
			t.Error("two lead at once")
		case <-time.After(5 * time.Minute):
		}
		if got := holder(t, client); got != "first" {
			t.Errorf("the lease is held by %q while first still works", got)
		}
		first.finish <- nil
		if err := <-first.result; err != nil {
			t.Errorf("first = %v", err)
		}
		<-second.leading
		second.stop()
		failure := errors.New("no")
		second.finish <- failure
		if err := <-second.result; !errors.Is(err, failure) {
			t.Errorf("second = %v", err)
		}
		if got := holder(t, client); got != "" {
			t.Errorf("the lease is still held by %q", got)
		}
	})
}

func TestStandbyStops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		leader := stand(t, client, "leader")
		<-leader.leading
		standby := stand(t, client, "standby")
		standby.stop()
		if err := <-standby.result; err != nil {
			t.Errorf("standby = %v", err)
		}
		if got := holder(t, client); got != "leader" {
			t.Errorf("the lease is held by %q after the standby's end", got)
		}
		leader.finish <- nil
		leader.stop()
		<-leader.result
	})
}

func TestLostLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		var down atomic.Bool
		client.PrependReactor("update", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
			return down.Load(), nil, errors.New("no API server")
		})
		c := stand(t, client, "only")
		<-c.leading
		down.Store(true)
		c.finish <- errors.New("stopped")
		err := <-c.result
		if !errors.Is(err, kube.ErrLeaseLost) || err.Error() != "lost the lease kube-system/lbcontroller\nstopped" {
			t.Errorf("Run = %v", err)
		}
	})
}

// TestLeaderGivesUpInTime: the time between a leader's giving up and the start of the next is that for which work may
// go on, see Drain. It begins with the last renewal, however long the answer to that was under way.
func TestLeaderGivesUpInTime(t *testing.T) {
	t.Parallel()
	for name, delay := range map[string]time.Duration{"answered at once": 0, "answered late": 4 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client := fake.NewClientset()
				var renewals int
				var renewed time.Time
				client.PrependReactor("update", "leases", func(action clienttesting.Action) (bool, runtime.Object, error) {
					if renewals++; renewals > 5 {
						return true, nil, errors.New("no connection")
					}
					_, lease, err := clienttesting.ObjectReaction(client.Tracker())(action)
					renewed = time.Now()
					<-time.After(delay)
					return true, lease, err
				})
				c := stand(t, client, "only")
				<-c.leading
				c.finish <- nil
				if err := <-c.result; !errors.Is(err, kube.ErrLeaseLost) {
					t.Errorf("Run = %v", err)
				}
				const renew = 10 * time.Second // the default
				if took := time.Since(renewed); took > renew {
					t.Errorf("the leader gave up %s after the last renewal, want at most %s", took, renew)
				}
			})
		})
	}
}

func TestWithoutElection(t *testing.T) {
	t.Parallel()
	failure := errors.New("no")
	client := fake.NewClientset()
	err := kube.NewElection(client, kube.ElectionConfig{}, "x", discard).Run(t.Context(), func(context.Context) error { return failure })
	if !errors.Is(err, failure) || len(client.Actions()) != 0 {
		t.Errorf("Run = %v after %d calls", err, len(client.Actions()))
	}
}

// TestDrainStaysWithinTheLease: work that outlives a lost lease has ended before the next leader starts.
func TestDrainStaysWithinTheLease(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(*kube.ElectionConfig)
		want   time.Duration
	}{
		"defaults":     {func(*kube.ElectionConfig) {}, 4 * time.Second},
		"short lease":  {func(c *kube.ElectionConfig) { c.LeaseDuration = config.Duration(11 * time.Second) }, 800 * time.Millisecond},
		"long lease":   {func(c *kube.ElectionConfig) { c.LeaseDuration = config.Duration(time.Minute) }, 40 * time.Second},
		"no election":  {func(c *kube.ElectionConfig) { c.Enabled = false }, 0},
		"own deadline": {func(c *kube.ElectionConfig) { c.RenewDeadline = config.Duration(5 * time.Second) }, 8 * time.Second},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := election()
			tt.change(&cfg)
			if got := cfg.Drain(); got != tt.want {
				t.Errorf("Drain = %s, want %s", got, tt.want)
			}
		})
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		change func(*kube.ElectionConfig)
		want   string
	}{
		{name: "good", change: func(*kube.ElectionConfig) {}},
		{name: "too short", change: func(c *kube.ElectionConfig) {
			c.LeaseDuration, c.RenewDeadline, c.RetryPeriod = config.Duration(600*time.Millisecond), config.Duration(300*time.Millisecond), 1
		}, want: "e.leaseDuration: 600ms is not at least 1s longer than renewDeadline, 300ms"},
		{name: "off", change: func(c *kube.ElectionConfig) { *c = kube.ElectionConfig{} }},
		{name: "all wrong", change: func(c *kube.ElectionConfig) {
			c.Namespace, c.Name = "", ""
			c.LeaseDuration, c.RenewDeadline, c.RetryPeriod = config.Duration(time.Second), config.Duration(time.Second),
				config.Duration(time.Second)
		}, want: "e.namespace: is required\ne.name: is required\ne.leaseDuration: 1s is not at least 1s longer than renewDeadline, 1s\n" +
			"e.renewDeadline: 1s is not longer than 1.2 times retryPeriod, 1s"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			cfg := election()
			tc.change(&cfg)
			var p config.Problems
			cfg.Validate(&p, "e")
			got := ""
			if err := p.Err(); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("Validate (-want +got):\n%s", diff)
			}
		})
	}
}

// TestIdentity: a replica is its pod, so that a container that is started again leads at once where another would wait for the end of
// the lease.
func TestIdentity(t *testing.T) {
	t.Setenv("POD_NAME", "lbcontroller-1")
	t.Setenv("POD_UID", "7c5f")
	first, err := kube.Identity()
	if err != nil || first != "lbcontroller-1_7c5f" {
		t.Errorf("identity %q, %v", first, err)
	}
	t.Setenv("POD_UID", "")
	for range 2 {
		own, err := kube.Identity()
		if err != nil || own == first || own == "" {
			t.Errorf("without a pod: identity %q, %v", own, err)
		}
		first = own
	}
}

// killed leaves the lease of a leader that was killed.
func killed(t *testing.T, client *fake.Clientset, identity string) {
	t.Helper()
	now := metav1.NowMicro()
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "lbcontroller"},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &identity, LeaseDurationSeconds: new(int32(15)), AcquireTime: &now, RenewTime: &now},
	}
	if _, err := client.CoordinationV1().Leases("kube-system").Create(t.Context(), lease, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func TestOwnLeaseIsTakenAtOnce(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		identity string
		giveBack bool // by the one whose lease it is, before the other stands
		atMost   time.Duration
		atLeast  time.Duration
	}{
		"its own":                         {identity: "first", atMost: 0},
		"another's":                       {identity: "second", atLeast: 15 * time.Second, atMost: 20 * time.Second},
		"another's, which was given back": {identity: "second", giveBack: true, atMost: 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client := fake.NewClientset()
				killed(t, client, "first")
				if tt.giveBack {
					kube.NewElection(client, election(), "third", discard).GiveBack(t.Context()) // Not its own.
					if got := holder(t, client); got != "first" {
						t.Errorf("a stranger gave it to %q", got)
					}
					kube.NewElection(client, election(), "first", discard).GiveBack(t.Context())
				}
				start := time.Now()
				c := stand(t, client, tt.identity)
				<-c.leading
				if took := time.Since(start); took < tt.atLeast || took > tt.atMost {
					t.Errorf("it took %s, right is %s to %s", took, tt.atLeast, tt.atMost)
				}
				c.finish <- nil
				c.stop()
				if err := <-c.result; err != nil {
					t.Error(err)
				}
			})
		})
	}
}
