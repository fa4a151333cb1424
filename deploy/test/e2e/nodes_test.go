package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/cloudgateway/openapisim/journal"
	"alicloud-controllers.dev/deploy/tools/local/world"
)

// confirmation is the time that has to pass between two answers without an instance before its node may go. No configuration is below it.
const confirmation = time.Minute

// TestNodes is the life of nodes with addresses and ranges of both families: they join; four instances are released, their kubelets fall
// silent, kube-controller-manager says so, and after a real minute their nodes and routes go in the budget; meanwhile other nodes join and
// leave while the leaders of both controllers are killed again and again, and each next one takes over when the lease has ended. No other
// node may go, and no other route.
func TestNodes(t *testing.T) {
	t.Parallel()
	w := bootWith(t, world.Config{
		Nodes: 4, Controllers: []string{world.Node, world.Route}, Fast: true, DualStack: true,
		// kube-controller-manager looks at kubelets every five seconds, and may find the four silent in two looks.
		Node: map[string]any{"syncInterval": "2s", "deletion": map[string]any{"silence": "0s", "window": "20s", "percent": 5}},
		Route: map[string]any{
			"gather": map[string]any{"quiet": "200ms", "max": "1s"}, "orphanGrace": "5s", "deletion": map[string]any{"window": "2s"},
		},
	})
	w.initialised(t)
	d := &drama{testWorld: w, gone: map[string]bool{}}
	t.Run("two families", d.twoFamilies)
	all := w.nodes(t)
	mutes := d.mutes(t)
	released := d.release(t, mutes)
	t.Run("killed leaders", func(t *testing.T) { d.killed(t, all) })
	t.Run("released instances", func(t *testing.T) { d.released(t, mutes, released) })
	w.initialised(t)
	w.routed(t)
	d.checkJournal(t)
	for _, eni := range w.state(t).Interfaces {
		if eni.SourceDestCheck {
			t.Errorf("the source and destination check of %s is on", eni.ID)
		}
	}
}

// drama is what happens in TestNodes.
type drama struct {
	testWorld

	// gone are the instances that were taken away.
	gone map[string]bool
}

func (w testWorld) nodes(t *testing.T) []corev1.Node {
	t.Helper()
	list, err := w.Client().CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatalf("list nodes: %v", err)
	}
	return list.Items
}

// routes are the custom entries of the cluster's table: instances by destination.
func (w testWorld) routes(t *testing.T) map[netip.Prefix]string {
	t.Helper()
	routes := map[netip.Prefix]string{}
	for _, e := range w.state(t).RouteTables[world.RouteTableID].Entries {
		if e.Type == "Custom" {
			routes[netip.MustParsePrefix(e.Cidr)] = e.NextHopID
		}
	}
	return routes
}

// wantedRoutes are those of some nodes.
func wantedRoutes(nodes []corev1.Node) map[netip.Prefix]string {
	routes := map[netip.Prefix]string{}
	for _, node := range nodes {
		for _, cidr := range node.Spec.PodCIDRs {
			routes[netip.MustParsePrefix(cidr)] = instanceOf(&node)
		}
	}
	return routes
}

// diffRoutes compares what somebody wants with what there is.
func diffRoutes(want, got map[netip.Prefix]string) string {
	return cmp.Diff(texts(want), texts(got))
}

func texts(routes map[netip.Prefix]string) []string {
	var list []string
	for cidr, instance := range routes {
		list = append(list, cidr.String()+" to "+instance)
	}
	slices.Sort(list)
	return list
}

// routed waits until the table has the routes of all nodes and no others.
func (w testWorld) routed(t *testing.T) {
	t.Helper()
	eventually(t, "the table has the routes of all nodes", func(context.Context) error {
		if diff := diffRoutes(wantedRoutes(w.nodes(t)), w.routes(t)); diff != "" {
			return fmt.Errorf("routes (-want +got):\n%s", diff)
		}
		return nil
	})
}

// eventsAbout gives the events about an object of a kind with a reason; without a name, about all of the kind.
func (w testWorld) eventsAbout(t *testing.T, kind, name, reason string) []corev1.Event {
	t.Helper()
	selector := "involvedObject.kind=" + kind + ",reason=" + reason
	if name != "" {
		selector += ",involvedObject.name=" + name
	}
	list, err := w.Client().CoreV1().Events(metav1.NamespaceAll).List(t.Context(), metav1.ListOptions{FieldSelector: selector})
	if err != nil {
		t.Fatalf("list events: %v", err)
	}
	return list.Items
}

// eventuallyEvent waits for an event whose message has a text.
func (w testWorld) eventuallyEvent(t *testing.T, kind, name, reason, text string) {
	t.Helper()
	eventually(t, fmt.Sprintf("event %s about %s %s", reason, kind, name), func(context.Context) error {
		var messages []string
		for _, e := range w.eventsAbout(t, kind, name, reason) {
			if strings.Contains(e.Message, text) {
				return nil
			}
			messages = append(messages, e.InvolvedObject.Name+": "+e.Message)
		}
		return fmt.Errorf("none has %q: %q", text, messages)
	})
}

