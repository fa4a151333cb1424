package controller_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/services/budget"
	"alicloud-controllers.dev/services/kube/kubetest"
	"alicloud-controllers.dev/services/nodes"

	"alicloud-controllers.dev/nodecontroller/internal/controller"
	"alicloud-controllers.dev/nodecontroller/internal/lifecycle"
	"alicloud-controllers.dev/nodecontroller/internal/nodestate"
)

// reign lets a controller lead until stop.
func (w *world) reign(t *testing.T, edit func(*controller.Config)) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := w.make(ctx, t, edit)
	w.reigns()
	return func() {
		cancel()
		done()
	}
}

// picture is what matters of the nodes and of the network interfaces, without times.
func (w *world) picture() []string {
	var list []string
	for _, name := range w.NodeNames() {
		node := w.Node(name)
		list = append(list, fmt.Sprintf("%s %s labels %v annotations %v", name, node.Spec.ProviderID, node.Labels, node.Annotations))
		for _, taint := range node.Spec.Taints {
			list = append(list, name+" taint "+taint.Key)
		}
		for _, address := range node.Status.Addresses {
			list = append(list, name+" address "+address.Address)
		}
		for _, c := range node.Status.Conditions {
			list = append(list, fmt.Sprintf("%s condition %s=%s %s", name, c.Type, c.Status, c.Reason))
		}
	}
	w.cloud.Lock()
	defer w.cloud.Unlock()
	for _, id := range slices.Sorted(maps.Keys(w.cloud.Interfaces)) {
		list = append(list, fmt.Sprintf("%s check %t", id, w.cloud.Interfaces[id].SourceDestCheck))
	}
	return list
}

// TestLeaderDiesAtEveryCall kills the leader at each of its calls of the cloud and writes to the API server, before and after the call has
// an effect. The next one comes to the same end as one that nobody disturbs.
func TestLeaderDiesAtEveryCall(t *testing.T) {
	t.Parallel()
	prepare := func(w *world) {
		furnished(6)(w)
		w.UpdateNode("node-1", func(n *corev1.Node) { n.Spec.ProviderID = "" })
		w.UpdateNode("node-1", func(n *corev1.Node) { n.Annotations = map[string]string{nodes.AnnotationProvidedIP: "192.168.0.1"} })
		w.UpdateNode("node-2", silent)
		w.vanish(2)
		w.UpdateNode("node-3", func(n *corev1.Node) { *n = *initialised(3); n.Labels[corev1.LabelTopologyZone] = "edited" })
		w.UpdateNode("node-4", func(n *corev1.Node) { *n = *initialised(4); silent(n) })
		w.cloud.Lock()
		w.cloud.Instances["i-4"].Status = "Stopped"
		w.cloud.Unlock()
	}
	edit := func(cfg *controller.Config) { cfg.Options.ShutdownTaint = true }
	var want []string
	inWorld(t, edit, func(_ *testing.T, w *world, reign func(time.Duration)) {
		prepare(w)
		reign(45 * time.Minute)
		want = w.picture()
	})
	if text := strings.Join(want, "\n"); strings.Contains(text, "node-2") || strings.Contains(text, nodes.TaintUninitialized) ||
		!strings.Contains(text, "node-4 taint "+nodes.TaintShutdown) || strings.Contains(text, "edited") {
		t.Fatalf("what comes out undisturbed is not what it should be:\n%s", text)
	}
	kubetest.AtEveryCall(t, func(t *testing.T, d *kubetest.Death) {
		inWorld(t, edit, func(t *testing.T, w *world, reign func(time.Duration)) {
			prepare(w)
			d.Reign(w.Cluster, w.cloud.Connection, 15*time.Minute, func() func() { return w.reign(t, edit) })
			reign(30 * time.Minute)
			if diff := cmp.Diff(want, w.picture()); diff != "" {
				t.Errorf("the end (-undisturbed +got):\n%s", diff)
			}
		})
	})
}

// impatient makes the periods short, so that a history is.
func impatient(cfg *controller.Config) {
	cfg.SyncInterval = 2 * time.Minute
	cfg.Options.ShutdownTaint = true
	cfg.Options.Rules = []nodestate.Rule{{Tag: "team", Label: "example.com/team"}}
	cfg.Deletion = &lifecycle.Policy{
		ConfirmAfter: 30 * time.Second, Silence: 30 * time.Second, Policy: budget.Policy{Window: 2 * time.Minute, Minimum: 2, Percent: 5},
	}
}

