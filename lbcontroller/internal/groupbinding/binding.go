// Package groupbinding turns each ServerGroupBinding into a Service of type LoadBalancer without a selector and its
// EndpointSlices, by which the engine fills a server group of a user's with the servers of another Service, and says on
// the former what became of it. Translate decides; it has no client, no clock and no logger. Looker reads what is said
// of a server group in the cloud. Controller watches, writes, and has the events.
package groupbinding

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Kind is that of the custom resource.
const Kind = "ServerGroupBinding"

// Finalizer keeps a binding until its servers are out of the server group.
const Finalizer = "alibabacloud.com/server-group-binding"

// Resource names the custom resource.
func Resource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "alibabacloud.com", Version: "v1", Resource: "servergroupbindings"}
}

// The values of spec.serverGroup.kind.
const (
	NLB = "NLB"
	CLB = "CLB"
)

// Binding is a ServerGroupBinding. The chart's crds have its schema.
type Binding struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   Spec   `json:"spec"`
	Status Status `json:"status"`
}

// Spec is what a binding asks for.
type Spec struct {
	ServiceRef  ServiceRef  `json:"serviceRef"`
	ServerGroup ServerGroup `json:"serverGroup"`
	// Weight is the part of the traffic that all servers of the binding have together; nil for 100 for each server.
	Weight *int32 `json:"weight,omitempty"`
	// BackendType is what the servers are, "eni" for pods and "ecs" for nodes; empty for what the configuration says.
	BackendType string `json:"backendType,omitempty"`
}

// ServiceRef names a port of a Service in the namespace of the binding.
type ServiceRef struct {
	Name string `json:"name"`
	// Port is its number or its name.
	Port intstr.IntOrString `json:"port"`
}

// ServerGroup names a server group.
type ServerGroup struct {
	Kind string `json:"kind"`
	// LoadBalancerID is the load balancer that has the server group, or on which listeners use it.
	LoadBalancerID string `json:"loadBalancerID"`
	// One of these is there.
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"`
}

// Status is what became of a binding.
type Status struct {
	// ServerGroup is what was found.
	ServerGroup *Group `json:"serverGroup,omitempty"`
	// Service is made for the binding.
	Service string `json:"service,omitempty"`
	// ServerCount is how many servers of the binding are in the group, and Servers are the first of them.
	ServerCount int64              `json:"serverCount"`
	Servers     []string           `json:"servers,omitempty"`
	Conditions  []metav1.Condition `json:"conditions,omitempty"`
}

// Group is a server group in the cloud.
type Group struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	// Protocol is that of an NLB's, in lower case; a CLB's has none.
	Protocol string `json:"protocol,omitempty"`
	// Addresses says that servers are registered as addresses.
	Addresses bool `json:"addresses,omitempty"`
}

// Types of conditions.
const (
	// ConditionAccepted reports whether the binding can be carried out.
	ConditionAccepted = "Accepted"
	// ConditionRegistered reports whether the server group has all servers of the binding.
	ConditionRegistered = "Registered"
)

// Reasons of conditions that are no trouble, or not yet.
const (
	ReasonAccepted = "Accepted"
	ReasonPending  = "Pending" // It isn't known yet.
)

// Reasons of events, which are those of the conditions. Where Registered is False, the reason is that of the condition
// Synced of the Service.
const (
	// Normal: the server group has all servers of the binding.
	ReasonRegistered = "Registered"
	// Warning: what the binding says contradicts itself, or its Service is in the way.
	ReasonInvalid = "Invalid"
	// Warning: the Service isn't there.
	ReasonServiceNotFound = "ServiceNotFound"
	// Warning: the Service hasn't the port.
	ReasonPortNotFound = "PortNotFound"
	// Warning: the server group isn't there.
	ReasonServerGroupNotFound = "ServerGroupNotFound"
	// Warning: the load balancer isn't there.
	ReasonLoadBalancerNotFound = "LoadBalancerNotFound"
	// Warning: several server groups have the name.
	ReasonAmbiguous = "Ambiguous"
	// Warning: the load balancer or the server group is not in the VPC of the cluster.
	ReasonOtherVPC = "OtherVPC"
	// Warning: the server group is for another protocol than the port.
	ReasonOtherProtocol = "OtherProtocol"
	// Warning: the load balancer or the server group was made for a Service or for a cluster.
	ReasonBelongsToService = "BelongsToService"
	// Warning: a server group for all ports of a listener can't be filled.
	ReasonUnsupported = "Unsupported"
	// Warning: another binding fills the group with the same servers.
	ReasonConflicted = "Conflicted"
)
