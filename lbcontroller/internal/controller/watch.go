package controller

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"alicloud-controllers.dev/services/nodes"
	"alicloud-controllers.dev/services/reconcile"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/backend"
	"alicloud-controllers.dev/lbcontroller/internal/cluster"
	"alicloud-controllers.dev/lbcontroller/internal/readiness"
)

// fallGap is how long pods that are there and no longer ready wait for the news of their nodes: when nodes can't be reached, they and
// their pods turn not ready in the same instant, and either may be seen first. Health checks take such pods out meanwhile.
const fallGap = time.Second

// watcher queues the Services that a change in the cluster concerns.
type watcher struct {
	*base
	gather *reconcile.Gather
}

// handlers are what is to be done about each change.
func (w *watcher) handlers() cluster.Handlers {
	return cluster.Handlers{
		Services: cache.ResourceEventHandlerFuncs{AddFunc: w.serviceAdded, UpdateFunc: w.serviceChanged, DeleteFunc: w.serviceDeleted},
		Nodes: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { w.nodesStale() },
			UpdateFunc: w.nodeUpdated,
			DeleteFunc: func(any) { w.nodesStale() },
		},
		Slices: cache.ResourceEventHandlerFuncs{AddFunc: w.sliceChanged, UpdateFunc: w.sliceUpdated, DeleteFunc: w.sliceChanged},
		Pods:   cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) { w.podChanged(nil, obj) }, UpdateFunc: w.podChanged},
	}
}

// queueAll queues all Services when the controller begins to lead. Those that have an address already give way: they only need to
// be verified.
func (w *watcher) queueAll() error {
	services, err := w.cluster.Services.List(labels.Everything())
	if err != nil {
		return fmt.Errorf("list the Services in the cache: %w", err)
	}
	for _, svc := range services {
		if w.assign(svc).idle() && !isLeftBehind(svc) {
			continue
		}
		priority := reconcile.User
		if len(svc.Status.LoadBalancer.Ingress) > 0 && svc.DeletionTimestamp == nil {
			priority = reconcile.Periodic
		}
		w.queue.add(keyOf(svc), priority)
	}
	// Pods may wait for a Service that is gone.
	for _, obj := range w.cluster.Pods.List() {
		w.podChanged(nil, obj)
	}
	return nil
}

func (w *watcher) serviceAdded(obj any) {
	if svc, ok := obj.(*corev1.Service); ok && !w.assign(svc).idle() {
		w.queue.add(keyOf(svc), reconcile.User)
	}
}

// serviceChanged queues every change but the arrival of conditions, which would let a Service that was refused be refused once more. What
// doesn't matter besides is found out without a call.
func (w *watcher) serviceChanged(oldObj, newObj any) {
	old, ok1 := oldObj.(*corev1.Service)
	svc, ok2 := newObj.(*corev1.Service)
	if !ok1 || !ok2 {
		return
	}
	loses := w.queue.leading.Load() && len(missing(w.Kinds, old, svc)) > 0
	if loses {
		w.services.Of(keyOf(svc)).lose(old, svc)
	}
	a := w.assign(svc)
	if a.idle() {
		if loses || !w.assign(old).idle() {
			w.queue.add(keyOf(svc), reconcile.User) // What it shows of a load balancer goes. How many it had is put back.
		}
		return
	}
	if w.services.Of(keyOf(svc)).arrived(old, svc) {
		return
	}
	if !w.queue.leading.Load() {
		return // The leader compares what users change with the cloud, and the next leader begins with all Services.
	}
	if ChangedByUser(old, svc) {
		w.services.Of(keyOf(svc)).setChanged()
	}
	for _, r := range w.Kinds {
		r.Kind.Changed(old, svc)
	}
	if reason, message := change(old, svc); reason != "" && !w.assign(old).idle() {
		w.events.Normal(svc, reason, message)
	}
	if svc.DeletionTimestamp == nil && len(a.release) > 0 && len(w.assign(old).release) == 0 {
		w.events.Normal(svc, ReasonTypeChanged, "the Service no longer asks for the load balancer that it has")
	}
	w.queue.add(keyOf(svc), reconcile.User)
}

