package vpc

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/clienttoken"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// The states of an elastic IP address besides Available.
const (
	associating   = "Associating"
	inUse         = "InUse"
	unassociating = "Unassociating"
	releasing     = "Releasing"
)

// The instances an address can belong to.
const (
	ecsInstance = "EcsInstance"
	slbInstance = "SlbInstance"
	eniInstance = "NetworkInterface"
	natInstance = "Nat"
	// addressInstance is an address of a VPC, which stands for an instance.
	addressInstance = "IpAddress"
)

// eipInstanceTypes are all types that filters accept.
func eipInstanceTypes() []string {
	return []string{ecsInstance, slbInstance, eniInstance, natInstance, haVipWord, addressInstance}
}

func eipStateActions() []api.Action {
	codes := []string{
		"InvalidAllocationId.NotFound", "IncorrectEipStatus", "IncorrectInstanceStatus", "InvalidInstanceType.ValueNotSupported",
		"IdempotentParameterMismatch",
	}
	return []api.Action{
		api.Write("AssociateEipAddress", clienttoken.Once("vpc/AssociateEipAddress", nil, api.On(eipByID, associateEipAddress)), append([]string{
			"InvalidInstanId.NotFound", "OperationDenied", wrongNat, wrongHaVip, "BIND_INSTANCE_HAVE_PORTMAP_OR_BIND_EIP",
			"OperationFailed.PrivateIpAddressNotExist", "InvalidParameter", "InvalidVpcId.NotFound",
		}, codes...), api.Optional("RegionId"), api.Required("AllocationId"), api.Required("InstanceId"),
			api.Optional("InstanceType"), api.Optional("PrivateIpAddress"),
			api.OneOf("Mode", "NAT", "BINDED", "MULTI_BINDED"), api.Optional("ClientToken"), api.Optional("VpcId"),
			api.Optional("InstanceRegionId")),
		api.Write("UnassociateEipAddress", clienttoken.Once("vpc/UnassociateEipAddress", nil, api.On(eipByID, unassociateEipAddress)),
			append([]string{"InvalidBindInstance.NotFound", usedBySnat, usedByForward}, codes...), api.Optional("RegionId"),
			api.Required("AllocationId"), api.Optional("InstanceId"), api.Optional("InstanceType"),
			api.Optional("PrivateIpAddress"), api.Flag("Force"), api.Optional("ClientToken")),
	}
}

func associateEipAddress(c *api.Context, e *state.Eip) (string, *api.Error) {
	id, kind := c.Get("InstanceId"), cmp.Or(c.Get("InstanceType"), ecsInstance)
	if e.Status != available {
		return "", incorrectEipStatus()
	}
	if err := cmp.Or(checkEipPlace(c, kind), checkEipInstance(c.State, kind, id)); err != nil {
		return "", err
	}
	for _, other := range c.State.Eips {
		if kind != natInstance && other.InstanceID == id && other.PrivateIP == c.Get("PrivateIpAddress") {
			return "", api.BadRequest("BIND_INSTANCE_HAVE_PORTMAP_OR_BIND_EIP", "The specified instance already has an elastic IP address.")
		}
	}
	if ip := c.Get("PrivateIpAddress"); ip != "" && !hasAddress(c.State, id, ip) {
		return "", api.BadRequest("OperationFailed.PrivateIpAddressNotExist", "The specified private IP address does not exist.")
	}
	e.InstanceID, e.InstanceType, e.PrivateIP = id, kind, c.Get("PrivateIpAddress")
	if kind == addressInstance {
		e.VpcID = c.Get("VpcId")
	}
	if i := c.State.Instances[id]; i != nil {
		i.EipID = e.ID
	}
	e.Status, e.BusyUntil = associating, c.Now.Add(c.Settings.EipAssociating)
	settleIfFast(c, e)
	return e.ID, nil
}

// checkEipPlace refuses what is in another region, and an address of a VPC without its VPC.
func checkEipPlace(c *api.Context, kind string) *api.Error {
	switch {
	case c.Has("InstanceRegionId") && c.Get("InstanceRegionId") != c.Region:
		return api.Invalid("InstanceRegionId")
	case kind == addressInstance && !c.Has("VpcId"):
		return api.Invalid("VpcId")
	case c.Has("VpcId") && c.State.Vpcs[c.Get("VpcId")] == nil:
		return vpcNotFound()
	}
	return nil
}

