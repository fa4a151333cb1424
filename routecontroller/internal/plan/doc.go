// Package plan decides what has to change in a route table. It is pure: claims and entries in, a plan out.
//
// [Diff] makes a [Plan] of an [Input] (the claims of the nodes and the entries of a table, both of package table, and
// the [InstanceState] of instances) and of a [Policy], which the controller makes of its configuration. A [Refusal] is
// a route that can't be had without touching what is not ours, and an [Obstacle] an entry of ours that is in the way of
// one.
package plan