// serviceDeleted queues every Service, so that what is remembered of it is dropped. Only the event of a deletion has
// the last state of a Service; one whose deletion was missed may have gone in order.
func (w *watcher) serviceDeleted(obj any) {
	priority := reconcile.Periodic
	if svc, ok := obj.(*corev1.Service); ok {
		w.events.Forget(svc)
		holds := func(r Registration) bool { return Writer{Finalizer: r.Finalizer}.Holds(svc) }
		if w.queue.leading.Load() && isBypassed(svc, time.Now()) && slices.ContainsFunc(w.Kinds, holds) {
			w.Logger.Warn("a Service was deleted past its finalizer; what it had is released", "service", keyOf(svc), "uid", svc.UID)
			w.bypassed.add(svc)
			priority = reconcile.User
		}
	}
	if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj); err == nil {
		w.queue.add(key, priority)
	}
}

// sliceUpdated passes over what changes no backends. A slice that goes from one Service to another changes those of both.
func (w *watcher) sliceUpdated(oldObj, newObj any) {
	old, ok1 := oldObj.(*discoveryv1.EndpointSlice)
	slice, ok2 := newObj.(*discoveryv1.EndpointSlice)
	if !ok1 || !ok2 {
		return
	}
	moved := old.Labels[discoveryv1.LabelServiceName] != slice.Labels[discoveryv1.LabelServiceName]
	if moved {
		w.sliceChanged(old)
	}
	switch {
	case falls(old, slice):
		w.endpointsChanged(slice, fallGap)
	case moved || !equality.Semantic.DeepEqual(old.Endpoints, slice.Endpoints) || !equality.Semantic.DeepEqual(old.Ports, slice.Ports) ||
		old.Annotations[backend.AnnotationWeight] != slice.Annotations[backend.AnnotationWeight]:
		w.endpointsChanged(slice, 0)
	}
}

// sliceChanged is about a slice that comes or goes.
func (w *watcher) sliceChanged(obj any) { w.endpointsChanged(obj, 0) }

// endpointsChanged queues the Service of a slice if pods decide about its backends, for a pass that waits at least so long.
func (w *watcher) endpointsChanged(obj any, wait time.Duration) {
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	keys, _ := cluster.IndexSlice(obj) // It never fails.
	for _, key := range keys {
		svc, err := w.cluster.Service(key)
		if err != nil {
			continue // A Service that comes later brings itself.
		}
		a := w.assign(svc)
		byPods := a.interest.Mode != backend.Cluster || w.nodes.current.Load().HasVirtual(a.interest.Nodes)
		if a.wanted != nil && (byPods || w.cluster.Awaited(key)) {
			w.queueGathered(key, wait)
		}
	}
}

// nodeUpdated passes over heartbeats.
func (w *watcher) nodeUpdated(oldObj, newObj any) {
	a, ok1 := oldObj.(*corev1.Node)
	b, ok2 := newObj.(*corev1.Node)
	if ok1 && ok2 && a.Spec.ProviderID == b.Spec.ProviderID && a.Spec.Unschedulable == b.Spec.Unschedulable &&
		nodes.Ready(a) == nodes.Ready(b) && (!w.DrainNodes || nodes.Draining(a) == nodes.Draining(b)) &&
		equality.Semantic.DeepEqual(a.Labels, b.Labels) && equality.Semantic.DeepEqual(a.Spec.Taints, b.Spec.Taints) {
		return
	}
	w.nodesStale()
}

// nodesStale notes that nodes have changed, and gathers changes of more.
func (w *watcher) nodesStale() {
	w.nodes.changes.Add(1)
	w.gather.Trigger()
}

