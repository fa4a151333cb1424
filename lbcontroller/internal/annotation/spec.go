package annotation

//go:generate go run ./gen -root ../../..

import "slices"

// Prefixes of the keys. A key under Prefix wins over the same key under LegacyPrefix, even when its value is empty.
const (
	Prefix       = "service.beta.kubernetes.io/alibaba-cloud-loadbalancer-"
	LegacyPrefix = "service.beta.kubernetes.io/alicloud-loadbalancer-"
)

// Literal keys, which have no legacy spelling. They decide whether and how the controller acts, not how a CLB is configured.
const (
	Class            = "service.beta.kubernetes.io/class"
	BackendType      = "service.beta.kubernetes.io/backend-type"
	LoadBalancerType = "service.beta.kubernetes.io/alibaba-cloud-loadbalancer-type"
	TunnelType       = "service.beta.kubernetes.io/alibaba-cloud-loadbalancer-tunnel-type"
)

// OwnTags is the controller's own note on a Service: the keys of the additional tags that it has put on the CLB. Only these go
// when they are no longer asked for.
const OwnTags = "service.k8s.alibaba/additional-resource-tags"

// Applied is the controller's own note on a Service: the keys of the annotations that the CLB has got something from. One that is deleted
// goes back to the default; without the note the controller could not know that there was one.
const Applied = "service.k8s.alibaba/applied-annotations"

// SourceRanges is the field that restricts who may connect, as Applied names it while there may be a list for that in the cloud.
const SourceRanges = "spec.loadBalancerSourceRanges"

// Making is the controller's own note on a Service whose CLB isn't as it asks: the listeners that a change makes which
// is not done yet. One of these that is stopped was never started; any other was stopped by hand.
const Making = "service.k8s.alibaba/listeners-being-made"

// ConfirmRelease lets the CLB of a Service go which had a class or a tunnel type before this controller ever served it; value true.
const ConfirmRelease = "service.k8s.alibaba/confirm-release"

// Claims is the controller's own note on a Service: the CLBs of users where there may be something of the Service, so that it is
// cleaned up whatever becomes of the annotations that name them.
const Claims = "service.k8s.alibaba/reused-loadbalancers"

// Bound is the controller's own note on a Service: the ids of what it has bound of the user's to the load balancer, the
// EIPs of a CLB, and BoundOwn while there may be one that was made for the Service. Only these are taken off again.
const Bound = "service.k8s.alibaba/eips"

// BoundOwn is what stands in Bound in place of an id.
const BoundOwn = "allocated"

// Fields of a Service that ask for the same as an annotation.
const (
	FieldAddress  = "spec.loadBalancerIP"
	FieldAffinity = "spec.sessionAffinity"
	FieldFamilies = "spec.ipFamilies"
)

// Kind is the syntax of a value.
type Kind string

// The kinds of values.
const (
	Text    Kind = "text"    // any text, within Max characters
	Choice  Kind = "choice"  // one of Values, in any case
	Choices Kind = "choices" // comma list of Values, in any case
	Switch  Kind = "switch"  // on or off; true and false are understood
	Number  Kind = "number"  // an integer from Min to Max, or one of Also
	List    Kind = "list"    // comma list of text
	Pairs   Kind = "pairs"   // comma list of key and value, joined by Separator
)

// The values of spec.loadBalancerClass that ask for a CLB, unless another one is configured, and for an NLB.
const (
	CLBClass = "alibabacloud.com/clb"
	NLBClass = "alibabacloud.com/nlb"
)

// LoadBalancer is a kind of load balancers, as people name it.
type LoadBalancer string

// The kinds. CLB is the one that Services have by default.
const (
	CLB LoadBalancer = "CLB"
	NLB LoadBalancer = "NLB"
)

// Scope names what an annotation configures.
type Scope string

// The scopes.
const (
	Instance Scope = "instance"
	Listener Scope = "listener"
	Health   Scope = "health check"
	Group    Scope = "server group"
	Backends Scope = "backends"
	Status   Scope = "status"
)

