package lb_test

import (
	"slices"
	"testing"
	"time"

	"alicloud-controllers.dev/lbcontroller/internal/config"
)

// TestNodesWithinTwoSeconds: nodes that join within two seconds cost one call, however they are spread, with the gathering that is
// the default.
func TestNodesWithinTwoSeconds(t *testing.T) {
	const nodes, span = 30, 2 * time.Second
	tests := []struct {
		name string
		last int // so many come at the end of the span, the others at its beginning; 0: evenly
	}{
		{name: "evenly"},
		{name: "one straggler", last: 1},
		{name: "a third later", last: 10},
		{name: "one ahead", last: nodes - 1},
		{name: "all at once", last: nodes},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inWorld(t, 2, func(w *world) {
				w.config = func(cfg *settings) {
					gather := config.Default().NodeGather
					cfg.Controller.NodeQuiet, cfg.Controller.NodeMax = time.Duration(gather.Quiet), time.Duration(gather.Max)
				}
				w.restart()
				w.create(web())
				w.calls()
				pauses := make([]time.Duration, nodes)
				switch tt.last {
				case 0:
					pauses = slices.Repeat([]time.Duration{span / nodes}, nodes)
				default:
					pauses[nodes-tt.last] = span - time.Millisecond
				}
				for n, pause := range pauses {
					w.after(pause)
					w.addNode(3 + n)
				}
				w.settle()
				check(t, "calls", []string{"ApplyServerChanges"}, w.calls())
				check(t, "number of servers", 2+nodes, len(w.servers()))
			})
		})
	}
}
