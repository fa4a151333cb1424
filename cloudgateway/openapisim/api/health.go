package api

import "alicloud-controllers.dev/cloudgateway/openapisim/state"

// Health says what the cloud knows of the health of a server of a running listener.
type Health struct {
	CLB func(*state.LoadBalancer, *state.Listener, *state.Server) string // normal, abnormal or unavailable
	// NLB is what GetListenerHealthStatus says; "" of those it leaves out.
	NLB func(*state.NLBListener, *state.NLBServerGroup, *state.NLBServer) string
}
