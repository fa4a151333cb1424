package controller_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway/gatewaytest"
	"alicloud-controllers.dev/services/kube/kubetest"
	"alicloud-controllers.dev/services/nodes"

	"alicloud-controllers.dev/nodecontroller/internal/controller"
)

// initialised makes node-i as it is once it has everything.
func initialised(i int) *corev1.Node {
	node := fresh(i)
	ip := fmt.Sprintf("192.168.%d.%d", i/250, i%250)
	node.Spec.Taints = nil
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: ip}, {Type: corev1.NodeHostName, Address: node.Name}}
	node.Labels = map[string]string{
		corev1.LabelInstanceType: "ecs.g7.xlarge", corev1.LabelInstanceTypeStable: "ecs.g7.xlarge",
		corev1.LabelFailureDomainBetaZone: region + "-h", corev1.LabelTopologyZone: region + "-h",
		corev1.LabelFailureDomainBetaRegion: region, corev1.LabelTopologyRegion: region,
	}
	return node
}

// TestFiveThousandNodes starts on 5 000 nodes that have everything. It must take no more than 60 calls of the cloud, each
// of which answers about at most 100 instances, and 50 about their network interfaces. Nothing is written. An hour, with
// ten thousand heartbeats, costs the sweeps and nothing else. The memory is that of the controller, with the journals of
// the fakes; the processor time is that of the fakes, too.
func TestFiveThousandNodes(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute of processor time: make test runs it, make quick and -short do not")
	}
	const many = 5000
	var before int64
	prepare := func(w *world) {
		w.instances(many)
		w.cloud.Sim.Update(func(c *state.Cloud) {
			for _, eni := range c.Interfaces {
				eni.SourceDestCheck = false
			}
		})
		for i := range many {
			if err := w.Client.Tracker().Add(kubetest.Laden(initialised(i))); err != nil {
				t.Fatal(err)
			}
		}
		before = kubetest.HeapMiB()
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
		return n + len(w.cloud.Calls()) - w.calls("BatchGetInstances", "BatchGetNetworkInterfaces")
	}
	interfaces := func(w *world) int {
		n := 0
		for _, call := range w.cloud.CallsOf("BatchGetNetworkInterfaces") {
			if asked, ok := call.Request.(*ecsv1.BatchGetNetworkInterfacesRequest); ok {
				n += (len(asked.GetNetworkInterfaceIds()) + 99) / 100
			}
		}
		return n
	}
	run(t, nil, prepare, func(w *world) {
		w.Pass(10 * time.Second)
		if n := interfaces(w); n != many/100 {
			t.Errorf("%d calls about network interfaces at start, want %d", n, many/100)
		}
		if n := calls(w); n < many/100 || n > 60 {
			t.Errorf("%d calls of the cloud at start, want at most 60", n)
		}
		grown := kubetest.HeapMiB() - before
		if grown > 120 {
			t.Errorf("%d MiB in use, want at most 120", grown)
		}
		w.cloud.ResetCalls()
		w.still()
		used := kubetest.WantCPU(t, 10, func() {
			for range 2 { // Every one is the same, and each costs the fakes more than all else.
				w.Heartbeats(5 * time.Minute)
			}
			w.Pass(50 * time.Minute)
		})
		if n := calls(w); n < 11*many/100 || n > 12*60 {
			t.Errorf("%d calls of the cloud in an hour, want at most 60 in five minutes", n)
		}
		if n := interfaces(w); n < 11*many/100 || n > 12*many/100 {
			t.Errorf("%d calls about network interfaces in an hour, want at most %d in five minutes", n, many/100)
		}
		w.WantReadsOnly(w.cloud.Connection)
		t.Logf("%d MiB in use; %.1f s of processor time for an hour; %d calls about network interfaces", grown, used, interfaces(w))
	})
}

