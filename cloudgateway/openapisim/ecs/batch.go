package ecs

import (
	"slices"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/clienttoken"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// batchActions do to many instances what others do to one.
func batchActions() []api.Action {
	ids := api.Param{Name: "InstanceId", Kind: api.Strings, Required: true, Min: 1, Max: maxResults}
	how := api.OneOf("BatchOptimization", "AllTogether", "SuccessFirst")
	batch := func(name, from string, do func(*api.Context, *state.Instance) (any, *api.Error), params ...api.Param) api.Action {
		a := api.Write(name, forEach(from, do), api.Words("InvalidInstanceId.NotFound IncorrectInstanceStatus DryRunOperation"),
			append(params, region(), ids, how, api.Flag("DryRun"))...)
		a.ItemCodes = api.Words("IncorrectInstanceStatus")
		return a
	}
	return []api.Action{
		batch("StartInstances", stopped, startInstance),
		batch("StopInstances", running, stopInstance, api.Flag("ForceStop"), api.OneOf("StoppedMode", "KeepCharging", "StopCharging")),
		batch("RebootInstances", running, rebootInstance, api.Flag("ForceReboot")),
		api.Write("DeleteInstances", clienttoken.Once("ecs/DeleteInstances", clienttoken.Show("TaskGroupId"), deleteInstances),
			api.Words(`InvalidInstanceId.NotFound IncorrectInstanceStatus InvalidOperation.DeletionProtection DryRunOperation
				IdempotentParameterMismatch`), region(), ids, api.Flag("Force"), api.Flag("TerminateSubscription"), api.Flag("DryRun"),
			api.Optional("ClientToken")),
	}
}

// batchOf returns the instances of InstanceId.N, each once.
func batchOf(c *api.Context) ([]*state.Instance, *api.Error) {
	var found []*state.Instance
	for _, id := range c.List("InstanceId") {
		i := c.State.Instances[id]
		if i == nil {
			return nil, instanceNotFound()
		}
		if !slices.Contains(found, i) {
			found = append(found, i)
		}
	}
	return found, nil
}

// forEach does something to each instance of a call that has a status. By default it does it to all or to none.
func forEach(from string, do func(*api.Context, *state.Instance) (any, *api.Error)) api.Handler {
	return func(c *api.Context) (any, *api.Error) {
		instances, err := batchOf(c)
		if err != nil {
			return nil, err
		}
		ready := func(i *state.Instance) bool { return i.Status == from && i.SettleAt.IsZero() }
		all := slices.IndexFunc(instances, func(i *state.Instance) bool { return !ready(i) }) < 0
		switch {
		case !all && c.Get("BatchOptimization") != "SuccessFirst":
			return nil, incorrectStatus()
		case c.True("DryRun"):
			return nil, api.DryRun()
		}
		return api.Object{"InstanceResponses", api.Object{
			"InstanceResponse", api.Objects(instances, func(i *state.Instance) api.Object {
				before, code, message := i.Status, "200", "success"
				if !ready(i) {
					code, message = incorrectStatus().Code, incorrectStatus().Message
				} else if _, err := do(c, i); err != nil {
					code, message = err.Code, err.Message
				}
				return api.Object{"InstanceId", i.ID, "PreviousStatus", before, "CurrentStatus", i.Status, "Code", code, "Message", message}
			}),
		}}, nil
	}
}

// deleteInstances deletes all instances of a call or none.
func deleteInstances(c *api.Context) (string, *api.Error) {
	instances, err := batchOf(c)
	for _, i := range instances {
		if err == nil {
			err = deletable(c, i)
		}
	}
	switch {
	case err != nil:
		return "", err
	case c.True("DryRun"):
		return "", api.DryRun()
	}
	for _, i := range instances {
		destroy(c, i)
	}
	return c.NewID("t-bp1"), nil
}
