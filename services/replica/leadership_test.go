package replica

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"

	"alicloud-controllers.dev/services/kube"
	"alicloud-controllers.dev/services/kube/kubetest"
)

// stage is a replica that takes part in an election, and what it has come to.
type stage struct {
	*leadership

	events *kubetest.Recorder
	leads  bool
}

// play lets a replica stand for election in a world with these objects, until body returns.
func play(t *testing.T, body func(s *stage), objects ...runtime.Object) {
	t.Helper()
	playWith(t, func(*stage, *fake.Clientset) {}, body, objects...)
}

func playWith(t *testing.T, edit func(*stage, *fake.Clientset), body func(s *stage), objects ...runtime.Object) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(objects...)
		s := &stage{events: &kubetest.Recorder{}}
		cfg := kube.ElectionConfig{Enabled: true, Namespace: "kube-system", Name: "sample"}
		s.leadership = &leadership{
			election: kube.NewElection(client, cfg, "me", slog.New(slog.DiscardHandler)), client: client, recorder: s.events,
			log: slog.New(slog.DiscardHandler), name: "sample",
		}
		edit(s, client)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- s.run(ctx, func(ctx context.Context) error {
				s.leads = true
				<-ctx.Done()
				return nil
			})
		}()
		<-time.After(time.Second)
		synctest.Wait()
		body(s)
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("it ends with %v", err)
		}
	})
}

// says gives the condition of readiness, "" if it holds.
func (s *stage) says() string {
	if err := s.check().Check(context.Background()); err != nil {
		return err.Error()
	}
	return ""
}

func (s *stage) metric(t *testing.T) float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	s.election.Register(registry, "sample")
	return kubetest.Metric(t, registry, "leader_election_master_status")["sample"]
}

// ccm is the Lease of the existing CCM, renewed a time ago.
func ccm(holder string, ago time.Duration) *coordinationv1.Lease {
	renewed := metav1.NewMicroTime(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(-ago)) // A bubble begins then.
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "ccm"},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: &renewed, LeaseDurationSeconds: new(int32(15))},
	}
}

func TestLeads(t *testing.T) {
	for name, objects := range map[string][]runtime.Object{
		"nothing else is there": nil, "the existing CCM has ended": {ccm("ccm-0", time.Minute)}, "it has given its Lease back": {ccm("", 0)},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(s *stage) {
				if !s.leads || s.says() != "" || s.describe() != "this replica leads" || s.metric(t) != 1 {
					t.Errorf("leads %t, ready %q, says %s, metric %v", s.leads, s.says(), s.describe(), s.metric(t))
				}
			}, objects...)
		})
	}
}

// TestForbiddenLease: a controller whose role lacks the Lease never works, and must not be ready.
func TestForbiddenLease(t *testing.T) {
	forbid := func(_ *stage, client *fake.Clientset) {
		client.PrependReactor("*", "leases", func(kubetesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}, "sample", nil)
		})
	}
	playWith(t, forbid, func(s *stage) {
		if got := s.says(); s.leads || !strings.Contains(got, "kube-system/sample") || !strings.Contains(got, "forbidden") {
			t.Errorf("leads %t, says %q", s.leads, got)
		}
		if s.describe() != "not known at present" || s.metric(t) != 0 || !strings.Contains(s.says(), "next step: check that the ServiceAccount") {
			t.Errorf("says %s, metric %v", s.describe(), s.metric(t))
		}
	})
}

// TestStandsBy: a replica beside a leader is ready, and says which one leads.
func TestStandsBy(t *testing.T) {
	lease := ccm("another", 0)
	lease.Name = "sample"
	play(t, func(s *stage) {
		if s.leads || s.says() != "" || s.describe() != "standby: another leads" || s.metric(t) != 0 {
			t.Errorf("leads %t, ready %q, says %s, metric %v", s.leads, s.says(), s.describe(), s.metric(t))
		}
	}, lease)
}

// TestExistingCCM runs beside the controller for a while: it does not lead meanwhile, says so, and leads when that one has ended.
func TestExistingCCM(t *testing.T) {
	play(t, func(s *stage) {
		text := "another cloud controller manager runs (ccm-0 renews the Lease kube-system/ccm)"
		if got := s.says(); s.leads || !strings.HasPrefix(got, text) || s.metric(t) != 0 {
			t.Errorf("leads %t, says %q", s.leads, got)
		}
		if got := s.events.Matching("ccm OtherControllerRuns: sample does not lead: " + text); len(got) == 0 {
			t.Errorf("events %q", s.events.Matching(""))
		}
		<-time.After(30 * time.Second)
		synctest.Wait()
		if !s.leads || s.says() != "" {
			t.Errorf("after its end: leads %t, says %q", s.leads, s.says())
		}
	}, ccm("ccm-0", 0))
}

// TestExistingCCMThatSharesNoWork: its user has said that it may run.
func TestExistingCCMThatSharesNoWork(t *testing.T) {
	playWith(t, func(s *stage, _ *fake.Clientset) { s.beside = true }, func(s *stage) {
		if !s.leads {
			t.Error("it does not lead")
		}
	}, ccm("ccm-0", 0))
}
