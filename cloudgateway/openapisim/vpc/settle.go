package vpc

import (
	"slices"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// The states of a route entry.
const (
	available = "Available"
	pending   = "Pending"
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
	for _, eip := range c.State.Eips {
		if ended(eip.BusyUntil, c.Now) {
			settleEip(eip)
		}
	}
}

func ended(until, now time.Time) bool { return !until.IsZero() && !now.Before(until) }

// busy tells whether the cloud is still writing a route of the VPC.
func busy(c *state.Cloud, vpcID string) bool {
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
