package kube

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/tools/reference"
	"k8s.io/klog/v2"
)

const (
	// eventBacklog bounds the events that wait for the API server; more are dropped, for events are a courtesy.
	eventBacklog = 1000
	// eventBurst is how many events of one type about one object are recorded one by one within ten minutes. Of more
	// than 10, client-go would replace the text of the last one, and of more than 25 drop the rest: nobody would see
	// which routes of a table were deleted when hundreds of nodes go.
	eventBurst = 100
	// eventTimeout bounds the sending of one event.
	eventTimeout = 10 * time.Second
	// flushTimeout bounds the sending of the backlog at the end.
	flushTimeout = 5 * time.Second
)

// recorder is a record.EventRecorder that can be flushed, which client-go's cannot: the last event of a process is often the
// one that explains its end.
type recorder struct {
	client    kubernetes.Interface
	component string
	correlate *record.EventCorrelator
	log       klog.Logger
	backlog   chan *corev1.Event
	cut       context.CancelFunc // ends what is being sent

	mu     sync.Mutex
	closed bool
	sent   chan struct{} // closed when the sender has ended
}

// NewRecorder makes a recorder of events of component, equal ones counted into one. The second result flushes and stops it; ctx
// gives values only, so that events of the shutdown are sent, too.
func NewRecorder(ctx context.Context, client kubernetes.Interface, component string) (record.EventRecorder, func()) {
	r := &recorder{
		client:    client,
		component: component,
		correlate: record.NewEventCorrelatorWithOptions(record.CorrelatorOptions{BurstSize: eventBurst, MaxEvents: eventBurst}),
		// client-go's logger, which main has bridged to its own: the interface has no way to return an error.
		log:     klog.FromContext(ctx),
		backlog: make(chan *corev1.Event, eventBacklog),
		sent:    make(chan struct{}),
	}
	ctx, r.cut = context.WithCancel(context.WithoutCancel(ctx))
	go r.send(ctx)
	return r, r.stop
}

// Event implements record.EventRecorder.
func (r *recorder) Event(object runtime.Object, eventtype, reason, message string) {
	r.record(object, nil, eventtype, reason, message)
}

// Eventf implements record.EventRecorder.
func (r *recorder) Eventf(object runtime.Object, eventtype, reason, format string, args ...any) {
	r.record(object, nil, eventtype, reason, fmt.Sprintf(format, args...))
}

// AnnotatedEventf implements record.EventRecorder.
func (r *recorder) AnnotatedEventf(object runtime.Object, annotations map[string]string, eventtype, reason, format string,
	args ...any,
) {
	r.record(object, annotations, eventtype, reason, fmt.Sprintf(format, args...))
}

func (r *recorder) record(object runtime.Object, annotations map[string]string, eventtype, reason, message string) {
	about, err := reference.GetReference(scheme.Scheme, object)
	if err != nil {
		r.log.Error(err, "event about an unknown kind of object", "reason", reason)
		return
	}
	now := metav1.Now()
	namespace := about.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	event := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{
			Name:      fmt.Sprintf("%s.%x", about.Name, now.UnixNano()),
			Namespace: namespace, Annotations: annotations,
		},
		InvolvedObject: *about, Reason: reason, Message: message, Type: eventtype,
		FirstTimestamp: now, LastTimestamp: now, Count: 1,
		Source: corev1.EventSource{Component: r.component}, ReportingController: r.component,
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	select {
	case r.backlog <- event:
	default: // See eventBacklog.
	}
}

// send delivers the backlog until it is closed.
func (r *recorder) send(ctx context.Context) {
	defer close(r.sent)
	for event := range r.backlog {
		if err := r.deliver(ctx, event); err != nil {
			r.log.Error(err, "event was not recorded", "reason", event.Reason, "about", event.InvolvedObject.Name)
		}
	}
}

// deliver creates the event, or counts it up if an equal one was recorded lately.
func (r *recorder) deliver(ctx context.Context, event *corev1.Event) error {
	result, err := r.correlate.EventCorrelate(event)
	if err != nil || result.Skip {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, eventTimeout)
	defer cancel()
	event = result.Event
	events := r.client.CoreV1().Events(event.Namespace)
	var recorded *corev1.Event
	if event.Count > 1 {
		recorded, err = events.Patch(ctx, event.Name, types.StrategicMergePatchType, result.Patch, metav1.PatchOptions{})
	}
	// The event counted up may have expired meanwhile.
	if event.Count <= 1 || apierrors.IsNotFound(err) {
		event.ResourceVersion = ""
		recorded, err = events.Create(ctx, event, metav1.CreateOptions{})
	}
	if err != nil {
		return err
	}
	r.correlate.UpdateState(recorded)
	return nil
}

// stop sends what waits, within flushTimeout, and ends the sender.
func (r *recorder) stop() {
	r.mu.Lock()
	if !r.closed {
		r.closed = true
		close(r.backlog)
	}
	r.mu.Unlock()
	limit := time.AfterFunc(flushTimeout, r.cut)
	defer limit.Stop()
	<-r.sent
	r.cut()
}

// NodeReference refers to a node as the kubelet does, with its name for its UID, so that the events of both are shown together.
func NodeReference(name string) *corev1.ObjectReference {
	return &corev1.ObjectReference{Kind: "Node", Name: name, UID: types.UID(name)}
}
