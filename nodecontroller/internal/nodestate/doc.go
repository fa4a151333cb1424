// Package nodestate decides what to write to a node whose instance is known. It is pure: the same node and instance
// always give the same change, and a node that has everything gives an empty one.
//
// [Decide] makes a [Change] of a node, its instance and the [Options] of the configuration; the controller writes it as
// one patch of the status and one of the Node. [Home] says where instances of this cluster are: the controller makes it
// of what it is configured with and the cloud answers. [Plan] is what the cloud has planned for an instance, and
// [Announce] the Change that says so.
package nodestate
