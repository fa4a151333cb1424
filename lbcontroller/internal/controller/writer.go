package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
)

// ErrGone reports that the Service is deleted or being deleted, which the cache doesn't show yet.
var ErrGone = errors.New("the Service was deleted meanwhile")

// ErrStale reports that the Service has changed since the cache was read.
var ErrStale = errors.New("the Service was changed meanwhile")

// Superseded reports whether an error only means that the cache trails: another pass makes it good.
func Superseded(err error) bool { return errors.Is(err, ErrGone) || errors.Is(err, ErrStale) }

// AnnotationGeneration counts how often the Service gave its load balancer up while it lived on.
const AnnotationGeneration = "service.k8s.alibaba/loadbalancer-generation"

// NextGeneration is the generation of the load balancer that follows the one a Service gives up.
func NextGeneration(svc *corev1.Service) string {
	n, _ := strconv.Atoi(svc.Annotations[AnnotationGeneration]) // Absent or broken counts as 0.
	return strconv.Itoa(n + 1)
}

// Notes are labels and annotations that the controller writes on a Service. An empty value removes the key.
type Notes struct {
	Labels, Annotations map[string]string
	// Exact are keys of annotations that are only replaced on the version of the Service that is known: what another client wrote there
	// meanwhile must not be lost.
	Exact []string
}

// Publication is what a Service shows of its load balancer. An empty label or annotation is removed.
type Publication struct {
	Notes   Notes
	Ingress []corev1.LoadBalancerIngress
	// KeepIngress leaves the addresses in the status alone: they may be another controller's.
	KeepIngress bool
	// conditions are put into the status, if there are any; dropConditions takes them away.
	conditions     []metav1.Condition
	dropConditions bool
}

// Writer writes on Services, with the smallest patch. Every patch carries the UID, so that it can't hit a successor. Its methods answer
// the Service as it is then.
type Writer struct {
	Client kubernetes.Interface
	// Finalizer is that of the kind: it keeps a Service until the load balancer is released.
	Finalizer string
	modes     *modes
	// wrote learns which versions of the Service are the controller's; nil for nobody.
	wrote func(version string)
}

// Holds reports whether a Service waits for its load balancer to be released.
func (w Writer) Holds(svc *corev1.Service) bool { return slices.Contains(svc.Finalizers, w.Finalizer) }

// Hold makes sure that the Service can't vanish before its load balancer. It reports whether this call added the finalizer.
func (w Writer) Hold(ctx context.Context, svc *corev1.Service) (held *corev1.Service, added bool, err error) {
	if w.Holds(svc) {
		return svc, false, nil
	}
	return w.hold(ctx, svc, svc)
}

// Confirm is Hold for callers that must not believe the cache: it may still show the finalizer of a load balancer that the Service has
// given up since.
func (w Writer) Confirm(ctx context.Context, svc *corev1.Service) (live *corev1.Service, added bool, err error) {
	return w.hold(ctx, svc, nil)
}

// hold adds the finalizer to a Service. The API server is asked for the Service unless it is known, and when what is known turns out to be
// older than our own last write.
func (w Writer) hold(ctx context.Context, svc, known *corev1.Service) (live *corev1.Service, added bool, err error) {
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		var err error
		if live, known = known, nil; live == nil {
			if live, err = w.Live(ctx, svc); err != nil {
				return err
			}
		}
		if live.DeletionTimestamp != nil {
			return ErrGone
		}
		if w.Holds(live) {
			return nil
		}
		live, err = w.patch(ctx, live, map[string]any{"metadata": map[string]any{
			"finalizers": append(slices.Clone(live.Finalizers), w.Finalizer), "resourceVersion": live.ResourceVersion,
		}})
		if apierrors.IsNotFound(err) {
			return ErrGone
		}
		added = err == nil
		return err
	})
	if err != nil {
		return nil, false, fmt.Errorf("add finalizer %s: %w", w.Finalizer, err)
	}
	return live, added, nil
}

// Live reads the Service anew, for callers that must not believe the cache and need no finalizer. It may be on its way out.
func (w Writer) Live(ctx context.Context, svc *corev1.Service) (*corev1.Service, error) {
	found, err := w.Client.CoreV1().Services(svc.Namespace).Get(ctx, svc.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err) || err == nil && found.UID != svc.UID:
		return nil, ErrGone
	case err != nil:
		return nil, fmt.Errorf("read the Service: %w", err)
	}
	return found, nil
}

// Note writes notes, or nothing if they are as they should be.
func (w Writer) Note(ctx context.Context, svc *corev1.Service, n Notes) (*corev1.Service, error) {
	meta := n.change(svc)
	if len(meta) == 0 {
		return svc, nil
	}
	updated, err := w.patch(ctx, svc, map[string]any{"metadata": meta})
	if err != nil {
		return nil, fmt.Errorf("write on the Service: %w", orStale(err))
	}
	return updated, nil
}

