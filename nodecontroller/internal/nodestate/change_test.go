package nodestate_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"pgregory.net/rapid"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/services/nodes"

	"alicloud-controllers.dev/nodecontroller/internal/nodestate"
)

func instance() *ecsv1.Instance {
	return &ecsv1.Instance{
		InstanceId: "i-1", RegionId: "cn-hangzhou", ZoneId: "cn-hangzhou-h", InstanceType: "ecs.g7.xlarge",
		ChargeType:   commonv1.ChargeType_CHARGE_TYPE_POST_PAID,
		SpotStrategy: "NoSpot", PrivateIps: []string{"192.168.0.1"},
		Tags: []*commonv1.Tag{{Key: "ack.alibabacloud.com/nodepool-id", Value: "np-1"}},
	}
}

func labels() map[string]string {
	return map[string]string{
		"beta.kubernetes.io/instance-type": "ecs.g7.xlarge", "node.kubernetes.io/instance-type": "ecs.g7.xlarge",
		"failure-domain.beta.kubernetes.io/zone": "cn-hangzhou-h", "topology.kubernetes.io/zone": "cn-hangzhou-h",
		"failure-domain.beta.kubernetes.io/region": "cn-hangzhou", "topology.kubernetes.io/region": "cn-hangzhou",
		"node.alibabacloud.com/instance-charge-type": "PostPaid", "node.alibabacloud.com/spot-strategy": "NoSpot",
		"node.alibabacloud.com/nodepool-id": "np-1",
	}
}

// fresh is a node as the kubelet makes it.
func fresh(edits ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "node-1", ResourceVersion: "7", Labels: map[string]string{"kubernetes.io/hostname": "node-1"}},
		Spec: corev1.NodeSpec{ProviderID: "cn-hangzhou.i-1", Taints: []corev1.Taint{
			{Key: nodes.TaintUninitialized, Value: "true", Effect: corev1.TaintEffectNoSchedule},
			{Key: "node.kubernetes.io/not-ready", Effect: corev1.TaintEffectNoSchedule},
		}},
		Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "node-1"}}},
	}
	for _, edit := range edits {
		edit(n)
	}
	return n
}

// done is a node that has everything.
func done(edits ...func(*corev1.Node)) *corev1.Node {
	return fresh(append([]func(*corev1.Node){func(n *corev1.Node) {
		maps.Copy(n.Labels, labels())
		n.Spec.Taints = nil
		n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.168.0.1"},
			{Type: corev1.NodeHostName, Address: "node-1"}}
	}}, edits...)...)
}

