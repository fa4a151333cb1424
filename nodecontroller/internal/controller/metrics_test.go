package controller_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/services/gateway/gatewaytest"
	"alicloud-controllers.dev/services/kube/kubetest"
	"alicloud-controllers.dev/services/nodes"

	"alicloud-controllers.dev/nodecontroller/internal/controller"
)

// TestNodesByState has nodes in all states, and looks at them once the controller leads.
func TestNodesByState(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	edit := func(cfg *controller.Config) { cfg.Registerer, cfg.Options.ShutdownTaint = registry, true }
	var open chan struct{}
	prepare := func(w *world) {
		open = make(chan struct{})
		furnished(9)(w)
		w.cloud.Lock()
		w.cloud.Interfaces["eni-0"].SourceDestCheck = false
		w.cloud.Instances["i-4"].Status = "Stopped"
		w.cloud.Instances["i-8"].VpcID = "vpc-db"
		w.cloud.Unlock()
		w.cloud.Interpose(func(_ int, method string, _ proto.Message) gatewaytest.Fault {
			if method == "UpdateNetworkInterface" {
				<-open
			}
			return gatewaytest.Fault{}
		})
		for _, i := range []int{3, 4, 5, 7, 8} {
			w.open(i)
		}
		w.UpdateNode("node-2", func(n *corev1.Node) { n.Spec.ProviderID = "i-2" })
		w.UpdateNode("node-3", func(n *corev1.Node) { *n = *initialised(3); silent(n) })
		w.UpdateNode("node-4", func(n *corev1.Node) { *n = *initialised(4); silent(n) })
		w.UpdateNode("node-5", func(n *corev1.Node) { *n = *initialised(5); n.Labels[nodes.LabelExclude] = "" })
		w.UpdateNode("node-6", func(n *corev1.Node) { n.Labels = map[string]string{nodes.LabelType: nodes.ValueVirtual} })
		w.UpdateNode("node-7", func(n *corev1.Node) { *n = *initialised(7) })
		w.UpdateNode("node-8", func(n *corev1.Node) { *n = *initialised(8) })
		w.UpdateNode("node-0", func(n *corev1.Node) { n.CreationTimestamp = metav1.Time{Time: time.Now().Add(-time.Minute)} })
	}
	standBy(t, edit, prepare, func(w *world) {
		w.Pass(time.Second)
		for state, n := range kubetest.Metric(t, registry, "nodecontroller_nodes") {
			if n != 0 {
				t.Errorf("a standby counts %v nodes that are %s", n, state)
			}
		}
		w.lead()
		w.Pass(time.Second)
		want := map[string]float64{"uninitialized": 1, "stale_provider_id": 0, "foreign": 1, "duplicate": 0, "forwarding": 1, "initialized": 2,
			"stopped": 1, "silent": 1, "other": 2}
		if diff := cmp.Diff(want, kubetest.Metric(t, registry, "nodecontroller_nodes")); diff != "" {
			t.Errorf("nodes by state (-want +got):\n%s", diff)
		}
		if got := kubetest.Metric(t, registry, "nodecontroller_time_to_untainted_seconds")[""]; got != 1 {
			t.Errorf("%v nodes have lost their taint, want 1", got)
		}
		close(open)
		w.Pass(time.Second)
		if got := kubetest.Metric(t, registry, "nodecontroller_time_to_untainted_seconds")[""]; got != 2 {
			t.Errorf("%v nodes have lost their taint, want 2", got)
		}
	})
}

// TestNoInstanceFound: the figure of the alert is about a whole round. Parts of a round of which not one instance is
// found, be they the first or the last, don't set it for as long as others are found.
func TestNoInstanceFound(t *testing.T) {
	t.Parallel()
	const all, part = 101, 51 // The parts of a round are even.
	for name, tt := range map[string]struct {
		nodes, from, to int
		want            float64
	}{
		"no nodes": {}, "none": {all, 0, 0, 0}, "first part": {all, 0, part, 0}, "last part": {all, part, all, 0},
		"all": {all, 0, all, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			registry := prometheus.NewRegistry()
			fault := func() float64 { return kubetest.Metric(t, registry, "nodecontroller_no_instance_found")[""] }
			run(t, func(cfg *controller.Config) { cfg.Registerer = registry }, func(w *world) {
				for i := range tt.nodes {
					w.instance(i)
					w.open(i)
					w.CreateNode(initialised(i))
				}
			}, func(w *world) {
				w.Pass(6 * time.Minute) // The first round reads all at once.
				for _, name := range slices.Sorted(slices.Values(w.NodeNames()))[tt.from:tt.to] {
					i, err := strconv.Atoi(strings.TrimPrefix(name, "node-"))
					if err != nil {
						t.Fatal(err)
					}
					w.vanish(i)
				}
				for range 30 {
					w.Pass(30 * time.Second)
					if got := fault(); got > tt.want {
						t.Fatalf("the figure is %v", got)
					}
				}
				if got := fault(); got != tt.want {
					t.Errorf("after 15 minutes the figure is %v, want %v", got, tt.want)
				}
			})
		})
	}
}
