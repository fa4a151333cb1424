package nodestate_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/services/nodes"

	"alicloud-controllers.dev/nodecontroller/internal/nodestate"
)

// TestForeign is the table of what an instance has to be for its node to be the cluster's.
func TestForeign(t *testing.T) {
	t.Parallel()
	tag := func(key, value string) *commonv1.Tag { return &commonv1.Tag{Key: key, Value: value} }
	for _, tc := range []struct {
		name, vpc, cluster string
		tag                *commonv1.Tag
		joins, routes      bool
		want               bool
	}{
		{name: "all is right", vpc: "vpc-1", tag: tag("t", "c-1"), joins: true, routes: true},
		{name: "another VPC that is named", vpc: "vpc-2", joins: true, routes: true},
		{name: "VPC of others, joins", vpc: "vpc-3", joins: true, want: true},
		{name: "VPC of others, with routes", vpc: "vpc-3", routes: true, want: true},
		{name: "VPC of others, in service without routes", vpc: "vpc-3"},
		{name: "no VPC", joins: true, routes: true},
		{name: "tag of others, joins", vpc: "vpc-1", tag: tag("t", "c-2"), joins: true, want: true},
		{name: "tag of others, in service", vpc: "vpc-1", tag: tag("t", "c-2"), routes: true},
		{name: "tag of others in another VPC that is named", vpc: "vpc-2", tag: tag("t", "c-2"), joins: true, want: true},
		{name: "tag without a value", vpc: "vpc-1", tag: tag("t", ""), joins: true},
		{name: "another tag", vpc: "vpc-1", tag: tag("u", "c-2"), joins: true},
		{name: "cluster without an id", vpc: "vpc-1", cluster: "none", tag: tag("t", "c-2"), joins: true},
		{name: "cluster with the id of all", vpc: "vpc-1", cluster: "clusterid", tag: tag("t", "c-2"), joins: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			home := nodestate.Home{VPCs: []string{"vpc-1", "vpc-2"}, Tag: "t", ClusterID: "c-1"}
			switch tc.cluster {
			case "":
			case "none":
				home.ClusterID = ""
			default:
				home.ClusterID = tc.cluster
			}
			instance := &ecsv1.Instance{InstanceId: "i-1", VpcId: tc.vpc}
			if tc.tag != nil {
				instance.Tags = []*commonv1.Tag{tag("name", "x"), tc.tag}
			}
			if why := home.Foreign(tc.joins, instance, nodestate.Options{CloudRoutes: tc.routes}); (why != "") != tc.want {
				t.Errorf("%q, want a reason: %t", why, tc.want)
			}
		})
	}
}

// TestJoins is the table of the Nodes that have to prove more.
func TestJoins(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		name, taint string
		age         time.Duration
		want        bool
	}{
		{name: "in service", age: 11 * time.Minute},
		{name: "new", age: 9 * time.Minute, want: true},
		{name: "waits", age: time.Hour, taint: nodes.TaintUninitialized, want: true},
		{name: "was refused", age: time.Hour, taint: nodes.TaintForeign, want: true},
		{name: "stopped", age: time.Hour, taint: nodes.TaintShutdown},
	} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(now.Add(-tc.age))}}
		if tc.taint != "" {
			node.Spec.Taints = []corev1.Taint{{Key: tc.taint}}
		}
		if got := nodestate.Joins(node, now); got != tc.want {
			t.Errorf("%s: joins %t, want %t", tc.name, got, tc.want)
		}
	}
}

// TestRelease takes off what goes with the state and the tags of an instance, and no more.
func TestRelease(t *testing.T) {
	t.Parallel()
	rules := []nodestate.Rule{{Tag: "team", Label: "example.com/team"}, {Tag: "team", Taint: "example.com/dedicated"}}
	kept := "node.alibabacloud.com/instance-charge-type"
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Labels: map[string]string{"example.com/team": "a", kept: "PostPaid", "example.com/own": "b"},
			Annotations: map[string]string{
				nodes.AnnotationCloudLabels:    kept + ",example.com/team,taint:example.com/dedicated",
				nodes.AnnotationInstanceAbsent: "i-1",
			},
		},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{
			{Key: nodes.TaintShutdown}, {Key: nodes.TaintForeign}, {Key: "example.com/dedicated", Value: "a"}, {Key: "example.com/other"},
		}},
	}
	change := nodestate.Release(node, nodestate.Options{Rules: rules})
	slices.Sort(change.Untaint)
	want := []string{"example.com/dedicated", nodes.TaintForeign, nodes.TaintShutdown}
	if diff := cmp.Diff(want, change.Untaint); diff != "" {
		t.Errorf("taints that go (-want +got):\n%s", diff)
	}
	if change.InstanceAbsent == nil || *change.InstanceAbsent != "" {
		t.Error("the mark of an instance that is gone stays")
	}
	if change.Managed == nil || *change.Managed != kept {
		t.Errorf("what is managed is then %v, want %q", change.Managed, kept)
	}
	if diff := cmp.Diff(nodestate.Change{}, nodestate.Release(&corev1.Node{}, nodestate.Options{Rules: rules})); diff != "" {
		t.Errorf("of a node with nothing of ours (-want +got):\n%s", diff)
	}
}
