package controller_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/services/nodes"

	"alicloud-controllers.dev/nodecontroller/internal/controller"
)

// stranger lets the cloud have an instance i-50 of another VPC or cluster.
func (w *world) stranger(vpc, cluster string) {
	w.instance(50)
	w.cloud.Lock()
	defer w.cloud.Unlock()
	w.cloud.Instances["i-50"].VpcID, w.cloud.Interfaces["eni-50"].VpcID = vpc, vpc
	w.cloud.Instances["i-50"].Tags = nil
	if cluster != "" {
		w.cloud.Instances["i-50"].Tags = []state.Tag{{Key: "ack.aliyun.com", Value: cluster}}
	}
}

// claim is a Node that says it is i-50.
func claim(edit func(*corev1.Node)) *corev1.Node {
	node := fresh(7)
	node.Spec.ProviderID = region + ".i-50"
	if edit != nil {
		edit(node)
	}
	return node
}

func untainted(n *corev1.Node) { n.Spec.Taints = nil }

func inCluster(cfg *controller.Config) { cfg.VPCID, cfg.ClusterID = vpcID, "c-1" }

// TestClaimOfAnotherInstance has a kubelet say that it is an instance of another VPC or cluster. For that instance
// nothing is changed, and the Node gets nothing of it.
func TestClaimOfAnotherInstance(t *testing.T) {
	t.Parallel()
	terway := func(cfg *controller.Config) {
		inCluster(cfg)
		cfg.Options.CloudRoutes = false
	}
	for _, tc := range []struct {
		name, vpc, cluster string
		edit               func(*controller.Config)
		claim              func(*corev1.Node)
		// late is a Node that registers while the controller leads, and alone is one in a cluster without other nodes.
		late, alone bool
		want        []string // what the event has to name; nil for none
	}{
		{name: "other VPC", vpc: "vpc-db", want: []string{"vpc-db", vpcID, "--provider-id", "nodeVPCIDs"}},
		{name: "other VPC, the gateway's own is the cluster's", vpc: "vpc-db", want: []string{"vpc-db", vpcID},
			edit: func(cfg *controller.Config) { inCluster(cfg); cfg.VPCID = "" }},
		{name: "other VPC without cloud routes", vpc: "vpc-db", edit: terway, want: []string{"vpc-db", vpcID}},
		{name: "other VPC, registers later", vpc: "vpc-db", late: true, want: []string{"vpc-db", vpcID}},
		{name: "other VPC, the only node", vpc: "vpc-db", alone: true, want: []string{"vpc-db", vpcID}},
		{name: "other VPC, without the taint", vpc: "vpc-db", claim: untainted, want: []string{"vpc-db", vpcID}},
		{name: "other VPC, registers without the taint", vpc: "vpc-db", claim: untainted, late: true, want: []string{"vpc-db", vpcID}},
		{name: "other VPC, registers without the taint and cloud routes", vpc: "vpc-db", claim: untainted, late: true, edit: terway,
			want: []string{"vpc-db", vpcID}},
		{name: "other cluster", vpc: vpcID, cluster: "c-2", want: []string{"ack.aliyun.com=c-2", "c-1"}},
		{name: "other cluster, registers without the taint", vpc: vpcID, cluster: "c-2", claim: untainted, late: true,
			want: []string{"ack.aliyun.com=c-2", "c-1"}},
		{name: "other cluster, by address", vpc: vpcID, cluster: "c-2", want: []string{"ack.aliyun.com=c-2"},
			claim: func(n *corev1.Node) {
				n.Spec.ProviderID = ""
				n.Annotations = map[string]string{nodes.AnnotationProvidedIP: "192.168.0.50"}
			}},
		{name: "without a tag", vpc: vpcID},
		{name: "other cluster, and this one has no id of its own", vpc: vpcID, cluster: "c-2",
			edit: func(cfg *controller.Config) { inCluster(cfg); cfg.ClusterID = "clusterid" }},
		{name: "another VPC that nodes may be in", vpc: "vpc-2",
			edit: func(cfg *controller.Config) { inCluster(cfg); cfg.NodeVPCIDs = []string{"vpc-2"} }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			edit := tc.edit
			if edit == nil {
				edit = inCluster
			}
			register := func(w *world) {
				node := claim(tc.claim)
				node.CreationTimestamp = metav1.Now()
				w.CreateNode(node)
			}
			run(t, edit, func(w *world) {
				if !tc.alone {
					furnished(2)(w)
				}
				w.stranger(tc.vpc, tc.cluster)
				if !tc.late {
					register(w)
				}
			}, func(w *world) {
				if tc.late {
					register(w)
				}
				w.Pass(10 * time.Second)
				w.check(t, tc.want)
				w.Pass(30 * time.Minute) // The Node is not a new one any more.
				w.check(t, tc.want)
			})
		})
	}
}

