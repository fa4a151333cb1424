// Package orphan decides which load balancers, and things beside those that are gone, were made for Services of the
// cluster that no longer exist, and which of them may be deleted. It is pure: what must outlive a leader is a value.
//
// A deletion can't be undone, and the address is lost. So it takes two facts that don't depend on each other: for as
// long as the grace the API server has had no Service for the load balancer, and what is on the load balancer was made
// by this cluster and serves nothing else.
//
// [Find] makes each [Orphan] of what was listed in the cloud and of the Services that there are. [Decide] says which of
// them are due by a [Policy] of the configuration, and makes the next [State], which the engine keeps for the next
// leader.
package orphan
