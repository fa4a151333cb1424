package slb

import (
	"fmt"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// Statuses of load balancers and listeners.
const (
	active   = "active"
	inactive = "inactive"
	locked   = "locked"

	starting    = "starting"
	running     = "running"
	configuring = "configuring"
	stopped     = "stopped"
)

// settle completes the transitions of a load balancer whose time has come, and a seed that says little.
func settle(c *api.Context, lb *state.LoadBalancer) {
	complete(c, lb)
	if len(c.State.Vanishing) > 0 {
		c.State.Vanish(c.Now)
	}
	if r := lb.Reserved; r != nil && !c.Now.Before(r.ActiveAt) {
		lb.InternetChargeType, lb.Bandwidth, lb.Reserved = r.ChargeType, r.Bandwidth, nil
	}
	if !lb.ActiveAt.IsZero() && !c.Now.Before(lb.ActiveAt) {
		if lb.Status == inactive {
			lb.Status = active
		}
		lb.ActiveAt = time.Time{}
	}
	for _, l := range lb.Listeners {
		if !l.SettleAt.IsZero() && !c.Now.Before(l.SettleAt) {
			l.Status, l.SettleTo, l.SettleAt = l.SettleTo, "", time.Time{}
		}
	}
}

// settleAll settles everything, for code that looks at the state directly.
func settleAll(c *api.Context) (next time.Time) {
	for _, lb := range c.State.LoadBalancers {
		settle(c, lb)
	}
	return time.Time{}
}

// writable refuses a change of a thing, "" for a new one, while the load balancer is locked or another write changes the thing.
func writable(c *api.Context, lb *state.LoadBalancer, thing string, busy func() *api.Error) *api.Error {
	switch {
	case lb.Status == locked:
		return statusNotSupported()
	case c.Now.Before(lb.BusyUntil), thing != "" && !c.Hold(thing):
		return busy()
	}
	return nil
}

// listenerName names a listener among all things that writes can hold; its rules and domain extensions are parts of it.
func listenerName(lb *state.LoadBalancer, protocol string, port int) string {
	return fmt.Sprintf("%s/%s/%d", lb.ID, protocol, port)
}

// held is the policy of a change of a listener or a part of it: it is refused while another write holds the listener.
func held(busy func() *api.Error) func(*api.Context, *state.LoadBalancer, *state.Listener) *api.Error {
	return func(c *api.Context, lb *state.LoadBalancer, l *state.Listener) *api.Error {
		return writable(c, lb, listenerName(lb, l.Protocol, l.Port), busy)
	}
}

// unsettled is held for what a listener that is on its way into another status refuses, too.
func unsettled(busy func() *api.Error) func(*api.Context, *state.LoadBalancer, *state.Listener) *api.Error {
	return func(c *api.Context, lb *state.LoadBalancer, l *state.Listener) *api.Error {
		if err := held(busy)(c, lb, l); err != nil || l.Status == running || l.Status == stopped {
			return err
		}
		return busy()
	}
}

// groupHeld is the policy of a change of a vServer group.
func groupHeld(c *api.Context, g *state.ServerGroup, lb *state.LoadBalancer) *api.Error {
	return writable(c, lb, g.ID, busyGroup)
}

// changed opens the window in which the load balancer refuses other changes, if there is to be one.
func changed(c *api.Context, lb *state.LoadBalancer) {
	if d := c.Settings.BusyAfterWrite; d > 0 {
		lb.BusyUntil = c.Now.Add(d)
	}
}

// transition puts a listener into a passing status for a while, or at once into its last one when the window is zero.
func transition(c *api.Context, l *state.Listener, passing, final string) {
	window := c.Settings.ListenerSet
	if passing == starting {
		window = c.Settings.ListenerStart
	}
	if window <= 0 {
		l.Status, l.SettleTo, l.SettleAt = final, "", time.Time{}
		return
	}
	l.Status, l.SettleTo, l.SettleAt = passing, final, c.Now.Add(window)
}

// release keeps a group undeletable for a while after a listener or rule let go of it.
func release(c *api.Context, groupID string) {
	if g := c.State.ServerGroups[groupID]; g != nil && c.Settings.GroupReleased > 0 {
		g.InUseUntil = c.Now.Add(c.Settings.GroupReleased)
	}
}
