package controller

import (
	"sync"

	"alicloud-controllers.dev/routecontroller/internal/table"
)

// verdict is what a pass over one table says about the route of one node.
type verdict struct {
	// Key is the route it is about; zero if the node has none.
	table.Key
	ready bool
	// message says why not, for people; empty if it is but a matter of time.
	message string
}

// board collects the verdicts of all tables, for the conditions of the nodes: a node's network is there only when its route is
// there in every table.
type board struct {
	mu       sync.Mutex
	expected []string
	verdicts map[string]map[string]verdict // table → node
}

func newBoard() *board { return &board{verdicts: map[string]map[string]verdict{}} }

// expect names the tables that have to agree.
func (b *board) expect(tableIDs []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expected = tableIDs
}

// post replaces the verdicts of a table and gives the previous ones.
func (b *board) post(tableID string, verdicts map[string]verdict) map[string]verdict {
	b.mu.Lock()
	defer b.mu.Unlock()
	previous := b.verdicts[tableID]
	b.verdicts[tableID] = verdicts
	return previous
}

// of sums up the verdicts about a node's route. It tells false as long as a table has not said anything about that very
// route, be it because the table was not read yet or because the node has changed since.
func (b *board) of(node string, key table.Key) (verdict, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	sum := verdict{Key: key, ready: true}
	for _, id := range b.expected {
		v, ok := b.verdicts[id][node]
		if !ok || v.Key != key {
			return verdict{}, false
		}
		if !v.ready {
			sum = v
		}
	}
	return sum, len(b.expected) > 0
}
