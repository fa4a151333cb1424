package controller_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/services/nodes"

	"alicloud-controllers.dev/nodecontroller/internal/controller"
)

// TestLateClaim has a kubelet wait until its Node is not new any more before it says which instance it is, or before it
// takes off a label that kept the Node out. It is asked for as much as one that registers.
func TestLateClaim(t *testing.T) {
	t.Parallel()
	terway := func(cfg *controller.Config) {
		inCluster(cfg)
		cfg.Options.CloudRoutes = false
	}
	provider := func(n *corev1.Node) { n.Spec.ProviderID = region + ".i-50" }
	labelled := func(key, value string) func(*corev1.Node) {
		return func(n *corev1.Node) {
			provider(n)
			n.Labels = map[string]string{key: value}
		}
	}
	unlabelled := func(n *corev1.Node) { n.Labels = nil }
	anonymous := func(n *corev1.Node) { n.Spec.ProviderID = "" }
	for _, tc := range []struct {
		name, vpc, cluster string
		edit               func(*controller.Config)
		registers, then    func(*corev1.Node)
		// standby has the change happen before the controller leads.
		standby bool
		want    []string
	}{
		{name: "id set late", vpc: vpcID, cluster: "c-2", registers: anonymous, then: provider, want: []string{"c-2", "c-1"}},
		{name: "id set late, other VPC without cloud routes", vpc: "vpc-db", edit: terway, registers: anonymous, then: provider,
			want: []string{"vpc-db", vpcID}},
		{name: "id set late, seen by a standby", vpc: vpcID, cluster: "c-2", registers: anonymous, then: provider, standby: true,
			want: []string{"c-2", "c-1"}},
		{name: "excluded before", vpc: vpcID, cluster: "c-2", registers: labelled(nodes.LabelExclude, "true"), then: unlabelled,
			want: []string{"c-2", "c-1"}},
		{name: "virtual before", vpc: "vpc-db", edit: terway, registers: labelled(nodes.LabelType, nodes.ValueVirtual), then: unlabelled,
			want: []string{"vpc-db", vpcID}},
		{name: "id of the cluster set late", vpc: vpcID, cluster: "c-1", registers: anonymous, then: provider},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			edit := tc.edit
			if edit == nil {
				edit = inCluster
			}
			standBy(t, edit, func(w *world) {
				furnished(2)(w)
				w.stranger(tc.vpc, tc.cluster)
				node := claim(untainted)
				node.CreationTimestamp = metav1.Now()
				tc.registers(node)
				w.CreateNode(node)
			}, func(w *world) {
				if !tc.standby {
					w.lead()
				}
				w.Pass(21 * time.Minute)
				w.UpdateNode("node-7", tc.then)
				w.Pass(time.Second)
				if tc.standby {
					w.lead()
				}
				w.Pass(10 * time.Second)
				node := w.Node("node-7")
				if got, want := nodes.Foreign(node), tc.want != nil; got != want {
					t.Errorf("foreign %t, want %t; taints %v", got, want, node.Spec.Taints)
				}
				w.Pass(time.Hour)
				w.cloud.Lock()
				checked := w.cloud.Interfaces["eni-50"].SourceDestCheck
				w.cloud.Unlock()
				if got, want := checked, tc.want != nil; got != want {
					t.Errorf("source/destination check %t, want %t", got, want)
				}
				if events := w.Events.Matching("node-7 SyncNodeFailed"); !containsAll(strings.Join(events, "\n"), tc.want) {
					t.Errorf("the events do not name %q: %q", tc.want, events)
				}
			})
		})
	}
}

// TestServingCertificateOfAForeignNode has the kubelet of a Node that says it is an instance of another cluster ask for
// a certificate with that one's address: at once, when nothing says yet that the Node is foreign, and later.
func TestServingCertificateOfAForeignNode(t *testing.T) {
	for _, tainted := range []bool{false, true} {
		edit := func(cfg *controller.Config) {
			inCluster(cfg)
			approves(cfg)
		}
		run(t, edit, func(w *world) {
			named(2)(w)
			w.stranger(vpcID, "c-2")
			w.cloud.Lock()
			w.cloud.Instances["i-50"].HostName = "node-7"
			w.cloud.Unlock()
		}, func(w *world) {
			node := claim(nil)
			if !tainted {
				untainted(node)
			}
			node.CreationTimestamp = metav1.Now()
			w.CreateNode(node)
			w.Pass(100 * time.Millisecond) // Less than the time in which Nodes are gathered to be looked at.
			for _, name := range []string{"csr-1", "csr-7"} {
				w.askAs(t, name, "node-7", "192.168.0.50", "node-7")
				w.Pass(20 * time.Minute)
			}
			if w.approved(t, 1) || w.approved(t, 7) {
				t.Errorf("approved: %t at once, %t later", w.approved(t, 1), w.approved(t, 7))
			}
			if len(w.Events.Matching("node-7 CertificateNotApproved")) == 0 {
				t.Errorf("no event says so: %q", w.Events.Matching("node-7"))
			}
		})
	}
}
