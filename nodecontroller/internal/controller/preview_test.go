package controller_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/nodecontroller/internal/controller"
)

// TestPreview asks what would change in a cluster with nodes of all kinds. Nothing is written, and what it names happens once a controller
// runs.
func TestPreview(t *testing.T) {
	t.Parallel()
	inWorld(t, nil, func(t *testing.T, w *world, _ func(d time.Duration)) {
		furnished(7)(w)
		w.UpdateNode("node-1", func(n *corev1.Node) { n.Spec.ProviderID = "i-1" })
		w.UpdateNode("node-2", silent)
		w.vanish(2)
		w.UpdateNode("node-3", func(n *corev1.Node) { n.Spec.ProviderID, n.Spec.Taints = "ack-hybrid://machine", nil })
		w.UpdateNode("node-4", func(n *corev1.Node) { n.Spec.ProviderID = "" })
		w.vanish(5)
		w.UpdateNode("node-6", func(n *corev1.Node) { n.Spec.ProviderID = "cn-beijing.i-6" })
		w.Client.ClearActions()
		c, err := controller.New(w.config(nil))
		if err != nil {
			t.Fatal(err)
		}
		preview, err := c.Preview(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		if err := preview.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		const zone, kind = "cn-hangzhou-h", "ecs.g7.xlarge"
		want := strings.Join([]string{
			"node-0: add taint node.kubernetes.io/network-unavailable; remove taint node.cloudprovider.kubernetes.io/uninitialized; " +
				"set addresses InternalIP 192.168.0.0, Hostname node-0; set condition NetworkUnavailable=True; " +
				"set label beta.kubernetes.io/instance-type=" + kind + "; set label failure-domain.beta.kubernetes.io/region=cn-hangzhou; " +
				"set label failure-domain.beta.kubernetes.io/zone=" + zone + "; set label node.kubernetes.io/instance-type=" + kind + "; " +
				"set label topology.kubernetes.io/region=cn-hangzhou; set label topology.kubernetes.io/zone=" + zone + "; " +
				"switch off the source/destination check of network interface eni-0, if it is on",
			`node-1: problem: spec.providerID "i-1" `,
			"node-2: delete the node, if the cloud lacks its instance i-2 still after 1m0s",
			"node-4: problem: spec.providerID is empty and the node has 0 internal IPv4 addresses ",
			"node-5: problem: the cloud does not know instance i-5",
			`node-6: problem: spec.providerID "cn-beijing.i-6" names region cn-beijing, but this controller works for cn-hangzhou`,
			"2 nodes would change, 4 have a problem, 1 stay as they are.",
		}, "\n")
		lines := strings.Split(strings.TrimSpace(text.String()), "\n")
		for i, line := range strings.Split(want, "\n") {
			if i >= len(lines) || !strings.HasPrefix(lines[i], line) {
				t.Errorf("line %d does not begin with %q:\n%s", i, line, text.String())
			}
		}
		w.WantReadsOnly(w.cloud.Connection)
		encoded, err := json.Marshal(preview.Nodes[1])
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(`{"node":"node-1","problem":`, string(encoded)[:len(`{"node":"node-1","problem":`)]); diff != "" {
			t.Errorf("JSON (-want +got):\n%s", diff)
		}
	})
}
