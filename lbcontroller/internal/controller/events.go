package controller

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/kube"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

// Reasons of events, those of the existing CCM: users alert on them.
const (
	// Normal: the load balancer was changed and is as the Service asks.
	ReasonEnsured = "EnsuredLoadBalancer"
	// Warning: what the Service asks for is wrong, is refused, or failed in the cloud.
	ReasonSyncFailed = "SyncLoadBalancerFailed"
	// Normal: the load balancer is released; a user's loses what was made on it for the Service.
	ReasonCleaned = "CleanLoadBalancer"
	// Warning: the load balancer can't be released; it is tried again.
	ReasonCleanFailed = "CleanLoadBalancerFailed"
	// Warning: the API server refused the finalizer; nothing was created.
	ReasonAddFinalizer = "FailedAddFinalizer"
	// Warning: the load balancer is released but the Service can't go yet.
	ReasonRemoveFinalizer = "FailedRemoveFinalizer"
	// Warning: the API server refused a label; the load balancer is not changed yet.
	ReasonRemoveHash = "FailedRemoveHash"
	// Warning: the API server refused the status or labels of the Service.
	ReasonUpdateStatus = "FailedUpdateStatus"
	// Warning: a port has no backends: no ready node or pod qualifies.
	ReasonNoBackends = "UnAvailableLoadBalancer"
	// Warning: some nodes or pods are left out of the backends.
	ReasonSkipBackends = "SkipSyncBackends"
	// Warning: the load balancer will be kept when the Service goes, as its annotation asks; or something else uses what
	// was made for the Service, which stays; or a load balancer stays that was handed over by its tags. A Normal one
	// says that it was kept as asked.
	ReasonPreserved = "PreservedOnDelete"
	// Warning: no EIP was found; the address of the load balancer is published instead.
	ReasonAddress = "FailedSetEIPAddress"
	// Warning: an EIP that was allocated for the Service is there, and the Service doesn't ask for it any more.
	ReasonUnused = "UnusedEIP"
	// Normal: annotations of the controller were changed; it looks at the load balancer.
	ReasonAnnotation = "AnnotationChanged"
	// Normal: the spec of the Service was changed; it looks at the load balancer.
	ReasonSpec = "ServiceSpecChanged"
	// Normal: the Service is being deleted.
	ReasonDeletion = "DeleteTimestampChanged"
	// Warning: another client overwrites the status of the Service.
	ReasonContested = "StatusContested"
	// Warning: an annotation was removed, but the load balancer keeps its value.
	ReasonKept = "AnnotationKept"
	// Warning: a server certificate is missing, has ended, or ends within 30 days.
	ReasonCertificate = "CertificateEnds"
	// Warning: the security groups of servers drop the health checks of the load balancer, which fail.
	ReasonBlocked = "HealthChecksBlocked"
	// Normal: rules are added to security groups for the health checks of the load balancer; on the namespace kube-system: rules that no
	// Service needs are removed.
	ReasonRules = "HealthCheckRules"
	// Warning: a Secret has no certificate that can be used; the certificate of before stays.
	ReasonSecret = "TLSSecretInvalid"
	// Warning: a user or another tool has changed the load balancer, and the configuration leaves that so.
	ReasonDrift = "DriftReported"
	// Warning: the policy (report or upsert-only) keeps changes back; the text lists them.
	ReasonHeld = "HeldByPolicy"
	// Warning: a Service that got a class or tunnel type keeps its load balancer until the release is confirmed.
	ReasonUnconfirmed = "ReleaseUnconfirmed"
	// Warning: an annotation or a field of the spec has no effect: it may be misspelt, or not fit the Service.
	ReasonUnknown = "UnknownAnnotation"
	// Warning: the API server refused the condition of a pod's readiness gate; it is written again.
	ReasonReadinessGate = "FailedUpdateReadinessGate"
	// Warning: no node qualifies as a backend any more, no pod has the port, or the server group to which a listener is to go would have no
	// server; the last servers stay, as an empty group helps no one.
	ReasonLastServers = "LastServersKept"
	// Warning on the namespace kube-system: load balancers of the cluster, or things beside them, have no Service.
	ReasonOrphan = "OrphanedLoadBalancer"
	// Normal on the namespace kube-system: a load balancer, or a thing beside one, whose Service was gone is deleted.
	ReasonOrphanGone = "DeletedOrphan"
	// Warning: the API server is too old for annotation ip-mode.
	ReasonIPMode = "IPModeDropped"
	// Normal: the Service no longer asks for a load balancer.
	ReasonTypeChanged = "TypeChanged"
)

