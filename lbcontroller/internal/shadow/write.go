package shadow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"alicloud-controllers.dev/lbcontroller/internal/backend"
	"alicloud-controllers.dev/lbcontroller/internal/controller"
)

// Writer writes Services and their slices.
type Writer struct {
	Client kubernetes.Interface
	Known  controller.Known
}

// Keep makes a Service and its slices as they are wanted, unless another Service has the name. What comes is there
// before what goes: a port never lacks the slices that say who is behind it. So a new Service asks for a load balancer
// when the cache, which the engine reads, too, has its slices: one that takes the listeners of another would lead them
// to nobody until then.
func (w Writer) Keep(ctx context.Context, want *corev1.Service, wanted []*discoveryv1.EndpointSlice) error {
	services := w.Client.CoreV1().Services(want.Namespace)
	name := types.NamespacedName{Namespace: want.Namespace, Name: want.Name}
	live := w.Known.Service(name)
	if live == nil {
		first := want.DeepCopy()
		first.Spec.Type, first.Spec.LoadBalancerClass = corev1.ServiceTypeClusterIP, nil
		first.Spec.LoadBalancerSourceRanges = nil
		made, err := services.Create(ctx, first, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("make Service %s: %w", name, err)
		}
		live = made
	}
	owner, wantedBy := metav1.GetControllerOf(live), metav1.GetControllerOf(want)
	if !IsOurs(live) || owner == nil || owner.UID != wantedBy.UID || live.DeletionTimestamp != nil {
		return nil // The status of the owner says so.
	}
	stale := map[string]*discoveryv1.EndpointSlice{}
	for _, slice := range w.Known.Slices(name) {
		if slice.Labels[discoveryv1.LabelManagedBy] == backend.SlicesManager {
			stale[slice.Name] = slice
		}
	}
	slicesOf := w.Client.DiscoveryV1().EndpointSlices(live.Namespace)
	known := true
	for _, want := range wanted {
		want.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: live.Name, UID: live.UID,
			Controller: new(true)}}
		have := stale[want.Name]
		delete(stale, want.Name)
		var err error
		switch {
		case have == nil:
			known = false
			_, err = slicesOf.Create(ctx, want, metav1.CreateOptions{})
		case !sameSlice(have, want):
			want.ResourceVersion = have.ResourceVersion
			_, err = slicesOf.Update(ctx, want, metav1.UpdateOptions{})
		}
		if err != nil {
			return fmt.Errorf("write a slice of Service %s: %w", name, err)
		}
	}
	if !known && live.Spec.Type != want.Spec.Type {
		return nil // The change of the cache asks for another pass.
	}
	if patch := change(live, want); patch != nil {
		text, err := json.Marshal(patch)
		if err == nil {
			_, err = services.Patch(ctx, live.Name, types.MergePatchType, text, metav1.PatchOptions{})
		}
		if err != nil {
			return fmt.Errorf("change Service %s: %w", name, err)
		}
	}
	for name := range stale {
		if err := slicesOf.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			return fmt.Errorf("delete slice %s: %w", name, err)
		}
	}
	return nil
}

// Delete deletes a Service that was made here.
func (w Writer) Delete(ctx context.Context, svc *corev1.Service) error {
	services := w.Client.CoreV1().Services(svc.Namespace)
	if err := services.Delete(ctx, svc.Name, metav1.DeleteOptions{
		Preconditions: metav1.NewUIDPreconditions(string(svc.UID)),
	}); err != nil {
		return fmt.Errorf("delete Service %s/%s: %w", svc.Namespace, svc.Name, err)
	}
	return nil
}

func sameSlice(a, b *discoveryv1.EndpointSlice) bool {
	return equality.Semantic.DeepEqual(a.Endpoints, b.Endpoints) && equality.Semantic.DeepEqual(a.Ports, b.Ports) &&
		a.Annotations[backend.AnnotationWeight] == b.Annotations[backend.AnnotationWeight] &&
		equality.Semantic.DeepEqual(a.OwnerReferences, b.OwnerReferences)
}

// change is the patch that makes of a Service what is wanted; nil for none. What others have written on it stays.
func change(live, want *corev1.Service) map[string]any {
	metadata, spec := map[string]any{}, map[string]any{}
	before := strings.Split(live.Annotations[AnnotationKeys], ",")
	for field, maps := range map[string][2]map[string]string{"labels": {live.Labels, want.Labels},
		"annotations": {live.Annotations, want.Annotations}} {
		values := map[string]any{}
		for key, text := range maps[1] {
			if have, is := maps[0][key]; !is || have != text {
				values[key] = text
			}
		}
		for _, key := range before {
			if _, stays := maps[1][key]; !stays && maps[0][key] != "" {
				values[key] = nil
			}
		}
		if len(values) > 0 {
			metadata[field] = values
		}
	}
	ports, same := slices.Clone(want.Spec.Ports), len(want.Spec.Ports) == len(live.Spec.Ports)
	for i := range ports {
		at := slices.IndexFunc(live.Spec.Ports, func(p corev1.ServicePort) bool { return p.Name == ports[i].Name })
		if at < 0 {
			same = false
			continue
		}
		ports[i].NodePort = live.Spec.Ports[at].NodePort
		same = same && ports[i] == live.Spec.Ports[at]
	}
	if !same {
		spec["ports"] = ports
	}
	if len(live.Spec.Selector) > 0 {
		spec["selector"] = nil
	}
	if ranges := want.Spec.LoadBalancerSourceRanges; !slices.Equal(live.Spec.LoadBalancerSourceRanges, ranges) {
		spec["loadBalancerSourceRanges"] = ranges
	}
	if live.Spec.Type != want.Spec.Type {
		spec["type"], spec["loadBalancerClass"] = want.Spec.Type, want.Spec.LoadBalancerClass
	}
	if len(metadata)+len(spec) == 0 {
		return nil
	}
	metadata["resourceVersion"] = live.ResourceVersion
	return map[string]any{"metadata": metadata, "spec": spec}
}

// IsAsWanted reports whether a Service is as Keep would make it, but for what others have written on it.
func IsAsWanted(live, want *corev1.Service) bool { return change(live, want) == nil }

// Changed is a Service as Keep would change it to be what is wanted.
func Changed(live, want *corev1.Service) (*corev1.Service, error) {
	text, err := json.Marshal(change(live, want))
	patch, next := map[string]any{}, &corev1.Service{}
	if err == nil {
		err = json.Unmarshal(text, &patch)
	}
	object, converting := runtime.DefaultUnstructuredConverter.ToUnstructured(live)
	if err = errors.Join(err, converting); err == nil {
		apply(object, patch)
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(object, next)
	}
	if err != nil {
		return nil, fmt.Errorf("change Service %s: %w", NameOf(live), err)
	}
	return next, nil
}

// apply does to an object what the API server does with a merge patch.
func apply(object, patch map[string]any) {
	for key, value := range patch {
		inner, isMap := value.(map[string]any)
		have, has := object[key].(map[string]any)
		switch {
		case value == nil:
			delete(object, key)
		case isMap && has:
			apply(have, inner)
		default:
			object[key] = value
		}
	}
}
