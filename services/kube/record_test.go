package kube_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"

	"alicloud-controllers.dev/services/kube"
)

type note struct {
	Names []string `json:"names,omitempty"`
}

func newRecord(client *fake.Clientset) *kube.Record[note] {
	return kube.NewRecord[note](client, "kube-system", "notes", 2)
}

func TestRecordOutlivesItsWriter(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset()
	first := newRecord(client)
	if got, err := first.Load(t.Context()); err != nil || len(got.Names) != 0 {
		t.Fatalf("a record that does not exist is %v, %v", got, err)
	}
	for _, names := range [][]string{{"a"}, {"a", "b"}} {
		if err := first.Save(t.Context(), note{Names: names}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := newRecord(client).Load(t.Context())
	if diff := cmp.Diff(note{Names: []string{"a", "b"}}, got); diff != "" || err != nil {
		t.Errorf("the next leader reads (-want +got):\n%s\n%v", diff, err)
	}
}

func TestUnreadableRecordIsAnError(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		data map[string]string
		want string
	}{
		"another format": {map[string]string{"format": "3", "record": "{}"}, `format "3", and only 2 is understood`},
		"no format":      {map[string]string{"record": "{}"}, `format "", and only 2 is understood`},
		"not JSON":       {map[string]string{"format": "2", "record": "{"}, "can't be read, delete it to begin anew"},
		"emptied":        {nil, "delete it to begin anew"},
		"no record":      {map[string]string{"format": "2"}, "can't be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := fake.NewClientset(&corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "notes"}, Data: tt.data,
			})
			record := newRecord(client)
			if got, err := record.Load(t.Context()); err == nil || !strings.Contains(err.Error(), tt.want) || len(got.Names) > 0 {
				t.Errorf("got %v, %v; want an error with %q", got, err, tt.want)
			}
			if err := record.Save(t.Context(), note{}); !apierrors.IsAlreadyExists(err) {
				t.Errorf("what could not be read is overwritten: %v", err)
			}
		})
	}
}

func TestRecordOfAnotherLeaderIsNotOverwritten(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset()
	record := newRecord(client)
	if err := record.Save(t.Context(), note{Names: []string{"a"}}); err != nil {
		t.Fatal(err)
	}
	var versions []string
	client.PrependReactor("update", "configmaps", func(action kubetesting.Action) (bool, runtime.Object, error) {
		update, ok := action.(kubetesting.UpdateAction)
		if !ok {
			return false, nil, errors.New("not an update")
		}
		versions = append(versions, update.GetObject().(*corev1.ConfigMap).ResourceVersion) //nolint:forcetypeassert // A failure of the test.
		return true, nil, apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, "notes", nil)
	})
	current, err := client.CoreV1().ConfigMaps("kube-system").Get(t.Context(), "notes", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := record.Save(t.Context(), note{}); !apierrors.IsConflict(err) {
		t.Errorf("error %v, want a conflict", err)
	}
	if diff := cmp.Diff([]string{current.ResourceVersion}, versions); diff != "" {
		t.Errorf("the write is not bound to the version that was read (-want +got):\n%s", diff)
	}
}

func TestRecordIsBounded(t *testing.T) {
	t.Parallel()
	err := newRecord(fake.NewClientset()).Save(t.Context(), note{Names: []string{strings.Repeat("x", 1<<20)}})
	if err == nil || !strings.Contains(err.Error(), "at most 921600 are possible") {
		t.Errorf("error %v", err)
	}
}
