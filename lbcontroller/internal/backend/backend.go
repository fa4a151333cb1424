package backend

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"alicloud-controllers.dev/lbcontroller/internal/readiness"
)

// Mode says who the backends of a Service are.
type Mode int

// The modes.
const (
	// Cluster: every node, on the node port.
	Cluster Mode = iota
	// Local: the nodes that run a ready pod, on the node port, weighted by their number of pods.
	Local
	// Pods: the pods themselves, on their own port, through their network interfaces.
	Pods
)

const (
	maxWeight = 100
	minWeight = 1
	// shownNames bounds the lists in warnings.
	shownNames = 5
)

// Backend is what takes traffic: a node by its instance, or a pod by its address.
type Backend struct {
	// Instance is the ECS instance of a node; empty for a pod.
	Instance string
	// IP is the address of a pod; empty for a node.
	IP   string
	Port int32
}

// Policy is what a Service says about its backends.
type Policy struct {
	Mode  Mode
	Nodes View
	// Total is the weight that all backends have together, in server groups that are shared with others; nil for none.
	Total *int32
	// Each is the weight of every backend, where pods don't decide; nil for the most.
	Each *int32
}

// Source is what the cluster says about the backends of a Service.
type Source struct {
	Slices []*discoveryv1.EndpointSlice
	Nodes  *Set
	// Gated are the pods that may wait for the load balancer before they are ready.
	Gated readiness.Pods
	// Unknown are instances that the cloud doesn't have.
	Unknown map[string]bool
}

// Backends returns the backends of a port with their weights.
func (s Source) Backends(p Policy, port corev1.ServicePort) map[Backend]int32 {
	shares := s.shares(p, port)
	switch {
	case p.Total != nil:
		return divide(*p.Total, shares)
	case p.Mode == Local:
		return normalise(shares)
	}
	weight := int32(maxWeight)
	if p.Each != nil {
		weight = *p.Each
	}
	for key := range shares {
		shares[key] = weight
	}
	return shares
}

// shares returns the backends of a port, and for how many pods each of them stands where that matters.
func (s Source) shares(p Policy, port corev1.ServicePort) map[Backend]int32 {
	nodes := s.Nodes.Select(p.Nodes)
	shares := map[Backend]int32{}
	switch p.Mode {
	case Cluster:
		for _, n := range nodes {
			if n.InstanceID != "" && !s.Unknown[n.InstanceID] {
				shares[onNode(n, port)] = 1
			}
		}
		for _, e := range endpoints(s.Slices, s.Gated, port) {
			if n, ok := nodes[e.node]; ok && n.Virtual {
				shares[onPod(e)] = 1
			}
		}
	case Local:
		for _, e := range endpoints(s.Slices, s.Gated, port) {
			switch n, ok := nodes[e.node]; {
			case ok && n.Virtual:
				shares[onPod(e)] = 1
			case ok && n.InstanceID != "" && !s.Unknown[n.InstanceID]:
				shares[onNode(n, port)]++
			}
		}
	case Pods:
		for _, e := range endpoints(s.Slices, s.Gated, port) {
			shares[onPod(e)] = 1
		}
	}
	return shares
}

func onNode(n Node, port corev1.ServicePort) Backend {
	return Backend{Instance: n.InstanceID, Port: port.NodePort}
}

func onPod(e endpoint) Backend { return Backend{IP: e.ip, Port: e.port} }

// divide gives everyone a part of the total, and at least the least weight unless the total is zero.
func divide(total int32, shares map[Backend]int32) map[Backend]int32 {
	var sum int64
	for _, n := range shares {
		sum += int64(n)
	}
	for key, n := range shares {
		shares[key] = min(total, max(minWeight, int32(int64(total)*int64(n)/sum)))
	}
	return shares
}

// normalise scales numbers of pods down to the weights the cloud knows, without dropping anyone to zero.
func normalise(pods map[Backend]int32) map[Backend]int32 {
	var most int32
	for _, n := range pods {
		most = max(most, n)
	}
	if most <= maxWeight {
		return pods
	}
	for key, n := range pods {
		pods[key] = max(minWeight, int32(int64(n)*maxWeight/int64(most)))
	}
	return pods
}

// Warnings names nodes that would be backends if their instance were known.
func (s Source) Warnings(p Policy) []string {
	if p.Mode == Pods {
		return nil
	}
	var unnamed, unknown []string
	for _, n := range s.Nodes.Select(p.Nodes) {
		switch {
		case n.Virtual:
		case n.InstanceID == "":
			unnamed = append(unnamed, n.Name)
		case s.Unknown[n.InstanceID]:
			unknown = append(unknown, n.Name)
		}
	}
	var warnings []string
	warn := func(names []string, why string) {
		if len(names) > 0 {
			slices.Sort(names)
			warnings = append(warnings, fmt.Sprintf("%d nodes are left out because %s: %s", len(names), why, strings.Join(names[:min(len(names), shownNames)], ", ")))
		}
	}
	warn(unnamed, "spec.providerID is not region.instanceId")
	warn(unknown, "the cloud has no such instance in this region")
	return warnings
}
