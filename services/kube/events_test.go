package kube_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"

	"alicloud-controllers.dev/services/kube"
)

func events(t *testing.T, client *fake.Clientset, namespace string) []corev1.Event {
	t.Helper()
	list, err := client.CoreV1().Events(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

func TestRecorder(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset()
	recorder, stop := kube.NewRecorder(t.Context(), client, "lbcontroller")
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u-1"}}
	for range 3 {
		recorder.Eventf(service, corev1.EventTypeWarning, "SyncLoadBalancerFailed", "no %s", "address")
	}
	recorder.AnnotatedEventf(service, map[string]string{"a": "b"}, corev1.EventTypeNormal, "EnsuredLoadBalancer", "done")
	recorder.Event(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, corev1.EventTypeNormal, "Initialized", "done")
	stop()
	recorder.Event(service, corev1.EventTypeNormal, "TooLate", "after the end")
	stop()

	got := map[string]corev1.Event{}
	for _, e := range events(t, client, "shop") {
		got[e.Reason] = e
	}
	if len(got) != 2 {
		t.Fatalf("events = %v, want one of each reason", got)
	}
	failed := got["SyncLoadBalancerFailed"]
	if failed.Count != 3 || failed.Message != "no address" || failed.Type != corev1.EventTypeWarning ||
		failed.Source.Component != "lbcontroller" {
		t.Errorf("repeated event = %+v", failed)
	}
	if about := failed.InvolvedObject; about.Kind != "Service" || about.APIVersion != "v1" || about.Name != "web" || about.UID != "u-1" {
		t.Errorf("it is about %+v", about)
	}
	if got["EnsuredLoadBalancer"].Annotations["a"] != "b" {
		t.Errorf("annotated event = %+v", got["EnsuredLoadBalancer"])
	}
	if nodes := events(t, client, metav1.NamespaceDefault); len(nodes) != 1 || nodes[0].InvolvedObject.Kind != "Node" {
		t.Errorf("events of a node = %v, want one in the default namespace", nodes)
	}
}

func TestRecorderGoesOnAfterErrors(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset()
	resource := schema.GroupResource{Resource: "events"}
	client.PrependReactor("create", "events", func(action clienttesting.Action) (bool, runtime.Object, error) {
		create, ok := action.(clienttesting.CreateAction)
		event, isEvent := create.GetObject().(*corev1.Event)
		if ok && isEvent && event.Reason == "Refused" {
			return true, nil, apierrors.NewForbidden(resource, event.Name, errors.New("no RBAC"))
		}
		return false, nil, nil
	})
	// The counted-up event has expired.
	client.PrependReactor("patch", "events", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewNotFound(resource, "x")
	})
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
	recorder, stop := kube.NewRecorder(klog.NewContext(t.Context(), logger), client, "lbcontroller")
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	recorder.Event(service, corev1.EventTypeNormal, "Refused", "x")
	recorder.Event(service, corev1.EventTypeNormal, "Again", "x")
	recorder.Event(service, corev1.EventTypeNormal, "Again", "x")
	stop()
	if got := events(t, client, "shop"); len(got) != 1 && len(got) != 2 || got[0].Reason != "Again" {
		t.Errorf("events = %v", got)
	}
	buffer, ok := logger.GetSink().(ktesting.Underlier)
	if !ok || !strings.Contains(buffer.GetBuffer().String(), "no RBAC") {
		t.Error("the log does not report the refused event")
	}
}

// TestManyEventsOfOneObject: what is done to one object, such as the deletion of hundreds of routes of a table, is recorded
// one by one, and leaves room for a warning after that.
func TestManyEventsOfOneObject(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset()
	recorder, stop := kube.NewRecorder(t.Context(), client, "routecontroller")
	about := &corev1.ObjectReference{Kind: "RouteTable", Namespace: "kube-system", Name: "vtb-1"}
	const done = 63 // the routes of 500 nodes, eight in one event
	for i := range done {
		recorder.Eventf(about, corev1.EventTypeNormal, "DeletedRoute", "Deleted 10.0.%d.0/24", i)
	}
	recorder.Event(about, corev1.EventTypeWarning, "RouteTableNearlyFull", "80 % are used")
	stop()
	messages := map[string]bool{}
	for _, e := range events(t, client, "kube-system") {
		messages[e.Message] = true
	}
	for i := range done {
		if text := fmt.Sprintf("Deleted 10.0.%d.0/24", i); !messages[text] {
			t.Errorf("no event %q", text)
		}
	}
	if !messages["80 % are used"] || strings.Contains(fmt.Sprint(messages), "combined") {
		t.Errorf("events %v", messages)
	}
}
