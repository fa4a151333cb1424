package controller

import (
	"cmp"
	"sync"

	"alicloud-controllers.dev/routecontroller/internal/table"
)

// claim is one route of one node; its Key is zero if the node does not say which.
type claim struct {
	node string
	table.Key
}

// verdict is what a pass over one table says about a claim.
type verdict struct {
	ready bool
	// err is why not, for people; nil if it is but a matter of time.
	err error
	// part is what of the node err is about, for kube.Events.
	part string
	// cause is err where it stays the same until a user acts or a long time has passed, which makes it fit for the condition.
	cause string
}

// claimVerdicts collects the verdicts of all tables, for the conditions of the nodes: a node's network is there only when its routes are
// there in every table.
type claimVerdicts struct {
	mu       sync.Mutex
	expected []string
	verdicts map[string]map[claim]verdict // by table
}

func newClaimVerdicts() *claimVerdicts {
	return &claimVerdicts{verdicts: map[string]map[claim]verdict{}}
}

// expect names the tables that have to agree.
func (b *claimVerdicts) expect(tableIDs []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expected = tableIDs
}

// post replaces the verdicts of a table.
func (b *claimVerdicts) post(tableID string, verdicts map[claim]verdict) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.verdicts[tableID] = verdicts
}

// ready reports whether the routes of a node are ready in all tables, and the first lasting cause why not. It is not known as long as a
// table has not said anything about these very routes, be it because the table was not read yet or because the node has changed since.
func (b *claimVerdicts) ready(node string, keys []table.Key) (ready, known bool, cause string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	ready = true
	for _, id := range b.expected {
		for _, key := range keys {
			v, ok := b.verdicts[id][claim{node, key}]
			if !ok {
				return false, false, ""
			}
			ready, cause = ready && v.ready, cmp.Or(cause, v.cause)
		}
	}
	return ready, len(b.expected) > 0, cause
}
