// Package table describes the two sides of a route table without touching either: the routes that the nodes of a
// cluster claim, and the entries that a table of the VPC holds.
//
// [Scope] is what the controller is configured with. [Scope.Claims] makes the [Claims] of all nodes, each a [Route], or
// [Unroutable] with the reason. [Scope.EntriesOf] makes each [Entry] of what the gateway has answered.
package table
