package kube

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/services/nodes"
)

// The transforms below are for informers (SetTransform). They drop what no controller reads, which is most of a Node, and may
// be applied any number of times, as the watch-list start of client-go does. A trimmed object must never be sent back with
// Update, which would delete what was dropped: use patches.

// TrimNode keeps of a node's annotations only those that our controllers read, and drops its images, volumes and field managers.
func TrimNode(obj any) (any, error) { return TrimNodeBut()(obj) }

// TrimNodeBut is TrimNode that keeps further annotations.
func TrimNodeBut(annotations ...string) func(any) (any, error) {
	kept := append([]string{nodes.AnnotationProvidedIP, nodes.AnnotationCloudLabels, nodes.AnnotationInstanceAbsent}, annotations...)
	return func(obj any) (any, error) { return trimNode(obj, kept) }
}

func trimNode(obj any, kept []string) (any, error) {
	node, ok := obj.(*corev1.Node)
	if !ok {
		return obj, nil // A tombstone holds an object that was trimmed already.
	}
	trimMeta(&node.ObjectMeta)
	all := node.Annotations
	node.Annotations = nil
	for _, key := range kept {
		if value, has := all[key]; has {
			if node.Annotations == nil {
				node.Annotations = map[string]string{}
			}
			node.Annotations[key] = value
		}
	}
	node.Status.Images = nil
	node.Status.VolumesInUse = nil
	node.Status.VolumesAttached = nil
	node.Status.Config = nil
	return node, nil
}

// TrimService drops the field managers and the copy that kubectl apply leaves.
func TrimService(obj any) (any, error) {
	if service, ok := obj.(*corev1.Service); ok {
		trimMeta(&service.ObjectMeta)
	}
	return obj, nil
}

// TrimEndpointSlice drops the field managers and the copy that kubectl apply leaves.
func TrimEndpointSlice(obj any) (any, error) {
	if slice, ok := obj.(*discoveryv1.EndpointSlice); ok {
		trimMeta(&slice.ObjectMeta)
	}
	return obj, nil
}

// TrimPod keeps of a pod its identity, its readiness gates and its conditions.
func TrimPod(obj any) (any, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return obj, nil // A tombstone holds an object that was trimmed already.
	}
	trimmed := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion, DeletionTimestamp: pod.DeletionTimestamp,
		},
		Spec: corev1.PodSpec{ReadinessGates: pod.Spec.ReadinessGates},
	}
	if len(pod.Spec.ReadinessGates) > 0 {
		trimmed.Status.Conditions = pod.Status.Conditions
	}
	return trimmed, nil
}

func trimMeta(meta *metav1.ObjectMeta) {
	meta.ManagedFields = nil
	delete(meta.Annotations, corev1.LastAppliedConfigAnnotation)
}