// check checks that node-7 is refused with an event that names some words, or that it is in service.
func (w *world) check(t *testing.T, words []string) {
	t.Helper()
	node := w.Node("node-7")
	w.cloud.Lock()
	guarded, elsewhere := w.cloud.Interfaces["eni-50"].SourceDestCheck, w.cloud.Instances["i-50"].VpcID != vpcID
	w.cloud.Unlock()
	events := w.Events.Matching("node-7 SyncNodeFailed")
	if len(words) == 0 {
		if nodes.IsUninitialized(node) || nodes.Foreign(node) || guarded != elsewhere || len(events) > 0 {
			t.Errorf("the node is not in service, or an interface is changed to which no route can lead: taints %v, check %t, "+
				"events %q", node.Spec.Taints, guarded, events)
		}
		return
	}
	if !guarded || !nodes.Foreign(node) || len(node.Labels) > 0 || len(node.Status.Addresses) > 1 {
		t.Errorf("something is written for the instance: check %t, taints %v, labels %v, addresses %v", guarded, node.Spec.Taints, node.Labels,
			node.Status.Addresses)
	}
	if text := strings.Join(events, "\n"); !containsAll(text, words) {
		t.Errorf("the events do not name %q:\n%s", words, text)
	}
}

func containsAll(text string, words []string) bool {
	for _, word := range words {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// TestClaimIsCorrected gives an instance the right tag: its node goes into service.
func TestClaimIsCorrected(t *testing.T) {
	t.Parallel()
	run(t, inCluster, func(w *world) {
		furnished(2)(w)
		w.stranger(vpcID, "c-2")
		w.CreateNode(claim(nil))
	}, func(w *world) {
		w.Pass(time.Minute)
		w.stranger(vpcID, "c-1")
		w.Pass(10 * time.Minute)
		w.cloud.Lock()
		defer w.cloud.Unlock()
		if node := w.Node("node-7"); nodes.IsUninitialized(node) || nodes.Foreign(node) ||
			w.cloud.Interfaces["eni-50"].SourceDestCheck {
			t.Errorf("after the correction the node has taints %v", node.Spec.Taints)
		}
	})
}

// TestNodesInService keeps the nodes of a cluster that have been in service before: a wrong vpcID or tag is no reason
// to take all of them out, and without cloud routes they may be in another VPC.
func TestNodesInService(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(*controller.Config){
		"wrong vpcID":   func(cfg *controller.Config) { cfg.VPCID, cfg.ClusterID = "vpc-typo", "c-1" },
		"old tag":       func(cfg *controller.Config) { cfg.VPCID, cfg.ClusterID = vpcID, "c-new" },
		"no routes":     func(cfg *controller.Config) { inCluster(cfg); cfg.Options.CloudRoutes = false },
		"nothing wrong": inCluster,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, edit, func(w *world) {
				for i := range 3 {
					w.instance(i)
					w.CreateNode(initialised(i))
				}
				if name == "no routes" {
					w.cloud.Lock()
					w.cloud.Instances["i-2"].VpcID = "vpc-2"
					w.cloud.Unlock()
				}
			}, func(w *world) {
				w.Pass(30 * time.Minute)
				for _, node := range w.NodeNames() {
					if nodes.Foreign(w.Node(node)) {
						t.Errorf("%s is taken out of service", node)
					}
				}
			})
		})
	}
}

// TestStrangerIsFirstByName has a Node in service whose instance is of another VPC, and nobody has looked since the
// controller began. It is refused with the first look, before the other nodes of that look are reached by name.
func TestStrangerIsFirstByName(t *testing.T) {
	t.Parallel()
	run(t, inCluster, func(w *world) {
		w.stranger("vpc-db", "")
		node := initialised(0)
		node.Spec.ProviderID, node.Labels, node.Status.Addresses = region+".i-50", nil, nil
		w.CreateNode(node)
		w.instance(1)
		w.CreateNode(initialised(1))
	}, func(w *world) {
		w.Pass(10 * time.Second)
		if node := w.Node("node-0"); !nodes.Foreign(node) || len(node.Labels) > 0 || len(node.Status.Addresses) > 0 {
			t.Errorf("after the first look: taints %v, labels %v, addresses %v", node.Spec.Taints, node.Labels,
				node.Status.Addresses)
		}
		if nodes.Foreign(w.Node("node-1")) {
			t.Error("the cluster's own node is refused")
		}
	})
}

// TestQuickLookRefusesStrangers lets the kubelet of a refused Node change its readiness, which has the instance looked
// at besides the sweep.
func TestQuickLookRefusesStrangers(t *testing.T) {
	t.Parallel()
	edit := func(cfg *controller.Config) { inCluster(cfg); shutdownTaint(cfg) }
	run(t, edit, func(w *world) {
		furnished(2)(w)
		w.stranger("vpc-db", "")
		w.CreateNode(claim(func(n *corev1.Node) { untainted(n); n.CreationTimestamp = metav1.Now() }))
	}, func(w *world) {
		w.Pass(time.Minute)
		w.check(t, []string{"vpc-db", vpcID})
		looks := w.calls("GetInstance")
		w.UpdateNode("node-7", func(n *corev1.Node) { condition(n, corev1.NodeReady).Status = corev1.ConditionFalse })
		w.Pass(time.Second)
		if w.calls("GetInstance") == looks {
			t.Fatal("the instance is not looked at")
		}
		w.check(t, []string{"vpc-db", vpcID})
	})
}
