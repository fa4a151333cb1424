package ecs

import (
	"maps"
	"slices"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func lifecycleActions() []api.Action {
	id := api.Param{Name: "InstanceId", Required: true}
	codes := []string{"InvalidInstanceId.NotFound", "IncorrectInstanceStatus"}
	return []api.Action{
		{Name: "StartInstance", Mutating: true, Handle: startInstance, Params: []api.Param{id}, Codes: codes},
		{
			Name: "StopInstance", Mutating: true, Handle: stopInstance, Codes: codes,
			Params: []api.Param{id, {Name: "ForceStop", Kind: api.Bool}, {Name: "StoppedMode"}},
		},
		{
			Name: "DeleteInstance", Mutating: true, Handle: deleteInstance, Codes: append(codes, "DryRunOperation"),
			Params: []api.Param{
				id, {Name: "Force", Kind: api.Bool}, {Name: "ForceStop", Kind: api.Bool}, {Name: "TerminateSubscription", Kind: api.Bool},
				{Name: "DryRun", Kind: api.Bool},
			},
		},
	}
}

func startInstance(c *api.Context) (any, *api.Error) {
	return nil, changeStatus(c, "Stopped", "Running")
}

func stopInstance(c *api.Context) (any, *api.Error) {
	return nil, changeStatus(c, "Running", "Stopped")
}

func changeStatus(c *api.Context, from, to string) *api.Error {
	i := c.State.Instances[c.Get("InstanceId")]
	if i == nil {
		return instanceNotFound()
	}
	if i.Status != from {
		return incorrectStatus()
	}
	i.Status = to
	return nil
}

func incorrectStatus() *api.Error {
	return forbidden("IncorrectInstanceStatus", "The current status of the resource does not support this operation.")
}

// deleteInstance removes an instance with its interfaces, and a little later from every group that it serves. Route entries that lead to
// it stay: to remove them is the business of who made them.
func deleteInstance(c *api.Context) (any, *api.Error) {
	i := c.State.Instances[c.Get("InstanceId")]
	switch force := isTrue(c.Get("Force")); {
	case i == nil:
		return nil, instanceNotFound()
	case i.Status != "Stopped" && !force:
		return nil, incorrectStatus()
	case isTrue(c.Get("DryRun")):
		return nil, dryRun()
	}
	gone := map[string]bool{i.ID: true}
	delete(c.State.Instances, i.ID)
	for id, eni := range c.State.Interfaces {
		if eni.InstanceID == i.ID {
			gone[id] = true
			delete(c.State.Interfaces, id)
		}
	}
	if eip := c.State.Eips[i.EipID]; eip != nil {
		eip.Status, eip.InstanceID, eip.InstanceType = "Available", "", ""
	}
	c.State.Vanishing = append(c.State.Vanishing, state.Vanishing{
		ServerIDs: slices.Sorted(maps.Keys(gone)), At: c.Now.Add(c.Settings.ServersVanish),
	})
	c.State.Vanish(c.Now)
	return nil, nil
}
