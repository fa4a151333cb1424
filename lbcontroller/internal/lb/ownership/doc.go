// Package ownership makes and recognises the marks by which the controller knows what is its own in the cloud: names,
// descriptions and tags. They are the ones of the existing CCM, so that a cluster can be taken over from it.
//
// [Owner] is whose something is: the engine makes it of a Service, and [MadeFor] of a mark in the cloud. [Claims] are
// what a Service has taken of the load balancer of a user: package reuse makes them, and they are kept in an annotation
// of the Service.
package ownership
