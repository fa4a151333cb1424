package blocked_test

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"alicloud-controllers.dev/cloudgateway/inprocess"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/lb/blocked"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
)

const cluster = "c-1"

// tagged gives a group tags, key and value in turns.
func tagged(g *ecsv1.SecurityGroup, pairs ...string) *ecsv1.SecurityGroup {
	for i := 0; i < len(pairs); i += 2 {
		g.Tags = append(g.Tags, &commonv1.Tag{Key: pairs[i], Value: pairs[i+1]})
	}
	return g
}

// added is a rule as it is added.
func added(port int32) *ecsv1.SecurityGroupRule {
	r := accepts(port, "100.64.0.0/10")
	r.Description = blocked.Description(cluster)
	return r
}

func TestToAdd(t *testing.T) {
	t.Parallel()
	drops := accepts(30001, "100.64.0.0/10")
	drops.Policy = ecsv1.RulePolicy_RULE_POLICY_DROP
	managed := tagged(group("sg-1"), ownership.TagCluster, cluster)
	managed.ServiceManaged = true
	one := "security group sg-1: TCP to port 30001 from 100.64.0.0/10"
	for name, tt := range map[string]struct {
		groups []*ecsv1.SecurityGroup
		want   string
		left   int
	}{
		"the cluster's":     {[]*ecsv1.SecurityGroup{tagged(group("sg-1"), ownership.TagCluster, cluster)}, one, 0},
		"without a tag":     {[]*ecsv1.SecurityGroup{group("sg-1")}, "", 1},
		"another cluster's": {[]*ecsv1.SecurityGroup{tagged(group("sg-1"), ownership.TagCluster, "c-2")}, "", 1},
		"that of an NLB": {[]*ecsv1.SecurityGroup{tagged(group("sg-1"), ownership.TagCluster, cluster, ownership.TagService, "a1")},
			"", 1},
		"one of the cloud": {[]*ecsv1.SecurityGroup{managed}, "", 1},
		"one of two": {[]*ecsv1.SecurityGroup{group("sg-0"), tagged(group("sg-1"), ownership.TagCluster, cluster)},
			one, 0},
		"there, and another drops": {[]*ecsv1.SecurityGroup{
			tagged(group("sg-1", added(30001), drops), ownership.TagCluster, cluster)}, "", 1},
	} {
		groups := blocked.Groups{"i-1": tt.groups, "i-2": tt.groups}
		missing := blocked.Missing([]blocked.Check{instance("i-1", 30001), instance("i-2", 30001)}, groups,
			[]netip.Prefix{netip.MustParsePrefix("100.64.0.0/10")})
		add, left := blocked.ToAdd(missing, groups, cluster)
		if add.String() != tt.want || len(left) != tt.left {
			t.Errorf("%s: adds %q and leaves %v, want %q and %d", name, add, left, tt.want, tt.left)
		}
		for id, rules := range add { // What is added lets the checks in.
			for i := range tt.groups {
				if tt.groups[i].GetSecurityGroupId() == id {
					tt.groups[i].Rules = append(tt.groups[i].Rules, rules...)
				}
			}
			if again := blocked.Missing([]blocked.Check{instance("i-1", 30001)}, groups,
				[]netip.Prefix{netip.MustParsePrefix("100.64.0.0/10")}); len(again) > 0 {
				t.Errorf("%s: still missing: %s", name, blocked.Text(again))
			}
		}
	}
	if add, left := blocked.ToAdd([]blocked.Rule{{Checks: []blocked.Check{instance("i-1", 1)}}},
		blocked.Groups{"i-1": {tagged(group("sg-1"), ownership.TagCluster, "")}}, ""); len(add) > 0 || len(left) != 1 {
		t.Errorf("without a cluster id: adds %s", add)
	}
}

