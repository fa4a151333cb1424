package controller

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"alicloud-controllers.dev/services/reconcile"

	"alicloud-controllers.dev/lbcontroller/internal/cluster"
)

// Known is what the caches of a controller know, for what makes Services of other objects.
type Known struct{ base *base }

// Known gives the caches.
func (c *Controller) Known() Known { return Known{c.base} }

// Synced reports whether the caches are complete.
func (k Known) Synced() bool { return k.base.cluster.Synced() }

// Service is one from the cache, nil for none; it must not be changed.
func (k Known) Service(name types.NamespacedName) *corev1.Service {
	svc, err := k.base.cluster.Service(name.String())
	if err != nil {
		return nil // A cache has no other error.
	}
	return svc
}

// Services are those with a label.
func (k Known) Services(label, value string) ([]*corev1.Service, error) {
	return k.base.cluster.Services.List(labels.SelectorFromSet(labels.Set{label: value}))
}

// Slices are the EndpointSlices of a Service; they must not be changed.
func (k Known) Slices(name types.NamespacedName) []*discoveryv1.EndpointSlice {
	list, err := k.base.cluster.SlicesOf(name.String())
	if err != nil {
		return nil // The index is always there.
	}
	return list
}

// Filled are the servers that a Service has in server groups of users, nil if that isn't known.
func (k Known) Filled(name types.NamespacedName) *Filled {
	return k.base.services.Of(name.String()).fills()
}

// OnFilled calls back with the name of each Service for which Filled says something new. It must be asked for before the
// controller runs.
func (k Known) OnFilled(changed func(types.NamespacedName)) {
	k.base.onFilled = append(k.base.onFilled, changed)
}

// SetClaims says who may use Secrets of other namespaces, and whether that is known yet. It must be asked for before the
// controller runs; without it nobody may.
func (k Known) SetClaims(claims cluster.Claims, known func() bool) {
	k.base.claims, k.base.claimsKnown = claims, known
}

// Wake asks for a look at a Service, of which something else holds than before.
func (k Known) Wake(name types.NamespacedName) { k.base.queue.add(name.String(), reconcile.User) }

// Secret says why the certificate of a Secret can't be used, "" if it can; lasting if the configuration doesn't let its namespace be read.
func (k Known) Secret(name types.NamespacedName) (problem string, lasting bool) {
	s := k.base.secrets.Get(name)
	if s.Forbidden {
		return fmt.Sprintf("the configuration doesn't name namespace %s among tlsSecretNamespaces", name.Namespace), true
	}
	return s.Problem, false
}

// OnChange calls back with the name of each Service that changes, or whose EndpointSlices do. For a Secret the name is
// empty, since it isn't known which Services use it.
func (k Known) OnChange(changedService func(types.NamespacedName)) error {
	handler := func(of func(any) types.NamespacedName) cache.ResourceEventHandlerFuncs {
		changed := func(obj any) {
			if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = gone.Obj
			}
			changedService(of(obj))
		}
		return cache.ResourceEventHandlerFuncs{AddFunc: changed, UpdateFunc: func(_, obj any) { changed(obj) }, DeleteFunc: changed}
	}
	services, slices := k.base.cluster.Factory.Core().V1().Services(), k.base.cluster.Factory.Discovery().V1().EndpointSlices()
	_, err := services.Informer().AddEventHandler(handler(func(obj any) types.NamespacedName {
		svc, ok := obj.(*corev1.Service)
		if !ok {
			return types.NamespacedName{}
		}
		return types.NamespacedName{Namespace: svc.Namespace, Name: svc.Name}
	}))
	_, errSlices := slices.Informer().AddEventHandler(handler(func(obj any) types.NamespacedName {
		slice, ok := obj.(*discoveryv1.EndpointSlice)
		if !ok {
			return types.NamespacedName{}
		}
		return types.NamespacedName{Namespace: slice.Namespace, Name: slice.Labels[discoveryv1.LabelServiceName]}
	}))
	errs := []error{err, errSlices}
	for _, secrets := range k.base.secrets {
		_, err := secrets.Factory.Core().V1().Secrets().Informer().AddEventHandler(handler(func(any) types.NamespacedName {
			return types.NamespacedName{}
		}))
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
