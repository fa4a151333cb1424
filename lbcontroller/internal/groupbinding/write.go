package groupbinding

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"alicloud-controllers.dev/lbcontroller/internal/shadow"
)

// write makes what the bindings ask for, lets those go that are deleted, and says what became of all.
func (c *Controller) write(ctx context.Context, all []Translated, going []*Binding) (errs []error) {
	c.states.Reset()
	for _, t := range all {
		if b := t.Binding; t.Service != nil && !slices.Contains(b.Finalizers, Finalizer) {
			// The event of that brings the rest.
			errs = append(errs, c.setFinalizers(ctx, b, append(slices.Clone(b.Finalizers), Finalizer)))
			continue
		}
		errs = append(errs, c.keep(ctx, t), c.say(ctx, t.Binding, t.Status))
	}
	for _, b := range going {
		live := c.Service(ServiceName(b))
		gone, err := c.letGo(ctx, b, live)
		if errs = append(errs, err); !gone {
			errs = append(errs, c.say(ctx, b, status(b, live, Group{}, shadow.Verdict{}, c.Known.Filled(ServiceName(b)))))
		}
	}
	return errs
}

// keep makes the Service of a binding as it is wanted.
func (c *Controller) keep(ctx context.Context, t Translated) error {
	switch {
	case t.Surplus != nil && t.Surplus.DeletionTimestamp == nil:
		return c.clear(ctx, t.Binding, t.Surplus)
	case t.Service == nil:
		return nil
	}
	return c.Keep(ctx, t.Service, t.Slices)
}

// clear deletes the Service of a binding if the API server says, too, that the one is gone whose servers are asked for.
func (c *Controller) clear(ctx context.Context, b *Binding, surplus *corev1.Service) error {
	if _, err := c.Client.CoreV1().Services(b.Namespace).Get(ctx, b.Spec.ServiceRef.Name,
		metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		return err
	}
	return c.Delete(ctx, surplus)
}

// letGo takes the servers of a deleted binding out, and then lets it go. That its Service is gone is said by the API
// server.
func (c *Controller) letGo(ctx context.Context, b *Binding, live *corev1.Service) (gone bool, err error) {
	if !slices.Contains(b.Finalizers, Finalizer) {
		return true, nil
	}
	if live != nil && shadow.IsOf(live, b) {
		if live.DeletionTimestamp != nil {
			return false, nil // Its own finalizer stays until the servers are out.
		}
		return false, c.Delete(ctx, live)
	}
	name := ServiceName(b)
	services := c.Client.CoreV1().Services(name.Namespace)
	if svc, err := services.Get(ctx, name.Name, metav1.GetOptions{}); err == nil && shadow.IsOf(svc, b) || err != nil &&
		!apierrors.IsNotFound(err) {
		return false, err // The cache trails, if there is no error.
	}
	return true, c.setFinalizers(ctx, b, slices.DeleteFunc(slices.Clone(b.Finalizers),
		func(name string) bool { return name == Finalizer }))
}

func (c *Controller) setFinalizers(ctx context.Context, b *Binding, list []string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"finalizers": list,
		"resourceVersion": b.ResourceVersion}})
	if err == nil {
		bindings := c.Bindings.Resource(Resource()).Namespace(b.Namespace)
		_, err = bindings.Patch(ctx, b.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	}
	if err != nil {
		return fmt.Errorf("write the finalizer of %s %s: %w", Kind, shadow.NameOf(b), err)
	}
	return nil
}

// say writes the status of a binding if it is another one. What is new and a user can do something about is an event,
// too.
func (c *Controller) say(ctx context.Context, b *Binding, s Status) error {
	state, next := ReasonRegistered, s
	next.Conditions = slices.Clone(b.Status.Conditions)
	for _, put := range slices.Backward(s.Conditions) {
		if put.Status != metav1.ConditionTrue {
			state = put.Reason
		}
	}
	shadow.Settle(&next.Conditions, s.Conditions, func(put metav1.Condition) {
		switch {
		case put.Status == metav1.ConditionFalse && put.Reason != ReasonPending:
			c.Recorder.Event(referenceOf(b), corev1.EventTypeWarning, put.Reason, put.Message)
		case put.Reason == ReasonRegistered:
			c.Recorder.Event(referenceOf(b), corev1.EventTypeNormal, ReasonRegistered,
				fmt.Sprintf("server group %s has the servers",
					groupOf(s)))
		}
	})
	c.states.WithLabelValues(state).Inc()
	if equality.Semantic.DeepEqual(b.Status, next) {
		return nil
	}
	changed := *b
	changed.Status, changed.Kind, changed.APIVersion = next, Kind, Resource().GroupVersion().String()
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&changed)
	if err == nil {
		bindings := c.Bindings.Resource(Resource()).Namespace(b.Namespace)
		_, err = bindings.UpdateStatus(ctx, &unstructured.Unstructured{Object: object}, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("write the status of %s %s: %w", Kind, shadow.NameOf(b), err)
	}
	return nil
}

func groupOf(s Status) string {
	if s.ServerGroup == nil {
		return ""
	}
	return s.ServerGroup.ID
}

func referenceOf(b *Binding) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: Resource().GroupVersion().String(), Kind: Kind, Namespace: b.Namespace, Name: b.Name, UID: b.UID,
	}
}
