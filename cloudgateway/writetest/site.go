// Package writetest has a call of every write RPC, what has to be there before, and what its caller does when the gateway dies,
// for the tests that let such calls go wrong.
package writetest

import (
	"cmp"
	"context"
	"fmt"
	"path"

	"google.golang.org/protobuf/proto"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/services/gateway"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// instances is how many a Site has: as many as an operation uses.
const instances = 95

// Site is where one operation works. It shares nothing with other sites but certificates, so that operations can run at
// the same time in one cloud, and so that the parameters of every call to the cloud show for which site it is.
type Site struct {
	Name string

	// Made or found by Operation.Prepare.
	lb, group, eni, eip string
	made                string // vSwitch or route table
	entry               string // of the system's route table
	extension           string
	rules               []string
	number              int    // of Seed
	acl, uploaded       string // a list, a certificate
	pair                *slbv1.KeyPair
	protocol            slbv1.Protocol
	listenerID          string   // of NLB
	sg                  string   // security group
	addresses           []string // of an interface, without its primary one
	tagged              string   // whose tags change, where it is not what else the site has
}

// The certificates of listeners are the same for all sites: an account has a hundred, and some operations upload more.
const (
	certificate      = "cert-1"
	otherCertificate = "cert-2"
)

// Seed is what the cloud has to hold of the site before Operation.Prepare. The number, below 250, makes its addresses its own.
func (s *Site) Seed(number int) *state.Cloud {
	s.number = number
	c := &state.Cloud{
		Vpcs: map[string]*state.Vpc{s.vpc(): {
			CidrBlock: fmt.Sprintf("172.%d.0.0/16", number), Ipv6Cidrs: []string{fmt.Sprintf("2408:4000:%x::/56", number)},
		}},
		Ipv6Gateways: map[string]*state.InternetGateway{"ipv6gw-" + s.vpc(): {VpcID: s.vpc()}},
		VSwitches:    map[string]*state.VSwitch{},
		RouteTables:  map[string]*state.RouteTable{s.table(): {VpcID: s.vpc(), Type: "System"}},
		Instances:    map[string]*state.Instance{},
		Certificates: map[string]*state.Certificate{
			certificate: {Name: certificate}, otherCertificate: {Name: otherCertificate},
		},
		UserCertificates: map[string]*state.UserCertificate{
			certificate: {Name: certificate}, otherCertificate: {Name: otherCertificate},
		},
	}
	for i, zone := range []string{zone, secondZone, "cn-hangzhou-j"} {
		id := s.vswitch()
		if i > 0 {
			id = fmt.Sprintf("%s-%d", id, i+1)
		}
		c.VSwitches[id] = &state.VSwitch{
			VpcID: s.vpc(), ZoneID: zone, CidrBlock: fmt.Sprintf("172.%d.%d.0/24", number, 200*min(i, 1)+i),
			Ipv6Cidr: fmt.Sprintf("2408:4000:%x:%x::/64", number, i),
		}
	}
	c.SecurityGroups = map[string]*state.SecurityGroup{
		s.securityGroup(0): {VpcID: s.vpc(), Type: "normal"}, s.securityGroup(1): {VpcID: s.vpc(), Type: "normal"},
	}
	c.BandwidthPackages = map[string]*state.BandwidthPackage{s.bandwidthPackage(): {Bandwidth: 10}}
	for i := range instances {
		c.Instances[s.instance(i)] = &state.Instance{
			VpcID: s.vpc(), VSwitchID: s.vswitch(), ZoneID: zone, Status: "Running",
			PrivateIPs: []string{fmt.Sprintf("172.%d.0.%d", number, 1+i)},
		}
	}
	return c
}

const zone = "cn-hangzhou-h"

func (s *Site) vpc() string           { return "vpc-" + s.Name }
func (s *Site) vswitch() string       { return "vsw-" + s.Name }
func (s *Site) table() string         { return "vtb-" + s.Name }
func (s *Site) instance(i int) string { return fmt.Sprintf("i-%s-%02d", s.Name, i) }

// Params are patterns of the parameters by which a write to the cloud is known to be one of this site. They are those of the
// simulator's faults.
func (s *Site) Params(action string) map[string]string {
	switch action {
	case "CreateLoadBalancer":
		return map[string]string{"LoadBalancerName": s.Name}
	case "TagResources", "UntagResources", "UnTagResources": // The names of listeners begin with that of their instance.
		return map[string]string{"ResourceId.1": cmp.Or(s.tagged, s.lb, s.eip, s.sg, s.eni, s.acl, s.uploaded, s.instance(0)) + "*"}
	case "MoveResourceGroup":
		return map[string]string{"ResourceId": cmp.Or(s.lb, s.acl, s.uploaded, s.group)}
	case "CreateServerGroup":
		return map[string]string{"ServerGroupName": s.Name + "-80"}
	case "AddServersToServerGroup": // The group may not be known before.
		return map[string]string{"Servers.1.ServerId": "i-" + s.Name + "-*"}
	case "UpdateServerGroupServersAttribute", "RemoveServersFromServerGroup", "UpdateServerGroupAttribute", "DeleteServerGroup":
		return map[string]string{"ServerGroupId": s.group}
	case "UpdateListenerAttribute", "StartListener", "StopListener", "DeleteListener", "DisassociateAdditionalCertificatesWithListener":
		return map[string]string{"ListenerId": s.listenerID}
	case "AssociateAdditionalCertificatesWithListener": // The listener may not be known before.
		return map[string]string{"ListenerId": cmp.Or(s.listenerID, "*")}
	case "CreateAccessControlList":
		return map[string]string{"AclName": s.Name}
	case "AddAccessControlListEntry": // The list may not be known before.
		return map[string]string{"AclEntrys": "*of " + s.Name + "*"}
	case "RemoveAccessControlListEntry", "SetAccessControlListAttribute", "DeleteAccessControlList":
		return map[string]string{"AclId": s.acl}
	case "UploadServerCertificate":
		return map[string]string{"ServerCertificateName": s.upload()}
	case "SetServerCertificateName", "DeleteServerCertificate":
		return map[string]string{"ServerCertificateId": s.uploaded}
	case "UploadCACertificate":
		return map[string]string{"CACertificateName": s.upload()}
	case "SetCACertificateName", "DeleteCACertificate":
		return map[string]string{"CACertificateId": s.uploaded}
	case "UploadUserCertificate":
		return map[string]string{"Name": s.upload()}
	case "DeleteUserCertificate":
		return map[string]string{"CertId": s.uploaded}
	case "AddVServerGroupBackendServers": // The group may not be known before.
		return map[string]string{"BackendServers": "*i-" + s.Name + "-*"}
	case "ModifyVServerGroupBackendServers", "SetVServerGroupAttribute", "RemoveVServerGroupBackendServers", "DeleteVServerGroup":
		return map[string]string{"VServerGroupId": s.group}
	case "SetRule":
		return map[string]string{"RuleId": s.rules[0]}
	case "DeleteRules":
		return map[string]string{"RuleIds": "*" + s.rules[0] + "*"}
	case "SetDomainExtensionAttribute", "DeleteDomainExtension":
		return map[string]string{"DomainExtensionId": s.extension}
	case "CreateRouteEntries", "DeleteRouteEntries":
		return map[string]string{"RouteEntries.1.RouteTableId": s.table()}
	case "ModifyInstanceAttribute", "StartInstance", "StopInstance", "DeleteInstance":
		return map[string]string{"InstanceId": s.instance(0)}
	case "CreateSecurityGroup":
		return map[string]string{"Description": "of " + s.Name}
	case "AuthorizeSecurityGroup", "AuthorizeSecurityGroupEgress": // The group may not be known before.
		return map[string]string{"Permissions.1.Description": "of " + s.Name}
	case "ModifySecurityGroupAttribute", "RevokeSecurityGroup", "RevokeSecurityGroupEgress", "DeleteSecurityGroup":
		return map[string]string{"SecurityGroupId": s.sg}
	case "CreateNetworkInterface":
		return map[string]string{"NetworkInterfaceName": "g" + s.Name}
	case "ModifyNetworkInterfaceAttribute", "DeleteNetworkInterface", "AttachNetworkInterface", "DetachNetworkInterface",
		"AssignPrivateIpAddresses", "UnassignPrivateIpAddresses", "AssignIpv6Addresses", "UnassignIpv6Addresses":
		return map[string]string{"NetworkInterfaceId": s.eni}
	}
	if known := s.networkParams(action); known != nil {
		return known
	}
	return map[string]string{"LoadBalancerId": s.lb}
}

// servers makes servers on the instances from first on.
func (s *Site) servers(first, count int) []*slbv1.Server {
	list := make([]*slbv1.Server, count)
	for i := range list {
		list[i] = &slbv1.Server{
			Type: slbv1.ServerType_SERVER_TYPE_ECS, ServerId: s.instance(first + i), Port: 30080, Weight: new(int32(100)), Description: "web",
		}
	}
	return list
}

// defaultServers makes servers of the default server group.
func (s *Site) defaultServers(first, count int) []*slbv1.DefaultServer {
	list := make([]*slbv1.DefaultServer, count)
	for i := range list {
		list[i] = &slbv1.DefaultServer{
			Type: slbv1.ServerType_SERVER_TYPE_ECS, ServerId: s.instance(first + i), Weight: new(int32(100)), Description: "web",
		}
	}
	return list
}

func (s *Site) balancer() *slbv1.CreateLoadBalancerRequest {
	return &slbv1.CreateLoadBalancerRequest{
		RequestId: s.Name, Name: s.Name, AddressType: slbv1.AddressType_ADDRESS_TYPE_INTRANET,
		VpcId: s.vpc(), VswitchId: s.vswitch(), Spec: "slb.s1.small",
		InstanceChargeType:     slbv1.InstanceChargeType_INSTANCE_CHARGE_TYPE_PAY_BY_SPEC,
		DeleteProtection:       true,
		ModificationProtection: &slbv1.ModificationProtection{Enabled: true, Reason: "managed.by.ack"},
		Tags:                   []*commonv1.Tag{{Key: "ack.aliyun.com", Value: "c-1"}, {Key: "kubernetes.do.not.delete", Value: s.Name}},
	}
}

func (s *Site) serverGroup(servers ...*slbv1.Server) *slbv1.CreateServerGroupRequest {
	return &slbv1.CreateServerGroupRequest{
		RequestId: path.Join(s.Name, "group"), LoadBalancerId: s.lb, Name: path.Join(s.Name, "80"), Servers: servers,
		Tags: []*commonv1.Tag{{Key: "site", Value: s.Name}},
	}
}

func (s *Site) key() *slbv1.ListenerKey {
	return &slbv1.ListenerKey{LoadBalancerId: s.lb, Port: 80, Protocol: cmp.Or(s.protocol, slbv1.Protocol_PROTOCOL_TCP)}
}

func (s *Site) listener() *slbv1.CreateListenerRequest {
	r := &slbv1.CreateListenerRequest{
		Key: s.key(),
		Config: &slbv1.ListenerConfig{
			Description: new(path.Join(s.Name, "80")), ServerGroupId: new(s.group), Scheduler: new("rr"),
			HealthCheck: &slbv1.HealthCheck{Interval: proto.Int32(4)},
		},
		Tags: []*commonv1.Tag{{Key: "site", Value: s.Name}},
	}
	if s.protocol == slbv1.Protocol_PROTOCOL_HTTPS {
		r.Config.ServerCertificateId = new(certificate)
	}
	return r
}

func (s *Site) routes() []*vpcv1.RouteEntry {
	return []*vpcv1.RouteEntry{
		{RouteTableId: s.table(), DestinationCidr: "10.0.0.0/24", NextHopId: s.instance(0), Description: "k8s"},
		{RouteTableId: s.table(), DestinationCidr: "10.0.1.0/24", NextHopId: s.instance(1), Description: "k8s"},
	}
}

func nothing(context.Context, *gateway.Client, *Site) error { return nil }

func withBalancer(ctx context.Context, c *gateway.Client, s *Site) error {
	return s.create(ctx, c, s.balancer())
}

func withPublicBalancer(ctx context.Context, c *gateway.Client, s *Site) error {
	r := s.balancer()
	r.AddressType, r.VpcId, r.VswitchId = slbv1.AddressType_ADDRESS_TYPE_INTERNET, "", ""
	return s.create(ctx, c, r)
}

func (s *Site) create(ctx context.Context, c *gateway.Client, r *slbv1.CreateLoadBalancerRequest) error {
	answer, err := c.LoadBalancers.CreateLoadBalancer(ctx, r)
	s.lb = answer.GetLoadBalancer().GetLoadBalancerId()
	return err
}

func withGroup(ctx context.Context, c *gateway.Client, s *Site) error {
	if err := withBalancer(ctx, c, s); err != nil {
		return err
	}
	answer, err := c.ServerGroups.CreateServerGroup(ctx, s.serverGroup(s.servers(0, 30)...))
	s.group = answer.GetServerGroupId()
	return err
}

func withDefaultServers(ctx context.Context, c *gateway.Client, s *Site) error {
	if err := withBalancer(ctx, c, s); err != nil {
		return err
	}
	_, err := c.ServerGroups.ApplyDefaultServerChanges(ctx, &slbv1.ApplyDefaultServerChangesRequest{
		LoadBalancerId: s.lb, Add: s.defaultServers(0, 20),
	})
	return err
}

func withListener(ctx context.Context, c *gateway.Client, s *Site) error {
	if err := withGroup(ctx, c, s); err != nil {
		return err
	}
	_, err := c.Listeners.CreateListener(ctx, s.listener())
	return err
}

// ofProtocol is a step with a listener of the protocol in place of a TCP listener.
func ofProtocol(protocol slbv1.Protocol, step Step) Step {
	return func(ctx context.Context, c *gateway.Client, s *Site) error {
		s.protocol = protocol
		return step(ctx, c, s)
	}
}
