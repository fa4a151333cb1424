package kube

import (
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/tools/reference"

	"alicloud-controllers.dev/services/rpcerr"
)

const (
	// repeatWarning is when a warning whose cause lasts is recorded again. The API server forgets events after an hour by default
	// (source: kube-apiserver --event-ttl), and a cause that lasts has to stay visible.
	repeatWarning = 30 * time.Minute
	// maxWarnings bounds the warnings that are remembered. One that is forgotten too early is recorded once more, which does no harm.
	maxWarnings = 10_000
)

// Events records events for people and does not repeat itself. A warning is recorded once for each object, part of it, reason and cause; texts
// are not compared, because they carry request ids that differ with every attempt. It is safe for concurrent use.
type Events struct {
	recorder record.EventRecorder

	mu       sync.Mutex
	warnings map[corev1.ObjectReference]map[subject]warning // by object
	count    int
}

// subject is what a warning about an object is about.
type subject struct {
	reason string
	// part is empty if the warning is about the whole object.
	part string
}

// warning is what was recorded last about one subject.
type warning struct {
	cause, message string
	at             time.Time
}

// NewEvents makes Events on a recorder.
func NewEvents(recorder record.EventRecorder) *Events {
	return &Events{recorder: recorder, warnings: map[corev1.ObjectReference]map[subject]warning{}}
}

// Normal records that something was done.
func (e *Events) Normal(object runtime.Object, reason, message string) {
	e.recorder.Event(object, corev1.EventTypeNormal, reason, message)
}

// Warning records a message whose text is its cause.
func (e *Events) Warning(object runtime.Object, reason, message string) {
	e.warn(object, subject{reason: reason}, message, message)
}

// Failure records an error as a warning. Its cause is what rpcerr.Cause finds in it.
func (e *Events) Failure(object runtime.Object, reason string, err error) {
	e.FailureOf("", object, reason, err)
}

// FailureOf records an error about a part of an object as a warning. Parts may fail at the same time, each for its own cause: the warning
// about one does not make that about another news.
func (e *Events) FailureOf(part string, object runtime.Object, reason string, err error) {
	e.warn(object, subject{reason, part}, rpcerr.Cause(err), err.Error())
}

// Forget drops the warnings about an object with the given reasons, or with any, because the trouble is over or the object is gone. A
// warning that comes after that is news.
func (e *Events) Forget(object runtime.Object, reasons ...string) {
	key, ok := keyOf(object)
	if !ok {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	before := len(e.warnings[key])
	maps.DeleteFunc(e.warnings[key], func(about subject, _ warning) bool {
		return len(reasons) == 0 || slices.Contains(reasons, about.reason)
	})
	e.count -= before - len(e.warnings[key])
	if len(e.warnings[key]) == 0 {
		delete(e.warnings, key)
	}
}

func (e *Events) warn(object runtime.Object, about subject, cause, message string) {
	if key, ok := keyOf(object); ok {
		if message, ok = e.admit(key, about, cause, message); !ok {
			return
		}
	}
	e.recorder.Event(object, corev1.EventTypeWarning, about.reason, message)
}

// admit reports whether a warning is to be recorded, and with which text: a repeated one keeps the text of the first, so that the
// API server counts it up.
func (e *Events) admit(key corev1.ObjectReference, about subject, cause, message string) (string, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	last, known := e.warnings[key][about]
	switch {
	case known && last.cause == cause && now.Sub(last.at) < repeatWarning:
		return "", false
	case known && last.cause == cause:
		message = last.message
	case !known:
		e.makeRoom(now)
		e.count++
	}
	if e.warnings[key] == nil {
		e.warnings[key] = map[subject]warning{}
	}
	e.warnings[key][about] = warning{cause: cause, message: message, at: now}
	return message, true
}

// makeRoom forgets the warnings that would be repeated anyway when there are too many, and all if that is not enough.
func (e *Events) makeRoom(now time.Time) {
	if e.count < maxWarnings {
		return
	}
	for key, bySubject := range e.warnings {
		for about, w := range bySubject {
			if now.Sub(w.at) >= repeatWarning {
				delete(bySubject, about)
				e.count--
			}
		}
		if len(bySubject) == 0 {
			delete(e.warnings, key)
		}
	}
	if e.count >= maxWarnings {
		clear(e.warnings)
		e.count = 0
	}
}

// keyOf identifies an object; false if it is of a kind that has no reference, about which nothing is remembered.
func keyOf(object runtime.Object) (corev1.ObjectReference, bool) {
	about, err := reference.GetReference(scheme.Scheme, object)
	if err != nil {
		return corev1.ObjectReference{}, false
	}
	return corev1.ObjectReference{Kind: about.Kind, Namespace: about.Namespace, Name: about.Name, UID: about.UID}, true
}
