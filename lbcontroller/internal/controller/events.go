package controller

import (
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	"alicloud-controllers.dev/services/rpcerr"
)

// Reasons of events, those of the existing CCM: users alert on them.
const (
	reasonEnsured      = "EnsuredLoadBalancer"     // Normal: the CLB was changed and is as the Service asks.
	reasonSyncFailed   = "SyncLoadBalancerFailed"  // Warning: what the Service asks for is wrong, is refused, or failed in the cloud.
	reasonCleaned      = "CleanLoadBalancer"       // Normal: the CLB is released; a user's loses what was made on it for the Service.
	reasonCleanFailed  = "CleanLoadBalancerFailed" // Warning: the CLB can't be released; it is tried again.
	reasonAddFinalizer = "FailedAddFinalizer"      // Warning: the API server refused the finalizer; nothing was created.
	reasonRemoveFinal  = "FailedRemoveFinalizer"   // Warning: the CLB is released but the Service can't go yet.
	reasonRemoveHash   = "FailedRemoveHash"        // Warning: the API server refused a label; the CLB is not changed yet.
	reasonUpdateStatus = "FailedUpdateStatus"      // Warning: the API server refused the status or labels of the Service.
	reasonNoBackends   = "UnAvailableLoadBalancer" // Normal: a port has no backends: no ready node or pod qualifies.
	reasonSkipBackends = "SkipSyncBackends"        // Warning: some nodes or pods are left out of the backends.
	reasonPreserved    = "PreservedOnDelete"       // Warning: the CLB will be kept when the Service goes, as its annotation asks, or a user's keeps what others use.
	reasonEIP          = "FailedSetEIPAddress"     // Warning: no EIP was found; the address of the CLB is published instead.
	reasonAnnotation   = "AnnotationChanged"       // Normal: annotations of the controller were changed; it looks at the CLB.
	reasonSpec         = "ServiceSpecChanged"      // Normal: the spec of the Service was changed; it looks at the CLB.
	reasonDeletion     = "DeleteTimestampChanged"  // Normal: the Service is being deleted; the CLB is released.
	reasonTypeChanged  = "TypeChanged"             // Normal: the Service no longer asks for a CLB.
)

// announcer tells users what happens to a Service, each thing once until it changes.
type announcer struct {
	recorder record.EventRecorder

	mu   sync.Mutex
	told map[string]map[string]string // by Service, then reason: what was said last
}

// tell emits an event unless it would repeat the last one of its reason.
func (a *announcer) tell(svc *corev1.Service, eventType, reason, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	if a.changed(svc, reason, message) {
		a.recorder.Event(svc, eventType, reason, message)
	}
}

// fail emits a Warning for an error. The same failure with another request id isn't news, and what goes on by itself none at all.
func (a *announcer) fail(svc *corev1.Service, reason string, err error) {
	if goesOn(err) {
		return
	}
	gist := err.Error()
	if e, ok := rpcerr.From(err); ok {
		gist = fmt.Sprint(e.Code, e.Reason, e.API, e.CloudCode)
	}
	if a.changed(svc, reason, gist) {
		a.recorder.Event(svc, corev1.EventTypeWarning, reason, err.Error())
	}
}

// settle forgets a reason, so that it is news when it comes back.
func (a *announcer) settle(svc *corev1.Service, reasons ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range reasons {
		delete(a.told[keyOf(svc)], r)
	}
}

// forget drops what was told about a Service.
func (a *announcer) forget(key string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.told, key)
}

func (a *announcer) changed(svc *corev1.Service, reason, gist string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.told == nil {
		a.told = map[string]map[string]string{}
	}
	told := a.told[keyOf(svc)]
	if told == nil {
		told = map[string]string{}
		a.told[keyOf(svc)] = told
	}
	gist = string(svc.UID) + " " + gist
	if told[reason] == gist {
		return false
	}
	told[reason] = gist
	return true
}

func keyOf(svc *corev1.Service) string { return svc.Namespace + "/" + svc.Name }
