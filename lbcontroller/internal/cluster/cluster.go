// Package cluster watches what lbcontroller needs of Kubernetes, and answers what of it concerns a Service from memory.
// It makes a Cache of Services, Nodes, EndpointSlices and Pods, and Secrets of those with certificates.
package cluster

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"alicloud-controllers.dev/services/kube"

	"alicloud-controllers.dev/lbcontroller/internal/readiness"
)

// byService indexes EndpointSlices by the key of their Service.
const byService = "service"

// Cache is what the controller knows of the cluster.
type Cache struct {
	Factory  informers.SharedInformerFactory
	Services corelisters.ServiceLister
	Nodes    corelisters.NodeLister
	Slices   cache.Indexer
	Pods     cache.Indexer
	Synced   cache.InformerSynced
	Listing  *kube.Listing
}

// Handlers are called with what changes in the cluster.
type Handlers struct {
	Services, Nodes, Slices, Pods cache.ResourceEventHandlerFuncs
}

// New prepares the watches; nothing runs before the factory is started.
func New(client kubernetes.Interface, on Handlers) (Cache, error) {
	factory := informers.NewSharedInformerFactory(client, 0)
	services := factory.Core().V1().Services()
	nodeInformer := factory.Core().V1().Nodes()
	endpoints := factory.Discovery().V1().EndpointSlices().Informer()
	pods := factory.Core().V1().Pods().Informer()
	registered := []cache.ResourceEventHandlerRegistration{}
	listing := &kube.Listing{}
	var errs []error
	watch := func(informer cache.SharedIndexInformer, transform cache.TransformFunc, handler cache.ResourceEventHandler) {
		errs = append(errs, informer.SetTransform(transform), listing.Watch(informer))
		registration, err := informer.AddEventHandler(handler)
		registered, errs = append(registered, registration), append(errs, err)
	}
	errs = append(errs, endpoints.AddIndexers(cache.Indexers{byService: IndexSlice}), pods.AddIndexers(cache.Indexers{byService: indexPod}))
	watch(services.Informer(), kube.TrimService, on.Services)
	watch(nodeInformer.Informer(), kube.TrimNode, on.Nodes)
	watch(endpoints, kube.TrimEndpointSlice, on.Slices)
	watch(pods, kube.TrimPod, on.Pods)
	if err := errors.Join(errs...); err != nil {
		return Cache{}, err
	}
	return Cache{
		Factory: factory, Services: services.Lister(), Nodes: nodeInformer.Lister(), Slices: endpoints.GetIndexer(), Pods: pods.GetIndexer(),
		Listing: listing,
		Synced: func() bool {
			for _, h := range registered {
				if !h.HasSynced() {
					return false
				}
			}
			return true
		},
	}, nil
}

// Service reads a Service from the cache; it must not be changed.
func (c Cache) Service(key string) (*corev1.Service, error) {
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return nil, err
	}
	return c.Services.Services(namespace).Get(name)
}

// SlicesOf reads the EndpointSlices of a Service from the cache.
func (c Cache) SlicesOf(key string) ([]*discoveryv1.EndpointSlice, error) {
	objects, err := c.Slices.ByIndex(byService, key)
	if err != nil {
		return nil, fmt.Errorf("read the EndpointSlices of %s from the cache: %w", key, err)
	}
	result := make([]*discoveryv1.EndpointSlice, 0, len(objects))
	for _, o := range objects {
		if s, ok := o.(*discoveryv1.EndpointSlice); ok {
			result = append(result, s)
		}
	}
	return result, nil
}

// IndexSlice is the key of the Service of an EndpointSlice, if it has one.
func IndexSlice(obj any) ([]string, error) {
	if s, ok := obj.(*discoveryv1.EndpointSlice); ok && s.Labels[discoveryv1.LabelServiceName] != "" {
		return []string{s.Namespace + "/" + s.Labels[discoveryv1.LabelServiceName]}, nil
	}
	return nil, nil
}

func indexPod(obj any) ([]string, error) {
	if pod, ok := obj.(*corev1.Pod); ok {
		return readiness.Services(pod), nil
	}
	return nil, nil
}

// GatedBy reads the pods that declare the gate of a Service from the cache.
func (c Cache) GatedBy(key string) (readiness.Pods, error) {
	objects, err := c.Pods.ByIndex(byService, key)
	if err != nil {
		return nil, fmt.Errorf("read the pods that wait for %s from the cache: %w", key, err)
	}
	if len(objects) == 0 {
		return nil, nil
	}
	_, service, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return nil, err
	}
	pods := make(readiness.Pods, len(objects))
	for _, o := range objects {
		if pod, ok := o.(*corev1.Pod); ok {
			pods[pod.Name] = readiness.Of(pod, service)
		}
	}
	return pods, nil
}

// Awaited reports whether pods wait for a Service.
func (c Cache) Awaited(key string) bool {
	gated, err := c.GatedBy(key)
	return err != nil || len(gated.Waiting()) > 0
}
