// Package lifecycle decides which nodes are deleted because their instances are gone. Deleting a node evicts all its
// pods, so that the decision needs more than one proof: a kubelet that has been silent for a while and two proofs some
// time apart, or the word of whoever took the instance away. How many go unannounced is bounded. It has no clock and
// does no I/O, and what it has to remember is a value, so that the next leader goes on with it.
//
// An [Observation] is a node in one sweep of the controller, with the [Answer] of the cloud about its instance.
// [Decide] makes a [Verdict] of all Observations, and [Allow] picks those that go now by the [Policy] of the
// configuration. Both give the next [State], which the controller keeps.
package lifecycle