// hasAddress reports whether a network interface has a private address.
func hasAddress(c *state.Cloud, interfaceID, ip string) bool {
	eni := c.Interfaces[interfaceID]
	return eni != nil && slices.Contains(eni.PrivateIPs, ip)
}

// staged refuses what there isn't, and what is on its way between two states.
func staged[T any](thing *T, stage func(*T) *state.Stage, missing, wrong *api.Error) *api.Error {
	switch {
	case thing == nil:
		return missing
	case !ready(stage(thing)):
		return wrong
	}
	return nil
}

func checkEipInstance(c *state.Cloud, kind, id string) *api.Error {
	notFound := api.NotFound("InvalidInstanId.NotFound", "Specified instance does not exist.")
	switch kind {
	case ecsInstance:
		i := c.Instances[id]
		if i == nil {
			return notFound
		}
		return checkInstanceStatus(i)
	case eniInstance:
		if c.Interfaces[id] == nil {
			return notFound
		}
	case natInstance:
		return staged(c.NatGateways[id], func(n *state.NatGateway) *state.Stage { return &n.Stage }, notFound,
			api.BadRequest(wrongNat, "The status of the NAT gateway does not support this operation."))
	case slbInstance:
		lb := c.LoadBalancers[id]
		if lb == nil {
			return notFound
		}
		if lb.AddressType != "intranet" {
			return api.BadRequest("OperationDenied", "The specified load balancer has a public address already.")
		}
	case haVipWord:
		return staged(c.HaVips[id], func(h *state.HaVip) *state.Stage { return &h.Stage }, notFound, incorrectHaVipStatus())
	case addressInstance:
		if addr, err := netip.ParseAddr(id); err != nil || !addr.Is4() {
			return notFound
		}
	default:
		if !slices.Contains(eipInstanceTypes(), kind) {
			return eipTypeNotSupported()
		}
		return notFound // there are none
	}
	return nil
}

func unassociateEipAddress(c *api.Context, e *state.Eip) (string, *api.Error) {
	switch {
	case c.Has("InstanceType") && !slices.Contains(eipInstanceTypes(), c.Get("InstanceType")):
		return "", eipTypeNotSupported()
	case e.Status != inUse:
		return "", incorrectEipStatus()
	case c.Has("InstanceId") && c.Get("InstanceId") != e.InstanceID:
		return "", api.NotFound("InvalidBindInstance.NotFound", "The specified instance does not have this elastic IP address.")
	}
	if err := usedByNat(c.State, e); err != nil {
		return "", err
	}
	if i := c.State.Instances[e.InstanceID]; i != nil {
		if err := checkInstanceStatus(i); err != nil {
			return "", err
		}
		i.EipID = ""
	}
	e.Status, e.BusyUntil = unassociating, c.Now.Add(c.Settings.EipAssociating)
	settleIfFast(c, e)
	return e.ID, nil
}

// usedByNat refuses to take an address that an entry of its NAT gateway uses.
func usedByNat(c *state.Cloud, e *state.Eip) *api.Error {
	user := natUser(c, e.InstanceID, e.Address)
	switch {
	case user == "":
		return nil
	case c.SnatEntries[user] != nil:
		return api.BadRequest(usedBySnat, "The address is used by the SNAT entry %s.", user)
	}
	return api.BadRequest(usedByForward, "The address is used by the DNAT entry %s.", user)
}

func eipTypeNotSupported() *api.Error {
	return api.BadRequest("InvalidInstanceType.ValueNotSupported", "The specified value of InstanceType is not supported.")
}

func settleIfFast(c *api.Context, e *state.Eip) {
	if !c.Now.Before(e.BusyUntil) {
		settleEip(c.State, e)
	}
}

// settleEip completes a transition.
func settleEip(c *state.Cloud, e *state.Eip) {
	e.BusyUntil = time.Time{}
	switch e.Status {
	case releasing:
		delete(c.Eips, e.ID)
	case associating:
		e.Status = inUse
	case unassociating:
		e.Status, e.InstanceID, e.InstanceType, e.PrivateIP, e.VpcID = available, "", "", "", ""
	}
}
