package controller

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	"alicloud-controllers.dev/services/rpcerr"
)

// Reasons of events, those of the existing CCM: users alert on them.
const (
	ReasonEnsured         = "EnsuredLoadBalancer"       // Normal: the load balancer was changed and is as the Service asks.
	ReasonSyncFailed      = "SyncLoadBalancerFailed"    // Warning: what the Service asks for is wrong, is refused, or failed in the cloud.
	ReasonCleaned         = "CleanLoadBalancer"         // Normal: the load balancer is released; a user's loses what was made on it for the Service.
	ReasonCleanFailed     = "CleanLoadBalancerFailed"   // Warning: the load balancer can't be released; it is tried again.
	ReasonAddFinalizer    = "FailedAddFinalizer"        // Warning: the API server refused the finalizer; nothing was created.
	ReasonRemoveFinalizer = "FailedRemoveFinalizer"     // Warning: the load balancer is released but the Service can't go yet.
	ReasonRemoveHash      = "FailedRemoveHash"          // Warning: the API server refused a label; the load balancer is not changed yet.
	ReasonUpdateStatus    = "FailedUpdateStatus"        // Warning: the API server refused the status or labels of the Service.
	ReasonNoBackends      = "UnAvailableLoadBalancer"   // Warning: a port has no backends: no ready node or pod qualifies.
	ReasonSkipBackends    = "SkipSyncBackends"          // Warning: some nodes or pods are left out of the backends.
	ReasonPreserved       = "PreservedOnDelete"         // Warning: the load balancer will be kept when the Service goes, as its annotation asks, or a user's keeps what others use.
	ReasonEIP             = "FailedSetEIPAddress"       // Warning: no EIP was found; the address of the load balancer is published instead.
	ReasonAnnotation      = "AnnotationChanged"         // Normal: annotations of the controller were changed; it looks at the load balancer.
	ReasonSpec            = "ServiceSpecChanged"        // Normal: the spec of the Service was changed; it looks at the load balancer.
	ReasonDeletion        = "DeleteTimestampChanged"    // Normal: the Service is being deleted; the load balancer is released.
	ReasonContested       = "StatusContested"           // Warning: somebody else overwrites the status of the Service.
	ReasonKept            = "AnnotationKept"            // Warning: an annotation was removed, but the load balancer keeps its value.
	ReasonCertificate     = "CertificateEnds"           // Warning: a server certificate is missing, has ended, or ends within 30 days.
	ReasonDrift           = "DriftReported"             // Warning: somebody else has changed the load balancer, and the configuration leaves that so.
	ReasonHeld            = "HeldByPolicy"              // Warning: the policy (report or upsert-only) keeps changes back; the text lists them.
	ReasonUnconfirmed     = "ReleaseUnconfirmed"        // Warning: a Service with a class has the CLB of before the takeover, which is released once that is confirmed.
	ReasonOpened          = "AccessControlOff"          // Warning: removing acl-status has opened listeners to everyone.
	ReasonUnknown         = "UnknownAnnotation"         // Warning: an annotation under the controller's prefix has no effect: it may be misspelt.
	ReasonReadinessGate   = "FailedUpdateReadinessGate" // Warning: the API server refused the condition of a pod's readiness gate; it is written again.
	ReasonBrakeOn         = "BrakeOn"                   // Warning on the namespace kube-system: most nodes turned NotReady together; their servers stay for now.
	ReasonBrakeOff        = "BrakeOff"                  // Normal on the namespace kube-system: servers follow the nodes again.
	ReasonOrphan          = "OrphanedLoadBalancer"      // Warning on the namespace kube-system: load balancers of the cluster have no Service.
	ReasonOrphanGone      = "DeletedOrphan"             // Normal on the namespace kube-system: a load balancer whose Service was gone is deleted.
	ReasonIPMode          = "IPModeDropped"             // Warning: the API server is too old for annotation ip-mode.
	ReasonTypeChanged     = "TypeChanged"               // Normal: the Service no longer asks for a load balancer.
)

// Normalf makes an event about something that goes well.
func Normalf(reason, format string, args ...any) Event {
	return Event{Type: corev1.EventTypeNormal, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// Warningf makes an event about something that somebody should look at.
func Warningf(reason, format string, args ...any) Event {
	return Event{Type: corev1.EventTypeWarning, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// Failure makes a Warning of errors that came together. The same failures with other request ids, or in another order, aren't news.
func Failure(reason string, errs ...error) Event {
	var gists, texts []string
	for _, err := range errs {
		gist := err.Error()
		if e, ok := rpcerr.From(err); ok {
			gist = fmt.Sprint(e.Code, e.Reason, e.API, e.CloudCode)
		}
		gists, texts = append(gists, gist), append(texts, err.Error())
	}
	slices.Sort(gists)
	return Event{Type: corev1.EventTypeWarning, Reason: reason, Message: strings.Join(texts, "\n"), Gist: strings.Join(slices.Compact(gists), "\n")}
}

// eventLog emits events for Services, each once until it changes.
type eventLog struct {
	recorder record.EventRecorder

	mu   sync.Mutex
	last map[string]map[string]string // by Service, then reason: the gist emitted last
}

// emit emits an event unless it would repeat the last one of its reason.
func (l *eventLog) emit(svc *corev1.Service, e Event) {
	gist := e.Gist
	if gist == "" {
		gist = e.Message
	}
	if l.isNews(keyOf(svc), e.Reason, string(svc.UID)+" "+gist) {
		l.recorder.Event(svc, e.Type, e.Reason, e.Message)
	}
}

// settle forgets reasons, so that they are news when they come back.
func (l *eventLog) settle(key string, reasons ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range reasons {
		delete(l.last[key], r)
	}
}

// forget drops what was emitted for a Service.
func (l *eventLog) forget(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.last, key)
}

func (l *eventLog) isNews(key, reason, gist string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == nil {
		l.last = map[string]map[string]string{}
	}
	last := l.last[key]
	if last == nil {
		last = map[string]string{}
		l.last[key] = last
	}
	if last[reason] == gist {
		return false
	}
	last[reason] = gist
	return true
}

func keyOf(svc *corev1.Service) string { return svc.Namespace + "/" + svc.Name }
