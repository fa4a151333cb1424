// Package addresses decides which addresses a node has. It is pure.
//
// [Of] makes the addresses of a node of its instance, which the controller has read, and of those that the node has.
// [Loses] says whether a change would take one away.
package addresses
