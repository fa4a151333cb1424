package nlb_test

import (
	"testing"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/internal/apitest"
	"alicloud-controllers.dev/cloudgateway/openapisim/nlb"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func TestMain(m *testing.M) { apitest.Main(m, nlb.Product()) }

// start is when the clock of every test starts.
func start() time.Time { return time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC) }

func newCaller(t testing.TB) *apitest.Caller {
	t.Helper()
	return apitest.New(t, nlb.Product(), newCloud())
}

// newCloud has load balancers, listeners and groups in every status that refuses something.
func newCloud() *state.Cloud {
	c := state.New(apitest.Region, apitest.Account)
	addNetwork(c)
	addServers(c)
	addBalancers(c)
	addGroups(c)
	addListeners(c)
	c.NLBSecurityPolicies["tls-1"] = &state.NLBSecurityPolicy{ID: "tls-1", Name: "one", TLSVersions: []string{"TLSv1.2"},
		Ciphers: []string{"AES128-SHA"}}
	c.NLBSecurityPolicies["tls-used"] = &state.NLBSecurityPolicy{ID: "tls-used", Name: "used"}
	job := func(id, action, kind, resource, balancer string) {
		c.NLBJobs[id] = &state.NLBJob{
			ID: id, Action: action, ResourceType: kind, ResourceID: resource, NLBID: balancer, Status: "Processing",
			Created: start(), EndsAt: start().Add(time.Hour),
		}
		c.NLBRunningJobs = append(c.NLBRunningJobs, id)
	}
	job("job-1", "AddServersToServerGroup", "servergroup", "sgp-busy", "")
	job("job-2", "DeleteServerGroup", "servergroup", "sgp-going", "")
	job("job-3", "LoadBalancerJoinSecurityGroup", "loadbalancer", "nlb-joining", "nlb-joining")
	job("job-4", "AssociateAdditionalCertificatesWithListener", "listener", "lsn-tls@443", "nlb-1")
	return c
}

func addNetwork(c *state.Cloud) {
	c.Vpcs["vpc-1"] = &state.Vpc{ID: "vpc-1", CidrBlock: "192.168.0.0/16", Ipv6Cidrs: []string{"2408::/56"}}
	c.Ipv6Gateways["ipv6gw-1"] = &state.InternetGateway{ID: "ipv6gw-1", VpcID: "vpc-1"}
	c.Vpcs["vpc-2"] = &state.Vpc{ID: "vpc-2", CidrBlock: "172.16.0.0/12"}
	vsw := func(id, vpcID, zone, cidr, ipv6 string) *state.VSwitch {
		c.VSwitches[id] = &state.VSwitch{ID: id, VpcID: vpcID, ZoneID: zone, CidrBlock: cidr, Ipv6Cidr: ipv6}
		return c.VSwitches[id]
	}
	vsw("vsw-a", "vpc-1", "z-a", "192.168.0.0/24", "2408:0:0:1::/64")
	vsw("vsw-a2", "vpc-1", "z-a", "192.168.5.0/24", "2408:0:0:5::/64")
	vsw("vsw-b", "vpc-1", "z-b", "192.168.1.0/24", "2408:0:0:2::/64")
	vsw("vsw-c", "vpc-1", "z-c", "192.168.2.0/24", "")
	vsw("vsw-full", "vpc-1", "z-c", "192.168.3.0/29", "")
	c.Instances["i-full"] = &state.Instance{
		ID: "i-full", VSwitchID: "vsw-full", PrivateIPs: []string{"192.168.3.1", "192.168.3.2", "192.168.3.3", "192.168.3.4"},
	}
	vsw("vsw-pending", "vpc-1", "z-c", "192.168.4.0/24", "").PendingUntil = start().Add(time.Hour)
	vsw("vsw-far", "vpc-2", "z-a", "172.16.0.0/24", "")
	for id, status := range map[string]string{"eip-1": "Available", "eip-2": "Available", "eip-used": "InUse"} {
		c.Eips[id] = &state.Eip{ID: id, Address: "121.40.0.1", Status: status}
	}
	c.BandwidthPackages["cbwp-1"] = &state.BandwidthPackage{ID: "cbwp-1", Bandwidth: 100}
	for _, g := range []state.SecurityGroup{
		{ID: "sg-1", VpcID: "vpc-1", Type: "normal"}, {ID: "sg-2", VpcID: "vpc-1", Type: "normal"}, {ID: "sg-3", VpcID: "vpc-1", Type: "normal"},
		{ID: "sg-4", VpcID: "vpc-1", Type: "normal"}, {ID: "sg-5", VpcID: "vpc-1", Type: "normal"},
		{ID: "sg-advanced", VpcID: "vpc-1", Type: "enterprise"}, {ID: "sg-far", VpcID: "vpc-2", Type: "normal"},
	} {
		c.SecurityGroups[g.ID] = &g
	}
	for _, id := range []string{"cert-1", "cert-2", "cert-3", "cert-4"} {
		c.UserCertificates[id] = &state.UserCertificate{ID: id}
	}
	c.UserCertificates["ca-1"] = &state.UserCertificate{ID: "ca-1", CA: true}
}