// Publish writes notes and status in one go, so that neither is ever there without the other.
func (w Writer) Publish(ctx context.Context, svc *corev1.Service, p Publication) error {
	_, err := w.publish(ctx, svc, p)
	return err
}

func (w Writer) publish(ctx context.Context, svc *corev1.Service, p Publication) (*corev1.Service, error) {
	body := map[string]any{}
	if meta := p.Notes.change(svc); len(meta) > 0 {
		body["metadata"] = meta
	}
	status := map[string]any{}
	if !p.KeepIngress && !sameIngress(svc.Status.LoadBalancer.Ingress, p.Ingress) {
		status["loadBalancer"] = map[string]any{"ingress": p.Ingress}
	}
	if removal := removalOf(svc.Status.Conditions); p.dropConditions && len(removal) > 0 {
		status["conditions"] = removal
	} else if len(p.conditions) > 0 {
		status["conditions"] = patchOf(svc.Status.Conditions, p.conditions, time.Now())
	}
	if len(status) > 0 {
		body["status"] = status
	}
	if len(body) == 0 {
		return svc, nil
	}
	// A strategic merge patch leaves the conditions of others alone.
	written, err := w.send(ctx, svc, types.StrategicMergePatchType, body, "status")
	if err != nil {
		return nil, fmt.Errorf("write the status of the Service: %w", orStale(err))
	}
	if !p.KeepIngress {
		w.modes.answered(p.Ingress, written.Status.LoadBalancer.Ingress)
	}
	return written, nil
}

// letGo removes the finalizer, once the Service shows no load balancer any more. A Service that lives on counts up its generation.
func (w Writer) letGo(ctx context.Context, svc *corev1.Service, blank *Publication) error {
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		live, err := w.Client.CoreV1().Services(svc.Namespace).Get(ctx, svc.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if live.UID != svc.UID || !w.Holds(live) {
			return nil
		}
		// What was written last may not have been in the cache when the rest was taken off.
		if blank != nil {
			if err := w.Publish(ctx, live, *blank); err != nil {
				return err
			}
		}
		rest := slices.DeleteFunc(slices.Clone(live.Finalizers), func(f string) bool { return f == w.Finalizer })
		meta := map[string]any{"finalizers": rest, "resourceVersion": live.ResourceVersion}
		if live.DeletionTimestamp == nil {
			meta["annotations"] = map[string]string{AnnotationGeneration: NextGeneration(live)}
		}
		_, err = w.patch(ctx, live, map[string]any{"metadata": meta})
		return err
	})
	if err != nil {
		return fmt.Errorf("remove finalizer %s: %w", w.Finalizer, err)
	}
	return nil
}

// change returns the part of the notes that differs from what the Service has, as a patch of its metadata.
func (n Notes) change(svc *corev1.Service) map[string]any {
	meta := map[string]any{}
	if labels := changed(svc.Labels, n.Labels); len(labels) > 0 {
		meta["labels"] = labels
	}
	if annotations := changed(svc.Annotations, n.Annotations); len(annotations) > 0 {
		meta["annotations"] = annotations
		for _, key := range n.Exact {
			if _, ok := annotations[key]; ok {
				meta["resourceVersion"] = svc.ResourceVersion
			}
		}
	}
	return meta
}

// orStale replaces the API server's answer to a patch that carries the version of an older Service.
func orStale(err error) error {
	if apierrors.IsConflict(err) {
		return ErrStale
	}
	return err
}

// ignoreGone drops the error that the Service is gone already.
func ignoreGone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func (w Writer) patch(ctx context.Context, svc *corev1.Service, body map[string]any) (*corev1.Service, error) {
	return w.send(ctx, svc, types.MergePatchType, body)
}

func (w Writer) send(ctx context.Context, svc *corev1.Service, kind types.PatchType, body map[string]any,
	subresources ...string) (*corev1.Service, error) {
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
	written, err := w.Client.CoreV1().Services(svc.Namespace).Patch(ctx, svc.Name, kind, data, metav1.PatchOptions{}, subresources...)
	if err == nil && w.wrote != nil {
		w.wrote(written.ResourceVersion)
	}
	return written, err
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

// sameIngress compares what there is with what the controller decides; the API server adds more. An ipMode that isn't
// decided is left alone.
func sameIngress(have, want []corev1.LoadBalancerIngress) bool {
	return slices.EqualFunc(have, want, func(x, y corev1.LoadBalancerIngress) bool {
		return x.IP == y.IP && x.Hostname == y.Hostname && (y.IPMode == nil || x.IPMode != nil && *x.IPMode == *y.IPMode)
	})
}
