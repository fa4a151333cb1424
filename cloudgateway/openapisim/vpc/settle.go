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

// settle completes the transitions that have ended.
func settle(c *api.Context) {
	for _, table := range c.State.RouteTables {
		table.Entries = slices.DeleteFunc(table.Entries, func(e *state.RouteEntry) bool {
			if !ended(e.BusyUntil, c.Now) {
				return false
			}
			e.BusyUntil = time.Time{}
			if e.Status == deleting {
				return true
			}
			e.Status = available
			return false
		})
	}
	arrive := func(until *time.Time) {
		if ended(*until, c.Now) {
			*until = time.Time{}
		}
	}
	for _, table := range c.State.RouteTables {
		arrive(&table.PendingUntil)
	}
	for _, v := range c.State.Vpcs {
		arrive(&v.PendingUntil)
	}
	for _, v := range c.State.VSwitches {
		arrive(&v.PendingUntil)
	}
	for _, eip := range c.State.Eips {
		if ended(eip.BusyUntil, c.Now) {
			settleEip(eip)
		}
	}
}

func ended(until, now time.Time) bool { return !until.IsZero() && !now.Before(until) }

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

// busy tells whether the cloud is still writing a route of the VPC, of which a new vSwitch has one.
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
