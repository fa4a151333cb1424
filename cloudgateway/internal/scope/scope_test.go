package scope

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/reflect/protoreflect"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/method"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/config"
	"alicloud-controllers.dev/cloudgateway/internal/rpc"
)

// TestEveryWriteHasOwners: a caller with a scope is refused a method of which the protocol does not say what it changes.
func TestEveryWriteHasOwners(t *testing.T) {
	for _, m := range method.All() {
		owners := m.Options.GetOwners()
		if (len(owners) > 0) == m.Reads() {
			t.Errorf("%s: reads %t, and says what it changes: %v", m.FullName(), m.Reads(), owners)
		}
		for _, owner := range owners {
			if (owner.GetKind() == "") == (owner.GetKindField() == "") {
				t.Errorf("%s: an owner needs a kind or a kind_field, it has %v", m.FullName(), owner)
			}
			for _, path := range []string{owner.GetField(), owner.GetKindField()} {
				if path != "" && !hasText(m.Descriptor.Input(), path) {
					t.Errorf("%s has no text %s", m.FullName(), path)
				}
			}
			if owner.GetField() == "" && m.Verb() != "create" {
				t.Errorf("%s: makes something with the verb %s", m.FullName(), m.Verb())
			}
		}
	}
}

// hasText reports whether a message has a text at a path of fields.
func hasText(m protoreflect.MessageDescriptor, path string) bool {
	name, rest, nested := strings.Cut(path, ".")
	field := m.Fields().ByName(protoreflect.Name(name))
	if field == nil || !nested {
		return field != nil && field.Kind() == protoreflect.StringKind && !field.IsList()
	}
	return field.Message() != nil && hasText(field.Message(), rest)
}

// balancers are load balancers of a team.
type balancers struct {
	t     *testing.T
	reads int
}

func (*balancers) Kind() string { return string(LoadBalancer) }

func (b *balancers) Facts(_ context.Context, _ string, maxAge time.Duration) ([]*commonv1.Tag, string, error) {
	if b.reads++; maxAge != time.Minute {
		b.t.Errorf("facts may be %s old", maxAge)
	}
	return []*commonv1.Tag{tag("team", "web")}, "vpc-2", nil
}

func tag(key, value string) *commonv1.Tag { return &commonv1.Tag{Key: key, Value: value} }

