package slb

import (
	"cmp"
	"slices"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func listenerStateActions() []api.Action {
	key := []api.Param{
		region(), api.Required("LoadBalancerId"), must(api.Number("ListenerPort", 1, 65535)),
		api.OneOf("ListenerProtocol", protoTCP, protoUDP, protoHTTP, protoHTTPS),
	}
	codes := []string{
		"InvalidLoadBalancerId.NotFound", "LbStatusNotSupport", "ResourceNotFound.Listener", "ServiceIsConfiguring", "TooManyListeners",
	}
	change := api.Unless(unsettled(busyListener), listenerOf(""))
	return []api.Action{
		api.Write("StartLoadBalancerListener", api.On2(api.Unless(held(busyListener), listenerOf("")), startListener),
			append([]string{"InvalidParameter", "OperationFailed.ListenerStatusNotSupport"}, codes...), key...),
		api.Write("StopLoadBalancerListener", api.On2(change, stopListener), codes, key...),
		api.Write("DeleteLoadBalancerListener", api.On2(change, deleteListener),
			append([]string{"ListenerForwardExist"}, codes...), key...),
		api.Write("SetListenerAccessControlStatus", api.On2(change, setAccessControlStatus), codes,
			append(slices.Clone(key), must(api.OneOf("AccessControlStatus", "open_white_list", "close")))...),
		api.Read("DescribeListenerAccessControlAttribute", api.On2(listenerOf(""), describeAccessControl),
			api.Words("InvalidLoadBalancerId.NotFound ResourceNotFound.Listener TooManyListeners"), key...),
	}
}

// startListener makes a stopped listener run after a while, and an inactive load balancer active. To start a running listener
// changes nothing, unless it is set to be refused.
func startListener(c *api.Context, lb *state.LoadBalancer, l *state.Listener) (any, *api.Error) {
	switch {
	case l.Status == running && !c.Settings.StartOfRunningRefused:
		return nil, nil
	case l.Status != stopped:
		return nil, listenerUnsettled()
	}
	if id := l.Group(); id != "" && !groupIn(c, lb, id) && !pairIn(c, lb, id) {
		return nil, groupNotFound()
	}
	transition(c, l, starting, running)
	lb.Status, lb.ActiveAt = active, time.Time{}
	changed(c, lb)
	return nil, nil
}

func listenerUnsettled() *api.Error {
	return api.BadRequest("OperationFailed.ListenerStatusNotSupport", "The status of the listener does not support this operation.")
}

// stopListener takes effect at once.
func stopListener(c *api.Context, lb *state.LoadBalancer, l *state.Listener) (any, *api.Error) {
	if l.Status != stopped {
		l.Status = stopped
		changed(c, lb)
	}
	return nil, nil
}

// deleteListener deletes the listener with its rules and domain extensions. The load balancer becomes inactive without one.
func deleteListener(c *api.Context, lb *state.LoadBalancer, l *state.Listener) (any, *api.Error) {
	if l.Protocol == protoHTTPS &&
		slices.ContainsFunc(lb.Listeners, func(other *state.Listener) bool { return forwardPort(other) == l.Port }) {
		return nil, api.BadRequest("ListenerForwardExist", "The listener is the target of an HTTP listener that redirects to it.")
	}
	lb.Listeners = slices.DeleteFunc(lb.Listeners, func(other *state.Listener) bool { return other == l })
	release(c, l.Group())
	for _, rule := range l.Rules {
		release(c, rule.ServerGroupID)
	}
	if len(lb.Listeners) == 0 {
		lb.Status, lb.ActiveAt = inactive, time.Time{}
	}
	changed(c, lb)
	return nil, nil
}

// setAccessControlStatus is the older switch of the white list, before there were access control lists.
func setAccessControlStatus(c *api.Context, lb *state.LoadBalancer, l *state.Listener) (any, *api.Error) {
	l.Attributes["AccessControlStatus"] = c.Get("AccessControlStatus")
	transition(c, l, configuring, l.Status)
	changed(c, lb)
	return nil, nil
}

func describeAccessControl(c *api.Context, _ *state.LoadBalancer, l *state.Listener) (any, *api.Error) {
	return api.Object{"AccessControlStatus", cmp.Or(l.Attributes["AccessControlStatus"], "close"), "SourceItems", ""}, nil
}
