package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/deploy/chart"
	"alicloud-controllers.dev/deploy/tools/local/world"
)

// The ConfigMaps in which the controllers write down for the next leader what they have seen.
const nodeRecord, routeRecord = "nodecontroller-deletions", "routecontroller-deletions"

// TestBadWitnesses lets the cloud, the gateway and the API server say wrong things for an hour each, while six kubelets are silent and two
// routes have lost their Nodes though their instances live. No node and no route may go, and an event and a metric have to say why. Then
// instances are really released, and exactly their nodes and routes go, in the budget, with the leaders killed every 30 seconds. At last
// another cluster with the same id and the same pod ranges runs beside this one for an hour, and no route of either goes.
//
// The periods that bound deletions are the defaults, but for how long a kubelet has to be silent. An hour takes seconds: both leaders are
// killed, the times in their records are moved into the past, and the next leaders go on with these. The hour of a bad witness has two
// leaders, who look at minute 0 and at minute 55.
//
// What the real processes, the real gateway and the real API server do is shown here. That one leader which stays for the whole hour, in
// virtual time, does the same is shown in the packages of the controllers: by TestBadWitnesses and TestNodeDeletionsOutliveTheLeader of
// nodecontroller/internal/controller, and by TestBadAnswersAboutInstances, TestUnreadableTable, TestNodesThatVanishFromTheAPI,
// TestTwoClustersWithOneID, TestTwoClustersWithOneIDAndRange and TestBudgetOutlivesTheLeader of routecontroller/internal/controller. There the
// leaders die every 30 seconds until all is done. That a node goes only after a minute is shown by TestNodes, in real time.
func TestBadWitnesses(t *testing.T) {
	t.Parallel()
	w := bootWith(t, world.Config{
		Nodes: 14, Controllers: []string{world.Node, world.Route}, Fast: true, Node: impatientNode(), Route: impatientRoute(),
		// A cloud that throttles makes calls wait for the window of a limit: here a second, not a minute.
		Gateway: map[string]any{"budget": map[string]any{"overrides": map[string]any{"ecs/DescribeInstances": map[string]any{"calls": 100, "window": "1s"}}}},
	})
	w.initialised(t)
	j := &jury{testWorld: w}
	j.prepare(t)
	for _, b := range j.badWitnesses() {
		if !t.Run(b.name, func(t *testing.T) { j.hour(t, b) }) {
			return // The next one would begin with what this one left.
		}
	}
	if t.Run("released instances", j.released) {
		t.Run("two clusters with one id", j.twoClusters)
	}
}

// impatientNode and impatientRoute let the controllers look at once, and often.
func impatientNode() map[string]any {
	return map[string]any{"syncInterval": "1s", "deletion": map[string]any{"silence": "0s"}}
}

func impatientRoute() map[string]any {
	return map[string]any{"gather": map[string]any{"quiet": "200ms", "max": "1s"}}
}

// jury is a cluster whose controllers hear witnesses.
type jury struct {
	testWorld

	silent  []string                // nodes whose kubelets are silent
	orphans []corev1.Node           // nodes that were deleted while nobody watched; their instances live
	before  map[netip.Prefix]string // routes, all of which lead to living instances
}

// silent is how many kubelets are.
const silent = 6

// prepare makes six kubelets silent and two routes orphans.
func (j *jury) prepare(t *testing.T) {
	t.Helper()
	j.orphans = j.nodes(t)[:2]
	var err error
	if j.silent, err = j.AddMutes(t.Context(), silent); err != nil {
		t.Fatal(err)
	}
	j.initialised(t)
	all := j.nodes(t)
	j.silence(t, j.silent...)
	j.depose(t)
	for _, node := range j.orphans {
		j.deleteNode(t, node.Name)
	}
	j.before = j.routes(t)
	if diff := diffRoutes(wantedRoutes(all), j.before); diff != "" {
		t.Fatalf("routes (-want +got):\n%s", diff)
	}
}

// silence does at once what kube-controller-manager does when it has not heard of a kubelet for a while.
func (j *jury) silence(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		eventually(t, name+" is silent", func(ctx context.Context) error {
			node, err := j.Client().CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			conditions := slices.DeleteFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
			node.Status.Conditions = append(conditions, corev1.NodeCondition{
				Type: corev1.NodeReady, Status: corev1.ConditionUnknown, Reason: "NodeStatusUnknown", LastTransitionTime: metav1.Now(), LastHeartbeatTime: metav1.Now(),
			})
			_, err = j.Client().CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{})
			return err
		})
	}
}

