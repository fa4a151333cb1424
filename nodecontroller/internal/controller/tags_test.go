package controller_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	kubetesting "k8s.io/client-go/testing"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/services/nodes"

	"alicloud-controllers.dev/nodecontroller/internal/controller"
	"alicloud-controllers.dev/nodecontroller/internal/nodestate"
)

const tagNodePool, labelNodePool = "ack.alibabacloud.com/nodepool-id", "node.alibabacloud.com/nodepool-id"

// validateLabels lets the API server refuse labels with values that it would refuse.
func (w *world) validateLabels() {
	w.Client.PrependReactor("patch", "nodes", func(action kubetesting.Action) (bool, runtime.Object, error) {
		var patch struct {
			Metadata struct{ Labels map[string]*string }
		}
		//nolint:forcetypeassert // A failure of the test.
		if err := json.Unmarshal(action.(kubetesting.PatchAction).GetPatch(), &patch); err != nil {
			return true, nil, err
		}
		for key, value := range patch.Metadata.Labels {
			if value != nil && len(validation.IsValidLabelValue(*value)) > 0 {
				return true, nil, apierrors.NewInvalid(schema.GroupKind{Kind: "Node"}, key, nil)
			}
		}
		return false, nil, nil
	})
}

// tag sets the tags of instance i-0, beside that of the cluster.
func (w *world) tag(tags map[string]string) {
	w.cloud.Lock()
	defer w.cloud.Unlock()
	instance := w.cloud.Instances["i-0"]
	instance.Tags = instance.Tags[:1]
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		instance.Tags = append(instance.Tags, state.Tag{Key: key, Value: tags[key]})
	}
}

// TestBadTagKeepsNoNode: a tag with a value that no label can have is reported, and everything else of the node goes on.
func TestBadTagKeepsNoNode(t *testing.T) {
	for _, bad := range []string{"my pool", strings.Repeat("x", 64), "节点池"} {
		prepare := func(w *world) {
			furnished(1)(w)
			w.tag(map[string]string{tagNodePool: bad})
			w.validateLabels()
		}
		run(t, nil, prepare, func(w *world) {
			w.Pass(10 * time.Minute)
			node := w.Node("node-0")
			if nodes.IsUninitialized(node) || node.Labels[corev1.LabelTopologyZone] == "" {
				t.Errorf("%q: taints %v, labels %v", bad, node.Spec.Taints, node.Labels)
			}
			if got := w.Events.Matching("node-0 InvalidTag: tag " + tagNodePool + " has value"); len(got) != 1 {
				t.Errorf("%q: events %q", bad, w.Events.Matching("node-0"))
			}
			w.tag(map[string]string{tagNodePool: "np-1"})
			w.Pass(6 * time.Minute)
			if got := w.Node("node-0").Labels[labelNodePool]; got != "np-1" || len(w.Events.Matching("node-0 Resolved")) != 1 {
				t.Errorf("label %q, events %q", got, w.Events.Matching("node-0"))
			}
			w.tag(map[string]string{tagNodePool: bad})
			w.Pass(6 * time.Minute)
			if got := w.Node("node-0").Labels[labelNodePool]; got != "np-1" {
				t.Errorf("label %q, want the last good one", got)
			}
		})
	}
}

