package replica

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"
)

// TestOtherComesBack lets the existing CCM come back while this replica leads: within a minute an event and the
// condition of readiness say so, and they end with it.
func TestOtherComesBack(t *testing.T) {
	t.Parallel()
	play(t, func(s *stage) {
		lease := ccm("ccm-0", 0)
		leases := s.client.CoordinationV1().Leases("kube-system")
		if _, err := leases.Create(context.Background(), lease, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		for range 30 {
			now := metav1.NowMicro()
			lease.Spec.RenewTime = &now
			if _, err := leases.Update(context.Background(), lease, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			<-time.After(2 * time.Second)
		}
		synctest.Wait()
		if !s.leads || !strings.Contains(s.says(), "ccm-0 renews the Lease kube-system/ccm") {
			t.Errorf("a minute beside the other one: leads %t, readiness %q", s.leads, s.says())
		}
		if strings.Contains(s.says(), "ServiceAccount") {
			t.Errorf("the next step is that of a Lease that is forbidden: %q", s.says())
		}
		if events := s.events.Matching("OtherControllerRuns"); len(events) != 1 || !strings.Contains(events[0], "sample leads") {
			t.Errorf("events %q, want one", events)
		}
		<-time.After(2 * time.Minute)
		synctest.Wait()
		if says := s.says(); says != "" {
			t.Errorf("once the other one has ended: readiness %q", says)
		}
	})
}

// TestStandbySeesTheOther: while another replica leads, this one is not ready either, so that the alert about readiness
// fires, which goes by all replicas. The event is the leader's.
func TestStandbySeesTheOther(t *testing.T) {
	t.Parallel()
	leader := ccm("other replica", 0)
	leader.Name = "sample"
	play(t, func(s *stage) {
		leases := s.client.CoordinationV1().Leases("kube-system")
		if _, err := leases.Create(context.Background(), ccm("ccm-0", 0), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		for range 30 {
			for _, lease := range []*coordinationv1.Lease{leader, ccm("ccm-0", 0)} {
				now := metav1.NowMicro()
				lease.Spec.RenewTime = &now
				if _, err := leases.Update(context.Background(), lease, metav1.UpdateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			<-time.After(2 * time.Second)
		}
		synctest.Wait()
		events := s.events.Matching("OtherControllerRuns")
		if s.leads || !strings.Contains(s.says(), "ccm-0 renews the Lease") || len(events) > 0 {
			t.Errorf("leads %t, readiness %q, events %q", s.leads, s.says(), events)
		}
	}, leader)
}

// TestOtherBehindABlip has the API server away for the one moment in which the Lease of the existing CCM is looked at.
func TestOtherBehindABlip(t *testing.T) {
	t.Parallel()
	failed := false
	playWith(t, func(_ *stage, client *fake.Clientset) {
		client.PrependReactor("get", "leases", func(action kubetesting.Action) (bool, runtime.Object, error) {
			if get, ok := action.(kubetesting.GetAction); ok && get.GetName() == "ccm" && !failed {
				failed = true
				return true, nil, errors.New("TLS handshake timeout")
			}
			return false, nil, nil
		})
	}, func(s *stage) {
		if s.leads || !strings.Contains(s.says(), "can't be seen") {
			t.Errorf("after a look that failed it leads: %t, readiness %q", s.leads, s.says())
		}
		<-time.After(6 * time.Second)
		synctest.Wait()
		if s.leads || len(s.events.Matching("OtherControllerRuns")) == 0 {
			t.Errorf("beside a live Lease it leads: %t, events %q", s.leads, s.events.Matching(""))
		}
	}, ccm("ccm-0", 0))
}
