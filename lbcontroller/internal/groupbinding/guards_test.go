package groupbinding_test

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	kubetesting "k8s.io/client-go/testing"

	"alicloud-controllers.dev/lbcontroller/internal/groupbinding"
)

// TestServiceIsThereAfterAll: servers are taken out for a Service that is gone only if the API server says so, too.
func TestServiceIsThereAfterAll(t *testing.T) {
	t.Parallel()
	play(t, false, func(w *world) {
		there := true
		w.one.kube.PrependReactor("get", "services", func(a kubetesting.Action) (bool, runtime.Object, error) {
			if !there || a.(kubetesting.GetAction).GetName() != "web" {
				return false, nil, nil
			}
			return true, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}, nil
		})
		w.one.apply(serviceWeb)
		w.one.pods("web", "10.0.0.1")
		w.one.apply(fmt.Sprintf(bindingOf, onNLB, 80))
		w.settle()
		const one = "eni-10.0.0.1:8080=80 of c-one"
		if got := w.servers()["sgp-web"]; got != one {
			t.Fatalf("servers %q", got)
		}
		w.one.remove("service", "web")
		w.settle()
		if got := w.servers()["sgp-web"]; got != one {
			t.Errorf("the cache alone says that the Service is gone: servers %q", got)
		}
		there = false
		w.one.apply(fmt.Sprintf(bindingOf, onNLB, 79)) // Another pass.
		w.settle()
		if got := w.servers()["sgp-web"]; got != "" {
			t.Errorf("both say so: servers %q", got)
		}
	})
}

// bound makes a binding, and changes the Service that is made for it, whose name it returns.
func (w *world) bound(change func(*corev1.Service)) types.NamespacedName {
	w.t.Helper()
	w.one.apply(serviceWeb)
	w.one.pods("web", "10.0.0.1")
	w.one.apply(fmt.Sprintf(bindingOf, onNLB, 80))
	w.settle()
	name := groupbinding.ServiceName(w.one.binding("web"))
	services := w.one.kube.CoreV1().Services(name.Namespace)
	svc, err := services.Get(w.t.Context(), name.Name, metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	change(svc)
	if _, err := services.Update(w.t.Context(), svc, metav1.UpdateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	w.settle()
	return name
}

// TestServiceOfSomebodyElse: a binding that is deleted goes, though there is a Service of the name of its own that is
// somebody else's now.
func TestServiceOfSomebodyElse(t *testing.T) {
	t.Parallel()
	play(t, false, func(w *world) {
		name := w.bound(func(svc *corev1.Service) { svc.OwnerReferences = nil })
		w.one.remove("binding", "web")
		w.settle()
		if b := w.one.binding("web"); b != nil {
			t.Errorf("the binding is still there: %+v", b.Status)
		}
		if _, err := w.one.kube.CoreV1().Services(name.Namespace).Get(t.Context(), name.Name, metav1.GetOptions{}); err != nil {
			t.Errorf("the Service: %v", err)
		}
	})
}

// TestSurplusIsDeletedOnce: what was made for a binding whose Service is gone is deleted once, however long it stays.
func TestSurplusIsDeletedOnce(t *testing.T) {
	t.Parallel()
	play(t, false, func(w *world) {
		w.bound(func(svc *corev1.Service) { svc.Finalizers = append(svc.Finalizers, "example.com/keeps") })
		w.one.writes.Take()
		w.one.remove("service", "web")
		w.settle()
		w.one.apply(fmt.Sprintf(bindingOf, onNLB, 79)) // Another pass.
		w.settle()
		deleted := slices.DeleteFunc(w.one.writes.Take(), func(write string) bool { return write != "delete services" })
		if len(deleted) != 1 {
			t.Errorf("deleted %d times", len(deleted))
		}
	})
}
