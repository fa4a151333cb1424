// Package shadowtest has what the tests of Gateways and of ServerGroupBindings share.
package shadowtest

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	kubetesting "k8s.io/client-go/testing"
)

// Server does to the Services of a stand-in of the API server what an API server does: UIDs, node ports, and deletion
// that waits for finalizers and takes the slices along.
type Server struct {
	kube *fake.Clientset
	mu   sync.Mutex
	// port is the last node port that was given, and made how many Services were.
	port int32
	made int
}

// NewServer makes a Server that gives the node ports after first.
func NewServer(kube *fake.Clientset, first int32) *Server { return &Server{kube: kube, port: first} }

// React is a reaction for the resource services.
func (s *Server) React(action kubetesting.Action) (bool, runtime.Object, error) {
	gvr, tracker := action.GetResource(), s.kube.Tracker()
	if gvr.Resource != "services" {
		return false, nil, nil
	}
	if remove, ok := action.(kubetesting.DeleteAction); ok && action.GetVerb() == "delete" {
		obj, _ := tracker.Get(gvr, action.GetNamespace(), remove.GetName()) // It has no error but that nothing is there.
		svc, is := obj.(*corev1.Service)
		if !is {
			return false, nil, nil
		}
		if len(svc.Finalizers) == 0 {
			return true, svc, s.drop(svc)
		}
		svc = svc.DeepCopy()
		svc.DeletionTimestamp = new(metav1.Now())
		return true, svc, tracker.Update(gvr, svc, svc.Namespace)
	}
	if !slices.Contains([]string{"create", "update", "patch"}, action.GetVerb()) {
		return false, nil, nil
	}
	// Watches see one change: it is made aside first.
	aside := kubetesting.NewObjectTracker(scheme.Scheme, scheme.Codecs.UniversalDecoder())
	there, err := tracker.List(gvr, corev1.SchemeGroupVersion.WithKind("Service"), action.GetNamespace())
	if err = errors.Join(err, aside.Add(there)); err != nil {
		return true, nil, err
	}
	handled, obj, err := kubetesting.ObjectReaction(aside)(action)
	svc, ok := obj.(*corev1.Service)
	if err != nil || !ok {
		return handled, obj, err
	}
	svc = svc.DeepCopy()
	s.give(svc)
	if action.GetVerb() == "create" {
		err = tracker.Create(gvr, svc, svc.Namespace)
	} else {
		err = tracker.Update(gvr, svc, svc.Namespace)
	}
	if err == nil && svc.DeletionTimestamp != nil && len(svc.Finalizers) == 0 {
		err = s.drop(svc)
	}
	return true, svc, err
}

// give gives a Service a UID and node ports.
func (s *Server) give(svc *corev1.Service) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if svc.UID == "" {
		svc.UID = types.UID(fmt.Sprintf("00000000-0000-0000-0000-%012d", s.made))
		s.made++
	}
	for i := range svc.Spec.Ports {
		if svc.Spec.Type == corev1.ServiceTypeLoadBalancer && svc.Spec.Ports[i].NodePort == 0 {
			s.port++
			svc.Spec.Ports[i].NodePort = s.port
		}
	}
}

// drop deletes a Service with its slices.
func (s *Server) drop(svc *corev1.Service) error {
	list, err := s.Slices(svc.Namespace)
	if err != nil {
		return err
	}
	for _, slice := range list {
		if slice.Labels[discoveryv1.LabelServiceName] == svc.Name {
			err = errors.Join(err, s.kube.Tracker().Delete(discoveryv1.SchemeGroupVersion.WithResource("endpointslices"),
				slice.Namespace, slice.Name))
		}
	}
	return errors.Join(err, s.kube.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("services"), svc.Namespace, svc.Name))
}

// Slices are those of a namespace.
func (s *Server) Slices(namespace string) (list []*discoveryv1.EndpointSlice, err error) {
	all, err := s.kube.Tracker().List(discoveryv1.SchemeGroupVersion.WithResource("endpointslices"),
		discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice"), namespace)
	if found, ok := all.(*discoveryv1.EndpointSliceList); ok {
		for i := range found.Items {
			list = append(list, found.Items[i].DeepCopy())
		}
	}
	return list, err
}
