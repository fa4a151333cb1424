package controller

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// AnnotationGeneration counts how often the Service gave its load balancer up while it lived on.
const AnnotationGeneration = "service.k8s.alibaba/loadbalancer-generation"

// NextGeneration is the generation of the load balancer that follows the one a Service gives up.
func NextGeneration(svc *corev1.Service) string {
	n, _ := strconv.Atoi(svc.Annotations[AnnotationGeneration]) // Absent or broken counts as 0.
	return strconv.Itoa(n + 1)
}
