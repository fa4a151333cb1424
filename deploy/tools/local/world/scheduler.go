package world

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// resync brings back pods that could not be bound, since no node was ready.
const resync = 5 * time.Second

// schedule is the world's scheduler: it gives pods to initialised nodes by turns, and nothing more.
func (w *World) schedule(ctx context.Context) {
	factory := informers.NewSharedInformerFactory(w.client, resync)
	nodes := factory.Core().V1().Nodes().Lister()
	turn := 0
	bind := func(obj any) {
		pod, ok := obj.(*corev1.Pod)
		if !ok || pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil {
			return
		}
		all, err := nodes.List(labels.Everything())
		if err != nil {
			return
		}
		ready := initialised(all)
		if len(ready) == 0 {
			return
		}
		turn++
		target := corev1.ObjectReference{Kind: "Node", Name: ready[turn%len(ready)]}
		binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace}, Target: target}
		err = w.client.CoreV1().Pods(pod.Namespace).Bind(ctx, binding, metav1.CreateOptions{})
		if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) && ctx.Err() == nil {
			w.say("pod %s/%s is not bound: %v", pod.Namespace, pod.Name, err)
		}
	}
	pods := factory.Core().V1().Pods().Informer()
	_, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: bind, UpdateFunc: func(_, obj any) { bind(obj) },
	})
	if err != nil {
		w.say("pods are not scheduled: %v", err)
		return
	}
	factory.Start(ctx.Done())
	<-ctx.Done()
	factory.Shutdown()
}

// initialised returns the names of the nodes that pods can go to, in order.
func initialised(all []*corev1.Node) []string {
	var names []string
	for _, node := range all {
		tainted := slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Effect != corev1.TaintEffectPreferNoSchedule })
		ready := slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		})
		if ready && !tainted && !node.Spec.Unschedulable {
			names = append(names, node.Name)
		}
	}
	slices.Sort(names)
	return names
}
