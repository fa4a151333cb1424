package slb

import (
	"cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

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
	fill := func(field *string, value string) { *field = cmp.Or(*field, value) }
	fill(&lb.Status, active)
	fill(&lb.Name, defaultName)
	fill(&lb.AddressIPVersion, "ipv4")
	fill(&lb.InternetChargeType, payByTraffic)
	fill(&lb.PayType, payOnDemand)
	fill(&lb.DeleteProtection, off)
	fill(&lb.ModificationStatus, nonProtection)
	fill(&lb.ResourceGroupID, defaultResourceGroup)
	if lb.Spec != "" {
		fill(&lb.InstanceChargeType, payBySpec)
	}
	fill(&lb.InstanceChargeType, payByCLCU)
	lb.Bandwidth = cmp.Or(lb.Bandwidth, greatestTraffic)
	completePlace(c, lb)
}

// completePlace fills in zones and an address. A load balancer in a vSwitch is an intranet one.
func completePlace(c *api.Context, lb *state.LoadBalancer) {
	all := zones(c)
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
	take(vsw, lb)
}

// take marks the address of a load balancer as used in its vSwitch.
func take(vsw *state.VSwitch, lb *state.LoadBalancer) {
	if vsw.UsedIPs == nil {
		vsw.UsedIPs = map[string]string{}
	}
	vsw.UsedIPs[lb.Address] = lb.ID
}
