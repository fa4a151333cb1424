package desired

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/backend"
	"alicloud-controllers.dev/lbcontroller/internal/certificate"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
	"alicloud-controllers.dev/lbcontroller/internal/readiness"
)

// Config is what all Services of the cluster share.
type Config struct {
	ClusterID       string
	VPCID           string
	VSwitchIDs      []string
	ResourceGroupID string
	// PodBackends makes pods the backends of Services that don't say.
	PodBackends bool
	// MaxNodes is how many nodes are servers of a server group with externalTrafficPolicy Cluster, for Services that
	// don't say; 0 for all.
	MaxNodes int
	// Drain keeps pods that terminate as servers without new connections, for Services that don't say.
	Drain bool
	// IgnoreBackendIPv6 makes the addresses of pods IPv4 ones, whatever Services say.
	IgnoreBackendIPv6 bool
	// ServiceFields lets fields of the spec count as the annotations that ask for the same.
	ServiceFields bool
	// NoRules says that no rules are added to security groups of servers, whatever Services say.
	NoRules bool
	// NoSourceRanges refuses Services with loadBalancerSourceRanges.
	NoSourceRanges bool
	// Fields are what the spec of a Service asks for from the kind, in the words of annotations; nil for nothing. The view has
	// the values of annotations.
	Fields func(View) []annotation.Field
	// Parser reads the annotations of the kind; the zero value those of a CLB.
	Parser annotation.Parser
	// DottedNames gives server groups names that name the protocol, as NLBs have them; see ownership.Owner.Dotted.
	DottedNames bool
	// BuiltInGroup is the id of the server group that every load balancer has, which is no user's; empty if there is none.
	BuiltInGroup string
}

// Input is what is known about one Service.
type Input struct {
	View   View
	Slices []*discoveryv1.EndpointSlice
	Nodes  *backend.Set
	// Gated are the pods that may wait for the load balancer before they are ready.
	Gated readiness.Pods
	// Unknown are instances that the cloud doesn't have.
	Unknown map[string]bool
	// Limit is how many servers a server group takes, if the cloud has refused more; 0 if it hasn't.
	Limit int
	// Lists has the servers of the result.
	Lists *model.Lists
	// Secrets are those that the Service names, by name, and Now is when their certificates have to be valid.
	Secrets map[string]certificate.Secret
	Now     time.Time
}

// Result is what the Service asks for.
type Result struct {
	Desired *model.Desired
	// OwnGroups are the server groups that a Service would have on a load balancer of its own, if it names one of a
	// user's.
	OwnGroups []model.Group
	// Hostname is published instead of the address of the instance. ShowsBound says that the addresses are which are bound
	// to it.
	Hostname   string
	ShowsBound bool
	// IPMode is that of the published addresses; empty to leave it to the API server.
	IPMode string
	// Warnings say what was left out, and WithoutEffect what the user wrote and that has no effect, for people.
	Warnings, WithoutEffect []string
	// Coming are the addresses of pods that may be servers soon, sorted.
	Coming []string
	// Certificates are those from Secrets, by their placeholders, which stand for ids in listeners. Lacking says, for people, why others
	// can't be used.
	Certificates map[string]certificate.Certificate
	Lacking      []string
}

// Hash is a digest of all that is configured: the load balancer, and what is published of it.
func (r Result) Hash() (string, error) {
	hash, err := r.Desired.ConfigHash()
	if err != nil || r.Hostname == "" && !r.ShowsBound && r.IPMode == "" {
		return hash, err
	}
	if r.IPMode != "" {
		hash += " " + r.IPMode // The hash of a Service without it is what it was before there was any.
	}
	sum := sha256.Sum224(fmt.Appendf(nil, "%s %q %t", hash, r.Hostname, r.ShowsBound))
	return model.HashVersion + hex.EncodeToString(sum[:]), nil
}

// InvalidError lists everything that is wrong with a Service.
type InvalidError struct {
	Problems []string
	// Backends has the wanted server groups and nothing else: what is wrong must not cost a load balancer that works
	// its servers. Where what is wrong concerns the servers, it is about those that are there: their weights stay, or
	// only those go that can't serve any more.
	Backends *model.Desired
}

// Error joins the problems.
func (e *InvalidError) Error() string { return strings.Join(e.Problems, "; ") }

