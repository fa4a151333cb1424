package knowledge

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newStore(kube *fake.Clientset) *Record {
	return NewRecord(RecordConfig{Client: kube, Namespace: "kube-system", Name: "backends", Logger: slog.New(slog.DiscardHandler)})
}

// data is what the ConfigMap holds.
func data(t *testing.T, kube *fake.Clientset) map[string]string {
	t.Helper()
	found, err := kube.CoreV1().ConfigMaps("kube-system").Get(t.Context(), "backends", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return found.Data
}

func equal(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// inStore runs the test with a running Record, and answers the requests that write.
func inStore(t *testing.T, kube *fake.Clientset, test func(t *testing.T, s *Record)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newStore(kube)
		running := make(chan error, 1)
		go func() { running <- s.Run(t.Context()) }()
		test(t, s)
	})
}

// digestOf is as long as every digest.
func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return Shorten(sum[:])
}

func writes(kube *fake.Clientset) (verbs []string) {
	for _, a := range kube.Actions() {
		if a.GetVerb() != "get" {
			verbs = append(verbs, a.GetVerb())
		}
	}
	kube.ClearActions()
	return verbs
}

// TestStore: new entries are gathered, one that is changed is written before the change, and another process reads both.
func TestStore(t *testing.T) {
	kube := fake.NewClientset()
	inStore(t, kube, func(t *testing.T, s *Record) {
		s.Set("default/a", "1")
		s.Set("default/b", "2")
		s.Set("default/b", "3")
		equal(t, "an entry that isn't written yet", "3", s.Get(t.Context(), "default/b"))
		<-time.After(time.Minute)
		equal(t, "writes", []string{"create"}, writes(kube))
		s.Change(t.Context(), "default/a")
		s.Change(t.Context(), "default/a")
		s.Change(t.Context(), "default/c")
		equal(t, "writes of a change", []string{"patch"}, writes(kube))
		other := newStore(kube)
		equal(t, "the changed one", Outdated, other.Get(t.Context(), "default/a"))
		equal(t, "the other", "3", other.Get(t.Context(), "default/b"))
		s.Set("default/b", "")
		s.Set("default/a", "")
		<-time.After(time.Minute)
		equal(t, "data", map[string]string{}, data(t, kube))
	})
}

// TestChangeAfterAnEntryThatWaits: what is written says that a Service is changed, also if another entry of it waits to be written.
func TestChangeAfterAnEntryThatWaits(t *testing.T) {
	for _, waiting := range []string{"", Outdated, "2"} {
		kube := fake.NewClientset(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "backends"},
			Data: map[string]string{"default.a": "1"}})
		inStore(t, kube, func(t *testing.T, s *Record) {
			s.Set("default/a", waiting)
			s.Change(t.Context(), "default/a")
			equal(t, fmt.Sprintf("data after %+v", waiting), map[string]string{"default.a": "-"}, data(t, kube))
		})
	}
}

// TestChangeDuringARequest: the same, also if a request that says what a Service has is under way, or if its answer was lost.
func TestChangeDuringARequest(t *testing.T) {
	for _, lost := range []bool{true, false} {
		kube := fake.NewClientset(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "backends"},
			Data: map[string]string{"default.a": "-"}})
		var requests atomic.Int32
		kube.PrependReactor("patch", "configmaps", func(action kubetesting.Action) (bool, runtime.Object, error) {
			if requests.Add(1) > 1 {
				return false, nil, nil
			}
			<-time.After(time.Second)
			if !lost {
				return false, nil, nil
			}
			if _, _, err := kubetesting.ObjectReaction(kube.Tracker())(action); err != nil {
				t.Error(err)
			}
			return true, nil, context.DeadlineExceeded
		})
		inStore(t, kube, func(t *testing.T, s *Record) {
			s.Set("default/a", "1")
			<-time.After(quiet + 500*time.Millisecond)
			s.Set("default/a", "")
			if lost {
				<-time.After(2 * time.Second)
			}
			s.Change(t.Context(), "default/a")
			<-time.After(2 * time.Second) // Less than until what is gathered is written.
			equal(t, fmt.Sprintf("data, answer lost: %t", lost), map[string]string{"default.a": "-"}, data(t, kube))
		})
	}
}

// TestStoreOfAnother: who writes without having seen what another wrote reads it first, and loses nothing.
func TestStoreOfAnother(t *testing.T) {
	kube := fake.NewClientset(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "backends"},
		Data: map[string]string{"default.a": "1"}})
	var conflicts atomic.Int32
	kube.PrependReactor("patch", "configmaps", func(kubetesting.Action) (bool, runtime.Object, error) {
		if conflicts.Add(1) > 1 {
			return false, nil, nil
		}
		return true, nil, apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, "backends", errors.New("another version"))
	})
	inStore(t, kube, func(t *testing.T, s *Record) {
		s.Change(t.Context(), "default/a")
		equal(t, "requests", int32(2), conflicts.Load())
		equal(t, "entries", map[string]string{"default.a": "-"}, data(t, kube))
	})
}

// TestStoreWithoutAnAPIServer: nothing is known and nothing waits; what is to be written is written when that works again.
func TestStoreWithoutAnAPIServer(t *testing.T) {
	kube := fake.NewClientset()
	var down atomic.Bool
	down.Store(true)
	kube.PrependReactor("*", "configmaps", func(kubetesting.Action) (bool, runtime.Object, error) {
		return down.Load(), nil, errors.New("the API server is down")
	})
	inStore(t, kube, func(t *testing.T, s *Record) {
		equal(t, "entry", "", s.Get(t.Context(), "default/a"))
		s.Set("default/a", "1")
		s.Change(t.Context(), "default/a")
		s.Set("default/a", "2")
		<-time.After(time.Minute)
		down.Store(false)
		<-time.After(time.Minute)
		equal(t, "data", map[string]string{"default.a": "2"}, data(t, kube))
	})
}

// TestStoreIsBounded: a ConfigMap can hold so much, however long the names are. Those that have no place are read at a restart: what was
// recorded of them before does not stay. A memo always has a place.
func TestStoreIsBounded(t *testing.T) {
	long := strings.Repeat("lb", 1000) // Few and large entries, as a fake patch takes long.
	full, size := map[string]string{}, 0
	for i := 0; ; i++ {
		name, value := fmt.Sprintf("%063d.%063d", i, i), digestOf("applied")+long
		if size += bytesOf(name, value); size > maxBytes {
			break
		}
		full[name] = value
	}
	first := fmt.Sprintf("%063d/%063d", 0, 0)
	kube := fake.NewClientset(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "backends"}, Data: full})
	inStore(t, kube, func(t *testing.T, s *Record) {
		s.Set("default/one-more", digestOf("another")+long+long+long)
		<-time.After(time.Minute)
		equal(t, "entries", len(full), len(data(t, kube)))
		equal(t, "entry without a place", "", s.Get(t.Context(), "default/one-more"))
		s.Set(first, digestOf("another")+long+long+long)
		<-time.After(time.Minute)
		equal(t, "entries when one has grown too large", len(full)-1, len(data(t, kube)))
		equal(t, "entry that has grown too large", "", newStore(kube).Get(t.Context(), first))
		if err := s.Commit(t.Context(), "memo", strings.Repeat("x", 1000)); err != nil {
			t.Fatal(err)
		}
		equal(t, "entries with a memo", len(full), len(data(t, kube)))
		bytes := 0
		for name, value := range data(t, kube) {
			bytes += len(name) + len(value)
		}
		if bytes > 1<<20 {
			t.Errorf("the ConfigMap has %d bytes of data", bytes)
		}
	})
}
