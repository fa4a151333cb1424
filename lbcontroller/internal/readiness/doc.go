// Package readiness knows the readiness gates by which pods wait for the load balancer of a Service. It is pure: the
// controller watches the pods and writes their conditions.
//
// [Of] makes a [Pod] of one in the cache: since when it waits for a Service. [Judge] makes a [Health] of what the cloud
// says of its servers. The engine makes the [Verdict] of both, and the controller writes it as a condition. [Polls]
// says when health is asked for again.
package readiness
