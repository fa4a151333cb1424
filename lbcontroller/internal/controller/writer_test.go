package controller

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"
)

// TestHold: a Service that the cache shows as it is costs one request, and one that it shows as it was is read.
func TestHold(t *testing.T) {
	t.Parallel()
	const finalizer = "service.k8s.alibaba/resources"
	version := func(v string) func(*corev1.Service) {
		return func(svc *corev1.Service) { svc.ResourceVersion = v }
	}
	held := func(svc *corev1.Service) { svc.Finalizers = append(svc.Finalizers, finalizer) }
	cached := web(version("1"), func(svc *corev1.Service) { svc.Finalizers = []string{"a.user's/own"} })
	for name, test := range map[string]struct {
		confirm bool
		live    *corev1.Service // nil: deleted
		verbs   []string
		added   bool
		gone    bool
	}{
		"as it is":          {live: cached, verbs: []string{"patch"}, added: true},
		"changed meanwhile": {live: web(version("2")), verbs: []string{"patch", "get", "patch"}, added: true},
		"held meanwhile":    {live: web(version("2"), held), verbs: []string{"patch", "get"}},
		"being deleted":     {live: web(version("2"), held, deleting), verbs: []string{"patch", "get"}, gone: true},
		"deleted":           {verbs: []string{"patch"}, gone: true},
		"another one of its name": {live: web(version("2"), func(svc *corev1.Service) { svc.UID = "another" }),
			verbs: []string{"patch", "get"}, gone: true},
		"the cache isn't believed":  {confirm: true, live: cached, verbs: []string{"get", "patch"}, added: true},
		"not believed, and deleted": {confirm: true, verbs: []string{"get"}, gone: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := fake.NewSimpleClientset()
			if test.live != nil {
				if err := client.Tracker().Add(test.live.DeepCopy()); err != nil {
					t.Fatal(err)
				}
			}
			client.PrependReactor("patch", "services", refuseOlder(client.Tracker()))
			w := Writer{Client: client, Finalizer: finalizer}
			hold := w.Hold
			if test.confirm {
				hold = w.Confirm
			}
			got, added, err := hold(t.Context(), cached)
			var verbs []string
			for _, action := range client.Actions() {
				verbs = append(verbs, action.GetVerb())
			}
			check(t, "requests", test.verbs, verbs)
			check(t, "added", test.added, added)
			if test.gone {
				if !errors.Is(err, ErrGone) {
					t.Errorf("got %v, want %v", err, ErrGone)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := slices.Clone(test.live.Finalizers)
			if !slices.Contains(want, finalizer) {
				want = append(want, finalizer)
			}
			check(t, "finalizers", want, got.Finalizers)
		})
	}
}

func deleting(svc *corev1.Service) { svc.DeletionTimestamp = &metav1.Time{Time: time.Unix(1e9, 0)} }

// refuseOlder refuses patches as the API server does that are meant for another version or another object of the same name.
func refuseOlder(tracker kubetesting.ObjectTracker) kubetesting.ReactionFunc {
	return func(action kubetesting.Action) (bool, runtime.Object, error) {
		var body struct{ Metadata metav1.ObjectMeta }
		patch, ok := action.(kubetesting.PatchAction)
		if !ok {
			return false, nil, nil
		}
		if err := json.Unmarshal(patch.GetPatch(), &body); err != nil {
			return true, nil, err
		}
		object, err := tracker.Get(patch.GetResource(), patch.GetNamespace(), patch.GetName())
		if err != nil {
			return true, nil, err
		}
		live, ok := object.(metav1.Object)
		if ok && (live.GetUID() != body.Metadata.UID || live.GetResourceVersion() != body.Metadata.ResourceVersion) {
			return true, nil, apierrors.NewConflict(patch.GetResource().GroupResource(), patch.GetName(), errors.New("it is another one"))
		}
		return false, nil, nil
	}
}
