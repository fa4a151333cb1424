// Package slb is the product SLB (CLB) 2014-05-15 of the simulator: load balancers with their listeners, vServer groups, master-slave
// certificates, TLS cipher policies, access control lists, forwarding rules and tags.
//
// Handlers hold semantics only. They run one at a time, check everything before they change anything, and never look at a
// clock but the one in their context: a transition that takes time is stored with the moment at which it ends, and is
// settled by the next handler that touches the load balancer (settle.go). Listener parameters, their ranges and defaults
// come from one table (listener_table.go), which creation, change and description share.
package slb

import (
	"slices"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
)

// Product returns the product with all its actions.
func Product() api.Product {
	t := newTable()
	return api.Product{
		Name:    "slb",
		Code:    "Slb",
		Version: "2014-05-15",
		Settle:  settleAll,
		Lazy:    true,

		Complete:  completeSeed,
		Throttled: api.UserThrottled(),
		Actions: slices.Concat(
			regionActions(),
			instanceActions(), instanceSetActions(), instanceModifyActions(), subscriptionActions(), describeActions(),
			listenerActions(t), listenerStateActions(), listenerDescribeActions(t),
			groupActions(t), groupServerActions(), masterSlaveActions(t), defaultGroupActions(), healthActions(t),
			tagging().Actions(), legacyTagActions(),
			certificateActions(), cipherPolicyActions(), aclActions(), aclEntryActions(),
			domainActions(), ruleActions(t),
		),
	}
}

// Parameters that many actions share.

func jsonText(name string) api.Param { return api.Param{Name: name, Kind: api.JSON} }

func must(p api.Param) api.Param {
	p.Required = true
	return p
}

// mustWith requires a parameter whose absence has a code of its own.
func mustWith(p api.Param, code string) api.Param {
	p.Missing = api.BadRequest(code, "The parameter %s is missing.", p.Name)
	return must(p)
}

// region is optional although some texts require it: every client sends it, and the endpoint implies it.
func region() api.Param { return api.Optional("RegionId") }
