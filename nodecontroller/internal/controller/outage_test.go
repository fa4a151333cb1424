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
	"alicloud-controllers.dev/services/nodes"

	"alicloud-controllers.dev/nodecontroller/internal/controller"
)

// TestGatewayComesBack lets the gateway go away for an hour while 20 nodes join. Delays grow to minutes meanwhile, and
// end with the outage: the connection, the one of the process with its TLS and its health checks, is made again and has
// the controller try at once.
func TestGatewayComesBack(t *testing.T) {
	const many = 20
	var remote *gatewaytest.Remote
	var conn *gateway.Conn
	prepare := func(w *world) {
		remote = w.cloud.Remote()
		remote.Start()
		conn = remote.Dial()
	}
	edit := func(cfg *controller.Config) { cfg.Gateway = conn.Client() }
	run(t, edit, prepare, func(w *world) {
		ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context())) // The end of the test comes from outside of the bubble.
		var watching sync.WaitGroup
		watching.Go(func() {
			if err := conn.Watch(ctx, w.started.Resume); err != nil {
				t.Error(err)
			}
		})
		waiting := func() int {
			n := 0
			for i := range many {
				if nodes.IsUninitialized(w.Node(fmt.Sprintf("node-%d", i))) {
					n++
				}
			}
			return n
		}
		w.Pass(time.Minute)
		if err := conn.Ready(ctx); err != nil {
			t.Errorf("before the outage: %v", err)
		}
		remote.Stop()
		furnished(many)(w)
		w.Pass(time.Hour)
		if got := w.Events.Matching("SyncNodeFailed"); waiting() != many || len(got) < many ||
			!strings.Contains(got[0], "look whether cloudgateway runs") {
			t.Errorf("%d nodes wait during the outage, want all %d; events %q", waiting(), many, got)
		}
		remote.Start()
		w.Pass(30 * time.Second)
		if n := waiting(); n != 0 {
			t.Errorf("%d nodes still wait 30 s after the return of the gateway", n)
		}
		cancel()
		watching.Wait()
	})
}