func network(status corev1.ConditionStatus, reason string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: corev1.NodeNetworkUnavailable,
			Status: status, Reason: reason})
	}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	noRoute := &corev1.NodeCondition{
		Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionTrue, Reason: "NoRouteCreated", Message: "Node created without a route",
	}
	keptOff := []corev1.Taint{{Key: corev1.TaintNodeNetworkUnavailable, Effect: corev1.TaintEffectNoSchedule}}
	addressList := done().Status.Addresses
	managed := new("node.alibabacloud.com/instance-charge-type,node.alibabacloud.com/spot-strategy,node.alibabacloud.com/nodepool-id")
	routes := nodestate.Options{CloudRoutes: true}
	tests := []struct {
		name string
		node *corev1.Node
		opts nodestate.Options
		want nodestate.Change
	}{
		{name: "fresh", node: fresh(), opts: routes, want: nodestate.Change{
			Addresses: addressList, AddressesDiffer: true, Condition: noRoute, Labels: labels(), Managed: managed,
			Untaint: []string{nodes.TaintUninitialized},
			Taint:   keptOff,
		}},
		{name: "fresh, without cloud routes", node: fresh(), want: nodestate.Change{
			Addresses: addressList, AddressesDiffer: true, Labels: labels(), Managed: managed, Untaint: []string{nodes.TaintUninitialized},
		}},
		{name: "fresh, the route was quicker", node: fresh(network(corev1.ConditionFalse, "RouteCreated")), opts: routes, want: nodestate.Change{
			Addresses: addressList, AddressesDiffer: true, Labels: labels(), Managed: managed, Untaint: []string{nodes.TaintUninitialized},
		}},
		{name: "fresh, excluded", node: fresh(func(n *corev1.Node) { n.Labels[nodes.LabelExclude] = "" }), opts: routes, want: nodestate.Change{
			Addresses: addressList, AddressesDiffer: true, Labels: labels(), Managed: managed, Untaint: []string{nodes.TaintUninitialized},
		}},
		{name: "fresh, without provider id", node: fresh(func(n *corev1.Node) { n.Spec.ProviderID = "" }), opts: routes, want: nodestate.Change{
			Addresses: addressList, AddressesDiffer: true, Condition: noRoute, Labels: labels(), Managed: managed,
			ProviderID: "cn-hangzhou.i-1", Untaint: []string{nodes.TaintUninitialized},
			Taint: keptOff,
		}},
		{name: "fresh, its network is unknown", node: fresh(network(corev1.ConditionUnknown, "NodeStatusUnknown")),
			opts: routes, want: nodestate.Change{
				Addresses: addressList, AddressesDiffer: true, Condition: noRoute, Labels: labels(), Managed: managed,
				Untaint: []string{nodes.TaintUninitialized},
				Taint:   keptOff,
			}},
		{name: "fresh, known to be without a network", node: fresh(network(corev1.ConditionTrue, "NoRouteCreated")),
			opts: routes, want: nodestate.Change{
				Addresses: addressList, AddressesDiffer: true, Labels: labels(), Managed: managed, Untaint: []string{nodes.TaintUninitialized},
				Taint: keptOff,
			}},
		{name: "has everything", node: done(), opts: routes, want: nodestate.Change{}},
		{name: "has everything and no route", node: done(network(corev1.ConditionTrue, "NoRouteCreated")), opts: routes,
			want: nodestate.Change{}},
		{name: "label edited", node: done(func(n *corev1.Node) { n.Labels["topology.kubernetes.io/zone"] = "x" }), opts: routes,
			want: nodestate.Change{Labels: map[string]string{"topology.kubernetes.io/zone": "cn-hangzhou-h"}}},
		{name: "address changed", node: done(func(n *corev1.Node) { n.Status.Addresses[0].Address = "192.168.0.9" }), opts: routes,
			want: nodestate.Change{Addresses: addressList, AddressesDiffer: true}},
		// With configure-cloud-routes=false nothing ever cleared the condition in the existing CCM.
		{name: "routes were switched off", node: done(network(corev1.ConditionTrue, "NoRouteCreated")), want: nodestate.Change{
			Condition: &corev1.NodeCondition{
				Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionFalse, Reason: "CloudRoutesOff",
				Message: "Cloud routes are not configured, the network plugin connects the pods",
			},
		}},
		{name: "no network for another reason", node: done(network(corev1.ConditionTrue, "CalicoIsDown")), want: nodestate.Change{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := nodestate.Decide(tt.node, instance(), tt.opts)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("Decide (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecideKeepsWhatTheCloudDoesNotReturn(t *testing.T) {
	t.Parallel()
	for name, partial := range map[string]*ecsv1.Instance{
		"no address": {}, "public address only": {PublicIps: []string{"47.0.0.1"}}, "EIP only": {Eip: "47.0.0.2"},
	} {
		partial.InstanceId, partial.RegionId = "i-1", "cn-hangzhou"
		got, err := nodestate.Decide(done(), partial, nodestate.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got.Object() || len(got.Labels) > 0 {
			t.Errorf("%s: change %+v, want no label to be touched", name, got)
		}
		if got.AddressesDiffer {
			t.Errorf("%s: writes the addresses %v for %v", name, got.Addresses, done().Status.Addresses)
		}
	}
}

// TestPublicNodeIP has a kubelet that was started with a public address. It takes the place of the other public ones.
func TestPublicNodeIP(t *testing.T) {
	t.Parallel()
	node := done(func(n *corev1.Node) { n.Annotations = map[string]string{nodes.AnnotationProvidedIP: "47.0.0.1"} })
	public := instance()
	public.PublicIps = []string{"47.0.0.1", "47.0.0.2"}
	got, err := nodestate.Decide(node, public, nodestate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: "192.168.0.1"}, {Type: corev1.NodeExternalIP, Address: "47.0.0.1"},
		{Type: corev1.NodeHostName, Address: "node-1"},
	}
	if diff := cmp.Diff(want, got.Addresses); diff != "" || !got.AddressesDiffer {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
}

func TestWrongNodeIPStopsTheInitialisation(t *testing.T) {
	t.Parallel()
	node := fresh(func(n *corev1.Node) { n.Annotations = map[string]string{nodes.AnnotationProvidedIP: "1.2.3.4"} })
	if _, err := nodestate.Decide(node, instance(), nodestate.Options{}); err == nil {
		t.Error("no error")
	}
}

// TestUnknownRegionStopsTheInitialisation: a provider id without a region names no instance, and it can't be changed later.
func TestUnknownRegionStopsTheInitialisation(t *testing.T) {
	t.Parallel()
	node, noRegion := fresh(func(n *corev1.Node) { n.Spec.ProviderID = "" }), instance()
	noRegion.RegionId = ""
	if _, err := nodestate.Decide(node, noRegion, nodestate.Options{}); err == nil || !strings.Contains(err.Error(), "i-1") {
		t.Errorf("error %v", err)
	}
	if _, err := nodestate.Decide(fresh(), noRegion, nodestate.Options{}); err != nil {
		t.Errorf("a node with a provider id needs no region: %v", err)
	}
}

// TestTainted: a node that has to wait keeps its taint, and everything else is written.
func TestTainted(t *testing.T) {
	t.Parallel()
	change := nodestate.Change{ProviderID: "cn-hangzhou.i-1", Untaint: []string{nodes.TaintShutdown, nodes.TaintUninitialized}}
	want := nodestate.Change{ProviderID: "cn-hangzhou.i-1", Untaint: []string{nodes.TaintShutdown}}
	if diff := cmp.Diff(want, change.Tainted()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(change.Untaint) != 2 {
		t.Error("the change itself was changed")
	}
}

// TestObjectPatchSaysNoMore: a patch holds what changes and nothing else, so that it can't undo what others write at the same time.
func TestObjectPatchSaysNoMore(t *testing.T) {
	t.Parallel()
	type fields = map[string]any
	for name, tt := range map[string]struct {
		change nodestate.Change
		want   fields
	}{
		"nothing":     {nodestate.Change{}, fields{}},
		"status":      {nodestate.Change{AddressesDiffer: true, Condition: &corev1.NodeCondition{}}, fields{}},
		"label":       {nodestate.Change{Labels: map[string]string{"a": "b"}}, fields{"metadata": fields{"labels": fields{"a": "b"}}}},
		"label to go": {nodestate.Change{Unlabel: []string{"a"}}, fields{"metadata": fields{"labels": fields{"a": nil}}}},
		"one of each": {nodestate.Change{Labels: map[string]string{"a": "b"}, Unlabel: []string{"c"}},
			fields{"metadata": fields{"labels": fields{"a": "b", "c": nil}}}},
		"labels of ours": {nodestate.Change{Managed: new("a")},
			fields{"metadata": fields{"annotations": fields{nodes.AnnotationCloudLabels: "a"}}}},
		"none of ours": {nodestate.Change{Managed: new("")},
			fields{"metadata": fields{"annotations": fields{nodes.AnnotationCloudLabels: nil}}}},
		"provider id": {nodestate.Change{ProviderID: "cn-hangzhou.i-1"}, fields{"spec": fields{"providerID": "cn-hangzhou.i-1"}}},
		"taint": {
			nodestate.Change{Untaint: []string{nodes.TaintUninitialized}},
			fields{"metadata": fields{"resourceVersion": "7"}, "spec": fields{"taints": fresh().Spec.Taints[1:]}},
		},
	} {
		if diff := cmp.Diff(tt.want, tt.change.ObjectPatch(fresh())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestStatusPatchSaysNoMore is the same of the status.
func TestStatusPatchSaysNoMore(t *testing.T) {
	t.Parallel()
	now := metav1.NewTime(time.Unix(0, 0))
	address := corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "192.168.0.1"}
	dated := corev1.NodeCondition{Type: corev1.NodeNetworkUnavailable, LastHeartbeatTime: now, LastTransitionTime: now}
	for name, tt := range map[string]struct {
		change nodestate.Change
		want   map[string]any
	}{
		"nothing": {nodestate.Change{Labels: map[string]string{"a": "b"}, Addresses: []corev1.NodeAddress{address}}, map[string]any{}},
		"addresses": {nodestate.Change{Addresses: []corev1.NodeAddress{address}, AddressesDiffer: true},
			map[string]any{"addresses": []any{address, map[string]any{"$patch": "replace"}}}},
		"condition": {nodestate.Change{Condition: &corev1.NodeCondition{Type: corev1.NodeNetworkUnavailable}},
			map[string]any{"conditions": []corev1.NodeCondition{dated}}},
	} {
		if diff := cmp.Diff(map[string]any{"status": tt.want}, tt.change.StatusPatch(now)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// patched is the node after the API server has applied a patch.
func patched(t interface{ Fatal(...any) }, node *corev1.Node, patch map[string]any) *corev1.Node {
	before, err := json.Marshal(node)
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(patch)
	if err != nil {
		t.Fatal(err)
	}
	after, err := strategicpatch.StrategicMergePatch(before, body, corev1.Node{})
	if err != nil {
		t.Fatal(err)
	}
	var result corev1.Node
	if err := json.Unmarshal(after, &result); err != nil {
		t.Fatal(err)
	}
	return &result
}

func TestPatchesLeaveNothingToDo(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		node := fresh()
		if rapid.Bool().Draw(t, "no provider id") {
			node.Spec.ProviderID = ""
		}
		if !rapid.Bool().Draw(t, "tainted") {
			node.Spec.Taints = node.Spec.Taints[1:]
		}
		node.Status.Addresses = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) corev1.NodeAddress {
			return corev1.NodeAddress{
				Type:    rapid.SampledFrom([]corev1.NodeAddressType{corev1.NodeHostName, corev1.NodeInternalIP, corev1.NodeExternalIP}).Draw(t, "type"),
				Address: rapid.SampledFrom([]string{"192.168.0.1", "192.168.0.2", "1.1.1.1", "host"}).Draw(t, "address"),
			}
		}), 0, 5).Draw(t, "addresses")
		if rapid.Bool().Draw(t, "condition") {
			network(rapid.SampledFrom([]corev1.ConditionStatus{"True", "False", "Unknown"}).Draw(t, "status"), "NoRouteCreated")(node)
		}
		node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{Type: corev1.NodeReady, Status: "True"})
		cloud := instance()
		cloud.PublicIps = rapid.SliceOfN(rapid.SampledFrom([]string{"1.1.1.1", "1.1.1.2"}), 0, 3).Draw(t, "public")
		cloud.PrivateIps = rapid.SliceOfN(rapid.SampledFrom([]string{"192.168.0.1", "192.168.0.2"}), 1, 3).Draw(t, "private")
		opts := nodestate.Options{CloudRoutes: rapid.Bool().Draw(t, "routes")}

		change, err := nodestate.Decide(node, cloud, opts)
		if err != nil {
			t.Fatal(err)
		}
		if nodes.IsUninitialized(node) != (len(change.Untaint) > 0) {
			t.Fatalf("untaint %v of %+v", change.Untaint, node.Spec.Taints)
		}
		after := patched(t, node, change.StatusPatch(metav1.NewTime(time.Unix(0, 0))))
		if opts.CloudRoutes && len(change.Untaint) > 0 && len(after.Status.Conditions) != 2 {
			t.Fatalf("the taint may go before the condition is there: %+v", after.Status.Conditions)
		}
		after = patched(t, after, change.ObjectPatch(after))
		again, err := nodestate.Decide(after, cloud, opts)
		if err != nil {
			t.Fatal(err)
		}
		if !again.Empty() {
			t.Fatalf("after %+v comes %+v", change, again)
		}
		network, _ := nodes.Condition(after, corev1.NodeNetworkUnavailable)
		want := []corev1.Taint{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}}
		if nodes.IsUninitialized(node) && opts.CloudRoutes && network.Status == corev1.ConditionTrue {
			want = append(want, corev1.Taint{Key: corev1.TaintNodeNetworkUnavailable, Effect: corev1.TaintEffectNoSchedule})
		}
		if diff := cmp.Diff(want, after.Spec.Taints); diff != "" {
			t.Fatalf("taints (-want +got):\n%s", diff)
		}
	})
}

func TestUntaintingHoldsForTheVersionReadOnly(t *testing.T) {
	t.Parallel()
	patch := nodestate.Change{Untaint: []string{nodes.TaintUninitialized}}.ObjectPatch(fresh())
	if got := patch["metadata"].(map[string]any)["resourceVersion"]; got != "7" { //nolint:forcetypeassert // A failure of the test.
		t.Errorf("resource version %v, want 7", got)
	}
}

func TestMatters(t *testing.T) {
	t.Parallel()
	addresses := func(n *corev1.Node) { n.Status.Addresses = nil }
	on := nodestate.Options{ShutdownTaint: true}
	tests := []struct {
		name   string
		before *corev1.Node
		edit   func(*corev1.Node)
		opts   nodestate.Options
		want   bool
	}{
		{name: "heartbeat", before: fresh(), edit: func(n *corev1.Node) { n.ResourceVersion = "8" }},
		{name: "own write of addresses", before: fresh(), edit: addresses},
		{name: "address without provider id", before: fresh(func(n *corev1.Node) { n.Spec.ProviderID = "" }), edit: addresses, want: true},
		{name: "reports again", before: fresh(ready(corev1.ConditionUnknown)), edit: ready(corev1.ConditionTrue)},
		{
			name:   "reports again without provider id",
			before: fresh(ready(corev1.ConditionUnknown), func(n *corev1.Node) { n.Spec.ProviderID = "" }),
			edit:   ready(corev1.ConditionTrue), want: true,
		},
		{name: "provider id", before: fresh(), edit: func(n *corev1.Node) { n.Spec.ProviderID = "cn-hangzhou.i-2" }, want: true},
		{name: "node ip", before: fresh(), edit: func(n *corev1.Node) {
			n.Annotations = map[string]string{nodes.AnnotationProvidedIP: "192.168.0.1"}
		}, want: true},
		{name: "excluded no more", before: fresh(func(n *corev1.Node) { n.Labels[nodes.LabelExclude] = "" }),
			edit: func(n *corev1.Node) { delete(n.Labels, nodes.LabelExclude) }, want: true},
		{name: "made anew", before: fresh(), edit: func(n *corev1.Node) { n.UID = "2" }, want: true},
		{name: "tainted again", before: done(), edit: func(n *corev1.Node) { n.Spec.Taints = fresh().Spec.Taints }, want: true},
		{name: "falls silent", before: done(ready(corev1.ConditionTrue)), edit: ready(corev1.ConditionUnknown)},
		{name: "falls silent, taint wanted", before: done(ready(corev1.ConditionTrue)), edit: ready(corev1.ConditionUnknown),
			opts: on, want: true},
		{name: "stays silent", before: done(ready(corev1.ConditionUnknown)), edit: func(n *corev1.Node) { n.ResourceVersion = "8" }, opts: on},
		{name: "is ready", before: done(ready(corev1.ConditionFalse)), edit: ready(corev1.ConditionTrue), opts: on},
		{name: "is ready, tainted", before: done(ready(corev1.ConditionFalse), shutDown), edit: ready(corev1.ConditionTrue), want: true},
		{name: "label of a node that is done", before: done(), edit: func(n *corev1.Node) { n.Labels["x"] = "y" }, opts: on},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			after := tt.before.DeepCopy()
			tt.edit(after)
			if got := nodestate.Matters(tt.before, after, tt.opts); got != tt.want {
				t.Errorf("Matters = %v, want %v", got, tt.want)
			}
		})
	}
}

// TestLabelsThatTheCloudNoLongerHas takes off what we have set, once the cloud has no value for it any more; never what was there before,
// and never on an answer that lacks what every instance has.
func TestLabelsThatTheCloudNoLongerHas(t *testing.T) {
	t.Parallel()
	const pool, spot = "node.alibabacloud.com/nodepool-id", "node.alibabacloud.com/spot-strategy"
	setByUs := func(keys string) func(*corev1.Node) {
		return func(n *corev1.Node) { n.Annotations = map[string]string{nodes.AnnotationCloudLabels: keys} }
	}
	noPool := func(i *ecsv1.Instance) { i.Tags = nil }
	tests := []struct {
		name string
		node *corev1.Node
		edit func(*ecsv1.Instance)
		want nodestate.Change
	}{
		{"the tag is gone", done(setByUs(pool)), noPool, nodestate.Change{Unlabel: []string{pool}, Managed: new("")}},
		{"one of two", done(setByUs(spot + "," + pool)), noPool, nodestate.Change{Unlabel: []string{pool}, Managed: new(spot)}},
		{"not set by us", done(), noPool, nodestate.Change{}},
		{"still there", done(setByUs(pool)), func(*ecsv1.Instance) {}, nodestate.Change{}},
		{"an incomplete answer", done(setByUs(pool)), func(i *ecsv1.Instance) { i.Tags, i.ZoneId = nil, "" }, nodestate.Change{}},
		{"taken off by somebody", done(setByUs(pool), func(n *corev1.Node) { delete(n.Labels, pool) }), noPool,
			nodestate.Change{Managed: new("")}},
		{"another label is claimed to be ours", done(setByUs("kubernetes.io/hostname")), noPool, nodestate.Change{}},
		{"another value", done(setByUs(pool)), func(i *ecsv1.Instance) { i.GetTags()[0].Value = "np-2" },
			nodestate.Change{Labels: map[string]string{pool: "np-2"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			of := instance()
			tt.edit(of)
			got, err := nodestate.Decide(tt.node, of, nodestate.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("Decide (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTaintIsNotAddedTwice patches a node that got the taint after it was decided about.
func TestTaintIsNotAddedTwice(t *testing.T) {
	taint := corev1.Taint{Key: corev1.TaintNodeNetworkUnavailable, Effect: corev1.TaintEffectNoSchedule}
	node := &corev1.Node{Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: nodes.TaintUninitialized}, taint}}}
	change := nodestate.Change{Untaint: []string{nodes.TaintUninitialized}, Taint: []corev1.Taint{taint}}
	if diff := cmp.Diff(map[string]any{"taints": []corev1.Taint{taint}}, change.ObjectPatch(node)["spec"]); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
}
