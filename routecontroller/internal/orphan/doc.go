// Package orphan decides when routes go whose nodes are gone. A route that is deleted by mistake cuts off the pods of a
// node, so the decision needs a second fact beside the missing Node. With one, a route goes at once; without, only
// after a long time and inside of a budget. It has no clock and does no I/O.
//
// An [Orphan] is an entry of a route table without a node, with what is known of it; the controller makes them of a
// plan and of what it remembers. [Decide] makes a [Verdict] of all of a table by a [Policy] of the configuration and by
// [Facts] about the rest of the table.
package orphan
