package kube_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"alicloud-controllers.dev/services/kube"
)

// part is a replica in the election.
type part struct {
	*kube.Election

	leading chan struct{} // closed when it leads
	stop    func()        // gives the Lease back
}

func join(t *testing.T, client *fake.Clientset, identity string) part {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	p := part{Election: kube.NewElection(client, election(), identity, discard), leading: make(chan struct{})}
	ended := make(chan error, 1)
	go func() {
		ended <- p.Run(ctx, func(ctx context.Context) error {
			close(p.leading)
			<-ctx.Done()
			return nil
		})
	}()
	p.stop = func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, kube.ErrLeaseLost) {
			t.Errorf("%s: %v", identity, err)
		}
	}
	return p
}

// standing is what a replica knows when nothing stirs any more.
func (p part) standing(t *testing.T) kube.Standing {
	t.Helper()
	synctest.Wait()
	got, err := p.Standing()
	if err != nil {
		t.Errorf("standing: %v", err)
	}
	return got
}

func TestStandingOfAllReplicas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		begun := time.Now()
		first := join(t, client, "first")
		<-first.leading
		if diff := cmp.Diff(kube.Standing{Leader: "first", Leads: true, Since: begun}, first.standing(t)); diff != "" {
			t.Errorf("the first replica of all (-want +got):\n%s", diff)
		}
		second := join(t, client, "second")
		synctest.Wait()
		if got := second.standing(t); got.Leader != "first" || got.Leads || !got.Since.Equal(begun) {
			t.Errorf("the standby knows %+v", got)
		}
		<-time.After(time.Minute)
		first.stop()
		stopped := time.Now()
		<-second.leading
		got := second.standing(t)
		if got.Leader != "second" || !got.Leads || got.Since.Before(stopped) {
			t.Errorf("the next leader knows %+v", got)
		}
		if late := got.Until.Sub(stopped); late < 0 || late > 2*time.Second {
			t.Errorf("the leader before stopped %s before the time that the next one knows, want at most 2s", late)
		}
		second.stop()
	})
}

// TestStandingAfterAKill: nobody gave the Lease back, so the one before may have worked to its end.
func TestStandingAfterAKill(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		var dead atomic.Bool
		client.PrependReactor("update", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
			return dead.Load(), nil, errors.New("dead")
		})
		first := join(t, client, "first")
		<-first.leading
		dead.Store(true)
		killed := time.Now()
		<-time.After(time.Hour)
		first.stop()
		dead.Store(false)
		second := join(t, client, "second")
		<-second.leading
		got := second.standing(t)
		if since := got.Until.Sub(killed); !got.Leads || since < 10*time.Second || since > 15*time.Second {
			t.Errorf("the next leader knows %+v, %s after the last renewal; want the end of the lease", got, since)
		}
		second.stop()
	})
}

func TestStandingIsNotKnown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		e := kube.NewElection(client, election(), "x", discard)
		if _, err := e.Standing(); err == nil || err.Error() != "the Lease kube-system/lbcontroller: it has not been read yet" {
			t.Errorf("before the start: %v", err)
		}
		client.PrependReactor("get", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, errors.New("leases is forbidden")
		})
		p := join(t, client, "x")
		synctest.Wait()
		if got, err := p.Standing(); err == nil || !strings.HasSuffix(err.Error(), "leases is forbidden") || got.Leads {
			t.Errorf("without permission: %+v, %v", got, err)
		}
		p.stop()
	})
}

func TestStandingWithoutElection(t *testing.T) {
	t.Parallel()
	e := kube.NewElection(fake.NewClientset(), kube.ElectionConfig{}, "x", discard)
	if got, err := e.Standing(); err != nil || !got.Leads || !got.Until.IsZero() {
		t.Errorf("standing %+v, %v", got, err)
	}
}

// TestHolds: a replica that cannot renew its lease knows when it is not certain any more that nobody else leads.
func TestHolds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		var down atomic.Bool
		client.PrependReactor("update", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
			return down.Load(), nil, errors.New("no connection")
		})
		if kube.NewElection(client, election(), "idle", discard).Holds() {
			t.Error("the lease is held before it was won")
		}
		first := join(t, client, "first")
		<-first.leading
		<-time.After(time.Minute)
		if !first.Holds() {
			t.Error("the lease is not held although it is renewed")
		}
		down.Store(true)
		start := time.Now()
		for first.Holds() {
			<-time.After(100 * time.Millisecond)
		}
		const renew = 10 * time.Second // the default
		if took := time.Since(start); took > renew {
			t.Errorf("the lease was held for %s without a renewal, want at most %s", took, renew)
		}
		first.stop()
	})
	if !kube.NewElection(fake.NewClientset(), kube.ElectionConfig{}, "alone", discard).Holds() {
		t.Error("a replica without an election may not work")
	}
}

// TestHoldsFromTheBeginning: the lease counts from the moment at which the renewal was asked for: the other replicas may have seen
// it then. One that was given back is not held.
func TestHoldsFromTheBeginning(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		var slow atomic.Bool
		var begun atomic.Pointer[time.Time]
		client.PrependReactor("update", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
			switch {
			case begun.Load() != nil:
				return true, nil, errors.New("no connection")
			case slow.Load():
				now := time.Now()
				begun.Store(&now)
				<-time.After(8 * time.Second)
			}
			return false, nil, nil
		})
		first := join(t, client, "first")
		<-first.leading
		slow.Store(true)
		for first.Holds() {
			<-time.After(100 * time.Millisecond)
		}
		const renew = 10 * time.Second // the default
		if at := begun.Load(); at == nil || time.Since(*at) > renew {
			t.Errorf("the lease was held until %s, and last renewed at %v", time.Now(), at)
		}
		first.stop()
	})
	synctest.Test(t, func(t *testing.T) {
		first := join(t, fake.NewClientset(), "first")
		<-first.leading
		first.stop()
		if first.Holds() {
			t.Error("the lease is held although it was given back")
		}
	})
}
