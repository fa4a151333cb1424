package controller

import (
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"alicloud-controllers.dev/services/kube"
	"alicloud-controllers.dev/services/nodes"
	"alicloud-controllers.dev/services/reconcile"

	"alicloud-controllers.dev/lbcontroller/internal/backend"
)

// byService indexes EndpointSlices by the key of their Service.
const byService = "service"

// informerSet is what the controller knows of the cluster.
type informerSet struct {
	factory  informers.SharedInformerFactory
	services corelisters.ServiceLister
	nodes    corelisters.NodeLister
	slices   cache.Indexer
	pods     cache.Indexer
	synced   cache.InformerSynced
	listing  *kube.Listing
}

func (c *Controller) newInformers() (informerSet, error) {
	factory := informers.NewSharedInformerFactory(c.Client, 0)
	services := factory.Core().V1().Services()
	nodeInformer := factory.Core().V1().Nodes()
	endpoints := factory.Discovery().V1().EndpointSlices().Informer()
	pods := factory.Core().V1().Pods().Informer()
	handlers := []cache.ResourceEventHandlerRegistration{}
	listing := &kube.Listing{}
	var errs []error
	watch := func(informer cache.SharedIndexInformer, transform cache.TransformFunc, handler cache.ResourceEventHandler) {
		errs = append(errs, informer.SetTransform(transform), listing.Watch(informer))
		registration, err := informer.AddEventHandler(handler)
		handlers, errs = append(handlers, registration), append(errs, err)
	}
	errs = append(errs, endpoints.AddIndexers(cache.Indexers{byService: indexSlice}), pods.AddIndexers(cache.Indexers{byService: indexPod}))
	watch(services.Informer(), kube.TrimService, cache.ResourceEventHandlerFuncs{
		AddFunc:    c.serviceAdded,
		UpdateFunc: c.serviceChanged,
		DeleteFunc: c.serviceDeleted,
	})
	watch(nodeInformer.Informer(), kube.TrimNode, cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { c.nodesStale() },
		UpdateFunc: c.nodeUpdated,
		DeleteFunc: func(any) { c.nodesStale() },
	})
	watch(endpoints, kube.TrimEndpointSlice, cache.ResourceEventHandlerFuncs{
		AddFunc:    c.sliceChanged,
		UpdateFunc: c.sliceUpdated,
		DeleteFunc: c.sliceChanged,
	})
	watch(pods, kube.TrimPod, cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { c.podChanged(nil, obj) },
		UpdateFunc: c.podChanged,
	})
	if err := errors.Join(errs...); err != nil {
		return informerSet{}, err
	}
	return informerSet{
		factory: factory, services: services.Lister(), nodes: nodeInformer.Lister(), slices: endpoints.GetIndexer(), pods: pods.GetIndexer(),
		listing: listing,
		synced: func() bool {
			for _, h := range handlers {
				if !h.HasSynced() {
					return false
				}
			}
			return true
		},
	}, nil
}

// service reads a Service from the cache; it must not be changed.
func (i informerSet) service(key string) (*corev1.Service, error) {
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return nil, err
	}
	return i.services.Services(namespace).Get(name)
}