// Removal says what deleting the annotation does to an existing CLB.
type Removal string

// The effects of removal.
const (
	Keeps   Removal = "keeps the last value"
	Reverts Removal = "goes back to the default"
	Fails   Removal = "is refused while the cloud holds another value"
)

// Spec is a row of the table.
type Spec struct {
	// Key is the part of the annotation's name behind the prefix.
	Key string
	// For are the kinds of load balancers that the row is about; empty for CLB alone. A key that has other values
	// elsewhere has a row for each.
	For []LoadBalancer
	// Kind is the syntax of the value.
	Kind Kind
	// Values are the allowed values of Choice and Choices, in the spelling that is sent to the cloud.
	Values []string
	// Min and Max bound a Number; Max bounds the length of a Text. Also lists Numbers allowed outside the range.
	Min, Max int
	Also     []int
	// Pattern names the characters allowed in a Text, or in the keys of Pairs.
	Pattern Pattern
	// Separator stands between the key and the value of a pair: ':' or '='.
	Separator string
	// Default is what an absent annotation means, for people.
	Default string
	// Scope is what the annotation configures.
	Scope Scope
	// Whole says that there is one value for all ports though the scope is a listener, a health check or a server group.
	Whole bool
	// Protocols are the listener protocols it applies to; empty means all.
	Protocols []string
	// Needs are the settings without which it has no effect.
	Needs []Need
	// Removal is the effect of deleting it.
	Removal Removal
	// Field is the field of a Service that asks for the same, if there is one.
	Field string
	// Reset is the value that takes the place of one that was applied and is deleted; empty if the cloud keeps it.
	Reset string
	// Since is the version of the existing CCM that introduced it, or "new" if it has none such.
	Since string
	// Doc is one sentence for the reference page.
	Doc string
	// Refused marks an annotation of the existing CCM that this version can't honour: a Service that carries it is left alone,
	// because acting on the rest would do half of what was asked.
	Refused bool
}

// Need is a setting without which an annotation has no effect.
type Need struct {
	// Key is that of the setting, an annotation of the same kind of load balancers.
	Key string
	// Values are those that it takes, in the spelling of the table; empty for any. NotSet among them is for none.
	Values []string
	// Protocols are those of the listeners of which that holds; empty for all.
	Protocols []string
}

// NotSet stands for an annotation that isn't set, whose default is as good.
const NotSet = ""

// needs is a setting that an annotation needs, with one of these values.
func needs(key string, values ...string) Need { return Need{Key: key, Values: values} }

// of is the need of listeners of these protocols alone.
func (n Need) of(protocols ...string) Need {
	n.Protocols = protocols
	return n
}

// Lacks returns the first need that the values don't meet for a listener of a protocol; an empty protocol is for what is no listener's.
func (s Spec) Lacks(v Values, protocol string) (lacks Need, isLacking bool) {
	for _, n := range s.Needs {
		isAbout := len(n.Protocols) == 0 || slices.Contains(n.Protocols, protocol)
		isMet := v.Has(n.Key) && len(n.Values) == 0 || slices.Contains(n.Values, v.Text(n.Key))
		if isAbout && !isMet {
			return n, true
		}
	}
	return Need{}, false
}

// ByPort reports that a value may be for one port; see split.
func (s Spec) ByPort() bool {
	return !s.Whole && (s.Scope == Listener || s.Scope == Health || s.Scope == Group)
}

// Pattern is a character class of a Text.
type Pattern string

// The patterns.
const (
	AnyText         Pattern = ""
	CookieText      Pattern = "letters, digits, _ and -"
	PathText        Pattern = "a path that starts with /"
	IPv4Text        Pattern = "an IPv4 address"
	HostText        Pattern = "a DNS name in lower case"
	CertificateText Pattern = "a DNS name in lower case, or NAMESPACE/NAME on the Service of a Gateway"
	IDText          Pattern = "an id of the cloud"
)
