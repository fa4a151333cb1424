package slb

import (
	"cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/regions"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// completeSeed fills in what the parts of load balancers have once they are ready; load balancers follow when they are looked at.
func completeSeed(_, brought *state.Cloud) {
	for _, acl := range brought.Acls {
		state.Fill(&acl.IPVersion, "ipv4")
	}
	for _, group := range brought.ServerGroups {
		for _, server := range group.Servers {
			state.Fill(&server.Type, typeECS)
		}
	}
}

// complete fills in what a seeded load balancer leaves out, so that a seed may be as short as an id. A load balancer without a
// time of creation is one that was seeded and not completed yet.
func complete(c *api.Context, lb *state.LoadBalancer) {
	for _, l := range lb.Listeners {
		if l.Status == "" {
			l.Status = running
		}
		if l.Attributes == nil {
			l.Attributes = map[string]string{}
		}
	}
	if !lb.Created.IsZero() {
		return
	}
	lb.Created = c.Now
	state.Fill(&lb.Status, active)
	state.Fill(&lb.Name, defaultName)
	state.Fill(&lb.AddressIPVersion, "ipv4")
	state.Fill(&lb.InternetChargeType, payByTraffic)
	state.Fill(&lb.PayType, payOnDemand)
	state.Fill(&lb.DeleteProtection, off)
	state.Fill(&lb.ModificationStatus, nonProtection)
	state.Fill(&lb.ResourceGroupID, defaultResourceGroup)
	if lb.Spec == elasticSpec {
		lb.Spec = ""
	}
	if lb.Spec != "" {
		state.Fill(&lb.InstanceChargeType, payBySpec)
	}
	state.Fill(&lb.InstanceChargeType, payByCLCU)
	lb.Bandwidth = cmp.Or(lb.Bandwidth, greatestTraffic)
	completePlace(c, lb)
}

// completePlace fills in zones and an address. A load balancer in a vSwitch is an intranet one.
func completePlace(c *api.Context, lb *state.LoadBalancer) {
	all := regions.Zones(c)
	lb.MasterZoneID, lb.SlaveZoneID = cmp.Or(lb.MasterZoneID, all[0]), cmp.Or(lb.SlaveZoneID, all[1])
	vsw := c.State.VSwitches[lb.VSwitchID]
	if vsw == nil {
		lb.AddressType, lb.NetworkType = cmp.Or(lb.AddressType, internet), cmp.Or(lb.NetworkType, "classic")
		if lb.Address == "" {
			lb.Address = internetAddress(c, lb.AddressIPVersion)
		}
		return
	}
	lb.AddressType, lb.NetworkType, lb.VpcID = cmp.Or(lb.AddressType, intranet), cmp.Or(lb.NetworkType, "vpc"), vsw.VpcID
	if lb.Address == "" {
		if address, err := intranetAddress(c, vsw, ""); err == nil { // a full vSwitch leaves it without
			lb.Address = address
		}
	}
}
