package e2e

import (
	"context"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/deploy/tools/local/world"
	"alicloud-controllers.dev/services/nodes"
)

// badNode is a kind of Node that can't be initialised, and what the event about it has to name and to advise.
type badNode struct {
	spoil         func(node *corev1.Node)
	names, advice string
}

// elsewhere is the region that a bad node names.
const elsewhere = "cn-beijing"

// badNodes are ten kinds. The given one is what is refused to the last of them, whose Node is right.
func badNodes(refused string) []badNode {
	const right, exclude = "start the kubelet with --provider-id=" + world.Region + ".", "label it " + nodes.LabelExclude
	withID := func(format string) func(node *corev1.Node) {
		return func(node *corev1.Node) { node.Spec.ProviderID = strings.ReplaceAll(format, "$", instanceOf(node)) }
	}
	return []badNode{
		{withID("$"), `spec.providerID "i-`, right + "i-"},
		{withID(world.Region + "/$"), `spec.providerID "` + world.Region + `/i-`, right + "i-"},
		{withID("alicloud://" + world.Region + "/$"), `spec.providerID "alicloud://`, right + "i-"},
		{withID("alibabacloud://" + world.Region + ".$"), `spec.providerID "alibabacloud://`, right + "i-"},
		{withID(elsewhere + ".$"), "names region " + elsewhere + ", but this controller works for " + world.Region, exclude},
		{withID("aws:///us-east-1a/$"), `spec.providerID "aws:///us-east-1a/i-`, exclude},
		{withID(""), "spec.providerID is empty", "start the kubelet with --provider-id=<region>.<instance id>"},
		{func(node *corev1.Node) {
			node.Spec.ProviderID = ""
			node.Annotations[nodes.AnnotationProvidedIP] = "192.168.9.9"
		}, "0 instances in " + world.VpcID + " have address 192.168.9.9", right + "<instance id>"},
		{withID(world.Region + ".i-nobody"), `spec.providerID "` + world.Region + `.i-nobody"`, "if it was released, delete the Node"},
		{func(*corev1.Node) {}, "network interface " + refused, "look what the gateway may do"},
	}
}

// TestBadNodes registers nodes of which ten are bad, each in another way. The others are initialised as if these were not there. Of the bad ones
// each has one warning that names the field and says what to do, and once somebody has done that, the node is initialised.
//
// The bounds of the calls hold on any machine: they grow with the time that passes as the delays between attempts let them.
func TestBadNodes(t *testing.T) {
	t.Parallel()
	const fine = 30
	w := bootWith(t, world.Config{
		Controllers: []string{world.Node, world.Route}, Fast: true, Node: seldom(),
	})
	w.hold(t)
	kinds := badNodes("")
	names, err := w.AddNodes(t.Context(), fine+len(kinds))
	if err != nil {
		t.Fatal(err)
	}
	bad := names[:len(kinds)]
	right := w.originals(t, bad)
	last := right[len(kinds)-1]
	kinds = badNodes(w.interfaceOf(t, instanceOf(last)))
	for i, kind := range kinds {
		node := right[i].DeepCopy()
		if kind.spoil(node); node.Spec.ProviderID != right[i].Spec.ProviderID {
			w.register(t, node)
		}
	}
	err = w.Cloud().SetFaults(t.Context(), fault.Rule{
		Action: "ModifyNetworkInterfaceAttribute", Params: map[string]string{"NetworkInterfaceId": w.interfaceOf(t, instanceOf(last))},
		Error: &fault.Error{Status: 403, Code: "Forbidden.RAM", Message: "User not authorized to operate on the specified resource."},
	})
	if err != nil {
		t.Fatal(err)
	}
	since, start := w.position(t), time.Now()
	w.release(t)
	eventually(t, "the fine nodes are initialised, and there is a warning about each bad one", func(context.Context) error {
		return w.sorted(t, bad)
	})
	calls, _ := w.settle(t, since)
	took := time.Since(start)
	t.Logf("the warnings by component:\n%s", strings.Join(w.checkWarnings(t, bad, kinds), "\n"))
	// Two reads are for all together; they are repeated if the API server refuses to write a node for longer than they are kept. Three nodes ask the
	// cloud with each attempt: whose address nobody has, whose instance nobody has, and whose network interface is refused.
	reads, refusals := joinReads(calls), counts(calls, "ecs")["ModifyNetworkInterfaceAttribute Forbidden.RAM"]
	changes := len(timesOf(calls, "ModifyNetworkInterfaceAttribute"))
	t.Logf("in %s: ECS %v, VPC %v; at most %d attempts on each bad node", took, counts(calls, "ecs"), counts(calls, "vpc"), attemptsWithin(took))
	if most := 4 + 3*attemptsWithin(took); reads > most {
		t.Errorf("%d reads of instances and network interfaces, want at most %d", reads, most)
	}
	if most := attemptsWithin(took); refusals == 0 || refusals > most || changes != fine {
		t.Errorf("%d changes of network interfaces and %d that were refused, want %d and at most %d", changes, refusals, fine, most)
	}
	w.correct(t, bad, right)
	w.checkWarnings(t, bad, kinds) // There are no more.
}