// TestOutside: what is inside of a scope, and why something is not.
func TestOutside(t *testing.T) {
	team := config.Scope{Tags: map[string]string{"team": "web", "env": "prod"}}
	cluster := config.Scope{ClusterID: "c-1"}
	lenient := config.Scope{ClusterID: "c-1", Controller: true}
	vpcs := config.Scope{VpcIDs: []string{"vpc-1", "vpc-2"}}
	both := config.Scope{ClusterID: "c-1", VpcIDs: []string{"vpc-1"}}
	lenientBoth := config.Scope{ClusterID: "c-1", Controller: true, VpcIDs: []string{"vpc-1"}}
	ours, others := []*commonv1.Tag{tag(ClusterTag, "c-1")}, []*commonv1.Tag{tag(ClusterTag, "c-2")}
	for _, tt := range []struct {
		name   string
		scope  config.Scope
		enough mark
		tags   []*commonv1.Tag
		vpc    string
		why    string
	}{
		{name: "all tags", scope: team, tags: []*commonv1.Tag{tag("x", "y"), tag("team", "web"), tag("env", "prod")}},
		{name: "one tag is missing", scope: team, tags: []*commonv1.Tag{tag("team", "web")}, why: "it has no tag env"},
		{name: "one tag is another", scope: team, tags: []*commonv1.Tag{tag("team", "db"), tag("env", "prod")}, why: `its tag team is "db"`},
		{name: "no tags", scope: team, why: "it has no tag env"},
		{name: "own cluster", scope: cluster, tags: ours},
		{name: "other cluster", scope: cluster, tags: others, why: `its tag ack.aliyun.com is "c-2"`},
		{name: "no cluster", scope: cluster, why: "it has no tag ack.aliyun.com"},
		{name: "own cluster, or none", scope: lenient, enough: notOthers, tags: ours},
		{name: "other cluster, where none is fine", scope: lenient, enough: notOthers, tags: others, why: `its tag ack.aliyun.com is "c-2"`},
		{name: "no cluster, which is fine", scope: lenient, enough: notOthers, tags: []*commonv1.Tag{tag("x", "y")}},
		{name: "no mark at all", scope: lenient, enough: serviceTag, tags: []*commonv1.Tag{tag("x", "y")}, why: "it has no tag ack.aliyun.com"},
		{name: "the existing CCM's mark", scope: lenient, enough: serviceTag, tags: []*commonv1.Tag{tag(ServiceTag, "a0123")}},
		{name: "the existing CCM's mark of another cluster", scope: lenient, enough: serviceTag,
			tags: append(others, tag(ServiceTag, "a0123")), why: `its tag ack.aliyun.com is "c-2"`},
		{name: "the existing CCM's mark, where it is not enough", scope: lenient, enough: ownTag, tags: []*commonv1.Tag{tag(ServiceTag, "a0123")},
			why: "it has no tag ack.aliyun.com"},
		{name: "one of the VPCs", scope: vpcs, vpc: "vpc-2"},
		{name: "another VPC", scope: vpcs, vpc: "vpc-3", why: "it is in vpc-3"},
		{name: "no VPC", scope: vpcs, why: "it is in no VPC"},
		{name: "tag and VPC", scope: both, tags: ours, vpc: "vpc-1"},
		{name: "tag in another VPC", scope: both, tags: ours, vpc: "vpc-3", why: "it is in vpc-3"},
		{name: "tag in no VPC", scope: both, tags: ours},
		{name: "VPC without the tag", scope: both, vpc: "vpc-1", why: "it has no tag ack.aliyun.com"},
		{name: "neither tag nor VPC", scope: lenientBoth, enough: notOthers, why: "it is in no VPC"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if why := newRule(0, tt.scope).outside(facts{tags: tt.tags, vpcID: tt.vpc}, tt.enough); why != tt.why {
				t.Errorf("got %q, want %q", why, tt.why)
			}
		})
	}
}

// TestEscapes: nobody takes a resource out of the scope, or puts it into that of others.
func TestEscapes(t *testing.T) {
	own := []*commonv1.Tag{tag(ClusterTag, "c-1")}
	strict, lenient := newRule(0, config.Scope{ClusterID: "c-1"}), newRule(0, config.Scope{ClusterID: "c-1", Controller: true})
	for _, tt := range []struct {
		name   string
		rule   rule
		now    []*commonv1.Tag
		set    []*commonv1.Tag
		remove []string
		why    string
	}{
		{name: "other tags", rule: strict, set: []*commonv1.Tag{tag("x", "y")}, remove: []string{"z"}},
		{name: "the same again", rule: strict, set: []*commonv1.Tag{tag(ClusterTag, "c-1")}},
		{name: "another value", rule: strict, set: []*commonv1.Tag{tag(ClusterTag, "c-2")}, why: `its tag ack.aliyun.com would become "c-2"`},
		{name: "no value", rule: strict, remove: []string{ClusterTag}, why: "it would lose its tag ack.aliyun.com"},
		{name: "given away", rule: lenient, now: own, set: []*commonv1.Tag{tag(ClusterTag, "c-2")},
			why: `its tag ack.aliyun.com would become "c-2"`},
		{name: "given to nobody", rule: lenient, now: own, remove: []string{ClusterTag}},
		{name: "made its own", rule: lenient, set: []*commonv1.Tag{tag(ClusterTag, "c-1")},
			why: "it has no tag ack.aliyun.com or kubernetes.do.not.delete, and would become the cluster's"},
		{name: "made that of a Service", rule: lenient, set: []*commonv1.Tag{tag(ServiceTag, "a0123")},
			why: "it has no tag ack.aliyun.com or kubernetes.do.not.delete, and would become the cluster's"},
		{name: "a mark that was lost", rule: lenient, now: own, set: []*commonv1.Tag{tag(ServiceTag, "a0123")}},
		{name: "another tag of nobody's", rule: lenient, set: []*commonv1.Tag{tag("kubernetes.reused.by.user", "true")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if why := tt.rule.escapes(facts{tags: tt.now}, tt.set, tt.remove); why != tt.why {
				t.Errorf("got %q, want %q", why, tt.why)
			}
		})
	}
}