// ClusterObject carries events that are no Service's.
func ClusterObject() *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: "v1", Kind: "Namespace", Name: metav1.NamespaceSystem}
}

// Normalf makes an event about something that goes well.
func Normalf(reason, format string, args ...any) Event {
	return Event{Type: corev1.EventTypeNormal, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// Warningf makes an event about something that a user should look at.
func Warningf(reason, format string, args ...any) Event {
	return Event{Type: corev1.EventTypeWarning, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// Donef makes a warning about something that was done.
func Donef(reason, format string, args ...any) Event {
	e := Warningf(reason, format, args...)
	e.Done = true
	return e
}

// Failure makes a Warning of errors that came together. The same failures with other request ids, or in another order, aren't news.
func Failure(reason string, errs ...error) Event {
	var found, texts []string
	for _, err := range errs {
		found, texts = append(found, causeOf(err)), append(texts, err.Error())
	}
	slices.Sort(found)
	if steps := remedies(errs); steps != "" {
		texts = append(texts, "next: "+steps)
	}
	return Event{Type: corev1.EventTypeWarning, Reason: reason, Message: strings.Join(texts, "\n"),
		Cause: strings.Join(slices.Compact(found), "\n")}
}

// causeOf is what an error has in common with those of other attempts. What was being done matters only if that is what
// was refused: when the gateway or the cloud can't be reached, one attempt ends with this call and the next with that
// one.
func causeOf(err error) string {
	e, ok := rpcerr.From(err)
	if ok && !slices.Contains([]codes.Code{codes.InvalidArgument, codes.NotFound, codes.AlreadyExists, codes.FailedPrecondition}, e.Code) {
		return rpcerr.Cause(e)
	}
	return rpcerr.Cause(err)
}

// reporter records events, and warnings once for as long as they say the same.
type reporter struct{ *kube.Events }

// announce records the events of a pass, and that the trouble that warnings of some reasons reported is over.
func (r reporter) announce(svc *corev1.Service, over []string, list []Event) {
	isDone := slices.ContainsFunc(list, func(e Event) bool { return e.Type == corev1.EventTypeNormal })
	switch {
	case len(over) == 0:
	case isDone:
		r.Forget(svc, over...) // What was done says so.
	default:
		r.Resolve(svc, over...)
	}
	for _, e := range list {
		r.record(svc, e)
	}
}

// whatWasDone are the events of a pass that the next one doesn't repeat: it doesn't find it to do any more.
func whatWasDone(list []Event) []Event {
	return slices.DeleteFunc(slices.Clone(list), func(e Event) bool { return e.Type == corev1.EventTypeWarning && !e.Done })
}

// record records an event; a warning unless it would repeat the last one of its reason.
func (r reporter) record(svc *corev1.Service, e Event) {
	e.Message = bounded(e.Message)
	if e.Type == corev1.EventTypeNormal {
		r.Normal(svc, e.Reason, e.Message)
		return
	}
	r.Warn(svc, kube.Warning{Reason: e.Reason, Message: e.Message, Cause: e.Cause, Done: e.Done})
}

// maxEventText bounds the message of an event, as the API server does for events of the newer kind.
const maxEventText = 1024

// bounded shortens a text that is too long. First annotations after the first one are named without their prefix, and then the middle is
// left out: its end says what to do. It is cut between two items of a list, if there is a place for that: half a name is nobody's.
func bounded(text string) string {
	if len(text) <= maxEventText {
		return text
	}
	if first, rest, has := strings.Cut(text, annotation.Prefix); has {
		text = first + annotation.Prefix + strings.ReplaceAll(rest, annotation.Prefix, "…-")
	}
	if len(text) <= maxEventText {
		return text
	}
	half := maxEventText/2 - len("; …; ")
	head, tail := text[:half], text[len(text)-half:]
	head = head[:endOfItem(head)]
	if i := startOfItem(tail); i >= 0 {
		tail = tail[i:]
	}
	return strings.ToValidUTF8(head, "") + " … " + strings.ToValidUTF8(tail, "")
}

// endOfItem is where the last whole item of a list ends that the beginning of a text has; its whole length if there is none.
func endOfItem(text string) int {
	if i := max(strings.LastIndex(text, "; ")+1, strings.LastIndex(text, "\n")); i > 0 {
		return i
	}
	return len(text)
}

// startOfItem is where the first whole item begins in the end of a text; negative if there is none.
func startOfItem(text string) int {
	at := -1
	for _, separator := range []string{"; ", "\n"} {
		if i := strings.Index(text, separator); i >= 0 && (at < 0 || i+len(separator) < at) {
			at = i + len(separator)
		}
	}
	return at
}
