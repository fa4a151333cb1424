package model

import (
	"cmp"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"

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
	// Former are the names that the server groups of these ports would have if nodes were the backends, or if pods
	// were.
	Former []string
	// OnNodes builds the server groups that the Service would have with nodes as its backends, where pods are: a listener may stay on one of
	// them. Nil where it has them.
	OnNodes func() []Group
	// Mapped are the names of the groups that have the servers of a user's server group, by its id, for a Service that
	// maps ports to such groups and names no load balancer any more.
	Mapped map[string]string
	// Refused says, as text for users, which ports of the Service can have no listener, and why.
	Refused []string
	// Access is who may connect; nil if the Service doesn't say and never did.
	Access *Access
	// Binding is what is to be bound to the load balancer; nil if the Service doesn't say and never did.
	Binding *Binding
	// AccessUnsaid says, as text for users, that access control was put in force and that nothing says any more whether it
	// is to be: no listener may be made without it. Empty if something does.
	AccessUnsaid string
}

// Reuse names a user's instance that the Service takes. The zero value is for a Service that has one of its own.
type Reuse struct {
	ID string
	// Listeners says that the Service manages listeners there, too. Otherwise all of them are the user's.
	Listeners bool
	// Filled are the ids of the user's server groups that were filled for the Service so far.
	Filled []string
}

// Instance is the wanted load balancer itself.
type Instance struct {
	// Spec is what a new load balancer is bought with, defaults filled in. Its request id is left to the caller.
	Spec Spec
	// Identity is the part of Spec that is configuration, which the hash is made of; nil for all of it. What the controller itself has
	// chosen isn't configuration.
	Identity proto.Message
	// Asked says which attributes of Spec the user asked for; only these are compared with a load balancer that exists. It is a value of
	// the kind, and part of the hash in its form as JSON.
	Asked any
	// Fields are the fields of the Service that ask for something in place of annotations, by the key of these.
	Fields map[string]string
	// ResourceGroup is the resource group that the user asked for; empty for any.
	ResourceGroup string
	// Forbidden is why the cluster doesn't allow that such a load balancer is made, as text for users; empty if it does.
	Forbidden string
	// Tags are the keys of the additional tags, and DroppedTags those of tags that were put on the instance for this Service and
	// are not wanted any more. Neither is configuration: Spec has the wanted tags.
	Tags, DroppedTags []string
	// Nodes are the addresses of nodes, by which a vSwitch can be found. They aren't configuration, and must not be changed.
	Nodes []string
	// Marking says that a user's instance was about to be marked as reused, which may have failed.
	Marking bool
}

// Noun names for people what asks for an attribute: an annotation, by its key, or a field of the Service.
func (i Instance) Noun(key string) string {
	if field, ok := i.Fields[key]; ok {
		return field
	}
	return "annotation " + key
}

// Spec is the request that makes a load balancer, a message of the gateway.
type Spec interface {
	proto.Message
	GetName() string
	GetTags() []*commonv1.Tag
}

// LoadBalancer is a present load balancer, a message of the gateway.
type LoadBalancer interface {
	proto.Message
	GetName() string
	// GetAddress is what is published: an address, or the name of a kind that has no fixed one.
	GetAddress() string
	GetResourceGroupId() string
	GetTags() []*commonv1.Tag
}

// ListenerConfig has the attributes of a listener, in a message of the gateway.
type ListenerConfig interface {
	proto.Message
	GetDescription() string
	GetServerGroupId() string
}

// Protocol is that of a listener. The numbers are part of hashes.
type Protocol int32

// The protocols.
const (
	TCP    Protocol = 1
	UDP    Protocol = 2
	HTTP   Protocol = 3
	HTTPS  Protocol = 4
	TCPSSL Protocol = 5
)