func addServers(c *state.Cloud) {
	instance := func(id, vpcID, ip string) {
		c.Instances[id] = &state.Instance{ID: id, VpcID: vpcID, ZoneID: "z-a", Status: "Running", PrivateIPs: []string{ip}}
	}
	instance("i-1", "vpc-1", "192.168.0.11")
	instance("i-2", "vpc-1", "192.168.0.12")
	instance("i-3", "vpc-1", "192.168.0.13")
	instance("i-far", "vpc-2", "172.16.0.11")
	eni := func(id, vpcID, status string, ips ...string) {
		c.Interfaces[id] = &state.NetworkInterface{
			ID: id, VpcID: vpcID, Status: status, InstanceID: "i-2", ZoneID: "z-a", PrimaryIP: ips[0], PrivateIPs: ips,
			Ipv6Addresses: []string{"2408:0:0:1::9"},
		}
	}
	eni("eni-1", "vpc-1", "InUse", "192.168.0.21", "192.168.0.22")
	eni("eni-same", "vpc-1", "InUse", "192.168.0.11")
	eni("eni-free", "vpc-1", "Available", "192.168.0.23")
	eni("eni-far", "vpc-2", "InUse", "172.16.0.21")
}

func addBalancers(c *state.Cloud) {
	for _, lb := range []state.NLB{
		{ID: "nlb-1", AddressType: "Internet", AddressIPVersion: "DualStack", Ipv6AddressType: "Intranet", Status: "Active"},
		{ID: "nlb-2", AddressType: "Internet", AddressIPVersion: "ipv4", Status: "Active", SecurityGroupIDs: []string{"sg-1"},
			BandwidthPackageID: "cbwp-1"},
		{ID: "nlb-in", AddressType: "Intranet", AddressIPVersion: "ipv4", Status: "Active"},
		{ID: "nlb-shifted", AddressType: "Intranet", AddressIPVersion: "ipv4", Status: "Active"},
		{ID: "nlb-public6", AddressType: "Intranet", AddressIPVersion: "DualStack", Ipv6AddressType: "Internet", Status: "Active"},
		{ID: "nlb-kept", AddressType: "Intranet", AddressIPVersion: "ipv4", Status: "Active",
			Deletion: state.NLBProtection{On: true, Since: start()}, Modification: state.NLBProtection{On: true, Since: start()}},
		{ID: "nlb-joining", AddressType: "Intranet", AddressIPVersion: "ipv4", Status: "Active"},
		{ID: "nlb-new", AddressType: "Internet", AddressIPVersion: "DualStack", Ipv6AddressType: "Intranet", Status: "Provisioning"},
		{ID: "nlb-busy", AddressType: "Internet", AddressIPVersion: "DualStack", Ipv6AddressType: "Internet", Status: "Configuring"},
		{ID: "nlb-dead", AddressType: "Internet", AddressIPVersion: "ipv4", Status: "CreateFailed"},
	} {
		lb.VpcID, lb.Created, lb.Name, lb.ResourceGroupID, lb.DNSName = "vpc-1", start(), "name-"+lb.ID, "rg-1", lb.ID+".nlb"
		lb.Zones = []*state.NLBZone{
			{ZoneID: "z-a", VSwitchID: "vsw-a", Status: "Active", PrivateIP: "192.168.0.200", EniID: "eni-a"},
			{ZoneID: "z-b", VSwitchID: "vsw-b", Status: "Active", PrivateIP: "192.168.1.200", EniID: "eni-b"},
		}
		c.NLBs[lb.ID] = &lb
	}
	c.NLBs["nlb-shifted"].Zones[0].Status = "Shifted"
	far := *c.NLBs["nlb-in"]
	far.ID, far.VpcID, far.Zones = "nlb-far", "vpc-2", nil
	c.NLBs["nlb-far"] = &far
	six := *c.NLBs["nlb-1"]
	six.ID, six.VpcID, six.Zones = "nlb-no-gateway", "vpc-2", nil
	c.NLBs["nlb-no-gateway"] = &six
}

