package controller_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/services/nodes"
	"alicloud-controllers.dev/services/rpcerr"
)

// initialised makes node-i as it is once it has everything.
func initialised(i int) *corev1.Node {
	node := fresh(i)
	ip := fmt.Sprintf("192.168.0.%d", i)
	node.Spec.Taints = nil
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: ip}, {Type: corev1.NodeHostName, Address: node.Name}}
	node.Labels = map[string]string{
		corev1.LabelInstanceType: "ecs.g7.xlarge", corev1.LabelInstanceTypeStable: "ecs.g7.xlarge",
		corev1.LabelFailureDomainBetaZone: region + "-h", corev1.LabelTopologyZone: region + "-h",
		corev1.LabelFailureDomainBetaRegion: region, corev1.LabelTopologyRegion: region,
	}
	return node
}

// TestFiveThousandNodes starts on 5 000 nodes that have everything. It must take no more than 60 calls of the cloud, each of which answers
// about at most 100 instances; nothing is written; and an hour of heartbeats costs nothing but the sweeps. The memory is that of the
// controller, the fake API server and the fake cloud together.
func TestFiveThousandNodes(t *testing.T) {
	const many = 5000
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	prepare := func(w *world) {
		for i := range many {
			w.instance(i)
			if err := w.Client.Tracker().Add(initialised(i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	calls := func(w *world) int {
		n := 0
		for _, call := range w.cloud.CallsOf("BatchGetInstances") {
			asked, ok := call.Request.(*ecsv1.BatchGetInstancesRequest)
			if !ok {
				t.Errorf("request %T", call.Request)
				continue
			}
			n += (len(asked.GetInstanceIds()) + 99) / 100
		}
		return n + len(w.cloud.Calls()) - w.calls("BatchGetInstances")
	}
	run(t, nil, prepare, func(w *world) {
		w.Pass(10 * time.Second)
		if n := calls(w); n < many/100 || n > 60 {
			t.Errorf("%d calls of the cloud, want at most 60", n)
		}
		if got := w.Patches(); len(got) != 0 {
			t.Errorf("%d patches", len(got))
		}
		var after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&after)
		grown := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) >> 20
		t.Logf("%d MiB in use", grown)
		if grown > 120 {
			t.Errorf("%d MiB in use, want at most 120", grown)
		}
	})
}

// TestTenKindsOfBadNodes mixes ten kinds of bad nodes into 200. Each gets one event that says what to do, 190 are fine, and the calls of ten
// minutes are bounded.
func TestTenKindsOfBadNodes(t *testing.T) {
	t.Parallel()
	kinds := []struct {
		spoil func(w *world, n *corev1.Node)
		event string
	}{
		{func(_ *world, n *corev1.Node) { n.Spec.ProviderID = "i-0" }, `spec.providerID "i-0"`},
		{func(_ *world, n *corev1.Node) { n.Spec.ProviderID = "cn-hangzhou/i-1" }, `spec.providerID "cn-hangzhou/i-1"`},
		{func(_ *world, n *corev1.Node) { n.Spec.ProviderID = "alicloud://cn-hangzhou/i-2" }, `spec.providerID "alicloud://cn-hangzhou/i-2"`},
		{func(_ *world, n *corev1.Node) { n.Spec.ProviderID = "alibabacloud://cn-hangzhou.i-3" }, `spec.providerID "alibabacloud://cn-hangzhou.i-3"`},
		{func(_ *world, n *corev1.Node) { n.Spec.ProviderID = "cn-beijing.i-4" }, "names region cn-beijing, but this controller works for cn-hangzhou"},
		{func(_ *world, n *corev1.Node) { n.Spec.ProviderID = "aws:///us-east-1a/i-5" }, `spec.providerID "aws:///us-east-1a/i-5"`},
		{func(_ *world, n *corev1.Node) { n.Spec.ProviderID = "" }, "start the kubelet with --provider-id="},
		{func(_ *world, n *corev1.Node) {
			n.Spec.ProviderID = ""
			n.Annotations = map[string]string{nodes.AnnotationProvidedIP: "192.168.9.9"}
		}, "0 instances in vpc-test have address 192.168.9.9"},
		{func(w *world, _ *corev1.Node) { w.vanish(8) }, "get instance i-8"},
		{func(w *world, _ *corev1.Node) {
			w.cloud.Lock()
			defer w.cloud.Unlock()
			w.cloud.UnreadableInstances = map[string]error{
				"i-9": &rpcerr.Error{Code: codes.PermissionDenied, Reason: rpcerr.CloudForbidden, Message: "the policy lacks ecs:DescribeInstances"},
			}
		}, "the policy lacks ecs:DescribeInstances"},
	}
	const all = 200
	prepare := func(w *world) {
		for i := range all {
			node := fresh(i)
			w.instance(i)
			if i < len(kinds) {
				kinds[i].spoil(w, node)
			}
			w.CreateNode(node)
		}
	}
	run(t, nil, prepare, func(w *world) {
		w.Pass(10 * time.Minute)
		for i := range all {
			name := fmt.Sprintf("node-%d", i)
			if got, want := nodes.IsUninitialized(w.Node(name)), i < len(kinds); got != want {
				t.Errorf("%s: tainted %t", name, got)
			}
		}
		for i, kind := range kinds {
			events := w.Events.Matching(fmt.Sprintf("node-%d SyncNodeFailed: ", i))
			if len(events) != 1 || !strings.Contains(events[0], kind.event) {
				t.Errorf("node-%d: events %q, want one with %q", i, events, kind.event)
			}
		}
		reads := w.calls("BatchGetInstances", "BatchGetNetworkInterfaces", "GetInstance", "GetNetworkInterface", "ListInstances", "GetCapabilities")
		t.Logf("%d reads, %d writes", reads, len(w.cloud.Writes()))
		if reads > 60 || len(w.cloud.Writes()) != all-len(kinds) {
			t.Errorf("%d reads and %d writes in ten minutes, want at most 60 and %d", reads, len(w.cloud.Writes()), all-len(kinds))
		}
	})
}