// String is the name in lower case, as users write it.
func (p Protocol) String() string {
	names := map[Protocol]string{TCP: "tcp", UDP: "udp", HTTP: "http", HTTPS: "https", TCPSSL: "tcpssl"}
	if name, ok := names[p]; ok {
		return name
	}
	return "unknown"
}

// OverTCP reports whether connections are made over TCP. Listeners of two such protocols can't have the same port.
func (p Protocol) OverTCP() bool { return p != UDP }

// HasCertificates reports whether listeners of the protocol end TLS.
func (p Protocol) HasCertificates() bool { return p == HTTPS || p == TCPSSL }

// ListenerKey names a listener of an instance.
type ListenerKey struct {
	// Port is its port, or the first one of a range.
	Port     int32
	Protocol Protocol
	// End is the last port of a range; 0 for a listener with one port.
	End int32 `json:",omitempty"` // Part of hashes.
}

// Compare orders keys by port and protocol.
func (k ListenerKey) Compare(other ListenerKey) int {
	return cmp.Or(cmp.Compare(k.Port, other.Port), cmp.Compare(k.Protocol, other.Protocol), cmp.Compare(k.End, other.End))
}

// Meets reports whether listeners with these keys can't be there at the same time. UDP has ports of its own.
func (k ListenerKey) Meets(other ListenerKey) bool {
	return k.Protocol.OverTCP() == other.Protocol.OverTCP() && k.Port <= max(other.Port, other.End) && other.Port <= max(k.Port, k.End)
}

// Listener is a wanted or present listener.
type Listener struct {
	Key ListenerKey
	// ID is known of present ones, where the cloud has ids for listeners.
	ID string
	// LeadsTo is the port of the listener that a redirect leads to, which has no servers of its own; 0 for any other.
	LeadsTo int32
	// Group is the name of the wanted server group; empty for a redirect, and in what is present.
	Group string
	// Config are the attributes. The server group id is set only in what is present.
	Config ListenerConfig
	// Defaults are further attributes of a listener that is created. One that exists keeps what it has: the existing CCM did so,
	// and what was set by hand since must survive.
	Defaults ListenerConfig
	// Stopped says that a present listener refuses connections.
	Stopped bool
	// Starting says that a present listener was started, and refuses connections for some seconds yet.
	Starting bool
	// Waits is why a wanted listener can't be made yet, as text for users; empty if it can. One that is there is served on.
	Waits string
	// Further are the further certificates. Nil says that none are asked for, or that those that there are aren't known.
	Further []FurtherCertificates
	// Tags are those of a present listener, which people have given it.
	Tags []*commonv1.Tag
}

// Description is that of a present listener.
func (l Listener) Description() string {
	if l.Config == nil {
		return ""
	}
	return l.Config.GetDescription()
}

// GroupID is the id of the server group that a present listener forwards to.
func (l Listener) GroupID() string {
	if l.Config == nil {
		return ""
	}
	return l.Config.GetServerGroupId()
}

// FurtherCertificates are those that a listener has beside its first one: the one for a domain that clients ask for, or
// all those that are chosen by the names in them.
type FurtherCertificates struct {
	// ID is known of present ones, if the cloud gives them any.
	ID string
	// Domain is empty where the names in the certificates count.
	Domain string
	// Certificates are their ids. Wanted ones without any keep what is there.
	Certificates []string
}

// For says for people whom they are for.
func (f FurtherCertificates) For() string { return cmp.Or(f.Domain, "other names") }

// ServerType is what a server is.
type ServerType int32

// The types of servers.
const (
	// ECS is an instance.
	ECS ServerType = 1
	// ENI is a network interface; its address counts, too.
	ENI ServerType = 2
	// ECI is a container instance.
	ECI ServerType = 3
	// IP is an address.
	IP ServerType = 4
)

// ServerKey identifies a server within a group. The address counts only for network interfaces: the cloud may fill it in for
// instances.
type ServerKey struct {
	ID   string
	IP   string
	Type ServerType
	Port int32
}

