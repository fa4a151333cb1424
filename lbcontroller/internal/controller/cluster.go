package controller

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

// cluster is what the controller knows of the cluster.
type cluster struct {
	factory  informers.SharedInformerFactory
	services corelisters.ServiceLister
	nodes    corelisters.NodeLister
	slices   cache.Indexer
	pods     cache.Indexer
	synced   cache.InformerSynced
	listing  *kube.Listing
}

// handlers are told what changes in the cluster.
type handlers struct {
	services, nodes, slices, pods cache.ResourceEventHandlerFuncs
}

// newCluster watches the cluster.
func newCluster(client kubernetes.Interface, tell handlers) (cluster, error) {
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
	errs = append(errs, endpoints.AddIndexers(cache.Indexers{byService: indexSlice}), pods.AddIndexers(cache.Indexers{byService: indexPod}))
	watch(services.Informer(), kube.TrimService, tell.services)
	watch(nodeInformer.Informer(), kube.TrimNode, tell.nodes)
	watch(endpoints, kube.TrimEndpointSlice, tell.slices)
	watch(pods, kube.TrimPod, tell.pods)
	if err := errors.Join(errs...); err != nil {
		return cluster{}, err
	}
	return cluster{
		factory: factory, services: services.Lister(), nodes: nodeInformer.Lister(), slices: endpoints.GetIndexer(), pods: pods.GetIndexer(),
		listing: listing,
		synced: func() bool {
			for _, h := range registered {
				if !h.HasSynced() {
					return false
				}
			}
			return true
		},
	}, nil
}

// service reads a Service from the cache; it must not be changed.
func (i cluster) service(key string) (*corev1.Service, error) {
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return nil, err
	}
	return i.services.Services(namespace).Get(name)
}

// slicesOf reads the EndpointSlices of a Service from the cache.
func (i cluster) slicesOf(key string) ([]*discoveryv1.EndpointSlice, error) {
	objects, err := i.slices.ByIndex(byService, key)
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

func indexSlice(obj any) ([]string, error) {
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

// gatedBy reads the pods that declare the gate of a Service from the cache.
func (i cluster) gatedBy(key string) (readiness.Pods, error) {
	objects, err := i.pods.ByIndex(byService, key)
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

// awaited reports whether pods wait for a Service.
func (i cluster) awaited(key string) bool {
	gated, err := i.gatedBy(key)
	return err != nil || len(gated.Waiting()) > 0
}
