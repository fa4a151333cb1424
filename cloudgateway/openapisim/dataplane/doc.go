// Package dataplane carries the traffic of simulated load balancers: a running listener really listens, on an address of
// loopback, and forwards to the servers of its vServer group.
//
// The flow is one-way. Whenever the state of the cloud may have changed, [Plane] derives from it which sockets there should
// be and where each forwards (derive.go, pure), opens and closes sockets until they match, and hands every open one its
// new settings; connections stay. What is decided on the way of a connection is pure too: the scheduler, stickiness, the verdict of
// health checks. Only the files named after protocols, and probe.go, do I/O.
//
// Servers are reached at the address of their instance or network interface. Nothing is sent anywhere but to loopback: a
// server elsewhere counts as failed, so that a cloud seeded with addresses of a real network does no harm there.
//
// Known differences from the cloud: no limit of bandwidth or of connections, no compression, no QUIC-aware migration, no
// IPv6, no ranges of ports, no master-slave groups; health checks and idle times follow the real clock, not the virtual one.
package dataplane
