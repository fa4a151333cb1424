package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

// patcher writes to Services, with the smallest patch. Every patch carries the UID, so that it can't hit a successor.
type patcher struct{ client kubernetes.Interface }

// errGone tells that the Service is deleted or being deleted, which the cache doesn't show yet. The event is on its way, so there is
// nothing to tell anybody.
var errGone = errors.New("the Service was deleted meanwhile")

// errStale tells that the Service has gone on since the cache was read. The event is on its way, too.
var errStale = errors.New("the Service was changed meanwhile")

// goesOn tells of an error that the event on its way makes good.
func goesOn(err error) bool { return errors.Is(err, errGone) || errors.Is(err, errStale) }

// addFinalizer makes sure that the Service can't vanish before its CLB. It tells whether it was this call that added it, which
// means that the Service has no CLB from us yet.
func (p patcher) addFinalizer(ctx context.Context, svc *corev1.Service) (result *corev1.Service, added bool, err error) {
	if hasFinalizer(svc) {
		return svc, false, nil
	}
	return p.confirmFinalizer(ctx, svc)
}

// confirmFinalizer is addFinalizer for those who must not believe the cache: it may still show the finalizer of a CLB that the
// Service has given up since.
func (p patcher) confirmFinalizer(ctx context.Context, svc *corev1.Service) (result *corev1.Service, added bool, err error) {
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		// The cached object may be older than our own last write.
		live, err := p.client.CoreV1().Services(svc.Namespace).Get(ctx, svc.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) || err == nil && (live.UID != svc.UID || live.DeletionTimestamp != nil) {
			return errGone
		}
		if err != nil {
			return err
		}
		if hasFinalizer(live) {
			result = live
			return nil
		}
		result, err = p.patch(ctx, live, map[string]any{"metadata": map[string]any{
			"finalizers": append(slices.Clone(live.Finalizers), Finalizer), "resourceVersion": live.ResourceVersion,
		}})
		added = err == nil
		return err
	})
	if err != nil {
		return nil, false, fmt.Errorf("add finalizer %s: %w", Finalizer, err)
	}
	return result, added, nil
}

// removeFinalizer lets the Service go. One that lives on counts up the generation of its next CLB.
func (p patcher) removeFinalizer(ctx context.Context, svc *corev1.Service) error {
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		live, err := p.client.CoreV1().Services(svc.Namespace).Get(ctx, svc.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if live.UID != svc.UID || !hasFinalizer(live) {
			return nil
		}
		// What was written last may not have been in the cache when the rest was taken off.
		if err := p.finish(ctx, live, blank(), nil); err != nil {
			return err
		}
		rest := slices.DeleteFunc(slices.Clone(live.Finalizers), func(f string) bool { return f == Finalizer })
		meta := map[string]any{"finalizers": rest, "resourceVersion": live.ResourceVersion}
		if live.DeletionTimestamp == nil {
			meta["annotations"] = map[string]string{annotationGeneration: nextGeneration(live)}
		}
		_, err = p.patch(ctx, live, map[string]any{"metadata": meta})
		return err
	})
	if err != nil {
		return fmt.Errorf("remove finalizer %s: %w", Finalizer, err)
	}
	return nil
}

func nextGeneration(svc *corev1.Service) string {
	n, _ := strconv.Atoi(svc.Annotations[annotationGeneration]) // Absent or broken counts as 0.
	return strconv.Itoa(n + 1)
}

// notes are what the controller writes into the metadata of a Service. An empty value removes the key.
type notes struct{ labels, annotations map[string]string }

// change returns the part of the notes that differs from what the Service has, as a patch of its metadata. Claims replace exactly those
// that the Service is known to have: one that is lost is never cleaned up.
func (n notes) change(svc *corev1.Service) map[string]any {
	meta := map[string]any{}
	if labels := changed(svc.Labels, n.labels); len(labels) > 0 {
		meta["labels"] = labels
	}
	if annotations := changed(svc.Annotations, n.annotations); len(annotations) > 0 {
		meta["annotations"] = annotations
		if _, ok := annotations[annotation.Claims]; ok {
			meta["resourceVersion"] = svc.ResourceVersion
		}
	}
	return meta
}

// note writes notes, or nothing if they are as they should be.
func (p patcher) note(ctx context.Context, svc *corev1.Service, n notes) error {
	meta := n.change(svc)
	if len(meta) == 0 {
		return nil
	}
	updated, err := p.patch(ctx, svc, map[string]any{"metadata": meta})
	if err != nil {
		return fmt.Errorf("write on the Service: %w", orStale(err))
	}
	*svc = *updated
	return nil
}

// finish writes notes and status in one go, so that neither is ever there without the other.
func (p patcher) finish(ctx context.Context, svc *corev1.Service, n notes, ingress []corev1.LoadBalancerIngress) error {
	body := map[string]any{}
	if meta := n.change(svc); len(meta) > 0 {
		body["metadata"] = meta
	}
	if !sameIngress(svc.Status.LoadBalancer.Ingress, ingress) {
		body["status"] = map[string]any{"loadBalancer": map[string]any{"ingress": ingress}}
	}
	if len(body) == 0 {
		return nil
	}
	if _, err := p.patch(ctx, svc, body, "status"); err != nil {
		return fmt.Errorf("write the status of the Service: %w", orStale(err))
	}
	return nil
}

// orStale replaces the API server's answer to a patch that carries the version of an older Service.
func orStale(err error) error {
	if apierrors.IsConflict(err) {
		return errStale
	}
	return err
}

func (p patcher) patch(ctx context.Context, svc *corev1.Service, body map[string]any, subresources ...string) (*corev1.Service, error) {
	meta, ok := body["metadata"].(map[string]any)
	if !ok {
		meta = map[string]any{}
		body["metadata"] = meta
	}
	meta["uid"] = svc.UID
	data, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("write the patch: %w", err)
	}
	return p.client.CoreV1().Services(svc.Namespace).Patch(ctx, svc.Name, types.MergePatchType, data, metav1.PatchOptions{}, subresources...)
}

func changed(have, want map[string]string) map[string]any {
	change := map[string]any{}
	for key, value := range want {
		old, ok := have[key]
		switch {
		case value == "" && ok:
			change[key] = nil
		case value != "" && old != value:
			change[key] = value
		}
	}
	return change
}

// sameIngress compares what the controller decides; the API server adds more.
func sameIngress(a, b []corev1.LoadBalancerIngress) bool {
	return slices.EqualFunc(a, b, func(x, y corev1.LoadBalancerIngress) bool { return x.IP == y.IP && x.Hostname == y.Hostname })
}
