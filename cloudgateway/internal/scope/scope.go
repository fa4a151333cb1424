// Package scope keeps callers to the part of the account that the configuration gives them: resources with certain tags, in certain VPCs,
// or of one cluster. It looks at a resource before a write. Reads are not its business.
package scope

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/method"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/config"
	"alicloud-controllers.dev/cloudgateway/internal/memo"
	"alicloud-controllers.dev/cloudgateway/internal/rpc"
)

// ClusterTag is the key of the tag that names the cluster of a resource, as the existing CCM and ACK write it.
const ClusterTag = config.ClusterTag

// ServiceTag is the key of the tag that the existing CCM gives to what it makes for a Service. What its old versions
// made has no ClusterTag.
const ServiceTag = "kubernetes.do.not.delete"

// owns reports whether a tag says whose something is.
func owns(key string) bool { return key == ClusterTag || key == ServiceTag }

const (
	// factsAge is how old may be what a decision goes by. A verdict about a token is as old at most.
	factsAge = time.Minute
	// mostSeen and seenLife bound of how many resources, and for how long, the cluster is remembered.
	mostSeen = 20_000
	seenLife = 24 * time.Hour
)

// facts are what scopes look at in a resource.
type facts struct {
	tags  []*commonv1.Tag
	vpcID string    // empty for what is in no VPC, e.g. EIPs
	asOf  time.Time // of what was seen in passing
}

// ofNobody reports whether nothing says whose it is.
func (f facts) ofNobody() bool {
	return !slices.ContainsFunc(f.tags, func(t *commonv1.Tag) bool { return owns(t.GetKey()) })
}

// Guard refuses writes outside of the scopes of their callers.
type Guard struct {
	rules    []rule
	methods  map[string]method.Method
	owners   map[Kind]cloud.Owner
	lastSeen *memo.Memo[Resource, facts] // as they were last seen; nil if no scope goes by that
	lists    map[Kind]List
	seen     *memo.Memo[Resource, struct{}] // clusters of which all resources of a kind were seen
}

// List reads all resources of a kind that have a tag, and calls Observe for each of them.
type List func(ctx context.Context, tag *commonv1.Tag) error

// New makes a Guard. The owners say how resources are read. There is a List for each kind that controllers write to often.
func New(scopes []config.Scope, owners []cloud.Owner, lists map[Kind]List) *Guard {
	g := &Guard{methods: map[string]method.Method{}, owners: map[Kind]cloud.Owner{}, lists: lists}
	for _, m := range method.All() {
		g.methods[m.FullName()] = m
	}
	for _, o := range owners {
		g.owners[Kind(o.Kind())] = o
	}
	for i, s := range scopes {
		r := newRule(i, s)
		g.rules = append(g.rules, r)
		if (r.lenient() || r.ofVPCs()) && g.lastSeen == nil {
			g.lastSeen, g.seen = memo.New[Resource, facts](mostSeen), memo.New[Resource, struct{}](max(1, len(scopes)*len(lists)))
		}
	}
	return g
}

// Marked is a resource that says whose it is.
type Marked interface {
	GetVpcId() string
	GetTags() []*commonv1.Tag
}

// Observe notes what an answer of the cloud shows of a resource.
func (g *Guard) Observe(kind Kind, id string, m Marked) {
	if id != "" {
		g.note(Resource{Kind: kind, ID: id}, m.GetVpcId(), m.GetTags())
	}
}

func (g *Guard) note(r Resource, vpcID string, tags []*commonv1.Tag) {
	if g.lastSeen == nil {
		return
	}
	seen := facts{vpcID: vpcID, asOf: time.Now()}
	for _, t := range tags {
		if owns(t.GetKey()) {
			seen.tags = append(seen.tags, &commonv1.Tag{Key: t.GetKey(), Value: t.GetValue()}) // The answer is not kept for it.
		}
	}
	g.lastSeen.Put(r, seen, seenLife)
}