func addGroups(c *state.Cloud) {
	check := state.NLBHealthCheck{Type: "TCP", HealthyThreshold: 2, UnhealthyThreshold: 2, ConnectTimeout: 5, Interval: 5}
	for _, g := range []state.NLBServerGroup{
		{ID: "sgp-1", Protocol: "TCP", Status: "Available"},
		{ID: "sgp-free", Protocol: "TCP", Status: "Available"},
		{ID: "sgp-empty", Protocol: "TCP", Status: "Available"},
		{ID: "sgp-udp", Protocol: "UDP", Status: "Available"},
		{ID: "sgp-tls", Protocol: "TCPSSL", Status: "Available", ClientIPOff: true},
		{ID: "sgp-any", Protocol: "TCP", Status: "Available", AnyPort: true},
		{ID: "sgp-ip", Protocol: "TCP", Status: "Available", Type: "Ip"},
		{ID: "sgp-far", Protocol: "TCP", Status: "Available", VpcID: "vpc-2"},
		{ID: "sgp-new", Protocol: "TCP", Status: "Creating"},
		{ID: "sgp-busy", Protocol: "TCP", Status: "Configuring"},
		{ID: "sgp-going", Protocol: "TCP", Status: "Configuring"},
	} {
		if g.VpcID == "" {
			g.VpcID = "vpc-1"
		}
		if g.Type == "" {
			g.Type = "Instance"
		}
		g.AddressIPVersion, g.Scheduler, g.HealthCheck, g.Created, g.Name, g.ResourceGroupID = "ipv4", "Wrr", check, start(), "name-"+g.ID, "rg-1"
		c.NLBServerGroups[g.ID] = &g
	}
	c.NLBServerGroups["sgp-any"].HealthCheck.Off = true
	for _, id := range []string{"sgp-1", "sgp-free"} {
		c.NLBServerGroups[id].Servers = []*state.NLBServer{
			{Type: "Ecs", ServerID: "i-1", ServerIP: "192.168.0.11", Port: 80, Weight: 100, Status: "Available", Added: start()},
			{Type: "Ecs", ServerID: "i-2", ServerIP: "192.168.0.12", Port: 80, Weight: 100, Status: "Available", Added: start()},
		}
	}
}

func addListeners(c *state.Cloud) {
	for _, l := range []state.NLBListener{
		{ID: "lsn-1@80", NLBID: "nlb-1", Protocol: "TCP", Port: 80, Status: "Running", ServerGroupID: "sgp-1", IdleTimeout: 900},
		{ID: "lsn-udp@53", NLBID: "nlb-1", Protocol: "UDP", Port: 53, Status: "Running", ServerGroupID: "sgp-udp", IdleTimeout: 20},
		{ID: "lsn-any@0", NLBID: "nlb-1", Protocol: "TCP", StartPort: 1000, EndPort: 2000, Status: "Running",
			ServerGroupID: "sgp-any", IdleTimeout: 900},
		{ID: "lsn-off@81", NLBID: "nlb-1", Protocol: "TCP", Port: 81, Status: "Stopped", ServerGroupID: "sgp-1", IdleTimeout: 900},
		{ID: "lsn-busy@82", NLBID: "nlb-1", Protocol: "TCP", Port: 82, Status: "Configuring", SettleTo: "Running",
			ServerGroupID: "sgp-1", IdleTimeout: 900},
		{ID: "lsn-held@80", NLBID: "nlb-busy", Protocol: "TCP", Port: 80, Status: "Running", ServerGroupID: "sgp-1", IdleTimeout: 900},
		{ID: "lsn-locked@80", NLBID: "nlb-joining", Protocol: "TCPSSL", Port: 80, Status: "Running", ServerGroupID: "sgp-tls", IdleTimeout: 900},
		{
			ID: "lsn-tls@443", NLBID: "nlb-1", Protocol: "TCPSSL", Port: 443, Status: "Running", ServerGroupID: "sgp-tls", IdleTimeout: 900,
			SecurityPolicyID: "tls-used", CertificateIDs: []string{"cert-1"}, CaCertificateIDs: []string{"ca-1"}, Ca: true,
			Additional: []state.NLBCertificate{{ID: "cert-2", Status: "Associated"}, {ID: "cert-3", Status: "Associating"}},
		},
	} {
		l.Created = start()
		c.NLBListeners[l.ID] = &l
	}
}
