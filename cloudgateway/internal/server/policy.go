package server

import (
	"fmt"
	"slices"

	"alicloud-controllers.dev/services/gateway/method"
	"alicloud-controllers.dev/services/rpc"

	"alicloud-controllers.dev/cloudgateway/internal/config"
)

// Policies has one row per method: the virtual resource and verb that the caller must be allowed, and the priority of the calls
// to the cloud. The rows are what the protocol says of the methods. Those that only tools use are off, unless their service is
// enabled.
func Policies(api config.API) rpc.Policies {
	methods := method.All()
	rows := make(rpc.Policies, len(methods))
	for _, m := range methods {
		row := rpc.Policy{
			Resource: m.Options.GetResource(), Verb: m.Verb(), Priority: int(m.Options.GetPriority()), Timeout: m.Timeout(), Mutating: !m.Reads(),
		}
		if m.Options.GetToolOnly() && !slices.Contains(api.Enable, m.Service) {
			row.Off = fmt.Sprintf("%s of %s is off, since no controller needs it; it is offered if api.enable of the gateway's configuration lists %s",
				m.Name, m.Service, m.Service)
		}
		rows[m.FullName()] = row
	}
	return rows
}
