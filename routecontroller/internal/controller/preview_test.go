package controller_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/routecontroller/internal/controller"
)

// TestPreview asks what would change in a table with entries of all kinds. Nothing is written.
func TestPreview(t *testing.T) {
	t.Parallel()
	inWorld(t, nil, func(t *testing.T, w *world, _ func(time.Duration)) {
		for _, node := range makeNodes(4) {
			w.instance(node)
			w.CreateNode(node)
		}
		w.entry(tableA, "10.0.0.0/24", "i-0", "")
		w.entry(tableA, "10.0.1.0/24", "i-gone", "k8s/c-1/node-1")
		w.entry(tableA, "10.0.2.0/24", "i-0", "k8s/c-1/node-0")
		w.entry(tableA, "10.0.3.0/24", "i-other", "by hand")
		w.entry(tableA, "10.0.9.0/24", "i-9", "k8s/c-1/node-9")
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
		want := strings.Join([]string{
			"vtb-a: create 10.0.1.0/24 to i-1 of node node-1",
			"vtb-a: create 10.0.2.0/24 to i-2 of node node-2",
			"vtb-a: delete 10.0.1.0/24 to i-gone: it is in the way of a node's route",
			"vtb-a: delete 10.0.2.0/24 to i-0: it is in the way of a node's route",
			"vtb-a: without a node 10.0.9.0/24 to i-9: without a node since 2000-01-01T00:00:00Z",
			"vtb-a: problem 10.0.3.0/24 to i-3 of node node-3: destination 10.0.3.0/24 is taken by an entry to i-other (\"by hand\") that " +
				"is not of this cluster; " +
				"delete it to let the route be created",
			"vtb-a: 2 routes would be made and 2 deleted, 1 have no node, 1 have a problem, 1 are available, 0 are pending.",
			"",
		}, "\n")
		if diff := cmp.Diff(want, text.String()); diff != "" {
			t.Errorf("text (-want +got):\n%s", diff)
		}
		w.WantReadsOnly(w.cloud.Connection)
	})
}
