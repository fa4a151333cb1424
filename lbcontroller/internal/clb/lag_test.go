package clb

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
		return true, newLaggard(inner, by), nil
	})
}

// laggard passes on the events of another watch, late and in order.
type laggard struct {
	inner watch.Interface
	out   chan watch.Event
	stop  func()
}

func newLaggard(inner watch.Interface, by func() time.Duration) *laggard {
	stopped := make(chan struct{})
	l := &laggard{inner: inner, out: make(chan watch.Event), stop: sync.OnceFunc(func() {
		close(stopped)
		inner.Stop()
	})}
	go func() {
		defer close(l.out)
		for event := range inner.ResultChan() {
			select {
			case <-time.After(by()):
			case <-stopped:
				return
			}
			select {
			case l.out <- event:
			case <-stopped:
				return
			}
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

// versions makes the API server count the versions of Services, and refuse what is written on an older one.
func (w *world) versions() {
	tracked := kubetesting.ObjectReaction(w.kube.Tracker())
	var mu sync.Mutex
	next := func(namespace, name string, given any) (string, error) {
		live, err := w.kube.Tracker().Get(serviceResource(), namespace, name)
		svc, ok := live.(*corev1.Service)
		if err != nil || !ok {
			return "", nil // The tracker says what is not found.
		}
		if given != nil && given != svc.ResourceVersion {
			return "", apierrors.NewConflict(serviceResource().GroupResource(), name, errors.New("the object has been modified"))
		}
		n, _ := strconv.Atoi(svc.ResourceVersion) // The first has none.
		return strconv.Itoa(n + 1), nil
	}
	w.kube.PrependReactor("patch", "services", func(action kubetesting.Action) (bool, runtime.Object, error) {
		mu.Lock()
		defer mu.Unlock()
		patch, ok := action.(kubetesting.PatchActionImpl)
		if !ok {
			return false, nil, nil
		}
		body := map[string]any{}
		if err := json.Unmarshal(patch.Patch, &body); err != nil {
			return true, nil, err
		}
		meta, ok := body["metadata"].(map[string]any)
		if !ok {
			meta = map[string]any{}
			body["metadata"] = meta
		}
		var err error
		if meta["resourceVersion"], err = next(patch.Namespace, patch.Name, meta["resourceVersion"]); err != nil {
			return true, nil, err
		}
		if patch.Patch, err = json.Marshal(body); err != nil {
			return true, nil, err
		}
		return tracked(patch)
	})
	w.kube.PrependReactor("update", "services", func(action kubetesting.Action) (bool, runtime.Object, error) {
		mu.Lock()
		defer mu.Unlock()
		update, ok := action.(kubetesting.UpdateActionImpl)
		if !ok {
			return false, nil, nil
		}
		svc, ok := update.Object.DeepCopyObject().(*corev1.Service)
		if !ok {
			return false, nil, nil
		}
		var err error
		if svc.ResourceVersion, err = next(svc.Namespace, svc.Name, svc.ResourceVersion); err != nil {
			return true, nil, err
		}
		update.Object = svc
		return tracked(update)
	})
}
