package lb_test

import (
	"encoding/json"
	"errors"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	kubetesting "k8s.io/client-go/testing"
)

func serviceResource() schema.GroupVersionResource {
	return corev1.SchemeGroupVersion.WithResource("services")
}

// lag makes caches that are filled from now on trail the API server.
func (w *world) lag(by func() time.Duration) {
	w.kube.PrependWatchReactor("services", func(action kubetesting.Action) (bool, watch.Interface, error) {
		inner, err := w.kube.Tracker().Watch(action.GetResource(), action.GetNamespace())
		if err != nil {
			return true, nil, err
		}
		return true, newLaggard(inner, by, &w.trailing), nil
	})
}

// trailing says how far caches trail.
type trailing struct {
	mu     sync.Mutex
	events int // that happened and that no cache shows
	latest time.Time
}

// add counts events that happened, or fewer of them when a cache shows them.
func (t *trailing) add(events int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.events += events
	t.latest = time.Now()
}

// isOver reports whether the caches have shown all for a while.
func (t *trailing) isOver(since time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.events == 0 && time.Since(t.latest) > since
}

// laggard passes on the events of another watch, late and in order.
type laggard struct {
	out  chan watch.Event
	stop func()
}

func newLaggard(inner watch.Interface, by func() time.Duration, trailing *trailing) *laggard {
	stopped := make(chan struct{})
	l := &laggard{out: make(chan watch.Event), stop: sync.OnceFunc(func() {
		close(stopped)
		inner.Stop()
	})}
	happened := make(chan watch.Event, 1000)
	go func() {
		defer close(happened)
		for event := range inner.ResultChan() {
			trailing.add(1)
			happened <- event
		}
	}()
	go func() {
		defer func() {
			close(l.out)
			for range happened { // Nobody waits for these any more.
				trailing.add(-1)
			}
		}()
		for event := range happened {
			select {
			case <-time.After(by()):
			case <-stopped:
				trailing.add(-1)
				return
			}
			select {
			case l.out <- event:
			case <-stopped:
			}
			trailing.add(-1)
		}
	}()
	return l
}

// ResultChan implements watch.Interface.
func (l *laggard) ResultChan() <-chan watch.Event { return l.out }

// Stop implements watch.Interface.
func (l *laggard) Stop() { l.stop() }

// patch changes a part of a Service as a user does who knows nothing of the rest. One that has just gone is none's fault.
func (w *world) patch(name string, body map[string]any, subresources ...string) {
	w.t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		w.t.Fatal(err)
	}
	_, err = w.kube.CoreV1().Services("default").Patch(w.t.Context(), name, types.MergePatchType, data, metav1.PatchOptions{}, subresources...)
	if err != nil && !apierrors.IsNotFound(err) {
		w.t.Fatal(err)
	}
}

// write carries out a request as the API server does, which counts the versions of Services and refuses what is meant for an older one.
func (w *world) write(action kubetesting.Action) (bool, runtime.Object, error) {
	w.writing.Lock()
	defer w.writing.Unlock()
	if action.GetResource() == serviceResource() {
		var err error
		switch a := action.(type) {
		case kubetesting.PatchActionImpl:
			if err = w.otherUID(a); err == nil {
				a.Patch, err = w.patchOfNext(a)
			}
			action = a
		case kubetesting.UpdateActionImpl:
			if svc, ok := a.Object.DeepCopyObject().(*corev1.Service); ok {
				svc.ResourceVersion, err = w.next(svc.Namespace, svc.Name, svc.ResourceVersion)
				a.Object = svc
			}
			action = a
		}
		if err != nil {
			return true, nil, err
		}
	}
	return kubetesting.ObjectReaction(w.kube.Tracker())(action)
}

// patchOfNext adds the next version to a patch of a Service.
func (w *world) patchOfNext(action kubetesting.PatchAction) ([]byte, error) {
	body := map[string]any{}
	if err := json.Unmarshal(action.GetPatch(), &body); err != nil {
		return nil, err
	}
	meta, ok := body["metadata"].(map[string]any)
	if !ok {
		meta = map[string]any{}
		body["metadata"] = meta
	}
	var err error
	if meta["resourceVersion"], err = w.next(action.GetNamespace(), action.GetName(), meta["resourceVersion"]); err != nil {
		return nil, err
	}
	return json.Marshal(body)
}

// next is the version of a Service after the one that is written on, which is the latest if none is given.
func (w *world) next(namespace, name string, given any) (string, error) {
	live, _ := w.kube.Tracker().Get(serviceResource(), namespace, name) // What isn't found is refused later.
	svc, ok := live.(*corev1.Service)
	if !ok {
		return "", nil
	}
	if given != nil && given != svc.ResourceVersion {
		return "", apierrors.NewConflict(serviceResource().GroupResource(), name, errors.New("the object has been modified"))
	}
	n, _ := strconv.Atoi(svc.ResourceVersion) // The first has none.
	return strconv.Itoa(n + 1), nil
}
