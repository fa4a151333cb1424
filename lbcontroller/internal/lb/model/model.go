// Package model holds what is wanted and what is there: plain values without behaviour beyond comparing and copying. Listener
// attributes are kept in the gateway's own message, where presence means "set", so that they are spelled out only once.
package model

import (
	"cmp"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
)

// Desired is what a Service asks for.
type Desired struct {
	Owner     ownership.Owner
	UID       string
	Reuse     Reuse
	Instance  Instance
	Listeners []Listener // ordered by port and protocol
	Groups    []Group    // ordered by name
	// Former are the names that the vServer groups of these ports would have if nodes were the backends, or if pods were.
	Former []string
	// Mapped are the names of the groups that have the servers of a user's vServer group, by its id, for a Service that maps ports to such groups and
	// names no CLB any more.
	Mapped map[string]string
	// Guarded says that access control was put in force and that nothing says any more whether it is to be: no listener may be made without it.
	Guarded bool
}

// Reuse names a user's instance that the Service takes. The zero value is for a Service that has one of its own.
type Reuse struct {
	ID string
	// Listeners says that the Service manages listeners there, too. Otherwise all of them are the user's.
	Listeners bool
	// Filled are the ids of the user's vServer groups that were filled for the Service so far.
	Filled []string
}

// Instance is the wanted CLB instance.
type Instance struct {
	// Spec is what a new instance is bought with, defaults filled in. Its request id is left to the caller.
	Spec *slbv1.CreateLoadBalancerRequest
	// Asked says which attributes of Spec the user asked for; only these are compared with an instance that exists.
	Asked Asked
	// Tags are the keys of the additional tags, and DroppedTags those of tags that were put on the instance for this Service and
	// are not wanted any more. Neither is configuration: Spec has the wanted tags.
	Tags, DroppedTags []string
	// Marking says that a user's instance was about to be marked as reused, which may have failed.
	Marking bool
	// NetworkType is the asked network of the address, "vpc" or "classic"; empty if it isn't asked for. It can't be chosen at creation.
	NetworkType string
	// AnyVSwitch says that the vSwitch was the controller's choice, so another may be tried when it is full.
	AnyVSwitch bool
}

// Asked names the attributes of an instance that the user set.
type Asked struct {
	AddressType, Address, IPVersion, Zones, ResourceGroup   bool
	Name, DeleteProtection, ModificationProtection          bool
	InstanceChargeType, Spec, InternetChargeType, Bandwidth bool
}

// ListenerKey names a listener of an instance.
type ListenerKey struct {
	Port     int32
	Protocol slbv1.Protocol
}

// Compare orders keys by port and protocol.
func (k ListenerKey) Compare(other ListenerKey) int {
	return cmp.Or(cmp.Compare(k.Port, other.Port), cmp.Compare(k.Protocol, other.Protocol))
}

// Listener is a wanted or present listener.
type Listener struct {
	Key ListenerKey
	// Group is the name of the wanted vServer group; empty for a redirect, and in what is present.
	Group string
	// Config are the attributes. The vServer group id is set only in what is present.
	Config *slbv1.ListenerConfig
	// Defaults are further attributes of a listener that is created. One that exists keeps what it has: the existing CCM did so,
	// and what was set by hand since must survive.
	Defaults *slbv1.ListenerConfig
	// Stopped says that a present listener refuses connections.
	Stopped bool
	// Extensions are the further certificates by domain. Nil says that none are asked for, or that those that there are aren't known.
	Extensions []Extension
}

// Extension is a further certificate of an https listener, for clients that ask for a domain.
type Extension struct {
	// ID is known of present ones.
	ID, Domain, Certificate string
}

// ServerKey identifies a server within a group. The address counts only for network interfaces: the cloud may fill it in for
// instances.
type ServerKey struct {
	ID   string
	IP   string
	Type slbv1.ServerType
	Port int32
}

// Place is where a server is, whichever network interface carries its address.
func (k ServerKey) Place() ServerKey {
	if k.Type == slbv1.ServerType_SERVER_TYPE_ENI {
		k.ID = ""
	}
	return k
}