func TestNames(t *testing.T) {
	r := newRule(0, config.Scope{Callers: []string{"system:serviceaccount:tools:*", "inventory.example.com"}})
	for name, want := range map[string]bool{
		"system:serviceaccount:tools:backup": true, "system:serviceaccount:tools:": true, "system:serviceaccount:tools": false,
		"system:serviceaccount:tools2:backup": false, "inventory.example.com": true, "inventory.example.com.evil": false, "": false,
	} {
		if got := r.names(name); got != want {
			t.Errorf("%q: got %t, want %t", name, got, want)
		}
	}
}

// TestEveryScopeOfACallerCounts: a caller that two scopes name is kept to what is inside of both. Another one is not asked at all.
func TestEveryScopeOfACallerCounts(t *testing.T) {
	const full = "/cloudgateway.slb.v1.LoadBalancerService/DeleteLoadBalancer"
	of := &balancers{t: t}
	g := New([]config.Scope{
		{Callers: []string{"a", "b"}, Tags: map[string]string{"team": "web"}}, {Callers: []string{"b"}, VpcIDs: []string{"vpc-1"}},
	}, []cloud.Owner{of}, nil)
	for _, tt := range []struct {
		caller, message string
		reads           int
	}{
		{caller: "a", reads: 1},
		{
			caller: "b", reads: 2,
			message: "b may not delete load balancer lb-1: it is in vpc-2; scopes[1] of the gateway's configuration keeps the caller " +
				"to resources in vpc-1. Correct the resource or the scope",
		},
		{caller: "c"},
	} {
		of.reads = 0
		written := false
		_, err := g.Intercept(rpc.WithCaller(t.Context(), rpc.Caller{Name: tt.caller}), &slbv1.DeleteLoadBalancerRequest{LoadBalancerId: "lb-1"},
			&grpc.UnaryServerInfo{FullMethod: full}, func(context.Context, any) (any, error) {
				written = true
				return &slbv1.DeleteLoadBalancerResponse{}, nil
			})
		wantRefusal(t, err, tt.message)
		if written != (tt.message == "") || of.reads != tt.reads {
			t.Errorf("%s: written %t after %d reads, want %d", tt.caller, written, of.reads, tt.reads)
		}
		// The same of a call that is passed on.
		of.reads = 0
		wantRefusal(t, g.Permit(t.Context(), tt.caller, "delete", Passed{Of: []Resource{{Kind: LoadBalancer, ID: "lb-1"}}}), tt.message)
		if g.Keeps(tt.caller) != (tt.reads > 0) || of.reads != tt.reads {
			t.Errorf("%s: a scope keeps it: %t, after %d reads, want %d", tt.caller, g.Keeps(tt.caller), of.reads, tt.reads)
		}
	}
}

func wantRefusal(t *testing.T, err error, message string) {
	t.Helper()
	e, _ := rpcerr.From(err)
	if message == "" && err != nil || message != "" && (e == nil || e.Code != codes.PermissionDenied ||
		e.Reason != rpcerr.CallerForbidden || e.Message != message) {
		t.Errorf("got %v, want %q", err, message)
	}
}