// slicesOf reads the EndpointSlices of a Service from the cache.
func (i informerSet) slicesOf(key string) ([]*discoveryv1.EndpointSlice, error) {
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

// queueAll queues all Services when the controller begins to lead. Those that have an address already give way: they only need to
// be verified.
func (c *Controller) queueAll() error {
	services, err := c.informers.services.List(labels.Everything())
	if err != nil {
		return fmt.Errorf("list the Services in the cache: %w", err)
	}
	for _, svc := range services {
		if c.assign(svc).idle() && !isLeftBehind(svc) {
			continue
		}
		priority := reconcile.User
		if len(svc.Status.LoadBalancer.Ingress) > 0 && svc.DeletionTimestamp == nil {
			priority = reconcile.Periodic
		}
		c.queue(keyOf(svc), priority)
	}
	// Pods may wait for a Service that is gone.
	for _, obj := range c.informers.pods.List() {
		c.podChanged(nil, obj)
	}
	return nil
}

// queue asks for a look at a Service. A standby queues nothing: what it would gather goes on growing until it leads.
func (c *Controller) queue(key string, priority reconcile.Priority) {
	if c.leading.Load() {
		c.runner.Add(key, priority)
	}
}

func (c *Controller) serviceAdded(obj any) {
	if svc, ok := obj.(*corev1.Service); ok && !c.assign(svc).idle() {
		c.queue(keyOf(svc), reconcile.User)
	}
}

// serviceChanged queues every change but the arrival of conditions, which would let a Service that was refused be refused once more. What
// doesn't matter besides is found out without a call.
func (c *Controller) serviceChanged(oldObj, newObj any) {
	old, ok1 := oldObj.(*corev1.Service)
	svc, ok2 := newObj.(*corev1.Service)
	if !ok1 || !ok2 {
		return
	}
	loses := c.leading.Load() && len(missing(c.Kinds, old, svc)) > 0
	if loses {
		c.services.Of(keyOf(svc)).lose(old, svc)
	}
	a := c.assign(svc)
	if a.idle() {
		if loses || !c.assign(old).idle() {
			c.queue(keyOf(svc), reconcile.User) // What it shows of a load balancer goes. How many it had is put back.
		}
		return
	}
	if c.services.Of(keyOf(svc)).arrived(old, svc) {
		return
	}
	if !c.leading.Load() {
		return // The leader compares what users change with the cloud, and the next leader begins with all Services.
	}
	if ChangedByUser(old, svc) {
		c.services.Of(keyOf(svc)).setChanged()
	}
	for _, r := range c.Kinds {
		r.Kind.Changed(old, svc)
	}
	if reason, message := change(old, svc); reason != "" && !c.assign(old).idle() {
		c.events.Normal(svc, reason, message)
	}
	if svc.DeletionTimestamp == nil && len(a.release) > 0 && len(c.assign(old).release) == 0 {
		c.events.Normal(svc, ReasonTypeChanged, "the Service no longer asks for the load balancer that it has")
	}
	c.queue(keyOf(svc), reconcile.User)
}

// serviceDeleted queues every Service, so that what is remembered of it is dropped. Only the event of a deletion has
// the last state of a Service; one whose deletion was missed may have gone in order.
func (c *Controller) serviceDeleted(obj any) {
	priority := reconcile.Periodic
	if svc, ok := obj.(*corev1.Service); ok {
		c.events.Forget(svc)
		holds := func(r Registration) bool { return Writer{Finalizer: r.Finalizer}.Holds(svc) }
		if c.leading.Load() && isBypassed(svc, time.Now()) && slices.ContainsFunc(c.Kinds, holds) {
			c.Logger.Warn("a Service was deleted past its finalizer; what it had is released", "service", keyOf(svc), "uid", svc.UID)
			c.bypassed.add(svc)
			priority = reconcile.User
		}
	}
	if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj); err == nil {
		c.queue(key, priority)
	}
}

// sliceUpdated passes over what changes no backends. A slice that goes from one Service to another changes those of both.
func (c *Controller) sliceUpdated(oldObj, newObj any) {
	old, ok1 := oldObj.(*discoveryv1.EndpointSlice)
	slice, ok2 := newObj.(*discoveryv1.EndpointSlice)
	if !ok1 || !ok2 {
		return
	}
	moved := old.Labels[discoveryv1.LabelServiceName] != slice.Labels[discoveryv1.LabelServiceName]
	if moved {
		c.sliceChanged(old)
	}
	switch {
	case falls(old, slice):
		c.endpointsChanged(slice, fallGap)
	case moved || !equality.Semantic.DeepEqual(old.Endpoints, slice.Endpoints) || !equality.Semantic.DeepEqual(old.Ports, slice.Ports):
		c.endpointsChanged(slice, 0)
	}
}

// sliceChanged is about a slice that comes or goes.
func (c *Controller) sliceChanged(obj any) { c.endpointsChanged(obj, 0) }

// endpointsChanged queues the Service of a slice if pods decide about its backends, for a pass that waits at least so long.
func (c *Controller) endpointsChanged(obj any, wait time.Duration) {
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	keys, _ := indexSlice(obj) // It never fails.
	for _, key := range keys {
		svc, err := c.informers.service(key)
		if err != nil {
			continue // A Service that comes later brings itself.
		}
		a := c.assign(svc)
		if a.wanted != nil && (a.interest.Mode != backend.Cluster || c.nodes.Load().HasVirtual(a.interest.Nodes) || c.informers.awaited(key)) {
			c.queueGathered(key, wait)
		}
	}
}

