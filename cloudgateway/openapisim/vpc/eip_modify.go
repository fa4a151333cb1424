package vpc

import "alicloud-controllers.dev/cloudgateway/openapisim/api"

func eipModifyActions() []api.Action {
	return []api.Action{{
		Name: "ModifyEipAddressAttribute", Mutating: true, Handle: modifyEip,
		Params: []api.Param{
			api.Optional("RegionId"), api.Required("AllocationId"), api.Number("Bandwidth", 1, 1000), api.Optional("Name"),
			api.Optional("Description"),
		},
		Codes: []string{
			"InvalidAllocationId.NotFound", "InvalidEipAddressName.Malformed", "InvalidDescription.Malformed", "IncorrectEipStatus",
		},
	}}
}

func modifyEip(c *api.Context) (any, *api.Error) {
	e, err := eipByID(c)
	switch {
	case err != nil:
		return nil, err
	case !validName(c.Get("Name")):
		return nil, malformed("InvalidEipAddressName.Malformed", "Name")
	case !validDescription(c.Get("Description")):
		return nil, malformed("InvalidDescription.Malformed", "Description")
	case e.Status != available && e.Status != inUse:
		return nil, incorrectEipStatus()
	}
	if c.Has("Bandwidth") {
		e.Bandwidth = c.Get("Bandwidth")
	}
	if c.Has("Name") {
		e.Name = c.Get("Name")
	}
	if c.Has("Description") {
		e.Description = c.Get("Description")
	}
	return nil, nil
}