// TestTagRules makes a label, an annotation and a taint of tags, changes them, and takes the tags away: all that goes, and nothing else.
func TestTagRules(t *testing.T) {
	edit := func(cfg *controller.Config) {
		cfg.Options.Rules = []nodestate.Rule{
			{Tag: "team", Label: "example.com/team"}, {Tag: "cost", Annotation: "example.com/cost"},
			{Tag: "dedicated", Taint: "example.com/dedicated", Effect: corev1.TaintEffectNoSchedule},
		}
	}
	prepare := func(w *world) {
		furnished(1)(w)
		w.tag(map[string]string{"team": "a", "cost": "centre 7, 东", "dedicated": "gpu"})
		w.UpdateNode("node-0", func(n *corev1.Node) { n.Annotations = map[string]string{"example.com/other": "stays"} })
	}
	run(t, edit, prepare, func(w *world) {
		is := func(label, annotation, taint string) {
			t.Helper()
			node := w.Node("node-0")
			has := ""
			for _, t := range node.Spec.Taints {
				if t.Key == "example.com/dedicated" {
					has += t.Value + ":" + string(t.Effect)
				}
			}
			if node.Labels["example.com/team"] != label || node.Annotations["example.com/cost"] != annotation || has != taint {
				t.Errorf("label %q, annotation %q, taint %q, want %q, %q, %q", node.Labels["example.com/team"],
					node.Annotations["example.com/cost"], has,
					label, annotation, taint)
			}
			if node.Annotations["example.com/other"] != "stays" || !nodes.HasTaint(node, "example.com/other") {
				t.Errorf("annotations %v, taints %v", node.Annotations, node.Spec.Taints)
			}
		}
		is("a", "centre 7, 东", "gpu:NoSchedule")
		w.tag(map[string]string{"team": "b", "cost": "8", "dedicated": "fpga"})
		w.Pass(6 * time.Minute)
		is("b", "8", "fpga:NoSchedule")
		w.Client.ClearActions()
		w.Pass(time.Hour)
		if got := w.Patches(); len(got) != 0 {
			t.Errorf("patches %v though nothing has changed", got)
		}
		w.tag(map[string]string{"team": "no label", "dedicated": "fpga"})
		w.Pass(6 * time.Minute)
		is("b", "", "fpga:NoSchedule")
		w.tag(nil)
		w.Pass(6 * time.Minute)
		is("", "", "")
		if _, has := w.Node("node-0").Labels["example.com/team"]; has {
			t.Error("the label is there still")
		}
	})
}

// TestRulesLeaveWhatIsThere: what a user has set with the same value is not taken off when the tag goes.
func TestRulesLeaveWhatIsThere(t *testing.T) {
	edit := func(cfg *controller.Config) {
		cfg.Options.Rules = []nodestate.Rule{{Tag: "team", Label: "example.com/team"}}
	}
	prepare := func(w *world) {
		furnished(1)(w)
		w.tag(map[string]string{"team": "a"})
		w.UpdateNode("node-0", func(n *corev1.Node) { n.Labels = map[string]string{"example.com/team": "a"} })
	}
	run(t, edit, prepare, func(w *world) {
		w.tag(nil)
		w.Pass(6 * time.Minute)
		if got := w.Node("node-0").Labels["example.com/team"]; got != "a" {
			t.Errorf("label %q", got)
		}
	})
}

// TestRulesKeepTheValuesOfOthers: where somebody else has set another value than the tag, that one stays, whatever the tag becomes, and
// the node says so. Once it is taken off, the tag gives the value.
func TestRulesKeepTheValuesOfOthers(t *testing.T) {
	edit := func(cfg *controller.Config) {
		cfg.Options.Rules = []nodestate.Rule{
			{Tag: "team", Label: "example.com/team"}, {Tag: "cost", Annotation: "example.com/cost"},
			{Tag: "dedicated", Taint: "example.com/dedicated", Effect: corev1.TaintEffectNoSchedule},
		}
	}
	theirs := corev1.Taint{Key: "example.com/dedicated", Value: "theirs", Effect: corev1.TaintEffectNoExecute}
	prepare := func(w *world) {
		furnished(1)(w)
		w.tag(map[string]string{"team": "a", "cost": "7", "dedicated": "gpu"})
		w.UpdateNode("node-0", func(n *corev1.Node) {
			n.Labels = map[string]string{"example.com/team": "theirs"}
			n.Annotations = map[string]string{"example.com/cost": "theirs"}
			n.Spec.Taints = append(n.Spec.Taints, theirs)
		})
	}
	run(t, edit, prepare, func(w *world) {
		kept := func() {
			t.Helper()
			node := w.Node("node-0")
			if node.Labels["example.com/team"] != "theirs" || node.Annotations["example.com/cost"] != "theirs" ||
				!slices.Contains(node.Spec.Taints, theirs) {
				t.Errorf("labels %v, annotations %v, taints %v", node.Labels, node.Annotations, node.Spec.Taints)
			}
		}
		kept()
		w.tag(map[string]string{"team": "b", "cost": "8", "dedicated": "fpga"})
		w.Pass(6 * time.Minute)
		kept()
		for _, what := range []string{"label example.com/team", "annotation example.com/cost", "taint example.com/dedicated"} {
			if !slices.ContainsFunc(w.Events.Matching("node-0 InvalidTag"), func(e string) bool {
				return strings.Contains(e, what+" has a value that the controller has not set")
			}) {
				t.Errorf("no event names %s: %q", what, w.Events.Matching("node-0"))
			}
		}
		w.UpdateNode("node-0", func(n *corev1.Node) { delete(n.Labels, "example.com/team") })
		w.Pass(6 * time.Minute)
		if got := w.Node("node-0").Labels["example.com/team"]; got != "b" {
			t.Errorf("label %q once that of others is gone, want b", got)
		}
		w.tag(map[string]string{"team": "c"})
		w.Pass(6 * time.Minute)
		if got := w.Node("node-0").Labels["example.com/team"]; got != "c" {
			t.Errorf("label %q, want c: it is ours by now", got)
		}
	})
}