// nodesChanged queues the Services whose backends differ between the last snapshot of the nodes and now.
func (w *watcher) nodesChanged() {
	after, err := w.nodes.snapshot()
	if err != nil {
		w.Logger.Error("nodes are not up to date", "error", err)
		return
	}
	before := w.nodes.current.Swap(after)
	services, err := w.cluster.Services.List(labels.Everything())
	if err != nil {
		w.Logger.Error("services are not queued for changed nodes", "error", err)
		return
	}
	changes, comparison := map[backend.View]map[string]bool{}, backend.Compare(before, after)
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
		return len(changed) > 0 && w.runsOn(svc, a.interest.Mode, changed) && takes(a.interest.Policy, before, after, comparison)
	}
	for _, svc := range services {
		if a := w.assign(svc); a.wanted != nil && concerned(svc, a) {
			w.queue.add(keyOf(svc), reconcile.Node)
		}
	}
}

// takes reports whether a Service that takes only some of the nodes takes one that has changed.
func takes(p backend.Policy, before, after *backend.Set, comparison *backend.Comparison) bool {
	return p.Mode != backend.Cluster || p.MaxNodes == 0 || after.HasVirtual(p.Nodes) || before.HasVirtual(p.Nodes) ||
		comparison.ChangesSubset(p)
}

// runsOn reports whether a change of these nodes can matter: with externalTrafficPolicy Local only where there are pods.
func (w *watcher) runsOn(svc *corev1.Service, mode backend.Mode, changed map[string]bool) bool {
	if mode == backend.Cluster {
		return true
	}
	list, err := w.cluster.SlicesOf(keyOf(svc))
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

// podChanged queues the Services for which a pod has begun to wait, or to wait in another way.
func (w *watcher) podChanged(oldObj, newObj any) {
	pod, ok := newObj.(*corev1.Pod)
	if !ok {
		return
	}
	var before []string
	if old, ok := oldObj.(*corev1.Pod); ok && old.UID == pod.UID {
		before = readiness.Waiting(old)
	}
	for _, key := range readiness.Waiting(pod) {
		if !slices.Contains(before, key) {
			w.queue.add(key, reconcile.Endpoint)
		}
	}
}

// secretChanged queues the Services that name a Secret.
func (w *watcher) secretChanged(obj any) {
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	secret, ok := obj.(*corev1.Secret)
	if !ok || !w.queue.leading.Load() {
		return // The next leader begins with all Services.
	}
	services, err := w.cluster.Services.List(labels.Everything())
	if err != nil {
		w.Logger.Error("Services are not queued for a changed Secret", "error", err)
		return
	}
	changed := types.NamespacedName{Namespace: secret.Namespace, Name: secret.Name}
	for _, svc := range services {
		if slices.ContainsFunc(annotation.Secrets(svc.Annotations), func(name string) bool {
			return annotation.SecretIn(svc.Namespace, name) == changed
		}) && w.assign(svc).wanted != nil {
			w.queue.add(keyOf(svc), reconcile.User)
		}
	}
}

// queueGathered queues a Service whose endpoints have changed, for a pass that waits at least so long.
func (w *watcher) queueGathered(key string, wait time.Duration) {
	if w.queue.leading.Load() {
		w.queue.AddAfter(key, reconcile.Endpoint, w.services.Of(key).nextPass(wait))
	}
}

// falls reports whether pods that were ready are not any more, though nothing says that they end.
func falls(old, slice *discoveryv1.EndpointSlice) bool {
	was := map[string]bool{}
	for _, e := range old.Endpoints {
		for _, address := range e.Addresses {
			was[address] = isReady(e)
		}
	}
	return slices.ContainsFunc(slice.Endpoints, func(e discoveryv1.Endpoint) bool {
		terminates := e.Conditions.Terminating != nil && *e.Conditions.Terminating
		return !isReady(e) && !terminates && slices.ContainsFunc(e.Addresses, func(address string) bool { return was[address] })
	})
}

// isReady reports whether a pod takes traffic. One of which nothing is said does.
func isReady(e discoveryv1.Endpoint) bool { return e.Conditions.Ready == nil || *e.Conditions.Ready }
