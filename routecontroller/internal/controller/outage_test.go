package controller_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/routecontroller/internal/controller"
)

// TestGatewayComesBack lets the gateway go away for an hour while 20 nodes join. The delay between two tries grows
// meanwhile, and ends with the outage: the connection, the one of the process with its TLS and its health checks, is
// made again and has the controller try at once.
func TestGatewayComesBack(t *testing.T) {
	t.Parallel()
	const before, many = 5, 25
	var remote *gatewaytest.Remote
	var conn *gateway.Conn
	prepare := func(w *world) {
		remote = w.cloud.Remote()
		remote.Start()
		conn = remote.Dial()
	}
	edit := func(cfg *controller.Config) { cfg.Gateway = conn.Client() }
	run(t, edit, makeNodes(before), prepare, func(w *world) {
		ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context())) // The end of the test comes from outside of the bubble.
		var watching sync.WaitGroup
		watching.Go(func() {
			if err := conn.Watch(ctx, w.started.Resume); err != nil {
				t.Error(err)
			}
		})
		connected := func() int {
			n := 0
			for i := range many {
				if w.network(fmt.Sprintf("node-%d", i)) == "False RouteCreated" {
					n++
				}
			}
			return n
		}
		w.Pass(time.Minute)
		remote.Stop()
		for i := before; i < many; i++ {
			node := makeNode(i)
			w.instance(node)
			w.CreateNode(node)
		}
		w.Pass(time.Hour)
		got := w.Events.Matching("vtb-a SyncRouteFailed")
		if n := len(w.routes(tableA)); n != before || connected() != before || len(got) == 0 ||
			!strings.Contains(got[0], "look whether cloudgateway runs") {
			t.Errorf("%d routes and %d nodes with a network during the outage, want %d; events %q", n, connected(), before, got)
		}
		remote.Start()
		w.Pass(30 * time.Second)
		if n := len(w.routes(tableA)); n != many || connected() != many {
			t.Errorf("%d routes and %d nodes with a network 30 s after the return of the gateway, want %d", n, connected(), many)
		}
		cancel()
		watching.Wait()
	})
}
