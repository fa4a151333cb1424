package slb

import (
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// instanceSetActions are the changes of a load balancer that cost nothing.
func instanceSetActions() []api.Action {
	return []api.Action{
		api.Write("SetLoadBalancerName", api.On(loadBalancer, setLoadBalancerName),
			api.Words("InvalidLoadBalancerId.NotFound InvalidParameter"), region(), api.Required("LoadBalancerId"),
			api.Required("LoadBalancerName")),
		api.Write("SetLoadBalancerStatus", api.On(loadBalancer, setLoadBalancerStatus),
			api.Words("InvalidLoadBalancerId.NotFound OperationUnsupported.SetLoadBalancerStatus"), region(),
			api.Required("LoadBalancerId"), must(api.OneOf("LoadBalancerStatus", active, inactive))),
		api.Write("SetLoadBalancerDeleteProtection", api.On(loadBalancer, setDeleteProtection),
			api.Words("InvalidLoadBalancerId.NotFound OperationUnsupported.DeleteProtectionForPrePayInstance"),
			region(), api.Required("LoadBalancerId"), must(api.OneOf("DeleteProtection", on, off))),
		api.Write("SetLoadBalancerModificationProtection", api.On(loadBalancer, setModificationProtection),
			api.Words(`InvalidLoadBalancerId.NotFound InvalidParam.ModificationProtectionReason
				InvalidParam.ModificationProtectionStatus`), region(), api.Required("LoadBalancerId"),
			api.Required("ModificationProtectionStatus"), api.Optional("ModificationProtectionReason")),
		api.Write("MoveResourceGroup", moveResourceGroup,
			api.Words("AclNotExist InvalidLoadBalancerId.NotFound ResourceNotFound.Certificate"), region(),
			api.Required("ResourceId"), must(api.OneOf("ResourceType", "loadbalancer", "certificate", "acl")),
			api.Required("NewResourceGroupId")),
	}
}

func setLoadBalancerName(c *api.Context, lb *state.LoadBalancer) (any, *api.Error) {
	if !validName(c.Get("LoadBalancerName")) {
		return nil, api.Invalid("LoadBalancerName")
	}
	lb.Name = c.Get("LoadBalancerName")
	return nil, nil
}

func setLoadBalancerStatus(c *api.Context, lb *state.LoadBalancer) (any, *api.Error) {
	if lb.Status == locked {
		return nil, api.BadRequest("OperationUnsupported.SetLoadBalancerStatus", "The status of a locked load balancer cannot be set.")
	}
	c.Keep("", &lb.Spelling)
	lb.Status, lb.ActiveAt = c.Get("LoadBalancerStatus"), time.Time{}
	return nil, nil
}

func setDeleteProtection(c *api.Context, lb *state.LoadBalancer) (any, *api.Error) {
	if lb.PayType == prePay {
		return nil, protectedSubscription()
	}
	c.Keep("", &lb.Spelling)
	lb.DeleteProtection = c.Get("DeleteProtection")
	return nil, nil
}

func setModificationProtection(c *api.Context, lb *state.LoadBalancer) (any, *api.Error) {
	next := *lb
	next.ModificationStatus, next.ModificationReason = c.Get("ModificationProtectionStatus"), c.Get("ModificationProtectionReason")
	if err := checkProtection(c, &next); err != nil {
		return nil, err
	}
	c.Keep("", &lb.Spelling)
	lb.ModificationStatus, lb.ModificationReason = next.ModificationStatus, next.ModificationReason
	return nil, nil
}

func moveResourceGroup(c *api.Context) (any, *api.Error) {
	id, group := c.Get("ResourceId"), c.Get("NewResourceGroupId")
	switch c.Get("ResourceType") {
	case "certificate":
		cert := c.State.Certificates[id]
		if cert == nil {
			return nil, api.NotFound("ResourceNotFound.Certificate", "The specified certificate does not exist.")
		}
		cert.ResourceGroupID = group
	case "acl":
		acl := c.State.Acls[id]
		if acl == nil {
			return nil, aclNotFound()
		}
		acl.ResourceGroupID = group
	default:
		lb, err := loadBalancerByID(c, id)
		if err != nil {
			return nil, err
		}
		lb.ResourceGroupID = group
	}
	return nil, nil
}
