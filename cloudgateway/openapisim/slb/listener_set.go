package slb

import (
	"maps"
	"slices"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// set changes the attributes that were sent and keeps the others. The protocol, the port and the redirect cannot change.
func (t table) set(c *api.Context, protocol string) (any, *api.Error) {
	lb, err := loadBalancer(c)
	if err != nil {
		return nil, err
	}
	if err := checkPort(c); err != nil {
		return nil, err
	}
	l, err := listener(c, lb, protocol)
	if err != nil {
		return nil, err
	}
	if forward(l) == on {
		return nil, api.BadRequest("Operation.NotAllowed", "The HTTP listener does not support this action")
	}
	if err := unsettled(busyListener)(c, lb, l); err != nil {
		return nil, err
	}
	values, err := t.given(c, protocol, inSet)
	if err != nil {
		return nil, err
	}
	next := *l
	next.Attributes, next.AclIDs = maps.Clone(l.Attributes), slices.Clone(l.AclIDs)
	maps.Copy(next.Attributes, values)
	c.Keep("", &next.Spelling)
	if err := checkScheduler(c, l.Attributes["Scheduler"], &next); err != nil {
		return nil, err
	}
	if err := retarget(c, lb, &next); err != nil {
		return nil, err
	}
	if err := completeListener(c, lb, &next); err != nil {
		return nil, err
	}
	if c.True("DryRun") {
		return nil, api.DryRun()
	}
	if former := l.Group(); former != next.Group() {
		release(c, former)
	}
	*l = next
	transition(c, l, configuring, l.Status)
	changed(c, lb)
	return nil, nil
}

// checkScheduler refuses changes of how servers are chosen that the documents rule out, and values that are not there any more. Former
// is "" for a new listener. Which code answers is not published.
func checkScheduler(c *api.Context, former string, l *state.Listener) *api.Error {
	wanted := l.Attributes["Scheduler"]
	hashing := func(s string) bool { return s == "sch" || s == "tch" || s == "qch" }
	switch {
	case protocolBit(l.Protocol)&layer4 == 0 || wanted == former:
		return nil
	case wanted == "wlc" && c.Settings.LeastConnectionsRefused:
		return api.Invalid("Scheduler")
	case former != "" && hashing(former) != hashing(wanted) && !c.Settings.SchedulersSwitch:
		return api.BadRequest("InvalidParameter", "The Scheduler cannot be switched from %s to %s.", former, wanted)
	}
	return nil
}

// retarget applies the switches between a vServer group, a master-slave group and the default group.
func retarget(c *api.Context, lb *state.LoadBalancer, next *state.Listener) *api.Error {
	group := c.Has("VServerGroupId") && c.Get("VServerGroup") != off
	pair := c.Has("MasterSlaveServerGroupId") && c.Get("MasterSlaveServerGroup") != off
	switch {
	case group && pair, c.Get("VServerGroup") == on && c.Get("MasterSlaveServerGroup") == on:
		return twoTargets()
	case c.Get("VServerGroup") == on && !group:
		return api.BadRequest(noGroup(next.Protocol), "The parameter VServerGroupId is required when VServerGroup is on.")
	case c.Get("MasterSlaveServerGroup") == on && !pair:
		return api.Missing("MasterSlaveServerGroupId")
	case group:
		delete(next.Attributes, "MasterSlaveServerGroupId")
		return checkGroup(c, lb, next)
	case pair:
		delete(next.Attributes, "VServerGroupId")
		return checkPair(c, lb, next)
	}
	return switchOff(c, next)
}

// switchOff takes the groups away that a call switches off. Servers of the default group need a port.
func switchOff(c *api.Context, next *state.Listener) *api.Error {
	switched := false
	for _, group := range []string{"VServerGroup", "MasterSlaveServerGroup"} {
		if c.Get(group) == off {
			delete(next.Attributes, group+"Id")
			switched = true
		}
	}
	if switched && next.Group() == "" && next.Attributes["BackendServerPort"] == "" {
		return api.BadRequest("InvalidParameter", "The listener has no BackendServerPort for the default server group.")
	}
	return nil
}