// history is a random one.
type history struct {
	*world

	t      *testing.T
	random *rand.Rand
	made   int // Nodes so far
	// exists are the Nodes that nobody has deleted, and lives reports whether each has its instance.
	exists, lives map[int]bool
	// announced are the Nodes that the autoscaler takes away, and stale those to which another machine reports.
	announced, stale map[int]bool
	// hidden are the instances of an account whose answers are empty, nil otherwise.
	hidden map[string]*state.Instance
}

// TestRandomWalk plays random histories with faults: nodes join, go silent, come back and are deleted by their users;
// instances are released, announced by the autoscaler or not, and stopped and started; their tags change; another
// machine reports in their stead; the cloud answers with nothing; calls of the cloud and writes to the API server fail;
// leaders die. At no time is a Node deleted whose instance exists or whose kubelet reports, or more unannounced ones
// than the budget lets go. In the end every Node with an instance is in service with what its tags ask for, and no
// other is left but those to which another machine reports, which are marked.
func TestRandomWalk(t *testing.T) {
	t.Parallel()
	kubetest.Walk(t, func(t *testing.T, random *rand.Rand) {
		inWorld(t, impatient, func(t *testing.T, w *world, _ func(time.Duration)) {
			w.guardUIDs()
			h := &history{world: w, t: t, random: random, exists: map[int]bool{}, lives: map[int]bool{},
				announced: map[int]bool{}, stale: map[int]bool{}}
			h.play()
		})
	})
}

func (h *history) play() {
	h.t.Helper()
	for i := range 3 {
		h.join(i)
	}
	faults := h.Flaky(h.cloud.Connection, rand.New(rand.NewPCG(h.random.Uint64(), 1)))
	stop := h.reign(h.t, impatient)
	h.Pass(2 * time.Second)
	for range 5 {
		switch act := h.random.IntN(11); act {
		case 0: // The leader dies.
			stop()
			stop = h.reign(h.t, impatient)
		case 1, 2:
			faults(act == 1)
		case 3:
			h.blind(h.hidden == nil)
		case 9:
			h.tagged(h.random.IntN(5), []string{"", "a", "b", "no label"}[h.random.IntN(4)])
		case 10:
			h.turned(h.random.IntN(5), []string{"Running", "Stopping", "Stopped"}[h.random.IntN(3)])
		default:
			h.happen(h.random.IntN(5), act)
		}
		h.Pass(time.Duration(1+h.random.IntN(119)) * time.Second)
		h.check()
	}
	faults(false)
	h.blind(false)
	for i := range h.exists {
		if h.lives[i] {
			h.turned(i, "Running")
			h.tagged(i, []string{"", "end"}[i%2])
			h.UpdateNode(fmt.Sprintf("node-%d", i), ready)
		}
	}
	h.join(5) // A cluster without any instance deletes nothing.
	h.join(6)
	h.Pass(12 * time.Minute)
	stop()
	h.checkEnd()
}

// join makes a Node with its instance.
func (h *history) join(i int) {
	h.t.Helper()
	h.instance(i)
	if h.hidden != nil { // Who sees nothing does not see what is new.
		h.blind(true)
	}
	h.made++
	node := fresh(i)
	node.UID = types.UID(fmt.Sprintf("uid-%d", h.made))
	h.CreateNode(node)
	h.exists[i], h.lives[i] = true, true
	delete(h.announced, i)
	delete(h.stale, i)
}

// happen lets something happen to a node.
func (h *history) happen(i, act int) {
	h.t.Helper()
	name := fmt.Sprintf("node-%d", i)
	silence := func(n *corev1.Node) {
		silent(n)
		condition(n, corev1.NodeReady).LastTransitionTime = metav1.Now()
	}
	switch {
	case !h.exists[i]:
		h.join(i)
	case act == 4 || act == 8: // Its instance is released, by the autoscaler or another.
		if act == 8 {
			h.UpdateNode(name, leaving)
			h.announced[i] = true
		}
		delete(h.stale, i)
		h.vanish(i)
		delete(h.hidden, fmt.Sprintf("i-%d", i))
		h.lives[i] = false
		h.UpdateNode(name, silence)
	case act == 5:
		h.UpdateNode(name, silence)
		delete(h.stale, i)
	case act == 6:
		h.UpdateNode(name, ready)
		h.stale[i] = !h.lives[i]
	default: // Its user deletes it.
		h.DeleteNode(name)
		delete(h.exists, i)
	}
}