// TestPassedCalls: what a tool's call changes or makes is inside of the scope as a whole, or the call is refused.
func TestPassedCalls(t *testing.T) {
	g := New([]config.Scope{{Callers: []string{"tool"}, Tags: map[string]string{"team": "web"},
		VpcIDs: []string{"vpc-2"}}}, []cloud.Owner{&balancers{t: t}}, nil)
	const ends = "; scopes[0] of the gateway's configuration keeps the caller to resources with the tag team=web and " +
		"in vpc-2. Correct the resource or the scope"
	lb := Resource{Kind: LoadBalancer, ID: "lb-1"}
	for _, tt := range []struct {
		name    string
		passed  Passed
		message string
	}{
		{name: "inside", passed: Passed{Of: []Resource{lb}}},
		{
			name: "with one whose facts can't be read", passed: Passed{Of: []Resource{lb, {Kind: Instance, ID: "i-1"}}},
			message: "instance i-1 has no tags or VPC that the gateway could read; a caller without a scope has to do it",
		},
		{name: "made inside", passed: Passed{Makes: VSwitch, VpcID: "vpc-2", Tags: []*commonv1.Tag{tag("team", "web")}}},
		{
			name: "made in another VPC", passed: Passed{Makes: VSwitch, VpcID: "vpc-1", Tags: []*commonv1.Tag{tag("team", "web")}},
			message: "tool may not call on such a vSwitch: it is in vpc-1" + ends,
		},
		{
			name: "made without the tag", passed: Passed{Makes: VSwitch, VpcID: "vpc-2"},
			message: "tool may not call on such a vSwitch: it has no tag team" + ends,
		},
		{
			name: "made for another team", passed: Passed{Makes: VSwitch, VpcID: "vpc-2", Tags: []*commonv1.Tag{tag("team", "db")}},
			message: `tool may not call on such a vSwitch: its tag team is "db"` + ends,
		},
	} {
		err := g.Permit(t.Context(), "tool", "call on", tt.passed)
		if e, _ := rpcerr.From(err); e != nil {
			err = e
		}
		if tt.message == "" && err != nil || tt.message != "" && (err == nil || !strings.Contains(err.Error(), tt.message)) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.message)
		}
	}
}

// TestDeletionGoesByWhatIsSo: a controller deletes a load balancer by tags that were read just now, though what it
// changes goes by what was seen last.
func TestDeletionGoesByWhatIsSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		of := &taggedBalancers{tags: []*commonv1.Tag{tag(ClusterTag, "c-2")}}
		g := New([]config.Scope{{Callers: []string{"lb"}, ClusterID: "c-1", Controller: true}}, []cloud.Owner{of},
			map[Kind]List{LoadBalancer: func(context.Context, *commonv1.Tag) error { return nil }})
		g.Observe(LoadBalancer, "lb-1", &slbv1.LoadBalancer{Tags: []*commonv1.Tag{tag(ClusterTag, "c-1")}})
		call := func(method string, request any) error {
			_, err := g.Intercept(rpc.WithCaller(t.Context(), rpc.Caller{Name: "lb"}), request,
				&grpc.UnaryServerInfo{FullMethod: "/cloudgateway.slb.v1." + method}, func(context.Context, any) (any, error) { return struct{}{}, nil })
			return err
		}
		remove := &slbv1.DeleteLoadBalancerRequest{LoadBalancerId: "lb-1"}
		if err := call("LoadBalancerService/DeleteLoadBalancer", remove); err != nil || of.reads > 0 {
			t.Errorf("just seen: %v after %d reads", err, of.reads)
		}
		<-time.After(time.Hour)
		change := &slbv1.UpdateLoadBalancerRequest{LoadBalancerId: "lb-1"}
		if err := call("LoadBalancerService/UpdateLoadBalancer", change); err != nil || of.reads > 0 {
			t.Errorf("a change an hour later: %v after %d reads", err, of.reads)
		}
		listener := &slbv1.DeleteListenerRequest{Key: &slbv1.ListenerKey{LoadBalancerId: "lb-1"}}
		if err := call("ListenerService/DeleteListener", listener); err != nil || of.reads > 0 {
			t.Errorf("the deletion of a part an hour later: %v after %d reads", err, of.reads)
		}
		if err := call("LoadBalancerService/DeleteLoadBalancer", remove); rpcerr.ReasonOf(err) != rpcerr.CallerForbidden || of.reads != 1 {
			t.Errorf("a deletion an hour later: %v after %d reads, want a refusal after one", err, of.reads)
		}
	})
}