// Configurer builds what only a kind of load balancers understands. It is pure.
type Configurer interface {
	// Configure returns the wanted load balancer and its listeners, ordered; no listeners where the user makes them.
	Configure(b *Builder) (model.Instance, []model.Listener)
	// Shapes says what the server groups of the ports are, beside their servers, by the index of the port. It reports no
	// problem.
	Shapes(b *Builder) []Shape
	// Bound is what a Service asks to have bound to its load balancer, and what it may have from before, as View.Binding has
	// it; and whether it publishes the addresses that are bound there instead of the load balancer's own.
	Bound(v View) (b *model.Binding, isPublished bool)
	// BuiltIn is the server group that every load balancer of the kind has, with the servers that are to be in it, beside
	// those of the ports. It is nil if there is none, or if the Service says nothing of it.
	BuiltIn(b *Builder, ports []model.Group) *model.Group
}

// Shape is what a server group is, beside its servers. The zero value is that of a CLB's.
type Shape struct {
	// Protocol is the protocol in the name, where names have one.
	Protocol string
	// Ports takes the place of the servers' port in the name: all ports of a listener have one group. Its servers have no
	// port of their own then.
	Ports string
	// Addresses says that the servers are addresses, and neither instances nor network interfaces.
	Addresses bool
	// Fixed is what can't be changed of the group; see model.Group.Shape.
	Fixed string
	// Config are the attributes that are asked for; nil for none.
	Config proto.Message
}

// Builder collects the problems and warnings of one Service.
type Builder struct {
	Config
	View   View
	Values annotation.Values
	Owner  ownership.Owner
	Reuse  model.Reuse
	// Binding is what Bound answers of the Service, to which the kind may add what else it knows.
	Binding *model.Binding

	*findings

	kind   Configurer
	shapes []Shape // see shape
	source backend.Source
	mapped map[int32]string // the user's server groups by port of the Service
	// port is the one that the values are for; 0 for all.
	port int32
	// keepWeights and keepChoice report that something is wrong with what the Service says about the weights of its servers, or about
	// which servers it takes.
	keepWeights, keepChoice bool
	access                  *model.Access
	// limit is how many servers a server group takes, and left how many are left out of one for that.
	limit, left int
	lists       *model.Lists
	unknown     map[string]bool

	secrets map[string]certificate.Secret
	now     time.Time
}

// Build returns what the Service asks for, or an *InvalidError with every problem.
func Build(cfg Config, in Input, kind Configurer) (Result, error) {
	svc := in.View.Service
	values := in.View.Values
	b := &Builder{Config: cfg, View: in.View, Values: values, findings: &findings{},
		source: backend.Source{Slices: in.Slices, Nodes: in.Nodes, Gated: in.Gated},
		Owner:  ownership.Owner{Service: svc.Name, Namespace: svc.Namespace, ClusterID: cfg.ClusterID}}
	b.kind, b.limit, b.lists, b.unknown = kind, in.Limit, in.Lists, in.Unknown
	b.secrets, b.now = in.Secrets, in.Now
	b.Reuse = b.reused()
	b.mapped = b.mappedGroups()
	for _, p := range in.View.problems {
		b.problems = append(b.problems, p.String())
		switch p.Key {
		case annotation.Weight, annotation.DefaultWeight, annotation.IgnoreWeightUpdate:
			b.keepWeights = true
		case annotation.BackendLabel, annotation.RemoveUnscheduled, annotation.BackendIPVersion, annotation.MaxNodes, annotation.DrainTerminating:
			b.keepChoice = true
		}
	}
	b.problems = append(b.problems, in.View.parser.Unrestricted(svc.Annotations, svc.Labels, svc.Spec.LoadBalancerSourceRanges)...)
	var showsBound bool
	b.Binding, showsBound = kind.Bound(in.View)
	d := &model.Desired{Owner: b.Owner, UID: string(svc.UID), Reuse: b.Reuse, Binding: b.Binding}
	d.Instance, d.Listeners = kind.Configure(b)
	d.Instance.Nodes = in.Nodes.Addresses()
	d.Refused = b.refusals()
	d.Groups = b.groups()
	d.Former = b.former()
	if in.View.Mode == backend.Pods {
		d.OnNodes = b.onNodes
	}
	d.Mapped = b.mappedNames()
	d.AccessUnsaid = annotation.AccessUnsaid(svc.Annotations)
	if d.Access = b.access; d.Access == nil && in.View.MayHaveList() {
		d.Access = &model.Access{}
	}
	if !b.View.dual { // Which family a pod lacks doesn't matter then.
		b.warnings = append(b.warnings, b.source.Warnings(b.policy())...)
	}
	if b.Values.On(annotation.AllowHealthChecks) && b.NoRules {
		b.NoEffect("annotation %s%s has no effect, because securityGroups.allow is off in the configuration: switch it on, or remove it",
			annotation.Prefix, annotation.AllowHealthChecks)
	}
	if b.left > 0 {
		b.Warn("%d backends are left out because the cloud takes no more servers: raise the quota, or set annotation %s%s",
			b.left, annotation.Prefix, annotation.MaxNodes)
	}
	if family := values.Text(annotation.BackendIPVersion); family != "" && family != ipv4 && !b.View.ipv6 {
		b.NoEffect("%s has no effect: it needs an annotation ip-version that allows IPv6, and the configuration "+
			"must not ignore it", values.Noun(annotation.BackendIPVersion))
	}
	if in.View.Values.Has(annotation.IPMode) && !in.View.Reverts(annotation.IPMode) && values.Has(annotation.Hostname) {
		b.NoEffect("annotation %s%s has no effect beside annotation hostname: a name has no ipMode", annotation.Prefix, annotation.IPMode)
	}
	b.withoutNeeds()
	b.checkBackends()
	b.checkMapped()
	b.onlyFor()
	b.withoutFields()
	b.withoutNodes()
	if len(b.problems) > 0 {
		return Result{}, &InvalidError{Problems: b.problems, Backends: &model.Desired{Owner: d.Owner, UID: d.UID,
			Reuse: d.Reuse, Groups: d.Groups, Mapped: d.Mapped}}
	}
	return Result{
		Desired: d, OwnGroups: b.ownGroups(),
		Hostname:   values.Text(annotation.Hostname),
		ShowsBound: showsBound,
		IPMode:     values.Text(annotation.IPMode),
		Warnings:   b.warnings, WithoutEffect: b.useless,
		Coming: b.coming(), Certificates: b.certificates, Lacking: b.lacking,
	}, nil
}