// Place is where a server is, whichever network interface carries its address.
func (k ServerKey) Place() ServerKey {
	if k.Type == ENI {
		k.ID = ""
	}
	return k
}

// Server is a backend of a server group. Thousands for each Service are remembered, so that the order of fields, which
// decides the size, matters.
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

// Group is a wanted or present server group.
type Group struct {
	// ID is known of present groups. A wanted one has it if it is the user's, which is only filled; it serves as its name, too.
	ID   string
	Name string
	// BuiltIn says that every load balancer of the kind has the group: nobody makes or deletes it, or owns it. Only its
	// servers come and go, and a new load balancer has it without any. A listener that names no group forwards to it.
	BuiltIn bool
	// Shape is what can't be changed of a group: one of another shape is another group, whatever its name. Empty where all groups are alike.
	Shape string
	// Config are the attributes that groups of the kind have beside their servers, of a wanted one those that were asked for; nil for none.
	Config proto.Message
	// Servers are ordered. A wanted server of type ENI may lack its ID until it is resolved.
	Servers []Server
	// Unresolved are addresses whose network interface couldn't be found: a present server with such an address is kept. Pending says that
	// some of them weren't looked up yet.
	Unresolved []string
	Pending    bool
	// Nobody says of a wanted group that certainly no pod is behind its port.
	Nobody bool
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
	// Gone says, where there is no instance, that the one that is noted on the Service isn't there.
	Gone bool
	// ConfigKnown says that Instance and Listeners have been read or written; otherwise only Groups are known.
	ConfigKnown bool
	Instance    LoadBalancer
	Listeners   []Listener
	Groups      []Group
	// OtherGroups are the names, by id, of server groups that are none of the Service's.
	OtherGroups map[string]string
	// Lists are the access lists of the Service, ordered by id, if ListsKnown says that they have been looked for.
	Lists      []AccessList
	ListsKnown bool
	// Bound are the things that are or may be bound to the load balancer, as far as they concern the Service, ordered by
	// id, if BoundKnown says that they have been looked for.
	Bound      []Bound
	BoundKnown bool
	// Failed are load balancers that could not be made for the Service, where they have been looked for.
	Failed []Thing
	// Nobodys are names of server groups and descriptions of listeners that were made for Services of the cluster which
	// are gone: nobody owns these. It is known of a user's load balancer that was just read.
	Nobodys map[string]bool
}

// Nothing is what the cloud holds for a Service that certainly has no instance yet.
func Nothing() Observed { return Observed{ConfigKnown: true} }

// Clone copies so far that listeners and groups of the copy can be replaced.
func (o Observed) Clone() Observed {
	o.Listeners = slices.Clone(o.Listeners)
	for i := range o.Listeners {
		o.Listeners[i].Further = slices.Clone(o.Listeners[i].Further)
	}
	o.Groups, o.Lists, o.Bound = slices.Clone(o.Groups), slices.Clone(o.Lists), slices.Clone(o.Bound)
	return o
}

// UsedGroups are the ids of the server groups that listeners of the load balancer forward to.
func (o Observed) UsedGroups() map[string]bool {
	used := map[string]bool{}
	for _, l := range o.Listeners {
		used[l.GroupID()] = true
	}
	return used
}

// Name is that of the present load balancer.
func (o Observed) Name() string {
	if o.Instance == nil {
		return ""
	}
	return o.Instance.GetName()
}

// Address is what is published of the present load balancer.
func (o Observed) Address() string {
	if o.Instance == nil {
		return ""
	}
	return o.Instance.GetAddress()
}

// Tags returns the tags of the present load balancer.
func (o Observed) Tags() map[string]string {
	tags := map[string]string{}
	if o.Instance == nil {
		return tags
	}
	for _, t := range o.Instance.GetTags() {
		tags[t.GetKey()] = t.GetValue()
	}
	return tags
}
