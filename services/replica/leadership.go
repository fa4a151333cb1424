package replica

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"

	"alicloud-controllers.dev/services/admin"
	"alicloud-controllers.dev/services/kube"
)

const (
	// The Lease of the existing CCM (source: its flags leader-elect-resource-name and -namespace).
	otherNamespace, otherName = metav1.NamespaceSystem, "ccm"
	// otherDuration is how long its Lease holds if that does not say, and otherSlack what the clocks of hosts may differ by.
	otherDuration, otherSlack = 15 * time.Second, 5 * time.Second
	// otherRetry is the time between two looks at it while it keeps this replica from leading, and otherWatch while this
	// one leads.
	otherRetry, otherWatch = 5 * time.Second, 30 * time.Second
)

// Reasons of events on that Lease.
const (
	// Warning: the existing cloud controller manager runs, so that this controller does not lead, or both change the same things.
	eventOther = "OtherControllerRuns"
)

// leadership is a replica's part in the election, and what /readyz and the metrics say of it.
type leadership struct {
	election *kube.Election
	client   kubernetes.Interface
	recorder record.EventRecorder
	log      *slog.Logger
	name     string
	// beside lets this controller lead while the existing CCM runs.
	beside bool
	// other is why this replica stays out of the election, or that another cloud controller manager runs while it leads;
	// nil for neither.
	other atomic.Pointer[error]
}

// check is a condition of readiness: a replica that can't take part in the election will never work.
func (l *leadership) check() admin.Check {
	return admin.Check{
		Name: "leadership",
		Check: func(context.Context) error {
			if other := l.other.Load(); other != nil { // It has a remedy of its own.
				return *other
			}
			if _, err := l.election.Standing(); err != nil {
				return fmt.Errorf("%w; next step: check that the ServiceAccount may create, get and update the Lease "+
					"(the chart's RBAC)", err)
			}
			return nil
		},
		Detail: l.describe,
	}
}

// describe says which replica leads.
func (l *leadership) describe() string {
	standing, err := l.election.Standing()
	switch {
	case err != nil:
		return "not known at present"
	case standing.Leads:
		return "this replica leads"
	case standing.Leader == "":
		return "standby: none leads at present"
	}
	return "standby: " + standing.Leader + " leads"
}

// run waits until the existing CCM has ended, and then for the Lease, and works.
func (l *leadership) run(ctx context.Context, work func(context.Context) error) error {
	for !l.beside {
		runs, err := l.lookForOther(ctx)
		if err == nil {
			break
		}
		l.log.Error("this controller does not lead", "error", err)
		l.other.Store(&err)
		if runs {
			l.report(l.name + " does not lead: " + err.Error())
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(otherRetry):
		}
	}
	l.other.Store(nil)
	var watch sync.WaitGroup
	watching, end := context.WithCancel(ctx)
	watch.Go(func() { l.watchOther(watching) })
	defer func() {
		end()
		watch.Wait()
	}()
	return l.election.Run(ctx, work)
}

// watchOther says that the existing CCM runs again, while this replica leads or stands by: an upgrade of a managed
// cluster may bring it back. Else a standby that is ready would hide it. The leader goes on: which of the two has to
// end is for people to say, and nothing would work if both gave way.
func (l *leadership) watchOther(ctx context.Context) {
	tick := time.NewTicker(otherWatch)
	defer tick.Stop()
	reported := false
	for !l.beside {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		runs, err := l.lookForOther(ctx)
		switch {
		case runs:
			l.other.Store(&err)
			if standing, unknown := l.election.Standing(); unknown == nil && standing.Leads && !reported {
				l.log.Error("two controllers write to the same nodes, routes and load balancers", "error", err)
				l.report(l.name + " leads, and undoes what that one does, and the other way round: " + err.Error())
				reported = true
			}
		case err == nil && l.other.Load() != nil:
			l.log.Info("the other cloud controller manager has ended")
			l.other.Store(nil)
			reported = false
		}
	}
}

// report writes an event on the Lease of the existing CCM.
func (l *leadership) report(message string) {
	l.recorder.Event(&corev1.ObjectReference{APIVersion: "coordination.k8s.io/v1", Kind: "Lease", Namespace: otherNamespace, Name: otherName},
		corev1.EventTypeWarning, eventOther, message)
}

// lookForOther is an error if the existing CCM runs: both would write to the same nodes, routes and load balancers. It
// is one, too, if that can't be found out now. What this controller may not read is no reason to wait: the chart lets
// it.
func (l *leadership) lookForOther(ctx context.Context) (runs bool, err error) {
	lease, err := l.client.CoordinationV1().Leases(otherNamespace).Get(ctx, otherName, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case apierrors.IsForbidden(err):
		l.log.Warn("whether the existing CCM runs can't be seen", "lease", otherNamespace+"/"+otherName, "error", err)
		return false, nil
	case err != nil:
		return false, fmt.Errorf("whether another cloud controller manager runs can't be seen: get the Lease %s/%s: %w",
			otherNamespace, otherName, err)
	}
	spec := lease.Spec
	if spec.HolderIdentity == nil || *spec.HolderIdentity == "" || spec.RenewTime == nil {
		return false, nil
	}
	duration := otherDuration
	if spec.LeaseDurationSeconds != nil {
		duration = time.Duration(*spec.LeaseDurationSeconds) * time.Second
	}
	if time.Since(spec.RenewTime.Time) > duration+otherSlack {
		return false, nil
	}
	return true, fmt.Errorf("another cloud controller manager runs (%s renews the Lease %s/%s); end it, or set allowExistingCCM if "+
		"the two share no work", *spec.HolderIdentity, otherNamespace, otherName)
}