// Server is a backend of a vServer group. Thousands for each Service are remembered, so that the order of fields, which decides the size, matters.
type Server struct {
	ServerKey
	Weight      int32
	Description string
}

// Compare orders servers by identity.
func (s Server) Compare(other Server) int {
	if s.ID != other.ID && s.Type == other.Type { // Most differ so; lists of a thousand are sorted in every pass.
		return strings.Compare(s.ID, other.ID)
	}
	return cmp.Or(cmp.Compare(s.Type, other.Type), cmp.Compare(s.IP, other.IP), cmp.Compare(s.Port, other.Port))
}

// DefaultGroup is the id and the name, here, of the default server group that every instance has. It belongs to no Service: it is only filled, as
// the user's vServer groups are. Its servers have no port: each listener that forwards to it brings its own.
const DefaultGroup = "default-server-group"

// Group is a wanted or present vServer group, or the default server group.
type Group struct {
	// ID is known of present groups. A wanted one has it if it is the user's, which is only filled; it serves as its name, too.
	ID   string
	Name string
	// Servers are ordered. A wanted server of type ENI may lack its ID until it is resolved.
	Servers []Server
	// Unresolved are addresses whose network interface couldn't be found: a present server with such an address is kept.
	Unresolved []string
	// Draining are present servers of a wanted group that get no new connections, and Staying those that are left as they are, although
	// neither is wanted. No server is added for that. The ID of a network interface is left open.
	Draining, Staying map[ServerKey]bool
	// KeepLast says of a wanted group that its last servers with a weight stay if no other takes their place: only nodes would have them go.
	KeepLast bool
	// Most is how many servers a wanted group may have together with those that stay; 0 for any number.
	Most int
	// KeepWeights says that the weights of present servers are left alone.
	KeepWeights bool
	// OnlyRemove says that servers may go but none may come: it isn't known which are wanted, only which can't serve.
	OnlyRemove bool
	// Held says that the cloud has refused to delete a present group.
	Held bool
}

// Observed is what the cloud holds.
type Observed struct {
	// InstanceID is empty if there is no instance.
	InstanceID string
	// Reused says that the instance is a user's, which is never deleted.
	Reused bool
	// ConfigKnown says that Instance and Listeners have been read or written; otherwise only Groups are known.
	ConfigKnown bool
	Instance    *slbv1.LoadBalancer
	Listeners   []Listener
	Groups      []Group
	// OtherGroups are the names, by id, of vServer groups that are none of the Service's.
	OtherGroups map[string]string
}

// Nothing is what the cloud holds for a Service that certainly has no instance yet.
func Nothing() Observed { return Observed{ConfigKnown: true} }

// Clone copies deeply, so that the copy can be changed. Lists of servers are long and are shared: they are replaced and never changed.
func (o Observed) Clone() Observed {
	o.Instance = proto.CloneOf(o.Instance)
	o.Listeners = slices.Clone(o.Listeners)
	for i := range o.Listeners {
		o.Listeners[i].Config = proto.CloneOf(o.Listeners[i].Config)
		o.Listeners[i].Extensions = slices.Clone(o.Listeners[i].Extensions)
	}
	o.Groups = slices.Clone(o.Groups)
	return o
}

// Tags returns the tags of the present instance.
func (o Observed) Tags() map[string]string {
	tags := make(map[string]string, len(o.Instance.GetTags()))
	for _, t := range o.Instance.GetTags() {
		tags[t.GetKey()] = t.GetValue()
	}
	return tags
}

// ProtocolName is the lower-case name of a protocol, as users write it.
func ProtocolName(p slbv1.Protocol) string {
	switch p {
	case slbv1.Protocol_PROTOCOL_TCP:
		return "tcp"
	case slbv1.Protocol_PROTOCOL_UDP:
		return "udp"
	case slbv1.Protocol_PROTOCOL_HTTP:
		return "http"
	case slbv1.Protocol_PROTOCOL_HTTPS:
		return "https"
	case slbv1.Protocol_PROTOCOL_UNSPECIFIED:
	}
	return "unknown"
}
