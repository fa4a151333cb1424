package vpc

import (
	"maps"
	"slices"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/clienttoken"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// protectionActions switch something on and off that several kinds of things have, or an address alone.
func protectionActions() []api.Action {
	monitored := []api.Param{region(), api.Required("InstanceId"), must(api.OneOf("InstanceType", "EIP"))}
	return []api.Action{
		api.Write("DeletionProtection", clienttoken.Once("vpc/DeletionProtection", nil, setProtection),
			api.Words("DeletionProtection.ResourceNotExist IdempotentParameterMismatch"), region(), api.Required("InstanceId"),
			must(api.OneOf("Type", slices.Sorted(maps.Keys(protections()))...)), must(api.Flag("ProtectionEnable")),
			api.Optional("ClientToken")),
		api.Write("SetHighDefinitionMonitorLogStatus", setMonitor,
			api.Words("InvalidInstanceId.NotFound MissingParameter"), append(slices.Clone(monitored), must(api.OneOf("Status", "ON", "OFF")),
				api.Optional("LogProject"), api.Optional("LogStore"))...),
		api.Read("DescribeHighDefinitionMonitorLogAttribute", describeMonitor, api.Words("InvalidInstanceId.NotFound"), monitored...),
		api.Write("ModifyEipForwardMode", clienttoken.Once("vpc/ModifyEipForwardMode", nil, modifyForwardMode),
			api.Words("InvalidInstanceId.NotFound IncorrectEipStatus IdempotentParameterMismatch"), region(), api.Required("InstanceId"),
			must(api.OneOf("Mode", "NAT", "BINDED", "MULTI_BINDED")), api.Optional("ClientToken")),
	}
}

// protections find the switch of a thing, by the type that the call names; nil: there is no such thing.
func protections() map[string]func(c *state.Cloud, id string) *bool {
	return map[string]func(c *state.Cloud, id string) *bool{
		"EIP": func(c *state.Cloud, id string) *bool {
			return member(c.Eips, id, func(e *state.Eip) *bool { return &e.DeletionProtection })
		},
		"NATGW": func(c *state.Cloud, id string) *bool {
			return member(c.NatGateways, id, func(n *state.NatGateway) *bool { return &n.DeletionProtection })
		},
		"CBWP": func(c *state.Cloud, id string) *bool {
			return member(c.BandwidthPackages, id, func(p *state.BandwidthPackage) *bool { return &p.DeletionProtection })
		},
	}
}

// member is a member of the thing with an id, nil if there is no such thing.
func member[T, M any](all map[string]*T, id string, of func(*T) *M) *M {
	if found := all[id]; found != nil {
		return of(found)
	}
	return nil
}

func setProtection(c *api.Context) (string, *api.Error) {
	protected := protections()[c.Get("Type")](c.State, c.Get("InstanceId"))
	if protected == nil {
		return "", api.BadRequest("DeletionProtection.ResourceNotExist", "The resource %s does not exist.", c.Get("InstanceId"))
	}
	*protected = c.True("ProtectionEnable")
	return c.Get("InstanceId"), nil
}

func eipByInstanceID(c *api.Context) (*state.Eip, *api.Error) {
	return api.Named(c, c.State.Eips, "InstanceId", func() *api.Error {
		return api.NotFound("InvalidInstanceId.NotFound", "The specified InstanceId %s is not found.", c.Get("InstanceId"))
	})
}

func setMonitor(c *api.Context) (any, *api.Error) {
	e, err := eipByInstanceID(c)
	if err != nil {
		return nil, err
	}
	project, store := "", ""
	if c.Get("Status") == "ON" {
		for _, name := range []string{"LogProject", "LogStore"} {
			if !c.Has(name) {
				return nil, api.Missing(name)
			}
		}
		project, store = c.Get("LogProject"), c.Get("LogStore")
	}
	e.LogProject, e.LogStore = project, store
	return api.Object{"Success", "true"}, nil
}

func describeMonitor(c *api.Context) (any, *api.Error) {
	e, err := eipByInstanceID(c)
	if err != nil {
		return nil, err
	}
	return api.Object{
		"Success", "true", "InstanceId", e.ID, "InstanceType", "EIP", "LogProject", e.LogProject, "LogStore", e.LogStore,
	}, nil
}

func monitorStatus(e *state.Eip) string {
	if e.LogProject == "" {
		return "OFF"
	}
	return "ON"
}

func modifyForwardMode(c *api.Context) (string, *api.Error) {
	e, err := eipByInstanceID(c)
	switch {
	case err != nil:
		return "", err
	case e.Status != available && e.Status != inUse:
		return "", incorrectEipStatus()
	}
	e.ForwardMode = c.Get("Mode")
	return e.ID, nil
}