// coming are the addresses of pods that may be servers soon, if their network interfaces have to be looked up.
func (b *Builder) coming() []string {
	policy := b.policy()
	ips := b.source.Coming(policy)
	if b.View.dual {
		policy.IPv6 = false
		ips = append(ips, b.source.Coming(policy)...)
		slices.Sort(ips)
	}
	return ips
}

// onNodes are the server groups that the Service would have if nodes were its backends.
func (b *Builder) onNodes() []model.Group {
	nodes := b.apart()
	nodes.mapped, nodes.shapes = nil, nil
	nodes.View.Mode = backend.Cluster
	if b.View.Service.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal {
		nodes.View.Mode = backend.Local
	}
	return nodes.groups()
}

// ownGroups are the server groups on a load balancer of the Service's own, if it names another.
func (b *Builder) ownGroups() []model.Group {
	if b.Reuse.ID == "" {
		return nil
	}
	own := b.apart()
	own.mapped = nil
	return own.groups()
}

// apart is a builder whose findings are nobody's.
func (b *Builder) apart() *Builder {
	apart := *b
	apart.findings = &findings{refused: b.refused}
	return &apart
}

// At is the builder with the values for one port of the Service. What it finds is found by all.
func (b *Builder) At(port int32) *Builder {
	if !b.Values.ByPort() {
		return b
	}
	at := *b
	at.Values = b.Values.ForPort(port)
	at.View.Values, at.port = at.Values, port
	return &at
}

// About says for people for which port a text is that has to do with these keys, if any has a value for one; nothing if the name of the
// first says so.
func (b *Builder) About(keys ...string) string {
	if b.port == 0 || b.Values.IsOwn(keys[0]) ||
		!slices.ContainsFunc(keys, func(key string) bool { return len(b.Values.Ports(key)) > 0 }) {
		return ""
	}
	return fmt.Sprintf(" for port %d", b.port)
}

// onlyFor reports values for ports that the Service doesn't have. As with the other annotations by port, these are passed over: ports may
// go before their annotations, and come after them.
func (b *Builder) onlyFor() {
	for _, spec := range b.Parser.Table() {
		for _, port := range b.Values.Ports(spec.Key) {
			b.KnowsPort(spec.Key, strconv.Itoa(int(port)))
		}
	}
}

