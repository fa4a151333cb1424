package lb

import (
	"alicloud-controllers.dev/lbcontroller/internal/backend/eni"
	"alicloud-controllers.dev/lbcontroller/internal/lb/knowledge"
	"alicloud-controllers.dev/lbcontroller/internal/readiness"
)

// state is all that the engine remembers of one Service. It is made when the Service is first seen, and dropped with it. Only what is known of the
// cloud is used by others than the pass over the Service, of which there is one at a time.
type state struct {
	knowledge.Memory
	// pods are the network interfaces of its pods, and polls the questions about their health.
	pods  eni.Known
	polls readiness.Polls
	// certificates are the ids that the Service names.
	certificates []string
	// withheld are changes that its policy holds back, lastServers says that its last servers stay, and noBackends that a port has none, as they
	// were counted.
	withheld                withheld
	lastServers, noBackends bool
}