// TestLingjunLabelComesLater: a label that says what a node is may come after it has registered.
func TestLabelThatSaysWhatANodeIsComesLater(t *testing.T) {
	prepare := func(w *world) {
		lingjun, virtual := fresh(0), fresh(1)
		lingjun.Spec.ProviderID = "e01-cn-abc"
		virtual.Labels = map[string]string{"type": "virtual-kubelet"}
		w.instance(1)
		w.CreateNode(lingjun)
		w.CreateNode(virtual)
	}
	run(t, nil, prepare, func(w *world) {
		w.Pass(time.Minute)
		if got := w.Events.Matching("node-1 SyncNodeFailed: label type=virtual-kubelet says that the node is virtual"); len(got) != 1 {
			t.Errorf("events %q", w.Events.Matching("node-1"))
		}
		w.UpdateNode("node-0", func(n *corev1.Node) { n.Labels = map[string]string{"alibabacloud.com/lingjun-worker": "true"} })
		w.UpdateNode("node-1", func(n *corev1.Node) { n.Labels = nil })
		w.Pass(time.Minute)
		for _, name := range []string{"node-0", "node-1"} {
			if nodes.IsUninitialized(w.Node(name)) {
				t.Errorf("%s is tainted still", name)
			}
		}
	})
}

// TestInstanceWithoutAPrimaryInterface: where the check of the primary interface has to be off and the cloud does not
// say which that is, the node waits and says so.
func TestInstanceWithoutAPrimaryInterface(t *testing.T) {
	prepare := func(w *world) {
		furnished(1)(w)
		w.cloud.Lock()
		w.cloud.Interfaces["eni-0"].Type = "Secondary"
		w.cloud.Interfaces["eni-9"] = &state.NetworkInterface{Type: "Secondary", Status: "InUse", InstanceID: "i-0", VpcID: vpcID}
		w.cloud.Unlock()
	}
	run(t, nil, prepare, func(w *world) {
		w.Pass(time.Minute)
		if got := w.Events.Matching(
			"node-0 SyncNodeFailed: the cloud does not say which of the network interfaces eni-0, eni-9"); len(got) != 1 ||
			!nodes.IsUninitialized(w.Node("node-0")) {
			t.Errorf("tainted %t, events %q", nodes.IsUninitialized(w.Node("node-0")), w.Events.Matching("node-0"))
		}
		w.cloud.Lock()
		w.cloud.Interfaces["eni-0"].Type = "Primary"
		w.cloud.Unlock()
		w.Pass(6 * time.Minute)
		if nodes.IsUninitialized(w.Node("node-0")) || w.checked("eni-0") {
			t.Error("not initialised once the cloud says which it is")
		}
	})
}
