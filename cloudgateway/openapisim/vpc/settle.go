package vpc

import (
	"slices"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// The states of networks, route tables and route entries.
const (
	available = "Available"
	pending   = "Pending"
	modifying = "Modifying"
	deleting  = "Deleting"
)

// settle completes the transitions that have ended and returns when the next one ends.
func settle(c *api.Context) (next time.Time) {
	over := func(until *time.Time) bool {
		if until.IsZero() || c.Now.Before(*until) {
			next = api.Earlier(next, *until)
			return false
		}
		*until = time.Time{}
		return true
	}
	for _, table := range c.State.RouteTables {
		table.Entries = slices.DeleteFunc(table.Entries, func(e *state.RouteEntry) bool {
			if !over(&e.BusyUntil) {
				return false
			}
			if e.Status == deleting {
				return true
			}
			e.Status = available
			return false
		})
		over(&table.PendingUntil)
	}
	for _, v := range c.State.Vpcs {
		over(&v.PendingUntil)
	}
	for _, v := range c.State.VSwitches {
		over(&v.PendingUntil)
	}
	for _, eip := range c.State.Eips {
		if over(&eip.BusyUntil) {
			settleEip(c.State, eip)
		}
	}
	settleGateways(c.State, over)
	return next
}

// pendingUntil is the end of the window in which something new is not available yet.
func pendingUntil(c *api.Context) time.Time {
	if d := c.Settings.NetworkPending; d > 0 {
		return c.Now.Add(d)
	}
	return time.Time{}
}

// status of what only has to become available once.
func status(pendingUntil time.Time) string {
	if pendingUntil.IsZero() {
		return available
	}
	return pending
}

// busy reports whether the cloud is still writing a route of the VPC, of which a new vSwitch has one.
func busy(c *state.Cloud, vpcID string) bool {
	for _, v := range c.VSwitches {
		if v.VpcID == vpcID && !v.PendingUntil.IsZero() {
			return true
		}
	}
	for _, table := range c.RouteTables {
		if table.VpcID == vpcID && slices.ContainsFunc(table.Entries, func(e *state.RouteEntry) bool { return e.Status != available }) {
			return true
		}
	}
	return false
}

func taskConflict() *api.Error {
	return api.BadRequest("TaskConflict", "The operation is too frequent. Please try again later.")
}