// TestMarksGoByWhatIsSo: a controller gives or takes no mark by what was seen long ago. A load balancer that another
// cluster or a user has got meanwhile, beside the gateway, does not become its own, which it could then delete.
func TestMarksGoByWhatIsSo(t *testing.T) {
	own := []*commonv1.Tag{tag(ClusterTag, "c-1")}
	for name, tt := range map[string]struct {
		now     []*commonv1.Tag
		request *slbv1.UpdateLoadBalancerRequest
		reads   int
		refused bool
	}{
		"a user's, marked": {request: &slbv1.UpdateLoadBalancerRequest{SetTags: own}, reads: 1, refused: true},
		"a user's, with the existing CCM's mark": {
			request: &slbv1.UpdateLoadBalancerRequest{SetTags: []*commonv1.Tag{tag(ServiceTag, "a1")}}, reads: 1, refused: true,
		},
		"another cluster's, marked": {
			now: []*commonv1.Tag{tag(ClusterTag, "c-2")}, request: &slbv1.UpdateLoadBalancerRequest{SetTags: own}, reads: 1, refused: true,
		},
		"another cluster's, its mark taken": {
			now:     []*commonv1.Tag{tag(ClusterTag, "c-2")},
			request: &slbv1.UpdateLoadBalancerRequest{RemoveTagKeys: []string{ClusterTag}}, reads: 1, refused: true,
		},
		"still its own": {now: own, request: &slbv1.UpdateLoadBalancerRequest{SetTags: own}, reads: 1},
		"other tags":    {now: own, request: &slbv1.UpdateLoadBalancerRequest{SetTags: []*commonv1.Tag{tag("team", "web")}}},
	} {
		synctest.Test(t, func(t *testing.T) {
			of := &taggedBalancers{tags: tt.now}
			g := New([]config.Scope{{Callers: []string{"lb"}, ClusterID: "c-1", Controller: true}}, []cloud.Owner{of},
				map[Kind]List{LoadBalancer: func(context.Context, *commonv1.Tag) error { return nil }})
			g.Observe(LoadBalancer, "lb-1", &slbv1.LoadBalancer{Tags: own})
			<-time.After(time.Hour)
			tt.request.LoadBalancerId = "lb-1"
			_, err := g.Intercept(rpc.WithCaller(t.Context(), rpc.Caller{Name: "lb"}), tt.request,
				&grpc.UnaryServerInfo{FullMethod: slbv1.LoadBalancerService_UpdateLoadBalancer_FullMethodName},
				func(context.Context, any) (any, error) { return struct{}{}, nil })
			if (rpcerr.ReasonOf(err) == rpcerr.CallerForbidden) != tt.refused || of.reads != tt.reads {
				t.Errorf("%s: %v after %d reads, want a refusal: %t, after %d", name, err, of.reads, tt.refused, tt.reads)
			}
		})
	}
}

// taggedBalancers are load balancers with tags.
type taggedBalancers struct {
	tags  []*commonv1.Tag
	reads int
}

func (*taggedBalancers) Kind() string { return string(LoadBalancer) }

func (b *taggedBalancers) Facts(context.Context, string, time.Duration) ([]*commonv1.Tag, string, error) {
	b.reads++
	return b.tags, "", nil
}

// TestInterfacesAreSeenInPassing: nodecontroller reads the interfaces that it changes, so that its scope costs no
// calls.
func TestInterfacesAreSeenInPassing(t *testing.T) {
	g := New([]config.Scope{{Callers: []string{"node"}, VpcIDs: []string{"vpc-1"}}}, nil, nil)
	g.Observe(NetworkInterface, "eni-in", &ecsv1.NetworkInterface{VpcId: "vpc-1"})
	g.Observe(NetworkInterface, "eni-out", &ecsv1.NetworkInterface{VpcId: "vpc-2"})
	for id, want := range map[string]string{
		"eni-in": "",
		"eni-out": "node may not update network interface eni-out: it is in vpc-2; scopes[0] of the gateway's configuration keeps the caller " +
			"to resources in vpc-1. Correct the resource or the scope",
		"eni-unseen": "network interface eni-unseen has no tags or VPC that the gateway could read; a caller without a scope has to do it",
	} {
		_, err := g.Intercept(rpc.WithCaller(t.Context(), rpc.Caller{Name: "node"}), &ecsv1.UpdateNetworkInterfaceRequest{NetworkInterfaceId: id},
			&grpc.UnaryServerInfo{FullMethod: "/cloudgateway.ecs.v1.NetworkInterfaceService/UpdateNetworkInterface"},
			func(context.Context, any) (any, error) { return struct{}{}, nil })
		if e, _ := rpcerr.From(err); e == nil && want != "" || e != nil && !strings.HasSuffix(e.Message, want) {
			t.Errorf("%s: got %v, want %q", id, err, want)
		}
	}
}
