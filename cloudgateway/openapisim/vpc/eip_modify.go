package vpc

import (
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func eipModifyActions() []api.Action {
	return []api.Action{api.Write("ModifyEipAddressAttribute", api.On(eipByID, modifyEip),
		api.Words(`InvalidAllocationId.NotFound InvalidEipAddressName.Malformed InvalidDescription.Malformed
			IncorrectEipStatus`), api.Optional("RegionId"), api.Required("AllocationId"),
		api.Number("Bandwidth", 1, 1000), api.Optional("Name"), api.Optional("Description"))}
}

func modifyEip(c *api.Context, e *state.Eip) (any, *api.Error) {
	switch {
	case !validName(c.Get("Name")):
		return nil, malformed("InvalidEipAddressName.Malformed", "Name")
	case !validDescription(c.Get("Description")):
		return nil, malformed("InvalidDescription.Malformed", "Description")
	case e.Status != available && e.Status != inUse:
		return nil, incorrectEipStatus()
	}
	c.SetText("Bandwidth", &e.Bandwidth)
	c.SetText("Name", &e.Name)
	c.SetText("Description", &e.Description)
	return nil, nil
}