// TestTenKindsOfBadNodes mixes ten kinds of bad nodes into 200. Each gets one event that names the field and says what to do, 190 are fine,
// and the calls of ten minutes are bounded.
func TestTenKindsOfBadNodes(t *testing.T) {
	t.Parallel()
	kinds := []struct {
		spoil         func(w *world, n *corev1.Node)
		event, remedy string
	}{
		{func(_ *world, n *corev1.Node) { n.Spec.ProviderID = "i-0" }, `spec.providerID "i-0"`,
			"start the kubelet with --provider-id=cn-hangzhou.i-0 and delete the Node"},
		{func(_ *world, n *corev1.Node) { n.Spec.ProviderID = "cn-hangzhou/i-1" }, `spec.providerID "cn-hangzhou/i-1"`,
			"start the kubelet with --provider-id=cn-hangzhou.i-1 and delete the Node"},
		{func(_ *world, n *corev1.Node) { n.Spec.ProviderID = "alicloud://cn-hangzhou/i-2" }, `spec.providerID "alicloud://cn-hangzhou/i-2"`,
			"start the kubelet with --provider-id=cn-hangzhou.i-2 and delete the Node"},
		{func(_ *world, n *corev1.Node) { n.Spec.ProviderID = "alibabacloud://cn-hangzhou.i-3" },
			`spec.providerID "alibabacloud://cn-hangzhou.i-3"`,
			"start the kubelet with --provider-id=cn-hangzhou.i-3 and delete the Node"},
		{func(_ *world, n *corev1.Node) { n.Spec.ProviderID = "cn-beijing.i-4" },
			`spec.providerID "cn-beijing.i-4" names region cn-beijing, but this controller works for cn-hangzhou`,
			"else label it service.alibabacloud.com/exclude-node"},
		{func(_ *world, n *corev1.Node) { n.Spec.ProviderID = "aws:///us-east-1a/i-5" }, `spec.providerID "aws:///us-east-1a/i-5"`,
			"label it service.alibabacloud.com/exclude-node"},
		{func(_ *world, n *corev1.Node) { n.Spec.ProviderID = "" }, "spec.providerID is empty",
			"start the kubelet with --provider-id=<region>.<instance id>"},
		{func(_ *world, n *corev1.Node) {
			n.Spec.ProviderID = ""
			n.Annotations = map[string]string{nodes.AnnotationProvidedIP: "192.168.9.9"}
		}, "there is no instance in vpc-test with address 192.168.9.9 and tag ack.aliyun.com",
			"start the kubelet with --provider-id=cn-hangzhou."},
		{func(w *world, _ *corev1.Node) { w.vanish(8) }, `the cloud does not know the instance of spec.providerID "cn-hangzhou.i-8"`,
			"if it was released, delete the Node"},
		{func(w *world, _ *corev1.Node) {
			w.unreadable(map[string]error{
				"i-9": &rpcerr.Error{Code: codes.PermissionDenied, Reason: rpcerr.CloudForbidden, Message: "the policy lacks ecs:DescribeInstances"},
			})
		}, "get instance i-9", "the policy lacks ecs:DescribeInstances"},
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
	registry := prometheus.NewRegistry()
	run(t, func(cfg *controller.Config) { cfg.Registerer = registry }, prepare, func(w *world) {
		w.Pass(10 * time.Minute)
		if got := kubetest.Metric(t, registry, "nodecontroller_nodes")["uninitialized"]; got != float64(len(kinds)) { // The alert goes by it.
			t.Errorf("%v nodes are uninitialized", got)
		}
		for i := range all {
			name := fmt.Sprintf("node-%d", i)
			if got, want := nodes.IsUninitialized(w.Node(name)), i < len(kinds); got != want {
				t.Errorf("%s: tainted %t", name, got)
			}
		}
		for i, kind := range kinds {
			events := w.Events.Matching(fmt.Sprintf("node-%d SyncNodeFailed: ", i))
			if len(events) != 1 || !strings.Contains(events[0], kind.event) || !strings.Contains(events[0], kind.remedy) {
				t.Errorf("node-%d: events %q, want one with %q and %q", i, events, kind.event, kind.remedy)
			}
		}
		reads := w.calls("BatchGetInstances", "BatchGetNetworkInterfaces", "GetInstance", "GetNetworkInterface",
			"ListInstances", "GetCapabilities")
		t.Logf("%d reads, %d writes", reads, len(w.cloud.Writes()))
		if reads > 60 || len(w.cloud.Writes()) != all-len(kinds) {
			t.Errorf("%d reads and %d writes in ten minutes, want at most 60 and %d", reads, len(w.cloud.Writes()), all-len(kinds))
		}
	})
}

// TestTwoHundredNodesAtOnce lets 200 nodes join at once. In a cloud without limits all are in service within seconds, by few reads; where
// the cloud lets through 140 changes of network interfaces in a minute, labels and addresses come as quickly, and the taints go at
// that rate, those of the nodes that came first before the others.
func TestTwoHundredNodesAtOnce(t *testing.T) {
	t.Parallel()
	const many = 200
	// Several workers could overtake one another on their way to the network interfaces.
	edit := func(cfg *controller.Config) { cfg.Workers = 1 }
	prepare := func(w *world) {
		for i := range many {
			w.instance(i)
			node := fresh(i)
			node.CreationTimestamp.Time = time.Now().Add(time.Duration(i-many) * time.Second)
			w.CreateNode(node)
		}
	}
	served := func(w *world) (done, labelled int) {
		for i := range many {
			node := w.Node(fmt.Sprintf("node-%d", i))
			if !nodes.IsUninitialized(node) {
				done++
			}
			if node.Labels[corev1.LabelTopologyZone] != "" && len(node.Status.Addresses) == 2 {
				labelled++
			}
		}
		return done, labelled
	}
	t.Run("without limits", func(t *testing.T) {
		t.Parallel()
		run(t, edit, prepare, func(w *world) {
			w.Pass(10 * time.Second)
			if done, labelled := served(w); done != many || labelled != many {
				t.Errorf("%d in service and %d with labels and addresses, want all %d", done, labelled, many)
			}
			if reads := len(w.cloud.Calls()) - len(w.cloud.Writes()); reads > 6 {
				t.Errorf("%d reads, want at most 6", reads)
			}
		})
	})
	t.Run("with limits", func(t *testing.T) {
		t.Parallel()
		const pace = time.Minute / 140
		limited := func(w *world) {
			prepare(w)
			turn := make(chan struct{}, 1)
			w.cloud.Interpose(func(_ int, method string, _ proto.Message) gatewaytest.Fault {
				if method == "UpdateNetworkInterface" {
					turn <- struct{}{}
					<-time.After(pace)
					<-turn
				}
				return gatewaytest.Fault{}
			})
		}
		run(t, edit, limited, func(w *world) {
			w.Pass(15 * time.Second)
			done, labelled := served(w)
			if want := int(15 * time.Second / pace * 95 / 100); labelled != many || done < want {
				t.Errorf("after 15 s %d have labels and addresses, want %d; %d are in service, want at least %d", labelled, many, done, want)
			}
			for i := range many {
				// Ten changes are under way at a time.
				if in := !nodes.IsUninitialized(w.Node(fmt.Sprintf("node-%d", i))); in && i >= done+10 || !in && i < done-10 {
					t.Errorf("node-%d in service %t when %d are", i, in, done)
				}
			}
			w.Pass(many*pace - 15*time.Second + 5*time.Second)
			if done, _ := served(w); done != many {
				t.Errorf("%d in service in the end, want %d", done, many)
			}
		})
	})
}