func TestUnneeded(t *testing.T) {
	t.Parallel()
	service := func(changes ...func(*corev1.Service)) *corev1.Service {
		svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
			annotation.Prefix + annotation.AllowHealthChecks: "on"}},
			Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{
				{Port: 80, NodePort: 30001, TargetPort: intstr.FromInt32(8080)}}}}
		for _, change := range changes {
			change(svc)
		}
		return svc
	}
	with := func(key, value string) func(*corev1.Service) {
		return func(svc *corev1.Service) { svc.Annotations[annotation.Prefix+key] = value }
	}
	spec := func(change func(*corev1.ServiceSpec)) *corev1.Service {
		return service(func(svc *corev1.Service) { change(&svc.Spec) })
	}
	target := func(port intstr.IntOrString) func(*corev1.Service) {
		return func(svc *corev1.Service) { svc.Spec.Ports[0].TargetPort = port }
	}
	deleted := func(svc *corev1.Service) { svc.DeletionTimestamp = &metav1.Time{} }
	nodePort := spec(func(s *corev1.ServiceSpec) { s.Type = corev1.ServiceTypeNodePort })
	byHand, dropped := accepts(30001, "100.64.0.0/10"), added(30001)
	byHand.Description, dropped.Policy = "by hand", ecsv1.RulePolicy_RULE_POLICY_DROP
	for name, tt := range map[string]struct {
		rule     *ecsv1.SecurityGroupRule
		services []*corev1.Service
		unneeded bool
	}{
		"no Service":            {added(30001), nil, true},
		"a node port":           {added(30001), []*corev1.Service{service()}, false},
		"another node port":     {added(30002), []*corev1.Service{service()}, true},
		"a pod's port":          {added(8080), []*corev1.Service{service()}, false},
		"a named port":          {added(9090), []*corev1.Service{service(target(intstr.FromString("web")))}, false},
		"no target port":        {added(80), []*corev1.Service{service(target(intstr.IntOrString{}))}, false},
		"kube-proxy's":          {added(10256), []*corev1.Service{service()}, false},
		"that of the health":    {added(31000), []*corev1.Service{spec(func(s *corev1.ServiceSpec) { s.HealthCheckNodePort = 31000 })}, false},
		"a port by annotation":  {added(9090), []*corev1.Service{service(with(annotation.HealthCheckConnectPort, "9090"))}, false},
		"the second needs it":   {added(30001), []*corev1.Service{service(with(annotation.AllowHealthChecks, "off")), service()}, false},
		"no annotation":         {added(30001), []*corev1.Service{service(func(s *corev1.Service) { s.Annotations = nil })}, true},
		"switched off":          {added(30001), []*corev1.Service{service(with(annotation.AllowHealthChecks, "off"))}, true},
		"a word for on":         {added(30001), []*corev1.Service{service(with(annotation.AllowHealthChecks, "true"))}, false},
		"a word that is no one": {added(30001), []*corev1.Service{service(with(annotation.AllowHealthChecks, "yes please"))}, false},
		"it is being deleted":   {added(30001), []*corev1.Service{service(deleted)}, true},
		"another type":          {added(30001), []*corev1.Service{nodePort}, true},
		"by hand":               {byHand, nil, false},
		"it drops":              {dropped, nil, false},
	} {
		var want []*ecsv1.SecurityGroupRule
		if tt.unneeded {
			want = append(want, tt.rule)
		}
		got := blocked.Unneeded(tagged(group("sg-1", tt.rule), ownership.TagCluster, cluster), cluster, tt.services)
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		for _, g := range []*ecsv1.SecurityGroup{group("sg-1", tt.rule), tagged(group("sg-1", tt.rule), ownership.TagCluster, "c-2")} {
			if got := blocked.Unneeded(g, cluster, tt.services); len(got) > 0 {
				t.Errorf("%s: %v of another's group", name, got)
			}
		}
	}
}

// TestAddReadsAnew: a group that was the cluster's when it was read, up to an hour ago, and isn't any more is not changed.
func TestAddReadsAnew(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		tags  []state.Tag
		rules int
	}{
		"the cluster's": {[]state.Tag{{Key: ownership.TagCluster, Value: cluster}}, 1},
		"not any more":  {nil, 0},
	} {
		seed := state.New("cn-hangzhou", "")
		seed.Vpcs["vpc-test"] = &state.Vpc{CidrBlock: "10.0.0.0/8"}
		seed.SecurityGroups["sg-1"] = &state.SecurityGroup{VpcID: "vpc-test", Type: "normal", Tags: tt.tags}
		cloud := inprocess.New(t, "vpc-test", seed)
		err := blocked.Add(t.Context(), cloud.Client(), cluster, blocked.Additions{"sg-1": {added(30001)}})
		cloud.Look(func(c *state.Cloud) {
			if got := len(c.SecurityGroups["sg-1"].Rules); got != tt.rules || (err == nil) != (tt.rules > 0) {
				t.Errorf("%s: %d rules, want %d (%v)", name, got, tt.rules, err)
			}
		})
	}
}
