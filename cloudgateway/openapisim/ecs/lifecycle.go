package ecs

import (
	"maps"
	"slices"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// The statuses of an instance that calls lead to.
const (
	running  = "Running"
	pending  = "Pending"
	stopped  = "Stopped"
	starting = "Starting"
	stopping = "Stopping"
)

func lifecycleActions() []api.Action {
	id := api.Required("InstanceId")
	codes := []string{"InvalidInstanceId.NotFound", "IncorrectInstanceStatus", "DryRunOperation"}
	return []api.Action{
		api.Write("StartInstance", api.On(inStatus(stopped), unlessDry(startInstance)), codes, id, api.Flag("DryRun")),
		api.Write("StopInstance", api.On(inStatus(running), unlessDry(stopInstance)), codes, id, api.Flag("DryRun"), api.Flag("ForceStop"),
			api.OneOf("StoppedMode", "KeepCharging", "StopCharging")),
		api.Write("DeleteInstance", api.On(instanceByID, deleteInstance),
			append(codes, "InvalidOperation.DeletionProtection"), id, api.Flag("Force"),
			api.Flag("ForceStop"), api.Flag("TerminateSubscription"), api.Flag("DryRun")),
	}
}

// settle completes the changes of instances, network interfaces and disks that have ended.
func settle(c *api.Context) (next time.Time) {
	return api.Earlier(settleInstances(c), api.Earlier(settleInterfaces(c), settleDisks(c)))
}

func settleInstances(c *api.Context) (next time.Time) {
	for _, i := range c.State.Instances {
		for !i.SettleAt.IsZero() && !c.Now.Before(i.SettleAt) {
			i.Status = i.SettleTo
			i.SettleTo, i.SettleAt = following(c, i)
			if i.Status == "" {
				remove(c, i)
			}
		}
		next = api.Earlier(next, i.SettleAt)
	}
	return next
}

// following is what comes after a status that an instance has just reached: one that starts is running after a while.
func following(c *api.Context, i *state.Instance) (status string, at time.Time) {
	if i.Status == starting {
		return running, i.SettleAt.Add(c.Settings.InstanceStart)
	}
	return "", time.Time{}
}

// begin lets an instance pass through a status on the way to its final one, "" for gone.
func begin(c *api.Context, i *state.Instance, passing, final string, window time.Duration) {
	i.Status, i.SettleTo, i.SettleAt = passing, final, c.Now.Add(window)
	settleInstances(c)
}

// unlessDry is what is done to an instance, unless the call only asks whether it could be.
func unlessDry[R any](do func(*api.Context, *state.Instance) (R, *api.Error)) func(*api.Context, *state.Instance) (R, *api.Error) {
	return func(c *api.Context, i *state.Instance) (result R, err *api.Error) {
		if c.True("DryRun") {
			return result, api.DryRun()
		}
		return do(c, i)
	}
}

func startInstance(c *api.Context, i *state.Instance) (any, *api.Error) {
	i.StoppedMode = ""
	begin(c, i, starting, running, c.Settings.InstanceStart)
	return nil, nil
}

func stopInstance(c *api.Context, i *state.Instance) (any, *api.Error) {
	c.Keep("", &i.Spelling)
	i.StoppedMode = c.Get("StoppedMode")
	begin(c, i, stopping, stopped, c.Settings.InstanceStop)
	return nil, nil
}

// instanceByID returns the instance of the parameter InstanceId.
func instanceByID(c *api.Context) (*state.Instance, *api.Error) {
	return api.Named(c, c.State.Instances, "InstanceId", instanceNotFound)
}

// inStatus is instanceByID for what an instance does only in one status, and not on its way to another.
func inStatus(status string) func(*api.Context) (*state.Instance, *api.Error) {
	return func(c *api.Context) (*state.Instance, *api.Error) {
		i, err := instanceByID(c)
		if err == nil && (i.Status != status || !i.SettleAt.IsZero()) {
			err = incorrectStatus()
		}
		return i, err
	}
}

func incorrectStatus() *api.Error {
	return forbidden("IncorrectInstanceStatus", "The current status of the resource does not support this operation.")
}

// deleteInstance begins the removal of an instance. A protected one stays, even with Force.
func deleteInstance(c *api.Context, i *state.Instance) (any, *api.Error) {
	if err := deletable(c, i); err != nil {
		return nil, err
	}
	if c.True("DryRun") {
		return nil, api.DryRun()
	}
	destroy(c, i)
	return nil, nil
}

// deletable refuses the deletion of an instance that is protected, or not stopped unless Force is set.
func deletable(c *api.Context, i *state.Instance) *api.Error {
	switch {
	case i.DeletionProtection:
		return forbidden("InvalidOperation.DeletionProtection", "The deletion protection of the instance is on.")
	case i.Status != stopped && !c.True("Force"), !i.SettleAt.IsZero():
		return incorrectStatus()
	}
	return nil
}

func destroy(c *api.Context, i *state.Instance) {
	vanish(c, i)
	passing := i.Status
	if passing != stopped {
		passing = stopping
	}
	begin(c, i, passing, "", c.Settings.InstanceDelete)
}

// vanish takes an instance and the interfaces that go with it out of every group that they serve, a little later. Route entries that lead
// to it stay: to remove them is the business of the client that made them.
func vanish(c *api.Context, i *state.Instance) {
	gone := map[string]bool{i.ID: true}
	for id, eni := range c.State.Interfaces {
		if eni.InstanceID == i.ID && !eni.KeepOnRelease {
			gone[id] = true
		}
	}
	leaveServers(c, gone)
}

// leaveServers takes what is gone out of every group that it serves, a little later.
func leaveServers(c *api.Context, gone map[string]bool) {
	c.State.Vanishing = append(c.State.Vanishing, state.Vanishing{
		ServerIDs: slices.Sorted(maps.Keys(gone)), At: c.Now.Add(c.Settings.ServersVanish),
	})
	c.State.Vanish(c.Now)
}

// remove takes away an instance with its interfaces. Those that are to outlive it are free then.
func remove(c *api.Context, i *state.Instance) {
	delete(c.State.Instances, i.ID)
	for id, eni := range c.State.Interfaces {
		switch {
		case eni.InstanceID != i.ID:
		case eni.KeepOnRelease:
			eni.InstanceID, eni.Status, eni.SettleTo, eni.SettleAt = "", available, "", time.Time{}
		default:
			delete(c.State.Interfaces, id)
		}
	}
	removeDisks(c, i)
	if eip := c.State.Eips[i.EipID]; eip != nil {
		eip.Status, eip.InstanceID, eip.InstanceType = "Available", "", ""
	}
}
