package ecs

import (
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// managedInterfaces are those that services of the cloud have in the VPCs of the caller: one for each zone of an NLB. They are made of
// what the service knows, and only the service changes them.
func managedInterfaces(c *state.Cloud) map[string]*state.NetworkInterface {
	managed := map[string]*state.NetworkInterface{}
	for _, lb := range c.NLBs {
		for _, z := range lb.Zones {
			managed[z.EniID] = interfaceOfZone(lb, z)
		}
	}
	return managed
}

// managedInterface is the one with an id, or nil.
func managedInterface(c *state.Cloud, id string) *state.NetworkInterface {
	for _, lb := range c.NLBs {
		for _, z := range lb.Zones {
			if z.EniID == id {
				return interfaceOfZone(lb, z)
			}
		}
	}
	return nil
}

func interfaceOfZone(lb *state.NLB, z *state.NLBZone) *state.NetworkInterface {
	eni := &state.NetworkInterface{
		ID: z.EniID, Type: secondaryInterface, Status: inUse, VpcID: lb.VpcID, VSwitchID: z.VSwitchID, ZoneID: z.ZoneID,
		MacAddress: "00:16:3f" + macTail(z.EniID), PrimaryIP: z.PrivateIP, PrivateIPs: append([]string{z.PrivateIP}, z.Ipv4LocalAddresses...),
		SecurityGroupIDs: lb.SecurityGroupIDs, Description: "Interface of " + lb.ID + ".", Created: lb.Created,
		ResourceGroupID: lb.ResourceGroupID, ServiceManaged: true,
	}
	if z.Ipv6Address != "" {
		eni.Ipv6Addresses = append([]string{z.Ipv6Address}, z.Ipv6LocalAddresses...)
	}
	return eni
}

// macTail are the last three bytes of an address, made of an id, so that they are always the same.
func macTail(id string) string {
	sum := uint32(0)
	for _, r := range id {
		sum = sum*31 + uint32(r)
	}
	const digits = "0123456789abcdef"
	var b strings.Builder
	for shift := 20; shift >= 0; shift -= 4 {
		if shift%8 == 4 {
			b.WriteByte(':')
		}
		b.WriteByte(digits[sum>>shift&15])
	}
	return b.String()
}
