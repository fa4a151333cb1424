package shadowtest

import (
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
)

// Events are those on objects that are no Services of the engine's, in the words of Say; empty for those that don't matter.
type Events struct {
	record.FakeRecorder
	Say              func(about *corev1.ObjectReference, eventType, reason, message string) string
	mu               sync.Mutex
	list, ofServices []string
}

// Event implements record.EventRecorder.
func (e *Events) Event(about runtime.Object, eventType, reason, message string) {
	ref, ok := about.(*corev1.ObjectReference)
	if !ok {
		e.mu.Lock()
		defer e.mu.Unlock()
		if svc, isService := about.(*corev1.Service); isService {
			e.ofServices = append(e.ofServices, fmt.Sprintf("%s %s: %s", svc.Name, reason, message))
		}
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if text := e.Say(ref, eventType, reason, message); text != "" {
		e.list = append(e.list, text)
	}
}

// Eventf implements record.EventRecorder.
func (e *Events) Eventf(about runtime.Object, eventType, reason, format string, args ...any) {
	e.Event(about, eventType, reason, fmt.Sprintf(format, args...))
}

// Take are the events since the last time.
func (e *Events) Take() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	list := e.list
	e.list = nil
	return list
}

// TakeOfServices are those about Services since the last time, of every type.
func (e *Events) TakeOfServices() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	list := e.ofServices
	e.ofServices = nil
	return list
}
