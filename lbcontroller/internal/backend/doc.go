// Package backend reduces the cluster's nodes to what decides about backends: an immutable snapshot, and the difference
// of two.
//
// [New] makes a [Set] of the nodes: the watch does, and keeps the last. A [Source] is a Set with the endpoints of a
// Service; package desired makes it, and a [Policy] of what the Service says. [Source.Choose] makes the [Choice] for a
// port: each [Backend] with its [Share] of the traffic. [Changed] says which nodes make a difference between two Sets.
package backend
