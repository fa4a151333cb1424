package slb

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func listenerDescribeActions(t table) []api.Action {
	actions := []api.Action{api.Read("DescribeLoadBalancerListeners", t.describeListeners,
		api.Words(`IllegalParam.ListenerProtocol IllegalParam.MaxResults IllegalParam.NextToken
			IllegalParamSize.LoadBalancerId MissingParam.TagKey SizeLimitExceeded.Tag`), region(),
		api.Param{Name: "LoadBalancerId", Kind: api.Strings}, api.Optional("ListenerProtocol"),
		api.Number("ListenerPort", 1, 65535), api.Optional("Description"), tags.Uncounted(),
		api.Param{Name: "MaxResults", Kind: api.Int}, api.Optional("NextToken"))}
	for _, protocol := range []string{protoTCP, protoUDP, protoHTTP, protoHTTPS} {
		actions = append(actions, api.Read("DescribeLoadBalancer"+strings.ToUpper(protocol)+"ListenerAttribute",
			api.On2(listenerOf(protocol), t.describeListener),
			api.Words("InvalidLoadBalancerId.NotFound ResourceNotFound.Listener"), region(),
			api.Required("LoadBalancerId"), must(api.Number("ListenerPort", 1, 65535))))
	}
	return actions
}

// wrapped is a list as SLB writes it: in an object, by the name of one item.
func wrapped[T, V any](name string, items []T, show func(T) V) api.Object {
	views := make([]V, 0, len(items))
	for _, item := range items {
		views = append(views, show(item))
	}
	return api.Object{name, views}
}

// object is an answer whose members come from the table.
type object map[string]any

// put adds an attribute in its own type; one that has no value is left out.
func (o object) put(a attribute, l *state.Listener, listing bool) {
	value := a.value(l)
	switch {
	case value == "":
		if a.kind == api.String {
			o[a.name] = ""
		}
	case a.kind == api.Int:
		if n, err := strconv.Atoi(value); err == nil {
			o[a.name] = n
		}
	case a.kind == api.Bool && (!listing || a.use&asText == 0):
		o[a.name] = strings.EqualFold(value, "true")
	default:
		o[a.name] = l.Spelling.Of(a.name, value)
	}
}

// key returns what every view of a listener begins with.
func key(lb *state.LoadBalancer, l *state.Listener) object {
	return object{
		"LoadBalancerId": lb.ID, "ListenerPort": l.Port, "Status": l.Status, "ServiceManagedMode": "Unmanaged",
		"AclId": strings.Join(l.AclIDs, ","),
	}
}

// config returns the attributes that DescribeLoadBalancerListeners shows in the object of the protocol, or all of them.
func (t table) config(o object, l *state.Listener, listing bool) object {
	for _, a := range t[l.Protocol] {
		if forward(l) == on && !redirects(a.name) {
			continue
		}
		if !listing || a.use&(common|unlisted) == 0 {
			o.put(a, l, listing)
		}
	}
	if protocolBit(l.Protocol)&layer4 != 0 { // both names are in the answer
		o["HealthCheck"] = o["HealthCheckSwitch"]
	}
	return o
}

// redirects reports whether listeners that redirect have an attribute: they have no servers and do nothing else.
func redirects(name string) bool {
	switch name {
	case "Description", "ListenerForward", "ForwardPort", "ForwardCode", "AclStatus", "AclType":
		return true
	}
	return false
}

// listed returns a listener as DescribeLoadBalancerListeners and DescribeVServerGroups show it, but for the lists in it, which
// are plain in the first and wrapped in the second.
func (t table) listed(lb *state.LoadBalancer, l *state.Listener) object {
	o := key(lb, l)
	o["ListenerProtocol"] = l.Protocol
	for _, a := range t[l.Protocol] {
		if a.use&common != 0 && (forward(l) == off || redirects(a.name)) {
			o.put(a, l, true)
		}
	}
	o[strings.ToUpper(l.Protocol)+"ListenerConfig"] = t.config(object{}, l, true)
	o["Tags"] = tags.Longs(l.Tags)[1]
	return o
}

func aclIDs(l *state.Listener) []string { return append([]string{}, l.AclIDs...) }

// found is a listener and where it is.
type found struct {
	lb    *state.LoadBalancer
	l     *state.Listener
	place string // in the list of listeners, which is sorted by it
}

func newFound(lb *state.LoadBalancer, l *state.Listener) found {
	return found{lb, l, fmt.Sprintf("%s/%05d/%s", lb.ID, l.Port, l.Protocol)}
}

func (t table) describeListeners(c *api.Context) (any, *api.Error) {
	maxResults := c.Int("MaxResults", 20)
	if maxResults < 1 || maxResults > 100 {
		return nil, api.BadRequest("IllegalParam.MaxResults", "The specified MaxResults is not in the range of 1 to 100.")
	}
	all, err := findListeners(c)
	if err != nil {
		return nil, err
	}
	page, next, ok := listing.After(all, func(f found) string { return f.place }, c.Get("NextToken"), maxResults)
	if !ok {
		return nil, api.BadRequest("IllegalParam.NextToken", "The specified NextToken is not valid.")
	}
	listeners := make([]object, 0, len(page))
	for _, f := range page {
		o := t.listed(f.lb, f.l)
		o["AclIds"] = aclIDs(f.l)
		listeners = append(listeners, o)
	}
	return api.Object{
		"TotalCount", len(all), "MaxResults", maxResults, "NextToken", api.NonZero(next), "Listeners", listeners,
	}, nil
}

// findListeners returns the listeners that meet all filters, in a stable order. Load balancers that do not exist have none.
func findListeners(c *api.Context) ([]found, *api.Error) {
	ids := c.List("LoadBalancerId")
	if len(ids) > 10 {
		return nil, api.BadRequest("IllegalParamSize.LoadBalancerId", "The number of LoadBalancerId exceeds 10.")
	}
	if len(ids) == 0 {
		ids = slices.Collect(maps.Keys(c.State.LoadBalancers))
	}
	protocol := c.Get("ListenerProtocol")
	if protocol != "" && protocolBit(strings.ToLower(protocol)) == 0 {
		return nil, api.BadRequest("IllegalParam.ListenerProtocol", "The specified ListenerProtocol is not valid.")
	}
	filter, err := tagCodes().KeysOf(c)
	if err != nil {
		return nil, err
	}
	var all []found
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		lb := c.State.LoadBalancers[id]
		if lb == nil {
			continue
		}
		settle(c, lb)
		for _, l := range listenersAt(lb, c.Int("ListenerPort", 0), protocol) {
			if (!c.Has("Description") || l.Attributes["Description"] == c.Get("Description")) && filter.Match(l.Tags) {
				all = append(all, newFound(lb, l))
			}
		}
	}
	slices.SortFunc(all, func(a, b found) int { return strings.Compare(a.place, b.place) })
	return all, nil
}

func (t table) describeListener(_ *api.Context, lb *state.LoadBalancer, l *state.Listener) (any, *api.Error) {
	o := t.config(key(lb, l), l, false)
	o["AclIds"] = object{"AclId": aclIDs(l)}
	o["Tags"] = tags.Longs(l.Tags)
	if protocolBit(l.Protocol)&layer7 != 0 {
		o["Rules"] = t.ruleList(l.Rules)
	}
	if l.Protocol == protoHTTPS {
		o["DomainExtensions"] = wrapped("DomainExtension", l.Domains, newDomainView)
	}
	return o, nil
}