// change edits an instance, whether or not the cloud shows it at present.
func (h *history) change(i int, edit func(*state.Instance)) {
	h.cloud.Lock()
	defer h.cloud.Unlock()
	for _, all := range []map[string]*state.Instance{h.cloud.Instances, h.hidden} {
		if instance := all[fmt.Sprintf("i-%d", i)]; instance != nil {
			edit(instance)
		}
	}
}

// tagged gives an instance the tag of a rule, or takes it off.
func (h *history) tagged(i int, value string) {
	h.change(i, func(instance *state.Instance) {
		instance.Tags = instance.Tags[:1]
		if value != "" {
			instance.Tags = append(instance.Tags, state.Tag{Key: "team", Value: value})
		}
	})
}

// turned stops or starts an instance. Its kubelet does not have to have noticed.
func (h *history) turned(i int, status string) {
	h.change(i, func(instance *state.Instance) { instance.Status = status })
}

// blind hides all instances or shows them again.
func (h *history) blind(on bool) {
	h.cloud.Lock()
	defer h.cloud.Unlock()
	if h.hidden == nil {
		h.hidden = map[string]*state.Instance{}
	}
	if on {
		maps.Copy(h.hidden, h.cloud.Instances)
		clear(h.cloud.Instances)
		return
	}
	maps.Copy(h.cloud.Instances, h.hidden)
	h.hidden = nil
}

// check looks at the Nodes after less than the window of the budget.
func (h *history) check() {
	h.t.Helper()
	there := h.NodeNames()
	gone := 0
	for i := range h.exists {
		if slices.Contains(there, fmt.Sprintf("node-%d", i)) {
			continue
		}
		if delete(h.exists, i); h.lives[i] || h.stale[i] {
			h.t.Errorf("node-%d was deleted, and its instance exists (%t) or its kubelet reports (%t)", i, h.lives[i], h.stale[i])
		}
		if !h.announced[i] {
			gone++
		}
	}
	if gone > 2 {
		h.t.Errorf("%d unannounced nodes were deleted at once, at most 2 may", gone)
	}
}

func (h *history) checkEnd() {
	h.t.Helper()
	var want []string
	for i := range h.exists {
		if h.lives[i] || h.stale[i] {
			want = append(want, fmt.Sprintf("node-%d", i))
		}
	}
	slices.Sort(want)
	if got := h.NodeNames(); !slices.Equal(got, want) {
		h.t.Errorf("nodes %v, want %v; events %v", got, want, h.Events.Matching(""))
		return
	}
	h.cloud.Lock()
	defer h.cloud.Unlock()
	for _, name := range want {
		node := h.Node(name)
		if number, _ := strconv.Atoi(strings.TrimPrefix(name, "node-")); h.stale[number] {
			if !nodes.InstanceAbsent(node) {
				h.t.Errorf("%s is not marked, and its instance is gone: events %v", name, h.Events.Matching(name))
			}
			continue
		}
		if nodes.IsUninitialized(node) || node.Labels[corev1.LabelTopologyZone] != region+"-h" || len(node.Status.Addresses) != 2 {
			h.t.Errorf("%s: taints %v, labels %v, addresses %v", name, node.Spec.Taints, node.Labels, node.Status.Addresses)
		}
		number, _ := strconv.Atoi(strings.TrimPrefix(name, "node-"))
		if label, has := node.Labels["example.com/team"]; number < 5 && has != (number%2 == 1) || has && label != "end" ||
			nodes.HasTaint(node, nodes.TaintShutdown) {
			h.t.Errorf("%s: labels %v, taints %v", name, node.Labels, node.Spec.Taints)
		}
		if h.cloud.Interfaces["eni-"+strings.TrimPrefix(name, "node-")].SourceDestCheck {
			h.t.Errorf("the source/destination check of %s is on", name)
		}
	}
}