// attemptsWithin is how often one node is tried at most in a time: the delay after the first attempt is a second, and each is at least twice the
// one before.
func attemptsWithin(d time.Duration) int { return bits.Len(uint(d/time.Second) + 1) }

// originals are Nodes as kubelets register them.
func (w testWorld) originals(t *testing.T, names []string) []*corev1.Node {
	t.Helper()
	var originals []*corev1.Node
	for _, name := range names {
		node, err := w.Client().CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		originals = append(originals, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: node.Labels, Annotations: node.Annotations},
			Spec: corev1.NodeSpec{
				ProviderID: node.Spec.ProviderID, Taints: []corev1.Taint{{Key: uninitialized, Value: "true", Effect: corev1.TaintEffectNoSchedule}},
			},
			Status: node.Status,
		})
	}
	return originals
}

// register deletes a Node, and lets its kubelet make it anew.
func (w testWorld) register(t *testing.T, node *corev1.Node) {
	t.Helper()
	all := w.Client().CoreV1().Nodes()
	if err := all.Delete(t.Context(), node.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := all.Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// interfaceOf is the network interface of an instance.
func (w testWorld) interfaceOf(t *testing.T, instance string) string {
	t.Helper()
	for id, eni := range w.state(t).Interfaces {
		if eni.InstanceID == instance {
			return id
		}
	}
	t.Fatalf("%s has no network interface", instance)
	return ""
}

// warnings are those about a node.
func (w testWorld) warnings(t *testing.T, node string) []corev1.Event {
	t.Helper()
	list, err := w.Client().CoreV1().Events(metav1.NamespaceAll).List(t.Context(), metav1.ListOptions{
		FieldSelector: "involvedObject.kind=Node,type=Warning,involvedObject.name=" + node,
	})
	if err != nil {
		t.Fatalf("list events: %v", err)
	}
	return list.Items
}

// sorted gives nil if all nodes but the bad ones are initialised, and each bad one keeps its taint and has a warning.
func (w testWorld) sorted(t *testing.T, bad []string) error {
	t.Helper()
	for _, node := range w.nodes(t) {
		tainted := slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == uninitialized })
		switch isBad := slices.Contains(bad, node.Name); {
		case isBad && !tainted:
			t.Errorf("%s was initialised", node.Name)
		case isBad && !slices.ContainsFunc(w.warnings(t, node.Name), func(e corev1.Event) bool { return e.Source.Component == world.Node }):
			return fmt.Errorf("there is no warning about %s, %q", node.Name, node.Spec.ProviderID)
		case !isBad && (len(node.Spec.Taints) > 0 || node.Labels[corev1.LabelTopologyZone] == "" || internalIP(&node) == ""):
			return fmt.Errorf("%s has taints %v, labels %v and addresses %v", node.Name, node.Spec.Taints, node.Labels, node.Status.Addresses)
		}
	}
	return nil
}

// checkWarnings checks that each bad node has had one warning, which says what is wrong and what to do, and one at most about its route. It gives
// them all.
func (w testWorld) checkWarnings(t *testing.T, bad []string, kinds []badNode) (all []string) {
	t.Helper()
	for i, kind := range kinds {
		by := map[string][]string{} // component
		for _, e := range w.warnings(t, bad[i]) {
			by[e.Source.Component] = append(by[e.Source.Component], fmt.Sprintf("%dx %s: %s", max(e.Count, 1), e.Reason, e.Message))
		}
		if about := strings.Join(by[world.Node], "\n"); len(by[world.Node]) != 1 || !strings.HasPrefix(about, "1x SyncNodeFailed: ") ||
			!strings.Contains(about, kind.names) || !strings.Contains(about, kind.advice) {
			t.Errorf("warnings about the node of kind %d: %q, want one with %q and %q", i, by, kind.names, kind.advice)
		}
		about := strings.Join(by[world.Route], "\n")
		if about != "" && (len(by[world.Route]) > 1 || !strings.HasPrefix(about, "1x CreateRouteFailed: ")) {
			t.Errorf("warnings about the route of the node of kind %d: %q, want one at most", i, by)
		}
		all = append(all, fmt.Sprintf("%q", by))
	}
	return all
}

// correct does what the warnings say.
func (w testWorld) correct(t *testing.T, bad []string, right []*corev1.Node) {
	t.Helper()
	if err := w.Cloud().ClearFaults(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, name := range bad {
		node, err := w.Client().CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(node.Spec.ProviderID, elsewhere) { // It may be none of ours.
			patch := fmt.Sprintf(`{"metadata":{"labels":{%q:""}}}`, nodes.LabelExclude)
			if _, err := w.Client().CoreV1().Nodes().Patch(t.Context(), name, "application/merge-patch+json", []byte(patch), metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			w.eventuallyEvent(t, "Node", name, "Resolved", "the trouble that SyncNodeFailed reported is over")
		}
		if node.Spec.ProviderID != right[i].Spec.ProviderID {
			w.register(t, right[i])
		}
	}
	w.initialised(t)
	for i, name := range bad {
		w.eventuallyEvent(t, "Node", name, "InitializedNode", "Initialized from instance "+instanceOf(right[i]))
	}
	w.routed(t)
}
