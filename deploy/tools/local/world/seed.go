package world

import (
	"fmt"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// What the cloud holds before anything happens.
const (
	Region        = "cn-hangzhou"
	VpcID         = "vpc-local"
	RouteTableID  = "vtb-local"
	CertificateID = "1000000000000001_local_demo"
	AclID         = "acl-local"
)

// VSwitchIDs are the world's two subnets.
func VSwitchIDs() []string { return []string{"vsw-local-a", "vsw-local-b"} }

// network is a VPC with two vSwitches and a system route table, and what Services can refer to.
func (p plan) network() *state.Cloud {
	a, b := VSwitchIDs()[0], VSwitchIDs()[1]
	certificate := &state.Certificate{
		ID: CertificateID, Name: "demo", CommonName: "demo.example.com",
		Created: time.Now(), Expires: time.Now().AddDate(1, 0, 0),
	}
	cloud := &state.Cloud{
		Vpcs: map[string]*state.Vpc{VpcID: {ID: VpcID, Name: "local", CidrBlock: p.vpc()}},
		VSwitches: map[string]*state.VSwitch{
			a: {ID: a, VpcID: VpcID, ZoneID: Region + "-h", Name: "local-a", CidrBlock: p.prefix + ".0.0/17", RouteTableID: RouteTableID},
			b: {ID: b, VpcID: VpcID, ZoneID: Region + "-i", Name: "local-b", CidrBlock: p.prefix + ".128.0/17", RouteTableID: RouteTableID},
		},
		RouteTables:  map[string]*state.RouteTable{RouteTableID: {ID: RouteTableID, VpcID: VpcID, Name: "system", Type: "System"}},
		Certificates: map[string]*state.Certificate{CertificateID: certificate},
		UserCertificates: map[string]*state.UserCertificate{ // NLBs have theirs from another product than CLBs
			CertificateID: {ID: CertificateID, Name: "demo", Created: time.Now()},
		},
		Clusters: map[string]*state.Cluster{ClusterID: {ID: ClusterID, Name: "local", VpcID: VpcID, VSwitchIDs: VSwitchIDs()}},
		Acls: map[string]*state.Acl{AclID: {
			ID: AclID, Name: "demo", IPVersion: "ipv4", Entries: []state.AclEntry{{Entry: "198.51.100.0/24", Comment: "office"}},
		}},
		Eips: map[string]*state.Eip{
			"eip-local-1": {ID: "eip-local-1", Address: "203.0.113.1", Bandwidth: "5", Status: "Available"},
			"eip-local-2": {ID: "eip-local-2", Address: "203.0.113.2", Bandwidth: "5", Status: "Available"},
		},
	}
	if p.dualStack {
		cloud.Vpcs[VpcID].Ipv6Cidrs = []string{prefix6 + "00::/56"}
		cloud.Ipv6Gateways = map[string]*state.InternetGateway{"ipv6gw-local": {ID: "ipv6gw-local", VpcID: VpcID}}
		for i, id := range VSwitchIDs() {
			cloud.VSwitches[id].Ipv6Cidr = subnet6(i) + "/64"
		}
	}
	return cloud
}

// prefix6 begins the IPv6 addresses of the VPC.
const prefix6 = "2408:4000:0:10"

// subnet6 is the first IPv6 address of the i-th vSwitch.
func subnet6(i int) string { return fmt.Sprintf("%s%02x::", prefix6, i) }

// machine is an instance, its interface and the name of its node.
type machine struct {
	name     string
	instance *state.Instance
	primary  *state.NetworkInterface
}

// hostsPerOctet leaves out .0 and .255, and the first addresses, which belong to the cloud.
const hostsPerOctet, firstHost = 240, 10

// newMachine makes the i-th machine; odd ones live in one zone, even ones in the other.
func (p plan) newMachine(i int) machine {
	zone, vswitch, octet := Region+"-h", VSwitchIDs()[0], 0
	if i%2 == 0 {
		zone, vswitch, octet = Region+"-i", VSwitchIDs()[1], 128
	}
	ip := fmt.Sprintf("%s.%d.%d", p.prefix, octet+i/2/hostsPerOctet, firstHost+i/2%hostsPerOctet)
	id := fmt.Sprintf("i-local%05d", i)
	name := Region + "." + ip
	var ipv6 []string
	if p.dualStack {
		ipv6 = []string{fmt.Sprintf("%s%x", subnet6((i+1)%len(VSwitchIDs())), i)}
	}
	return machine{
		name: name,
		instance: &state.Instance{
			ID: id, Name: name, HostName: name, ZoneID: zone, InstanceType: "ecs.g7.xlarge", Status: "Running",
			ChargeType: "PostPaid", SpotStrategy: "NoSpot", VpcID: VpcID, VSwitchID: vswitch, PrivateIPs: []string{ip},
			Tags: []state.Tag{{Key: "ack.aliyun.com", Value: ClusterID}},
		},
		primary: &state.NetworkInterface{
			ID: fmt.Sprintf("eni-local%05d", i), Type: "Primary", Status: "InUse", InstanceID: id, VpcID: VpcID, VSwitchID: vswitch,
			ZoneID: zone, MacAddress: fmt.Sprintf("00:16:3e:00:%02x:%02x", i>>8&0xff, i&0xff), //nolint:mnd // Bytes.
			PrimaryIP: ip, PrivateIPs: []string{ip}, Ipv6Addresses: ipv6, SourceDestCheck: true,
		},
	}
}

func (m machine) providerID() string { return Region + "." + m.instance.ID }
