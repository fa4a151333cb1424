package controller

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/proto/rpcerr"
)

// maxConditionText bounds the message of a condition, which has what an event has no room for.
const maxConditionText = 8192

// conditionsOf are the conditions that follow from an outcome for a Service that shows so much besides.
func conditionsOf(svc *corev1.Service, p Publication, o Outcome) []metav1.Condition {
	ingress := svc.Status.LoadBalancer.Ingress
	if !p.KeepIngress {
		ingress = p.Ingress
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
	list := conditionsOf(svc, Publication{KeepIngress: true}, Outcome{})
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
