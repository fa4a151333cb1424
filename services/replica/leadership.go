package replica

import (
	"context"
	"fmt"
	"log/slog"
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
	// otherRetry is the time between two looks at it.
	otherRetry = 5 * time.Second
	// eventOther is the reason of the event on that Lease.
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
	// other is why this replica stays out of the election, nil for no reason.
	other atomic.Pointer[error]
}

// check is a condition of readiness: a replica that can't take part in the election will never work.
func (l *leadership) check() admin.Check {
	return admin.Check{
		Name: "leadership",
		Check: func(context.Context) error {
			if other := l.other.Load(); other != nil {
				return *other
			}
			_, err := l.election.Standing()
			return err
		},
		Remedy: "check that the ServiceAccount may create, get and update the Lease (the chart's RBAC)",
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
		err := l.lookForOther(ctx)
		if err == nil {
			break
		}
		l.log.Error("this controller does not lead", "error", err)
		l.other.Store(&err)
		l.recorder.Event(&corev1.ObjectReference{APIVersion: "coordination.k8s.io/v1", Kind: "Lease", Namespace: otherNamespace, Name: otherName},
			corev1.EventTypeWarning, eventOther, l.name+" does not lead: "+err.Error())
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(otherRetry):
		}
	}
	l.other.Store(nil)
	return l.election.Run(ctx, work)
}

// lookForOther is an error if the existing CCM runs: both would write to the same nodes, routes and load balancers.
// What can't be read is no reason to wait: the Lease is of no use to this controller otherwise.
func (l *leadership) lookForOther(ctx context.Context) error {
	lease, err := l.client.CoordinationV1().Leases(otherNamespace).Get(ctx, otherName, metav1.GetOptions{})
	if err != nil {
		if !apierrors.IsNotFound(err) {
			l.log.Warn("whether the existing CCM runs can't be seen", "lease", otherNamespace+"/"+otherName, "error", err)
		}
		return nil
	}
	spec := lease.Spec
	if spec.HolderIdentity == nil || *spec.HolderIdentity == "" || spec.RenewTime == nil {
		return nil
	}
	duration := otherDuration
	if spec.LeaseDurationSeconds != nil {
		duration = time.Duration(*spec.LeaseDurationSeconds) * time.Second
	}
	if time.Since(spec.RenewTime.Time) > duration+otherSlack {
		return nil
	}
	return fmt.Errorf("another cloud controller manager runs (%s renews the Lease %s/%s); end it, or set allowExistingCCM if "+
		"the two share no work", *spec.HolderIdentity, otherNamespace, otherName)
}