// twoFamilies checks addresses, routes and conditions of nodes of two families, and that a node with a route of one family only is not
// available.
func (d *drama) twoFamilies(t *testing.T) {
	interfaces := d.state(t).Interfaces
	for _, node := range d.nodes(t) {
		var want []corev1.NodeAddress
		for _, eni := range interfaces {
			if eni.InstanceID == instanceOf(&node) {
				want = append(want, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: eni.PrimaryIP},
					corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: eni.Ipv6Addresses[0]})
			}
		}
		if diff := cmp.Diff(want, node.Status.Addresses); diff != "" || len(want) != 2 {
			t.Errorf("addresses of %s (-want +got):\n%s", node.Name, diff)
		}
		if n := len(node.Spec.PodCIDRs); n != 2 {
			t.Errorf("%s has %d ranges of pods: %v", node.Name, n, node.Spec.PodCIDRs)
		}
	}
	d.routed(t)

	refusal := &fault.Error{Code: "QuotaExceeded", Message: "no more"}
	err := d.Cloud().SetFaults(t.Context(),
		fault.Rule{Action: "CreateRouteEntries", Item: map[string]string{"DstCidrBlock": "fd00*"}, Error: refusal},
		fault.Rule{Action: "CreateRouteEntry", Params: map[string]string{"DestinationCidrBlock": "fd00*"}, Error: refusal},
	)
	if err != nil {
		t.Fatal(err)
	}
	names, err := d.AddNodes(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	d.eventuallyEvent(t, "Node", names[0], "CreateRouteFailed", "create route fd00:10:")
	eventually(t, "the node is not available with a route of one family", func(ctx context.Context) error {
		node, err := d.Client().CoreV1().Nodes().Get(ctx, names[0], metav1.GetOptions{})
		if err != nil {
			return err
		}
		switch got := condition(node, corev1.NodeNetworkUnavailable); got {
		case corev1.ConditionTrue:
			return nil
		case "":
			return errors.New("the condition is not written yet") // It is queued behind the event.
		default:
			t.Fatalf("NetworkUnavailable is %q", got)
			return nil
		}
	})
	if err := d.Cloud().ClearFaults(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.initialised(t)
	d.routed(t)
}

// mutes makes four nodes with routes, whose kubelets do not report again.
func (d *drama) mutes(t *testing.T) []corev1.Node {
	t.Helper()
	names, err := d.AddMutes(t.Context(), 4)
	if err != nil {
		t.Fatal(err)
	}
	d.initialised(t)
	return slices.DeleteFunc(d.nodes(t), func(n corev1.Node) bool { return !slices.Contains(names, n.Name) })
}

// release deletes the instances of nodes, and returns when it began.
func (d *drama) release(t *testing.T, nodes []corev1.Node) time.Time {
	t.Helper()
	start := time.Now()
	for _, node := range nodes {
		d.gone[instanceOf(&node)] = true
		if err := d.DeleteInstance(t.Context(), instanceOf(&node)); err != nil {
			t.Fatal(err)
		}
	}
	return start
}

// released waits until the nodes whose instances are gone since start go, and their routes.
func (d *drama) released(t *testing.T, nodes []corev1.Node, start time.Time) {
	left := func() (there []string) {
		for _, node := range d.nodes(t) {
			if slices.ContainsFunc(nodes, func(n corev1.Node) bool { return n.Name == node.Name }) {
				there = append(there, node.Name)
			}
		}
		return there
	}
	eventually(t, "the nodes go", func(context.Context) error {
		if there := left(); len(there) > 0 {
			return fmt.Errorf("%v are there", there)
		}
		return nil
	})
	t.Logf("the nodes were gone %s after their instances", time.Since(start).Round(time.Second))
	for _, e := range d.eventsAbout(t, "Node", "", "DeletedNode") {
		if took := e.FirstTimestamp.Sub(start); took < confirmation-time.Second { // The times of events are whole seconds.
			t.Errorf("%s went after %s, before the instance was asked for a second time", e.InvolvedObject.Name, took)
		}
	}
	// Four are more than the three nodes that may go at once. Their routes wait for nothing then.
	d.eventuallyEvent(t, "Node", "", "DeleteNodeFailed", "too many nodes were deleted lately")
	eventually(t, "their routes go", func(context.Context) error {
		there := d.routes(t)
		for cidr, instance := range wantedRoutes(nodes) {
			if there[cidr] == instance {
				return fmt.Errorf("%s to %s is there", cidr, instance)
			}
		}
		return nil
	})
	calls, _, err := d.Cloud().Calls(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range nodes {
		id := instanceOf(&node)
		if !slices.ContainsFunc(calls, func(c journal.Call) bool {
			return c.Action == "DescribeNetworkInterfaces" && c.Time.After(start) && c.Params["InstanceId"] == id
		}) {
			t.Errorf("nobody asked for the network interfaces of %s, the instance of %s", id, node.Name)
		}
	}
}

// internalIP is the IPv4 address of a node.
func internalIP(node *corev1.Node) string {
	for _, a := range node.Status.Addresses {
		if a.Type == corev1.NodeInternalIP && netip.MustParseAddr(a.Address).Is4() {
			return a.Address
		}
	}
	return ""
}

// killed lets nodes join and leave, and kills one controller after the other while it works.
func (d *drama) killed(t *testing.T, others []corev1.Node) {
	const rounds = 8
	random := rand.New(rand.NewPCG(seed(t), 0))
	uids := map[string]types.UID{}
	for _, node := range others {
		uids[node.Name] = node.UID
	}
	for round := range rounds {
		names, err := d.AddNodes(t.Context(), 1+random.IntN(3))
		if err != nil {
			t.Fatal(err)
		}
		victim := []string{world.Node, world.Route}[round%2]
		d.afterCalls(t, 1+random.IntN(6))
		if round%2 == 1 {
			d.leave(t, uids, slices.Sorted(maps.Keys(uids))[random.IntN(len(uids))])
		}
		for _, name := range names {
			node, err := d.Client().CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
			if err != nil {
				t.Fatalf("a node that has just joined: %v", err)
			}
			uids[name] = node.UID
		}
		t.Logf("%s is killed with %d of %d nodes not served", victim, d.unserved(t), len(uids))
		d.killLeader(t, victim)
	}
	eventually(t, "every node is served", func(context.Context) error {
		if n := d.unserved(t); n > 0 {
			return fmt.Errorf("%d are not", n)
		}
		return nil
	})
	there := map[string]types.UID{}
	for _, node := range d.nodes(t) {
		if _, ours := uids[node.Name]; ours {
			there[node.Name] = node.UID
		}
	}
	if diff := cmp.Diff(uids, there); diff != "" {
		t.Errorf("nodes with instances (-want +got):\n%s", diff)
	}
}

// leave takes a node away, as a scale-in does.
func (d *drama) leave(t *testing.T, uids map[string]types.UID, name string) {
	t.Helper()
	node, err := d.Client().CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatalf("a node with an instance: %v", err)
	}
	delete(uids, name)
	d.gone[instanceOf(node)] = true
	if err := d.RemoveNode(t.Context(), name); err != nil {
		t.Fatal(err)
	}
}

// unserved counts the nodes that may not run pods yet.
func (w testWorld) unserved(t *testing.T) int {
	t.Helper()
	n := 0
	for _, node := range w.nodes(t) {
		silent := condition(&node, corev1.NodeReady) == corev1.ConditionUnknown
		if !silent && (len(node.Spec.Taints) > 0 || condition(&node, corev1.NodeNetworkUnavailable) != corev1.ConditionFalse) {
			n++
		}
	}
	return n
}

// checkJournal reads in the journal that no route was made twice, and that none went but those of instances that are gone.
func (d *drama) checkJournal(t *testing.T) {
	t.Helper()
	calls, _, err := d.Cloud().Calls(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	made := map[string]int{}
	for _, call := range calls {
		if !call.Effect || call.Product != "vpc" {
			continue
		}
		for _, e := range entriesOf(call) {
			switch {
			case strings.HasPrefix(call.Action, "CreateRoute"):
				made[e.cidr+" to "+e.instance]++
			case strings.HasPrefix(call.Action, "DeleteRoute") && !d.gone[e.instance]:
				t.Errorf("the route %s to %s was deleted, and its node lives", e.cidr, e.instance)
			}
		}
	}
	for route, n := range made {
		// The fault of the test refuses routes of one family, which are tried again.
		if n > 1 && !strings.HasPrefix(route, "fd00:") {
			t.Errorf("the route %s was made %d times", route, n)
		}
	}
}

// routeEntry is one that a call is about.
type routeEntry struct{ cidr, instance string }

// entriesOf are the route entries that a call makes or deletes.
func entriesOf(call journal.Call) []routeEntry {
	if cidr := call.Params["DestinationCidrBlock"]; cidr != "" {
		return []routeEntry{{cidr, call.Params["NextHopId"]}}
	}
	var entries []routeEntry
	for i := 1; ; i++ {
		prefix := "RouteEntries." + strconv.Itoa(i) + "."
		cidr := call.Params[prefix+"DstCidrBlock"]
		if cidr == "" {
			return entries
		}
		entries = append(entries, routeEntry{cidr, call.Params[prefix+"NextHop"]})
	}
}
