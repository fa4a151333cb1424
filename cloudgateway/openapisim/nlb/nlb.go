// Package nlb is the product NLB 2022-04-30 of the simulator: Network Load Balancers with their listeners, server groups,
// additional certificates, TLS policies and tags.
//
// Most writes answer at once with the id of a job, and the resource stays in a passing status until the job ends. A handler
// of a write only checks: it returns a [change], and write.go carries it out, answers a dry run, and remembers the client
// token. Jobs are stored with the moment at which they end; settle (jobs.go) completes those that have ended, at a cost that
// depends on the running jobs only, so that every handler can afford it.
package nlb

import (
	"slices"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
)

// Product returns the product with all its actions.
func Product() api.Product {
	return api.Product{
		Name: "nlb", Code: "Nlb", Version: "2022-04-30", Lazy: true, Settle: settleAll, End: settle, Malformed: illegal,
		Throttled: api.BadRequest("Throttling.User", "Request was denied due to api flow control."),
		Actions: slices.Concat(
			regionActions(), balancerActions(), balancerUpdateActions(), attachmentActions(), zoneActions(),
			listenerActions(), listenerStateActions(), listenerReadActions(), certificateActions(),
			groupActions(), groupReadActions(), serverActions(), policyActions(), tagActions(), jobActions(), monitorActions(),
		),
	}
}

// read returns an action that changes nothing.
func read(name string, handle func(*api.Context) (any, *api.Error), codes []string, params ...api.Param) api.Action {
	return api.Action{
		Name: name, Codes: codes, Params: append(params, api.Optional("RegionId")),
		Handle: enveloped(name, func(c *api.Context) (any, *api.Error) {
			settle(c)
			return handle(c)
		}),
	}
}

// enveloped adds what the models of most answers of NLB have.
func enveloped(action string, handle func(*api.Context) (any, *api.Error)) func(*api.Context) (any, *api.Error) {
	return func(c *api.Context) (any, *api.Error) {
		answer, err := handle(c)
		o, ok := answer.(api.Object)
		if !ok || err != nil || action == "ListTagResources" || action == "UpdateLoadBalancerProtection" {
			return answer, err
		}
		if o = append(o, "Success", true, "HttpStatusCode", 200); action == "MoveResourceGroup" {
			return o, nil
		}
		return append(o, "Code", "", "Message", "", "DynamicCode", "", "DynamicMessage", ""), nil
	}
}

// Parameters that many actions share.

func texts(name string, most int64) api.Param {
	return api.Param{Name: name, Kind: api.Strings, Max: most}
}

func structs(name string, most int64) api.Param {
	return api.Param{Name: name, Kind: api.Structs, Max: most}
}

// required makes a parameter mandatory.
func required(p api.Param) api.Param {
	p.Required, p.Missing = true, fail("MissingParam."+p.Name)
	return p
}

func mandatory(names ...string) []api.Param {
	params := make([]api.Param, 0, len(names))
	for _, name := range names {
		params = append(params, required(api.Optional(name)))
	}
	return params
}

// Limits of one call.
const (
	maxPage      = 100
	maxIDs       = 20  // ids or names in a filter
	maxServers   = 200 // servers in one write
	maxFilter    = 40  // servers in a filter
	maxAddCerts  = 15  // additional certificates in one call
	maxTags      = 20
	maxCps       = 1_000_000
	maxResources = 50 // resources in one call of a tag action
)

func paging() []api.Param {
	return []api.Param{api.Number("MaxResults", 1, maxPage), api.Optional("NextToken")}
}
