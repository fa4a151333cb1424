package controller

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	"alicloud-controllers.dev/lbcontroller/internal/cluster"
)

// TestExists: that there is no Service takes the word of the API server; that there is one takes the cache's, unless
// the Service is about to go or of another type. One that has given up all is as good as gone. A name in the cloud may be
// the shortened one of another Service.
func TestExists(t *testing.T) {
	t.Parallel()
	being := func(svc *corev1.Service) { svc.DeletionTimestamp = new(metav1.Now()) }
	held := func(svc *corev1.Service) { svc.Finalizers = []string{"ours"} }
	typed := func(svc *corev1.Service) { svc.Spec.Type = corev1.ServiceTypeNodePort }
	other := func(svc *corev1.Service) { svc.Name = "web-of-a-long-name" }
	for what, tt := range map[string]struct {
		cached, live []*corev1.Service
		owns         bool
		fails        bool
		want         bool
	}{
		"nowhere":                 {},
		"in the cache":            {cached: []*corev1.Service{web()}, want: true},
		"being deleted, and gone": {cached: []*corev1.Service{web(being)}},
		"being deleted, and not released": {cached: []*corev1.Service{web(being)}, live: []*corev1.Service{web(being, held)},
			want: true},
		"being deleted, and released":       {cached: []*corev1.Service{web(being)}, live: []*corev1.Service{web(being)}},
		"of another type, and released":     {cached: []*corev1.Service{web(typed)}, live: []*corev1.Service{web(typed)}},
		"of another type, and not released": {cached: []*corev1.Service{web(typed, held)}, want: true},
		"of another type in the cache only": {cached: []*corev1.Service{web(typed)}, live: []*corev1.Service{web()}, want: true},
		"new, and not in the cache yet":     {live: []*corev1.Service{web()}, want: true},
		"another one, with another name":    {cached: []*corev1.Service{web(other)}},
		"another one, whose name is short":  {cached: []*corev1.Service{web(other)}, owns: true, want: true},
		"the API server doesn't answer":     {fails: true},
	} {
		client := fake.NewSimpleClientset()
		for _, svc := range tt.live {
			if err := client.Tracker().Add(svc); err != nil {
				t.Fatal(err)
			}
		}
		if tt.fails {
			client.PrependReactor("get", "services", func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, nil, errors.New("no answer")
			})
		}
		indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc,
			cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
		for _, svc := range tt.cached {
			if err := indexer.Add(svc); err != nil {
				t.Fatal(err)
			}
		}
		w := worker{publisher{&base{Config: Config{Client: client, Kinds: []Registration{{Finalizer: "ours"}}},
			cluster: cluster.Cache{Services: corelisters.NewServiceLister(indexer)}}}}
		got, err := w.exists(t.Context(), "default", "web", func(*corev1.Service) bool { return tt.owns })
		if got != tt.want || (err != nil) != tt.fails {
			t.Errorf("%s: %t, %v", what, got, err)
		}
	}
}
