package kube

import (
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/tools/reference"

	"alicloud-controllers.dev/proto/rpcerr"
)

// ReasonResolved is the reason of the Normal event which says that the trouble that warnings reported is over.
const ReasonResolved = "Resolved"

// RepeatWarnings is when a warning whose cause lasts is recorded again. The API server forgets events after an hour by default
// (source: kube-apiserver --event-ttl), and a cause that lasts has to stay visible, unless a condition of the object shows it.
const RepeatWarnings = 30 * time.Minute

// maxWarnings bounds the warnings that are remembered. One that is forgotten too early is recorded once more, which does no harm.
const maxWarnings = 10_000

// Events records events for people and does not repeat itself. A warning is recorded once for each object, part of it,
// reason and cause; texts are not compared, because they carry request ids that differ with every attempt. It is safe
// for concurrent use.
type Events struct {
	recorder record.EventRecorder
	repeat   time.Duration

	mu       sync.Mutex
	warnings map[corev1.ObjectReference]map[subject]warning // by object
	count    int
}

// Warning is something that an operator should look at.
type Warning struct {
	Reason, Message string
	// Part of the object is what the warning is about; empty for the whole object. Parts may be in trouble at the same time, each for its own
	// cause: the warning about one does not make that about another news.
	Part string
	// Cause distinguishes news from repetitions; empty for the message. It leaves out what changes without meaning
	// anything, such as request ids.
	Cause string
	// Done says that the warning is about something that was done. It does not end, so that Resolve has nothing to say about it.
	Done bool
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
	done           bool
	at             time.Time
}

// NewEvents makes Events on a recorder. A warning whose cause lasts is recorded again every so often; never for 0.
func NewEvents(recorder record.EventRecorder, repeat time.Duration) *Events {
	return &Events{recorder: recorder, repeat: repeat, warnings: map[corev1.ObjectReference]map[subject]warning{}}
}

// Normal records that something was done.
func (e *Events) Normal(object runtime.Object, reason, message string) {
	e.recorder.Event(object, corev1.EventTypeNormal, reason, message)
}

// Warning records a message whose text is its cause.
func (e *Events) Warning(object runtime.Object, reason, message string) {
	e.Warn(object, Warning{Reason: reason, Message: message})
}

// Failure records an error as a warning. Its cause is what rpcerr.Cause finds in it.
func (e *Events) Failure(object runtime.Object, reason string, err error) {
	e.FailureOf("", object, reason, err)
}

// FailureOf records an error about a part of an object as a warning, with what can be done about it.
func (e *Events) FailureOf(part string, object runtime.Object, reason string, err error) {
	message := err.Error()
	if step := rpcerr.Remedy(err); step != "" {
		message += "; next: " + step + "; it is tried again"
	}
	e.Warn(object, Warning{Reason: reason, Part: part, Cause: rpcerr.Cause(err), Message: message})
}

// Warn records a warning, unless it would only repeat the last one.
func (e *Events) Warn(object runtime.Object, w Warning) {
	message := w.Message
	if key, ok := keyOf(object); ok {
		if message, ok = e.admit(key, w); !ok {
			return
		}
	}
	e.recorder.Event(object, corev1.EventTypeWarning, w.Reason, message)
}

// Resolve forgets the warnings about an object with the given reasons, or with any, because the trouble is over. If
// there were any, a Normal event says so: the last word about an object must not be a warning of long ago.
func (e *Events) Resolve(object runtime.Object, reasons ...string) {
	if over := e.forget(object, reasons); len(over) > 0 {
		e.Normal(object, ReasonResolved, "the trouble that "+strings.Join(over, ", ")+" reported is over")
	}
}

// Forget is Resolve without an event, because the object is gone or another event says that the trouble is over.
func (e *Events) Forget(object runtime.Object, reasons ...string) { e.forget(object, reasons) }

// forget drops warnings, so that the next ones are news. It returns the reasons of those whose trouble is over.
func (e *Events) forget(object runtime.Object, reasons []string) (over []string) {
	key, ok := keyOf(object)
	if !ok {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for about, w := range e.warnings[key] {
		if len(reasons) > 0 && !slices.Contains(reasons, about.reason) {
			continue
		}
		if !w.done {
			over = append(over, about.reason)
		}
		delete(e.warnings[key], about)
		e.count--
	}
	if len(e.warnings[key]) == 0 {
		delete(e.warnings, key)
	}
	slices.Sort(over)
	return slices.Compact(over)
}

// admit reports whether a warning is to be recorded, and with which text: a repeated one keeps the text of the first, so that the
// API server counts it up.
func (e *Events) admit(key corev1.ObjectReference, w Warning) (message string, isNews bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now, about, cause, message := time.Now(), subject{w.Reason, w.Part}, w.Cause, w.Message
	if cause == "" {
		cause = message
	}
	last, known := e.warnings[key][about]
	switch {
	case known && last.cause == cause && (e.repeat == 0 || now.Sub(last.at) < e.repeat):
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
	e.warnings[key][about] = warning{cause: cause, message: message, done: w.Done, at: now}
	return message, true
}

// makeRoom forgets the warnings that would be repeated anyway when there are too many, and all if that is not enough.
func (e *Events) makeRoom(now time.Time) {
	if e.count < maxWarnings {
		return
	}
	for key, bySubject := range e.warnings {
		for about, w := range bySubject {
			if e.repeat > 0 && now.Sub(w.at) >= e.repeat {
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