func (j *jury) deleteNode(t *testing.T, name string) {
	t.Helper()
	if err := j.Client().CoreV1().Nodes().Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// depose ends both leaders as a crash does, and their leases, whose end the next ones would only wait for.
func (w testWorld) depose(t *testing.T) {
	t.Helper()
	for _, name := range []string{world.Node, world.Route} {
		if err := w.Kill(name); err != nil {
			t.Fatal(err)
		}
		err := w.Client().CoordinationV1().Leases(chart.Namespace).Delete(t.Context(), name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
	}
}

// enthrone starts both controllers, and returns when they have seen and said what is awaited. They may not be ready, for that needs the
// gateway.
func (w testWorld) enthrone(t *testing.T, awaited func(ctx context.Context) error) {
	t.Helper()
	eventually(t, "the controllers look", func(ctx context.Context) error {
		for _, name := range []string{world.Node, world.Route} {
			if p := w.Process(name); !p.Running() { // One that can't renew its Lease ends, as it should.
				if err := p.Start(); err != nil {
					return err
				}
			}
		}
		return awaited(ctx)
	})
}

// looked gives nil once the controllers have looked at the instances of the nodes and, if they can, at a route table.
func (w testWorld) looked(ctx context.Context, table bool) error {
	if n := w.metric(ctx, world.Node, `ccm_node_latencies_duration_milliseconds_count{verb="reconcile"}`); n < 1 {
		return fmt.Errorf("%v looks at the instances", n)
	}
	if n := w.metric(ctx, world.Route, `ccm_route_latencies_duration_milliseconds_count{verb="reconcile"}`); table && n < 1 {
		return fmt.Errorf("%v looks at the table", n)
	}
	return nil
}

// metric reads a value off the page of a process; -1 if it isn't there.
func (w testWorld) metric(ctx context.Context, process, series string) float64 {
	page, err := fetch(ctx, w.AdminURL(process)+"/metrics")
	if err != nil {
		return -1
	}
	for line := range strings.Lines(page) {
		if text, ok := strings.CutPrefix(line, series+" "); ok {
			if value, err := strconv.ParseFloat(strings.TrimSpace(text), 64); err == nil {
				return value
			}
		}
	}
	return -1
}

// age moves all times in the records of the controllers into the past. Nobody may lead.
func (w testWorld) age(t *testing.T, by time.Duration) {
	t.Helper()
	maps := w.Client().CoreV1().ConfigMaps(chart.Namespace)
	for _, name := range []string{nodeRecord, routeRecord} {
		eventually(t, name+" is aged", func(ctx context.Context) error { // The last write of the one that was killed may come late.
			record, err := maps.Get(ctx, name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return nil // Nothing was written down.
			}
			if err != nil {
				return err
			}
			var value any
			if err := json.Unmarshal([]byte(record.Data["record"]), &value); err != nil {
				return err
			}
			text, err := json.Marshal(earlier(value, by))
			if err != nil {
				return err
			}
			record.Data["record"] = string(text)
			_, err = maps.Update(ctx, record, metav1.UpdateOptions{})
			return err
		})
	}
}

// earlier is a document with all its times moved into the past.
func earlier(value any, by time.Duration) any {
	switch v := value.(type) {
	case map[string]any:
		for key := range v {
			v[key] = earlier(v[key], by)
		}
	case []any:
		for i := range v {
			v[i] = earlier(v[i], by)
		}
	case string:
		if at, err := time.Parse(time.RFC3339Nano, v); err == nil {
			return at.Add(-by).Format(time.RFC3339Nano)
		}
	}
	return value
}

// forget removes the records.
func (w testWorld) forget(t *testing.T) {
	t.Helper()
	for _, name := range []string{nodeRecord, routeRecord} {
		err := w.Client().CoreV1().ConfigMaps(chart.Namespace).Delete(t.Context(), name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
	}
}

func (w testWorld) forgetEvents(t *testing.T) {
	t.Helper()
	for _, namespace := range []string{metav1.NamespaceDefault, metav1.NamespaceSystem} {
		if err := w.Client().CoreV1().Events(namespace).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// aged leaves of the hour after which routes without a Node go what two leaders need on a slow machine.
const aged = 55 * time.Minute

// hour hears a bad witness for an hour.
func (j *jury) hour(t *testing.T, b badWitness) {
	j.depose(t)
	j.forget(t)
	mend := b.spoil(t)
	defer mend(t)
	_, since, err := j.Cloud().Calls(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	there := j.uids(t)
	j.enthrone(t, func(ctx context.Context) error { return j.looked(ctx, b.reason != "") })
	j.depose(t)
	j.age(t, aged)
	j.forgetEvents(t)
	j.enthrone(t, func(ctx context.Context) error { return j.explained(ctx, t, b) })
	j.depose(t)
	if diff := cmp.Diff(there, j.uids(t)); diff != "" {
		t.Errorf("nodes (-before +after):\n%s", diff)
	}
	if diff := diffRoutes(j.before, j.routes(t)); diff != "" {
		t.Errorf("routes (-before +after):\n%s", diff)
	}
	j.checkWrites(t, since)
}

// explained gives nil if metrics and events say why nothing is deleted. The processes are new, and so are their metrics and events.
func (j *jury) explained(ctx context.Context, t *testing.T, b badWitness) error {
	t.Helper()
	if err := j.looked(ctx, b.reason != ""); err != nil {
		return err
	}
	if b.said != "" {
		if got := j.metric(ctx, world.Node, `nodecontroller_held_deletions{cause="`+b.held+`"}`); got != float64(len(j.silent)) {
			return fmt.Errorf("metric of nodes that are held, %s: %v", b.held, got)
		}
		for _, name := range j.silent {
			if err := hasText(j.eventsAbout(t, "Node", name, "DeleteNodeFailed"), b.said); err != nil {
				return err
			}
		}
	}
	if b.reason == "" {
		return nil
	}
	if got := j.tableMetric(ctx, b.metric); got != float64(b.routes) {
		return fmt.Errorf("metric %s: %v, want %d", b.metric, got, b.routes)
	}
	return hasText(j.eventsAbout(t, "RouteTable", world.RouteTableID, b.reason), b.text)
}

func (w testWorld) tableMetric(ctx context.Context, name string) float64 {
	return w.metric(ctx, world.Route, name+`{route_table="`+world.RouteTableID+`"}`)
}

// hasRoutes gives nil if the table has exactly these routes.
func (w testWorld) hasRoutes(t *testing.T, want map[netip.Prefix]string) error {
	t.Helper()
	if diff := diffRoutes(want, w.routes(t)); diff != "" {
		return fmt.Errorf("routes (-want +got):\n%s", diff)
	}
	return nil
}

// hasText gives nil if one of the events has a text.
func hasText(events []corev1.Event, text string) error {
	var messages []string
	for _, e := range events {
		if strings.Contains(e.Message, text) {
			return nil
		}
		messages = append(messages, e.InvolvedObject.Name+": "+e.Message)
	}
	return fmt.Errorf("no event has %q: %q", text, messages)
}

// uids identify the nodes that there are.
func (w testWorld) uids(t *testing.T) map[string]string {
	t.Helper()
	uids := map[string]string{}
	for _, node := range w.nodes(t) {
		uids[node.Name] = string(node.UID)
	}
	return uids
}

// checkWrites fails if there was a write to a route table but those that are allowed.
func (w testWorld) checkWrites(t *testing.T, since int64, allowed ...string) {
	t.Helper()
	calls, _, err := w.Cloud().Calls(t.Context(), since)
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range calls {
		if call.Product == "vpc" && call.Mutating && !slices.Contains(allowed, call.Action) {
			t.Errorf("a write: %s %v", call.Action, call.Params)
		}
	}
}

// released takes the instances of four of the silent nodes away, and lets the leaders die every 30 seconds, and then at longer times.
func (j *jury) released(t *testing.T) {
	all := j.nodes(t)
	going := slices.DeleteFunc(j.nodes(t), func(n corev1.Node) bool { return !slices.Contains(j.silent[:4], n.Name) })
	j.forget(t)
	j.forgetEvents(t)
	for _, node := range going {
		if err := j.DeleteInstance(t.Context(), instanceOf(&node)); err != nil {
			t.Fatal(err)
		}
	}
	stay := j.uids(t)
	for _, node := range going {
		delete(stay, node.Name)
	}
	gone := func() int { return len(all) - len(j.nodes(t)) }
	reign := func(passed time.Duration, awaited func(ctx context.Context) error) {
		t.Helper()
		j.depose(t)
		j.age(t, passed)
		j.enthrone(t, func(ctx context.Context) error {
			if err := j.looked(ctx, true); err != nil {
				return err
			}
			return awaited(ctx)
		})
	}
	went := func(want int) func(context.Context) error {
		return func(context.Context) error {
			if n := gone(); n != want {
				return fmt.Errorf("%d nodes went, want %d", n, want)
			}
			return nil
		}
	}
	const every = 30 * time.Second
	nothing := func(context.Context) error { return nil }
	reign(0, nothing)
	reign(every, nothing)
	reign(every, went(3))
	j.forgetEvents(t)
	reign(every, func(context.Context) error {
		return hasText(j.eventsAbout(t, "Node", "", "DeleteNodeFailed"), "too many nodes were deleted lately")
	})
	reign(5*time.Minute, nothing)
	if n := gone(); n != 3 {
		t.Errorf("%d nodes went within ten minutes, at most 3 may", n)
	}
	reign(10*time.Minute, went(4))
	want := maps.Clone(j.before)
	for cidr := range wantedRoutes(going) {
		delete(want, cidr)
	}
	reign(0, nothing) // The leader of before may have died between the deletion of the Node and its look at the table.
	reign(15*time.Minute, func(context.Context) error { return j.hasRoutes(t, want) })
	j.depose(t)
	if diff := cmp.Diff(stay, j.uids(t)); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	if diff := diffRoutes(want, j.routes(t)); diff != "" {
		t.Errorf("routes (-want +got):\n%s", diff)
	}
}
