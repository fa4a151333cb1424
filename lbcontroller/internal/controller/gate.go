package controller

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

// Marks on a Service, those of the existing CCM.
const (
	// Finalizer keeps a Service until its CLB is released.
	Finalizer = "service.k8s.alibaba/resources"
	// LabelHash holds the digest of the configuration that the CLB has.
	LabelHash = "service.beta.kubernetes.io/hash"
	// LabelLoadBalancerID holds the id of the CLB.
	LabelLoadBalancerID = "service.k8s.alibaba/loadbalancer-id"
	// annotationGeneration counts how often the Service gave its CLB up while it lived on.
	annotationGeneration = "service.k8s.alibaba/loadbalancer-generation"
)

// Gate decides which Services are the controller's.
type Gate struct {
	// ByLoadBalancerType leaves Services with the annotation for the load balancer type to others.
	ByLoadBalancerType bool
}

// Wants tells whether a Service shall have a CLB.
func (g Gate) Wants(svc *corev1.Service) bool {
	_, tunnel := svc.Annotations[annotation.TunnelType]
	return svc.DeletionTimestamp == nil &&
		svc.Spec.Type == corev1.ServiceTypeLoadBalancer &&
		svc.Spec.LoadBalancerClass == nil &&
		svc.Annotations[annotation.Class] == "" &&
		!tunnel &&
		(!g.ByLoadBalancerType || svc.Annotations[annotation.LoadBalancerType] == "")
}

// concerns tells whether there is anything to do for a Service: to have a CLB, or to give one up.
func (g Gate) concerns(svc *corev1.Service) bool { return g.Wants(svc) || hasFinalizer(svc) }

func hasFinalizer(svc *corev1.Service) bool { return slices.Contains(svc.Finalizers, Finalizer) }
