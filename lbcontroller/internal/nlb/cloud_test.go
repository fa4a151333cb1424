package nlb_test

import (
	"fmt"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// network is what the cloud has before there are nodes.
func network() *state.Cloud {
	seed := state.New("cn-hangzhou", "")
	seed.Vpcs["vpc-test"] = &state.Vpc{CidrBlock: "10.0.0.0/8", Ipv6Cidrs: []string{"2408:4005::/56"}}
	seed.Ipv6Gateways["ipv6gw-1"] = &state.InternetGateway{VpcID: "vpc-test"}
	for i, id := range []string{"vsw-h", "vsw-i", "vsw-i2", "vsw-j"} {
		seed.VSwitches[id] = &state.VSwitch{VpcID: "vpc-test", ZoneID: "cn-hangzhou-" + id[4:5],
			CidrBlock: fmt.Sprintf("10.%d.0.0/24", 2+i), Ipv6Cidr: fmt.Sprintf("2408:4005:0:%d::/64", 2+i)}
	}
	seed.VSwitches["vsw-nodes"] = &state.VSwitch{VpcID: "vpc-test", ZoneID: "cn-hangzhou-i", CidrBlock: "10.0.0.0/15"}
	for _, id := range []string{"sg-1", "sg-2"} {
		seed.SecurityGroups[id] = &state.SecurityGroup{VpcID: "vpc-test", Type: "normal"}
	}
	for _, id := range []string{"cert-1", "cert-2", "cert-3", "cert-4", "cert-9"} {
		seed.UserCertificates[id] = &state.UserCertificate{}
	}
	seed.UserCertificates["ca-1"] = &state.UserCertificate{CA: true}
	return seed
}
