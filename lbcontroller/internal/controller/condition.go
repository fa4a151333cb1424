package controller

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Types of conditions on Services.
const (
	// ConditionReady reports whether the load balancer has an address that clients can use.
	ConditionReady = "LoadBalancerReady"
	// ConditionSynced reports whether the load balancer is as the Service asks.
	ConditionSynced = "Synced"
)

// Reasons of conditions. Where the cloud or the gateway refused a call, the reason is that of the error, such as QuotaExceeded.
const (
	ReasonChanging  = "Changing"  // The Service was changed, and the controller has not looked at that yet.
	ReasonStarting  = "Starting"  // The load balancer is as the Service asks, and listeners that were started don't run yet.
	ReasonSynced    = "Synced"    // The load balancer is as the Service asks.
	ReasonPublished = "Published" // The address is in the status.
	ReasonPending   = "Pending"   // There is no address yet.
	ReasonGone      = "Gone"      // The load balancer of the address is not there.
	ReasonInvalid   = "Invalid"   // What the Service says can't be understood.
	ReasonRefused   = "Refused"   // What the Service asks for can't be done without harm to others.
	ReasonFailed    = "Failed"    // Something failed, and is tried again.
)

func find(list []metav1.Condition, conditionType string) *metav1.Condition {
	i := slices.IndexFunc(list, func(c metav1.Condition) bool { return c.Type == conditionType })
	if i < 0 {
		return nil
	}
	return &list[i]
}

// patchOf is the part of a strategic merge patch that puts conditions into those of others, by their type. A time
// changes only with its status.
func patchOf(have, put []metav1.Condition, now time.Time) []metav1.Condition {
	list := slices.Clone(put)
	for i := range list {
		list[i].LastTransitionTime = metav1.NewTime(now.Truncate(time.Second))
		if old := find(have, list[i].Type); old != nil && old.Status == list[i].Status {
			list[i].LastTransitionTime = old.LastTransitionTime
		}
	}
	return list
}

// removalOf is the part of a strategic merge patch that takes the controller's conditions away; nil if there are none.
func removalOf(have []metav1.Condition) []map[string]string {
	var list []map[string]string
	for _, conditionType := range []string{ConditionReady, ConditionSynced} {
		if find(have, conditionType) != nil {
			list = append(list, map[string]string{"type": conditionType, "$patch": "delete"})
		}
	}
	return list
}

// isLeftBehind reports whether a Service shows the state of a load balancer and can have none: it has ceased to ask for
// one while no controller ran.
func isLeftBehind(svc *corev1.Service) bool {
	return svc.Spec.Type != corev1.ServiceTypeLoadBalancer && find(svc.Status.Conditions, ConditionReady) != nil &&
		find(svc.Status.Conditions, ConditionSynced) != nil
}

// gistOf is what conditions say without their times, and without messages that differ with every attempt.
func gistOf(svc *corev1.Service, list []metav1.Condition) string {
	var gist strings.Builder
	gist.WriteString(string(svc.UID))
	for _, condition := range list {
		gist.WriteString(" " + condition.Type + string(condition.Status) + condition.Reason)
		if namesMistake(condition) {
			gist.WriteString(condition.Message)
		}
	}
	return gist.String()
}

// namesMistake reports whether the message of a condition says what the user has to correct. Another mistake has the
// same reason, and only the message names it. Messages about failed calls carry the ids of requests.
func namesMistake(c metav1.Condition) bool {
	return c.Reason == ReasonInvalid || c.Reason == ReasonRefused
}

// stateOf is how a Service with these conditions stands.
func stateOf(list []metav1.Condition) string {
	ready, synced := find(list, ConditionReady), find(list, ConditionSynced)
	if synced.Status == metav1.ConditionTrue && ready.Status == metav1.ConditionFalse {
		return ReasonPending
	}
	return synced.Reason
}