// Intercept is a grpc.UnaryServerInterceptor. It comes right before the handler, behind the memory of repeated requests, whose answer
// changes nothing.
func (g *Guard) Intercept(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	m, known := g.methods[info.FullMethod]
	message, ok := request.(proto.Message)
	if !ok || known && m.Reads() || len(g.rules) == 0 {
		return next(ctx, request)
	}
	owners := m.Options.GetOwners()
	var c change
	if len(owners) > 0 {
		c = changeOf(owners, message)
	}
	caller, _ := rpc.CallerFrom(ctx)
	for _, r := range g.rules {
		if !r.names(caller.Name) {
			continue
		}
		if len(owners) == 0 {
			return nil, rpcerr.Errorf(rpcerr.Internal,
				"nothing says which resource %s changes; add owners to its options in the protocol", info.FullMethod)
		}
		err := g.permit(ctx, r, c, caller.Name, m.Verb())
		if errors.Is(err, errGone) {
			if answer, err := Gone(m); answer != nil || err != nil {
				return answer, err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
	}
	response, err := next(ctx, request)
	g.invalidate(c, response)
	return response, err
}

// permit says why a change is outside of the scope of a rule; nil if it is not, errGone if there is nothing to be taken
// away.
func (g *Guard) permit(ctx context.Context, r rule, c change, caller, verb string) error {
	of := c.of
	if r.controller && c.unbinds {
		// The handler takes the EIP off what the request names, as a read of just now shows it, and off nothing else.
		if c.from == "" {
			return r.refusal(caller, verb, c.of[0].String(), "the request does not name the load balancer from which it is taken")
		}
		of = append(slices.Clip(of), Resource{Kind: LoadBalancer, ID: c.from})
	}
	for i, resource := range of {
		enough := r.enough(resource.Kind, verb, c)
		found, err := g.facts(ctx, r, resource, verb == "delete" && !c.part || c.passed || c.marks())
		if rpcerr.IsNotFound(err) && (verb == "delete" || c.unbinds && resource.Kind == EIP) {
			if found, err = g.confirmed(ctx, resource, err); rpcerr.IsNotFound(err) {
				return errGone
			}
		}
		if err != nil {
			return fmt.Errorf("find out whether %s is in the scope of %s: %w", resource, caller, err)
		}
		if why := r.outside(found, enough); why != "" {
			return r.refusal(caller, verb, resource.String(), why)
		}
		if i > 0 {
			continue
		}
		if why := r.escapes(found, c.setTags, c.removeTagKeys); why != "" {
			return r.refusal(caller, verb, resource.String(), why)
		}
	}
	if c.makes == nil {
		return nil
	}
	wanted := facts{tags: c.makes.tags, vpcID: c.makes.vpcID}
	if id := c.makes.vswitchID; id != "" && len(r.vpcs) > 0 {
		in, err := g.facts(ctx, r, Resource{Kind: VSwitch, ID: id}, false)
		if err != nil {
			return fmt.Errorf("find out whether vSwitch %s is in the scope of %s: %w", id, caller, err)
		}
		wanted.vpcID = in.vpcID
	}
	if why := r.outside(wanted, ownTag); why != "" {
		return r.refusal(caller, verb, "such a "+string(c.makes.kind), why)
	}
	return nil
}

// facts are those of a resource. A rule that only keeps callers from what belongs to other clusters goes by what was
// last seen of a load balancer or of a server group that has an owner of its own, so that it costs no calls. What is
// to be deleted, or to have another mark, was seen just now: with the mark it could be deleted.
func (g *Guard) facts(ctx context.Context, r rule, of Resource, now bool) (facts, error) {
	if of.Kind == Network && len(r.tags) == 0 {
		return facts{vpcID: of.ID}, nil
	}
	if r.ofVPCs() && of.Kind == NetworkInterface && g.lastSeen != nil {
		if seen, ok := g.lastSeen.Get(of); ok {
			return seen, nil // It never moves.
		}
	}
	if r.lenient() && g.lists[of.Kind] != nil {
		seen, ok := g.lookUp(ctx, r, of)
		if ok && (!now || time.Since(seen.asOf) <= factsAge) {
			return seen, nil
		}
	}
	owner, ok := g.owners[of.Kind]
	if !ok {
		return facts{}, rpcerr.Errorf(rpcerr.CallerForbidden,
			"%s has no tags or VPC that the gateway could read; a caller without a scope has to do it", of)
	}
	tags, vpcID, err := owner.Facts(ctx, of.ID, factsAge)
	return facts{tags: tags, vpcID: vpcID}, err
}

// lookUp gives what was last seen of a resource. After a failover nothing was: then all of its kind and the cluster are
// read together, which takes one call for a hundred, since many of them are about to be changed.
func (g *Guard) lookUp(ctx context.Context, r rule, of Resource) (facts, bool) {
	if seen, ok := g.lastSeen.Get(of); ok {
		return seen, true
	}
	cluster := Resource{Kind: of.Kind, ID: r.tags[ClusterTag]}
	_, err := g.seen.Do(ctx, cluster, func(ctx context.Context) (struct{}, time.Duration, error) {
		if err := g.lists[of.Kind](ctx, &commonv1.Tag{Key: ClusterTag, Value: cluster.ID}); err != nil {
			return struct{}{}, 0, err
		}
		return struct{}{}, seenLife, nil
	})
	if err != nil {
		return facts{}, false // The one is read by itself.
	}
	return g.lastSeen.Get(of)
}

// invalidate forgets what a change of tags made untrue, and notes what was made.
func (g *Guard) invalidate(c change, response any) {
	if g.lastSeen == nil {
		return
	}
	switch made := response.(type) {
	case *slbv1.CreateLoadBalancerResponse:
		g.Observe(LoadBalancer, made.GetLoadBalancer().GetLoadBalancerId(), made.GetLoadBalancer())
	case *nlbv1.CreateServerGroupResponse:
		if id := made.GetServerGroupId(); id != "" {
			g.note(Resource{Kind: NLBServerGroup, ID: id}, c.makes.vpcID, c.makes.tags)
		}
	}
	if c.marks() {
		for _, resource := range c.of {
			g.lastSeen.Put(resource, facts{}, 0)
		}
	}
}

// rule is one scope of the configuration.
type rule struct {
	key        string // where it stands
	callers    []string
	tags       map[string]string
	vpcs       []string
	controller bool
}

func newRule(index int, s config.Scope) rule {
	r := rule{key: s.Key(index), callers: s.Callers, tags: maps.Clone(s.Tags), vpcs: s.VpcIDs, controller: s.Controller}
	if s.ClusterID != "" {
		if r.tags == nil {
			r.tags = map[string]string{}
		}
		r.tags[ClusterTag] = s.ClusterID
	}
	return r
}

// names reports whether the rule is for a caller.
func (r rule) names(caller string) bool {
	return slices.ContainsFunc(r.callers, func(pattern string) bool {
		prefix, open := strings.CutSuffix(pattern, "*")
		return pattern == caller || open && strings.HasPrefix(caller, prefix)
	})
}

// lenient reports whether the rule asks for no more than that a resource is of no other cluster.
func (r rule) lenient() bool { return r.controller && len(r.tags) == 1 && len(r.vpcs) == 0 }

// mark is what a resource needs for a rule of controllers.
type mark int

const (
	ownTag     mark = iota // the tag of the cluster
	serviceTag             // that, or only that of the existing CCM
	notOthers              // none; it may not be another cluster's
)

// enough says which mark a resource needs to be changed. Users name load balancers, server groups and EIPs that they
// made: a controller changes and binds these, but deletes none. Everything else it has made itself, or the existing
// CCM has.
func (r rule) enough(kind Kind, verb string, c change) mark {
	named := kind == LoadBalancer || kind == NLB || kind == NLBServerGroup || kind == EIP
	switch {
	case !r.controller || c.passed:
		return ownTag
	case named && (c.part || verb == "update"):
		return notOthers
	default:
		return serviceTag
	}
}

// ofVPCs reports whether the rule asks for no more than a VPC.
func (r rule) ofVPCs() bool { return len(r.tags) == 0 }

// outside says why a resource is outside of the scope; "" if it is inside.
func (r rule) outside(f facts, enough mark) string {
	tagged := len(r.tags) > 0 // as the rule asks for
	for _, key := range slices.Sorted(maps.Keys(r.tags)) {
		i := slices.IndexFunc(f.tags, func(t *commonv1.Tag) bool { return t.GetKey() == key })
		switch {
		case i < 0 && key == ClusterTag && (enough == notOthers || enough == serviceTag && !f.ofNobody()):
			tagged = false
		case i < 0:
			return "it has no tag " + key
		case f.tags[i].GetValue() != r.tags[key]:
			return fmt.Sprintf("its tag %s is %q", key, f.tags[i].GetValue())
		}
	}
	switch {
	case len(r.vpcs) == 0 || slices.Contains(r.vpcs, f.vpcID) || f.vpcID == "" && tagged:
		return ""
	case f.vpcID == "":
		return "it is in no VPC"
	default:
		return "it is in " + f.vpcID
	}
}

// escapes says why tags may not be changed so; "" if they may. No caller may put a resource into the scope of others,
// and a controller may not make what is nobody's its own, for it could then delete it.
func (r rule) escapes(now facts, set []*commonv1.Tag, remove []string) string {
	for _, t := range set {
		if want, ok := r.tags[t.GetKey()]; ok && want != t.GetValue() {
			return fmt.Sprintf("its tag %s would become %q", t.GetKey(), t.GetValue())
		}
		if r.controller && owns(t.GetKey()) && now.ofNobody() {
			return fmt.Sprintf("it has no tag %s or %s, and would become the cluster's", ClusterTag, ServiceTag)
		}
	}
	for _, key := range remove {
		if _, ok := r.tags[key]; ok && (!r.controller || key != ClusterTag) {
			return "it would lose its tag " + key
		}
	}
	return ""
}

// refusal names the rule and what helps.
func (r rule) refusal(caller, verb, what, why string) error {
	return rpcerr.Errorf(rpcerr.CallerForbidden,
		"%s may not %s %s: %s; %s of the gateway's configuration keeps the caller to resources %s. Correct the resource or the scope",
		caller, verb, what, why, r.key, r)
}

// String says what is inside.
func (r rule) String() string {
	var asks []string
	for _, key := range slices.Sorted(maps.Keys(r.tags)) {
		ask := fmt.Sprintf("with the tag %s=%s", key, r.tags[key])
		if r.controller && key == ClusterTag {
			ask += fmt.Sprintf(" (or with none but %s; load balancers, server groups and EIPs of nobody's may be changed and bound, not deleted)",
				ServiceTag)
		}
		asks = append(asks, ask)
	}
	if len(r.vpcs) > 0 {
		asks = append(asks, "in "+strings.Join(r.vpcs, " or "))
	}
	return strings.Join(asks, " and ")
}
