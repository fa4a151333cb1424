package server

import (
	"alicloud-controllers.dev/services/gateway/method"
	"alicloud-controllers.dev/services/rpc"

	"alicloud-controllers.dev/cloudgateway/internal/flow"
)

// Policies has one row per method: the virtual resource and verb that the caller must be allowed, and the priority of the calls
// to the cloud. The rows are what the protocol says of the methods.
func Policies() rpc.Policies {
	methods := method.All()
	rows := make(rpc.Policies, len(methods))
	for _, m := range methods {
		priority, _ := flow.ParsePriority(m.Priority()) // The names are the same, as a test knows.
		rows[m.FullName()] = rpc.Policy{
			Resource: m.Options.GetResource(), Verb: m.Verb(), Priority: int(priority), Timeout: m.Timeout(), Mutating: !m.Reads(),
		}
	}
	return rows
}
