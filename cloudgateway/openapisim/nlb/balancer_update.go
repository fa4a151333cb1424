package nlb

import (
	"maps"
	"slices"
	"unicode/utf8"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func balancerUpdateActions() []api.Action {
	id := func(more ...api.Param) []api.Param { return append(mandatory("LoadBalancerId"), more...) }
	return []api.Action{
		write("UpdateLoadBalancerAttribute", api.On(balancer, updateBalancer), []string{noBalancer, balancerBusy,
			balancerStatus, lockConflict, "IllegalParam.loadBalancerName"},
			id(api.Optional("LoadBalancerName"), api.Number("Cps", 0, maxCps), api.Flag("CrossZoneEnabled"))...),
		write("UpdateLoadBalancerProtection", api.On(balancer, updateProtection), []string{
			noBalancer, balancerMade, balancerBusy, balancerStatus, lockConflict, illegal, "IllegalParam.deletionProtectionReason",
			"IllegalParam.modificationProtectionReason",
		}, id(api.Flag("DeletionProtectionEnabled"), api.Optional("DeletionProtectionReason"),
			api.OneOf("ModificationProtectionStatus", consoleProtection, nonProtection), api.Optional("ModificationProtectionReason"))...),
		write("EnableLoadBalancerIpv6Internet", ipv6Internet(internet), []string{
			noBalancer, balancerMade, balancerBusy, balancerStatus, lockConflict, "OperationDenied.NonDualStackInstance",
			"ResourceNotFound.Ipv6Gateway",
		}, id()...),
		write("DisableLoadBalancerIpv6Internet", ipv6Internet(intranet), []string{
			noBalancer, balancerMade, balancerBusy, balancerStatus, lockConflict, "OperationDenied.NonDualStackInstance",
			"OperationDenied.Ipv6IntranetInstance",
		}, id()...),
		write("MoveResourceGroup", moveResourceGroup, []string{
			noBalancer, noGroup, noPolicy, "OperationFailed.NotExist.ResourceGroup",
		}, append(mandatory("ResourceId", "NewResourceGroupId"), required(api.OneOf("ResourceType", kindBalancer, kindGroup, kindPolicy)))...),
	}
}

// light is a change of a load balancer that leaves it active, so that other changes can overlap it.
func light(lb *state.NLB, apply func()) *change {
	return &change{kind: kindBalancer, id: lb.ID, balancer: lb.ID, apply: apply}
}

func updateBalancer(c *api.Context, lb *state.NLB) (*change, *api.Error) {
	if c.Has("LoadBalancerName") && !validName(c.Get("LoadBalancerName")) {
		return nil, fail("IllegalParam.loadBalancerName")
	}
	if err := free(c, lb, balancerBusy, balancerBusy); err != nil {
		return nil, err
	}
	return light(lb, func() {
		c.SetText("LoadBalancerName", &lb.Name)
		c.SetInt("Cps", &lb.Cps)
		if c.Has("CrossZoneEnabled") {
			lb.CrossZoneOff = !c.True("CrossZoneEnabled")
		}
	}), nil
}

// validReason reports whether a protection can have a reason: 2 to 128 characters.
func validReason(reason string) bool {
	n := utf8.RuneCountInString(reason)
	return reason == "" || n >= 2 && n <= 128
}

func updateProtection(c *api.Context, lb *state.NLB) (*change, *api.Error) {
	modification := c.Get("ModificationProtectionStatus")
	switch {
	case !validReason(c.Get("DeletionProtectionReason")):
		return nil, fail("IllegalParam.deletionProtectionReason")
	case !validReason(c.Get("ModificationProtectionReason")):
		return nil, fail("IllegalParam.modificationProtectionReason")
	case modification == "" && !c.Has("DeletionProtectionEnabled"):
		return nil, fail(illegal)
	}
	if err := free(c, lb, balancerMade, balancerBusy); err != nil {
		return nil, err
	}
	return &change{apply: func() {
		c.Keep("", &lb.Spelling)
		if c.Has("DeletionProtectionEnabled") {
			setProtection(c, &lb.Deletion, c.True("DeletionProtectionEnabled"), c.Get("DeletionProtectionReason"))
		}
		if modification != "" {
			lb.Spelling = lb.Spelling.Renamed("ModificationProtectionStatus", "Status")
			setProtection(c, &lb.Modification, modification == consoleProtection, c.Get("ModificationProtectionReason"))
		}
	}}, nil
}

func ipv6Internet(to string) func(*api.Context) (*change, *api.Error) {
	return func(c *api.Context) (*change, *api.Error) {
		lb, err := freeBalancer(c)
		switch {
		case err != nil:
			return nil, err
		case lb.AddressIPVersion != dualStack:
			return nil, fail("OperationDenied.NonDualStackInstance")
		case to == intranet && lb.Ipv6AddressType == intranet:
			return nil, fail("OperationDenied.Ipv6IntranetInstance")
		}
		ofVpc := func(g *state.InternetGateway) bool { return g.VpcID == lb.VpcID }
		if to == internet && !slices.ContainsFunc(slices.Collect(maps.Values(c.State.Ipv6Gateways)), ofVpc) {
			return nil, fail("ResourceNotFound.Ipv6Gateway") // one is made by itself, not with the VPC
		}
		return light(lb, func() { lb.Ipv6AddressType = to }), nil
	}
}

func moveResourceGroup(c *api.Context) (*change, *api.Error) {
	var place *string
	id := c.Get("ResourceId")
	switch kind := c.Get("ResourceType"); kind {
	case kindBalancer:
		if lb := c.State.NLBs[id]; lb != nil {
			place = &lb.ResourceGroupID
		}
	case kindGroup:
		if g := c.State.NLBServerGroups[id]; g != nil {
			place = &g.ResourceGroupID
		}
	case kindPolicy:
		if p := c.State.NLBSecurityPolicies[id]; p != nil {
			place = &p.ResourceGroupID
		}
	}
	switch {
	case place == nil:
		return nil, fail(tagging().Types[c.Get("ResourceType")].Unknown)
	case !checkResourceGroup(c, "NewResourceGroupId"):
		return nil, fail("OperationFailed.NotExist.ResourceGroup")
	}
	return &change{apply: func() { *place = c.Get("NewResourceGroupId") }}, nil
}

func attachmentActions() []api.Action {
	groups := append(mandatory("LoadBalancerId"), required(texts("SecurityGroupIds", 10)))
	packages := mandatory("LoadBalancerId", "BandwidthPackageId")
	return []api.Action{
		write("LoadBalancerJoinSecurityGroup", api.On(freeForGroups, joinSecurityGroup), []string{
			noBalancer, balancerMade, balancerBusy, balancerStatus, lockConflict, quota, "Conflict.SecurityGroup",
			"Mismatch.vpc", "ResourceNotFound.SecurityGroup",
			"ResourceAlreadyAssociated.SecurityGroup",
		}, groups...),
		write("LoadBalancerLeaveSecurityGroup", api.On(freeForGroups, leaveSecurityGroup), []string{
			noBalancer, balancerMade, balancerBusy, balancerStatus, lockConflict, "ResourceNotFound.SecurityGroup",
		}, groups...),
		write("AttachCommonBandwidthPackageToLoadBalancer", api.On(freeBalancer, attachPackage), []string{
			noBalancer, balancerMade, balancerBusy, balancerStatus, lockConflict, "OperationDenied.IntranetLoadBalancer",
			"ResourceAlreadyAssociated.loadbalancer",
			"ResourceNotFound.BandwidthPackageId", "ResourceNotFound.CommonBandwidthPackage",
		}, packages...),
		write("DetachCommonBandwidthPackageFromLoadBalancer", api.On(freeBalancer, detachPackage), []string{
			noBalancer, balancerMade, balancerBusy, balancerStatus, lockConflict, "ResourceNotAssociated.loadbalancer",
		}, packages...),
	}
}

// freeForGroups is free for the security groups, which only one job may change at a time.
func freeForGroups(c *api.Context) (*state.NLB, *api.Error) {
	lb, err := freeBalancer(c)
	if err == nil && busy(c, kindBalancer, lb.ID, "LoadBalancerJoinSecurityGroup", "LoadBalancerLeaveSecurityGroup") {
		err = fail(lockConflict)
	}
	return lb, err
}

// freeBalancer returns the load balancer of a call if it can be changed.
func freeBalancer(c *api.Context) (*state.NLB, *api.Error) {
	lb, err := balancer(c)
	if err != nil {
		return nil, err
	}
	return lb, free(c, lb, balancerMade, balancerBusy)
}

func joinSecurityGroup(c *api.Context, lb *state.NLB) (*change, *api.Error) {
	joined, err := joinedGroups(c, lb)
	if err != nil {
		return nil, err
	}
	return light(lb, func() { lb.SecurityGroupIDs = joined }), nil
}

// joinedGroups are the security groups of a load balancer together with those of a call.
func joinedGroups(c *api.Context, lb *state.NLB) ([]string, *api.Error) {
	joined := slices.Clone(lb.SecurityGroupIDs)
	for _, id := range c.List("SecurityGroupIds") {
		g := c.State.SecurityGroups[id]
		switch {
		case g == nil:
			return nil, fail("ResourceNotFound.SecurityGroup")
		case g.VpcID != lb.VpcID:
			return nil, fail("Mismatch.vpc")
		case slices.Contains(joined, id):
			return nil, fail("ResourceAlreadyAssociated.SecurityGroup")
		case len(joined) > 0 && c.State.SecurityGroups[joined[0]] != nil && c.State.SecurityGroups[joined[0]].Type != g.Type:
			return nil, fail("Conflict.SecurityGroup") // basic and advanced groups don't mix
		}
		joined = append(joined, id)
	}
	if len(joined) > c.Settings.Quotas.NLBSecurityGroups {
		return nil, fail(quota)
	}
	return joined, nil
}

func leaveSecurityGroup(c *api.Context, lb *state.NLB) (*change, *api.Error) {
	leaving := c.List("SecurityGroupIds")
	for _, id := range leaving {
		if !slices.Contains(lb.SecurityGroupIDs, id) {
			return nil, fail("ResourceNotFound.SecurityGroup")
		}
	}
	return light(lb, func() {
		lb.SecurityGroupIDs = slices.DeleteFunc(slices.Clone(lb.SecurityGroupIDs), func(id string) bool { return slices.Contains(leaving, id) })
	}), nil
}

func attachPackage(c *api.Context, lb *state.NLB) (*change, *api.Error) {
	id := c.Get("BandwidthPackageId")
	switch {
	case len(id) < 5 || id[:5] != "cbwp-":
		return nil, fail("ResourceNotFound.BandwidthPackageId")
	case c.State.BandwidthPackages[id] == nil:
		return nil, fail("ResourceNotFound.CommonBandwidthPackage")
	case lb.AddressType != internet:
		return nil, fail("OperationDenied.IntranetLoadBalancer")
	case lb.BandwidthPackageID != "":
		return nil, fail("ResourceAlreadyAssociated.loadbalancer")
	}
	return light(lb, func() { lb.BandwidthPackageID = id }), nil
}

func detachPackage(c *api.Context, lb *state.NLB) (*change, *api.Error) {
	if lb.BandwidthPackageID != c.Get("BandwidthPackageId") {
		return nil, fail("ResourceNotAssociated.loadbalancer")
	}
	return light(lb, func() { lb.BandwidthPackageID = "" }), nil
}
