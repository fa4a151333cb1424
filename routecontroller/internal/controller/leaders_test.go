package controller_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kubetesting "k8s.io/client-go/testing"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/routecontroller/internal/controller"
)

// inWorld lets body play in a world without a controller; reign lets one lead for a time and then stop at once.
func inWorld(t *testing.T, edit func(*controller.Config), body func(t *testing.T, w *world, reign func(d time.Duration))) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		reign := func(d time.Duration) {
			stop := w.reign(t, edit)
			w.Pass(d)
			stop()
		}
		body(t, w, reign)
	})
}

// gone makes n nodes with routes, and takes the Nodes and instances of the first few away while no controller is there.
func (w *world) gone(n, few int, description func(i int) string) {
	for i, node := range makeNodes(n) {
		w.entry(tableA, node.Spec.PodCIDR, fmt.Sprintf("i-%d", i), description(i))
		if i >= few {
			w.instance(node)
			w.CreateNode(node)
		}
	}
}

func marked(i int) string { return fmt.Sprintf("k8s/%s/node-%d", cluster, i) }

// TestBudgetOutlivesTheLeader kills the leader every 30 seconds while 12 of 40 routes have no Nodes, and their
// instances live. Exactly they go after the grace, and no ten minutes see more than three of them go.
func TestBudgetOutlivesTheLeader(t *testing.T) {
	t.Parallel()
	short := func(cfg *controller.Config) { cfg.Orphans.Grace = 5 * time.Minute }
	inWorld(t, short, func(t *testing.T, w *world, reign func(time.Duration)) {
		w.gone(40, 12, marked)
		for _, node := range makeNodes(12) {
			w.instance(node)
		}
		left := []int{40}
		for range 120 { // An hour.
			reign(30 * time.Second)
			left = append(left, len(w.routes(tableA)))
		}
		const window = 20 // reigns in ten minutes
		for i := window; i < len(left); i++ {
			if went := left[i-window] - left[i]; went > 3 {
				t.Fatalf("%d routes went within ten minutes, at most 3 may: %v", went, left)
			}
		}
		if last := left[len(left)-1]; last != 28 {
			t.Errorf("%d routes are left, want those of the 28 nodes: %v", last, left)
		}
		for _, call := range w.cloud.Writes() {
			request, ok := call.Request.(*vpcv1.BatchDeleteRouteEntriesRequest)
			if !ok {
				t.Errorf("%s; nothing was missing", call.Method)
			}
			for _, entry := range request.GetRouteEntries() {
				if i := netip.MustParsePrefix(entry.GetDestinationCidr()).Addr().As4()[2]; i >= 12 {
					t.Errorf("the route of node-%d is deleted, which is there", i)
				}
			}
		}
	})
}

// TestUnusableRecordStopsDeletions checks that no route without a second fact goes while the next leader would not know of it, that this is
// reported, and that other routes are made all the same.
func TestUnusableRecordStopsDeletions(t *testing.T) {
	t.Parallel()
	forbid := func(verb string) func(*world) {
		return func(w *world) {
			w.Client.PrependReactor(verb, "configmaps", func(kubetesting.Action) (bool, runtime.Object, error) {
				return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "routecontroller-deletions", nil)
			})
		}
	}
	for name, spoil := range map[string]func(*world){
		"can't be read":    forbid("get"),
		"can't be written": forbid("create"),
		"holds nonsense": func(w *world) {
			_, err := w.Client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Create(t.Context(), &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "routecontroller-deletions"},
				Data:       map[string]string{"format": "1", "record": "["},
			}, metav1.CreateOptions{})
			if err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, nil, func(t *testing.T, w *world, reign func(time.Duration)) {
				w.gone(10, 2, marked)
				w.instance(makeNode(0)) // Only the instance of node-1 is gone, which is a second fact.
				spoil(w)
				joining := makeNode(11)
				w.instance(joining)
				w.CreateNode(joining)
				reign(2 * time.Hour)
				if got := w.routes(tableA); len(got) != 10 || !slices.Contains(got, "10.0.0.0/24→i-0") {
					t.Errorf("routes %v, want one to come, and all to stay but that of node-1", got)
				}
				if n := len(w.Events.Matching("vtb-a RecordFailed: ")); n == 0 || n > 5 {
					t.Errorf("%d events in two hours: %v", n, w.Events.Matching(""))
				}
			})
		})
	}
}

// TestRouteWithoutAMarkIsRemembered takes over 500 routes without descriptions, which must cost no cloud write; and the route of a node
// that is deleted while no controller runs has to go after the grace.
func TestRouteWithoutAMarkIsRemembered(t *testing.T) {
	t.Parallel()
	inWorld(t, func(cfg *controller.Config) { cfg.RouteQuota = 1000 }, func(t *testing.T, w *world, reign func(time.Duration)) {
		w.quota(1000)
		for i := range 500 {
			node := makeNode(i)
			cidr := fmt.Sprintf("10.0.%d.%d/25", i/2, i%2*128)
			node.Spec.PodCIDR, node.Spec.PodCIDRs = cidr, []string{cidr}
			w.instance(node)
			w.CreateNode(node)
			w.entry(tableA, cidr, fmt.Sprintf("i-%d", i), "")
		}
		reign(10 * time.Minute)
		if got := w.cloud.Writes(); len(got) != 0 {
			t.Fatalf("%d cloud writes, want none", len(got))
		}
		writes := 0
		for _, action := range w.Client.Actions() {
			if action.GetResource().Resource == "configmaps" && action.GetVerb() != "get" {
				writes++
			}
		}
		if writes != 1 {
			t.Errorf("the takeover was recorded %d times, want once", writes)
		}
		w.DeleteNode("node-7")
		w.DeleteNode("node-8")
		w.release("i-7")
		reign(time.Minute)
		if n := len(w.routes(tableA)); n != 500 {
			t.Errorf("%d routes after a minute, want all", n)
		}
		reign(5 * time.Minute)
		if got := strings.Join(w.routes(tableA), " "); strings.Contains(got, "→i-7 ") || !strings.Contains(got, "→i-8 ") {
			t.Error("after the short grace, the route to the instance that is gone has to go, and only that")
		}
		reign(time.Hour)
		if got := strings.Join(w.routes(tableA), " "); strings.Contains(got, "→i-8 ") {
			t.Error("after the long grace, the route without a Node has to go")
		}
	})
}

// TestStrangersAreNotRemembered checks that the record holds nothing that was never a node's.
func TestStrangersAreNotRemembered(t *testing.T) {
	t.Parallel()
	inWorld(t, nil, func(t *testing.T, w *world, reign func(time.Duration)) {
		w.gone(3, 1, func(int) string { return "" })
		reign(3 * time.Hour)
		want := []string{"10.0.0.0/24→i-0", "10.0.1.0/24→i-1", "10.0.2.0/24→i-2"}
		if diff := cmp.Diff(want, w.routes(tableA)); diff != "" {
			t.Errorf("routes (-want +got):\n%s", diff)
		}
		record, err := w.Client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(t.Context(), "routecontroller-routes", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(
			`{"10.0.1.0/24":{"instance":"i-1","node":"node-1"},"10.0.2.0/24":{"instance":"i-2","node":"node-2"}}`,
			record.Data["record"]); diff != "" {
			t.Errorf("record (-want +got):\n%s", diff)
		}
	})
}