// nodeUpdated passes over heartbeats.
func (c *Controller) nodeUpdated(oldObj, newObj any) {
	a, ok1 := oldObj.(*corev1.Node)
	b, ok2 := newObj.(*corev1.Node)
	if ok1 && ok2 && a.Spec.ProviderID == b.Spec.ProviderID && a.Spec.Unschedulable == b.Spec.Unschedulable &&
		nodes.Ready(a) == nodes.Ready(b) && (!c.DrainNodes || nodes.Draining(a) == nodes.Draining(b)) &&
		equality.Semantic.DeepEqual(a.Labels, b.Labels) && equality.Semantic.DeepEqual(a.Spec.Taints, b.Spec.Taints) {
		return
	}
	c.nodesStale()
}

// nodesStale notes that nodes have changed, and gathers changes of more.
func (c *Controller) nodesStale() {
	c.nodeChanges.Add(1)
	c.gather.Trigger()
}

// nodesOf are the nodes after so many changes.
type nodesOf struct {
	*backend.Set
	changes int64
}

// snapshot looks at the nodes in the cache.
func (c *Controller) snapshot() (*backend.Set, error) {
	changes := c.nodeChanges.Load()
	if last := c.latest.Load(); last != nil && last.changes == changes {
		return last.Set, nil
	}
	list, err := c.informers.nodes.List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("list the nodes in the cache: %w", err)
	}
	if c.ExcludeControlPlane {
		list = backend.WithoutControlPlane(list)
	}
	take := backend.New
	if c.DrainNodes {
		take = backend.NewDraining
	}
	set := take(list)
	c.latest.Store(&nodesOf{set, changes})
	return set, nil
}

// nodesChanged queues the Services whose backends differ between the last snapshot of the nodes and now.
func (c *Controller) nodesChanged() {
	after, err := c.snapshot()
	if err != nil {
		c.Logger.Error("nodes are not up to date", "error", err)
		return
	}
	before := c.nodes.Swap(after)
	services, err := c.informers.services.List(labels.Everything())
	if err != nil {
		c.Logger.Error("services are not queued for changed nodes", "error", err)
		return
	}
	changes := map[backend.View]map[string]bool{}
	concerned := func(svc *corev1.Service, a assignment) bool {
		view := a.interest.Nodes
		if a.interest.Mode == backend.Pods {
			view = backend.View{} // It matters whether nodes are ready.
		}
		changed, ok := changes[view]
		if !ok {
			changed = backend.Changed(before, after, view)
			changes[view] = changed
		}
		return len(changed) > 0 && c.runsOn(svc, a.interest.Mode, changed) && c.takes(a.interest.Policy, before, after)
	}
	for _, svc := range services {
		if a := c.assign(svc); a.wanted != nil && concerned(svc, a) {
			c.queue(keyOf(svc), reconcile.Node)
		}
	}
}

// takes reports whether a Service that takes only some of the nodes takes one that has changed.
func (c *Controller) takes(p backend.Policy, before, after *backend.Set) bool {
	return p.Mode != backend.Cluster || p.MaxNodes == 0 || after.HasVirtual(p.Nodes) || before.HasVirtual(p.Nodes) ||
		backend.ChangedSubset(before, after, p)
}

// nodesNow are the nodes for a pass. Where pods are the servers, or say which nodes are, they come and go with their nodes, and a burst of
// nodes isn't waited for.
func (c *Controller) nodesNow(a assignment) (*backend.Set, error) {
	if a.wanted == nil || a.interest.Mode == backend.Cluster {
		return c.nodes.Load(), nil
	}
	return c.snapshot()
}

// runsOn reports whether a change of these nodes can matter: with externalTrafficPolicy Local only where there are pods.
func (c *Controller) runsOn(svc *corev1.Service, mode backend.Mode, changed map[string]bool) bool {
	if mode == backend.Cluster {
		return true
	}
	list, err := c.informers.slicesOf(keyOf(svc))
	if err != nil {
		return true
	}
	for _, s := range list {
		for _, e := range s.Endpoints {
			if e.NodeName != nil && changed[*e.NodeName] {
				return true
			}
		}
	}
	return false
}
