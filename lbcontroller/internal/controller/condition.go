package controller

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/proto/rpcerr"
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

const (
	// maxConditionText bounds the message of a condition, which has what an event has no room for.
	maxConditionText = 8192
	// restoreConditions is how soon conditions that another client took away are written again.
	restoreConditions = 10 * time.Minute
)

// conditionsOf are the conditions that follow from an outcome for a Service that has been written.
func conditionsOf(svc *corev1.Service, o Outcome) []metav1.Condition {
	ingress := svc.Status.LoadBalancer.Ingress
	if o.Publish != nil && !o.Publish.KeepIngress {
		ingress = o.Publish.Ingress
	}
	ready := metav1.Condition{Type: ConditionReady, Status: metav1.ConditionTrue, Reason: ReasonPublished,
		Message: "the address is in the status"}
	have := find(svc.Status.Conditions, ConditionReady)
	switch {
	case len(ingress) == 0:
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, ReasonPending, "there is no address yet"
	case o.Gone, o.Err != nil && have != nil && have.Reason == ReasonGone: // Trouble doesn't bring it back.
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, ReasonGone,
			"the address in the status leads nowhere: its load balancer does not exist"
	}
	synced := metav1.Condition{Type: ConditionSynced, Status: metav1.ConditionTrue, Reason: ReasonSynced,
		Message: "the load balancer is as the Service asks"}
	if o.Err != nil {
		synced.Status, synced.Reason, synced.Message = metav1.ConditionFalse, reasonOf(o), o.Err.Error()
		synced.Message = shortened(synced.Message)
	}
	if o.Err == nil && o.Waits {
		synced.Status, synced.Reason, synced.Message = metav1.ConditionUnknown, ReasonChanging,
			"the network interfaces of pods are looked up before they become servers"
		if have := find(svc.Status.Conditions, ConditionSynced); have != nil { // Nothing is known that wasn't known before.
			synced = *have
		}
	}
	if o.Err == nil && o.Starting != "" {
		synced.Status, synced.Reason, synced.Message = metav1.ConditionUnknown, ReasonStarting,
			"listeners were started and don't run yet: "+o.Starting
	}
	return []metav1.Condition{ready, synced}
}

// shortened cuts a text at the end of an item of a list, if there is one.
func shortened(text string) string {
	if len(text) <= maxConditionText {
		return text
	}
	text = text[:maxConditionText]
	return strings.ToValidUTF8(text[:endOfItem(text)], "") + " …"
}

// changing are the conditions of a Service that a user has changed, until the controller has looked at it.
func changing(svc *corev1.Service) []metav1.Condition {
	list := conditionsOf(svc, Outcome{})
	if have := find(svc.Status.Conditions, ConditionReady); have != nil && len(svc.Status.LoadBalancer.Ingress) > 0 {
		list[0] = *have // A change by a user says nothing of it.
	}
	list[1].Status, list[1].Reason, list[1].Message = metav1.ConditionUnknown, ReasonChanging,
		"the Service was changed; the load balancer is compared with it"
	return list
}

// reasonOf names what went wrong in one word.
func reasonOf(o Outcome) string {
	if o.Reason != "" {
		return o.Reason
	}
	var word strings.Builder
	for part := range strings.SplitSeq(string(rpcerr.ReasonOf(o.Err)), "_") {
		if part != "" {
			word.WriteString(part[:1] + strings.ToLower(part[1:]))
		}
	}
	if word.Len() == 0 {
		return ReasonFailed
	}
	return word.String()
}

// written are the conditions that were written last, so that they are written on change only: neither because a message
// names another request, nor again and again because another client overwrites them.
type written struct {
	// gist is what they say, and before what those said that were written before them: both may arrive later.
	gist, before string
	at           time.Time
}

// mustShow reports whether conditions have to be written on the Service, and remembers that they are then.
func (s *service) mustShow(svc *corev1.Service, wanted []metav1.Condition) bool {
	same := true
	gist := gistOf(svc, wanted)
	for _, w := range wanted {
		have := find(svc.Status.Conditions, w.Type)
		same = same && have != nil && have.Status == w.Status && have.Reason == w.Reason && (have.Message == w.Message || !namesMistake(w))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := s.conditions; same || last.gist == gist && time.Since(last.at) < restoreConditions {
		return false
	}
	s.conditions = written{gist: gist, before: s.conditions.gist, at: time.Now()}
	return true
}

// arrived reports whether an update is nothing but the arrival of the conditions that were written last.
func (s *service) arrived(old, svc *corev1.Service) bool {
	if equality.Semantic.DeepEqual(old.Status.Conditions, svc.Status.Conditions) {
		return false
	}
	before := *old
	before.Status.Conditions = svc.Status.Conditions
	before.ResourceVersion, before.ManagedFields = svc.ResourceVersion, svc.ManagedFields
	if !equality.Semantic.DeepEqual(&before, svc) {
		return false
	}
	var ours []metav1.Condition
	for _, conditionType := range []string{ConditionReady, ConditionSynced} {
		if have := find(svc.Status.Conditions, conditionType); have != nil {
			ours = append(ours, *have)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	gist := gistOf(svc, ours)
	return s.conditions.gist == gist || s.conditions.before == gist
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

// forgetConditions makes the next pass write them.
func (s *service) forgetConditions() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conditions = written{}
}

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

// isLeftBehind reports whether a Service shows the state of a load balancer and can have none: it has ceased to ask for
// one while no controller ran.
func isLeftBehind(svc *corev1.Service) bool {
	return svc.Spec.Type != corev1.ServiceTypeLoadBalancer && find(svc.Status.Conditions, ConditionReady) != nil &&
		find(svc.Status.Conditions, ConditionSynced) != nil
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