// HasProtocols reports values for ports whose protocols have no such attribute. protocols are those of the ports of the Service by index.
func (b *Builder) HasProtocols(protocols map[int]model.Protocol) {
	for _, spec := range b.Parser.Table() {
		for _, port := range b.Values.Ports(spec.Key) {
			has, applies := false, false
			for i, p := range b.View.Service.Spec.Ports {
				if protocol, isKnown := protocols[i]; isKnown && p.Port == port {
					has, applies = true, applies || slices.Contains(spec.Protocols, protocol.String())
				}
			}
			if has && !applies && len(spec.Protocols) > 0 {
				b.NoEffect("annotation %s has no effect for port %d: it is for %s, and the port has another protocol (annotation %s%s)",
					b.Values.Name(spec.Key), port, strings.Join(spec.Protocols, " and "), annotation.Prefix, annotation.ProtocolPort)
			}
		}
	}
}

// checkMapped reports groups for ports that the Service doesn't have.
func (b *Builder) checkMapped() {
	for _, p := range b.Values.Pairs(annotation.VGroupPort) {
		if b.Reuse.ID != "" {
			b.KnowsPort(annotation.VGroupPort, p.Value)
		}
	}
}

// withoutFields reports fields of the spec that ask for something in vain: because fields don't count in this cluster, or
// because an annotation says something else.
func (b *Builder) withoutFields() {
	if b.Fields == nil {
		return
	}
	said := map[string]bool{"": true} // What the controller chooses by itself isn't the user's.
	for _, f := range b.Fields(b.View) {
		written := b.Values.Origin(f.Key) == annotation.Written
		switch {
		case said[f.Name], f.Chosen, written && strings.EqualFold(b.Values.Text(f.Key), f.Value), b.Values.Origin(f.Key) == annotation.InSpec:
			continue
		case written:
			b.NoEffect("%s has no effect: annotation %s counts more", f.Name, b.Values.Name(f.Key))
		case !b.ServiceFields:
			b.NoEffect("%s has no effect, because serviceFields is off in the configuration; annotation %s%s: %q asks for the same",
				f.Name, annotation.Prefix, f.Key, f.Value)
		}
		said[f.Name] = true
	}
}

// KnowsPort reports an item of an annotation about a port that the Service doesn't have.
func (b *Builder) KnowsPort(key, number string) {
	port, err := ParsePort(number)
	has := slices.ContainsFunc(b.View.Service.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == port })
	if err == nil && !has {
		b.NoEffect("annotation %s has no effect for port %d, which the Service doesn't have in spec.ports", b.Values.Name(key), port)
	}
}

// reused returns what the Service says about a load balancer of the user's.
func (b *Builder) reused() model.Reuse {
	id := b.Values.Text(annotation.ID)
	if id == "" {
		return model.Reuse{}
	}
	filled := ownership.ParseClaims(b.View.Service.Annotations[annotation.Claims]).Of(id).Groups
	return model.Reuse{ID: id, Listeners: b.Values.On(annotation.ForceOverride), Filled: filled}
}

// mappedGroups returns the user's server groups that are to be filled, by port. As with the other annotations by port,
// ports that the Service doesn't have are passed over.
func (b *Builder) mappedGroups() map[int32]string {
	if b.Reuse.ID == "" {
		return nil
	}
	mapped := map[int32]string{}
	for _, p := range b.Values.Pairs(annotation.VGroupPort) {
		port, err := ParsePort(p.Value)
		if other, twice := mapped[port]; err != nil || twice && other != p.Key || p.Key == b.BuiltInGroup {
			b.Misfit(annotation.VGroupPort, "server group:port,… with ports 1 to 65535 and one server group for each")
			return nil
		}
		mapped[port] = p.Key
	}
	return mapped
}

// Text is the value of an annotation, nil if there is none.
func (b *Builder) Text(key string) *string {
	if !b.Values.Has(key) {
		return nil
	}
	return new(b.Values.Text(key))
}

// Number is the value of an annotation, nil if there is none.
func (b *Builder) Number(key string) *int32 {
	if n, ok := b.Values.Number(key); ok {
		return &n
	}
	return nil
}

// OnOff is the value of an annotation, nil if there is none.
func (b *Builder) OnOff(key string) *bool {
	if !b.Values.Has(key) {
		return nil
	}
	return new(b.Values.On(key))
}

// ParsePort reads the number of a port.
func ParsePort(text string) (int32, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("port %q is not a number from 1 to 65535", text)
	}
	return int32(n), nil
}
