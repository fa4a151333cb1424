// Package desired turns a Service, its EndpointSlices and the nodes into what is wanted in the cloud. It is pure, and
// all validation of what users write happens here.
//
// [Build] makes a [Result] of an [Input]: the load balancer that is wanted as a model.Desired, what has no effect as
// texts for events, or an [InvalidError] with all that is wrong at once. The engine makes the Input of its caches. A
// kind of load balancers takes part as a [Configurer]: it is handed a [Builder], and gives back the [Shape] of each
// server group, and the one that every load balancer has.
package desired
