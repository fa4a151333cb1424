package scope

import (
	"google.golang.org/protobuf/proto"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
)

// Kind is a kind of resource, as errors name it.
type Kind string

// The kinds that have an owner by themselves. All others are parts of one: listeners, rules, domain extensions and server groups of a load
// balancer, routes and route tables of a VPC.
const (
	LoadBalancer      Kind = "load balancer"
	AccessControlList Kind = "access control list"
	ServerCertificate Kind = "server certificate"
	CACertificate     Kind = "CA certificate"
	Network           Kind = "VPC"
	RouteTable        Kind = "route table"
	VSwitch           Kind = "vSwitch"
	EIP               Kind = "EIP"
	Instance          Kind = "instance"
	NetworkInterface  Kind = "network interface"
)

// Resource is one that a request changes.
type Resource struct {
	Kind Kind
	ID   string
}

// String names it in errors.
func (r Resource) String() string { return string(r.Kind) + " " + r.ID }

// change is what a request does, as far as scopes care.
type change struct {
	of            []Resource      // owners of what is changed
	setTags       []*commonv1.Tag // on the first of them
	removeTagKeys []string
	makes         *made
}

// made is a resource that a request creates.
type made struct {
	kind             Kind
	tags             []*commonv1.Tag
	vpcID, vswitchID string
}

// changeOf says what a request that writes is about; false if nobody has said it. Handlers see to it that the load balancer and the VPC that a
// request names for a part are those of the part.
func changeOf(request proto.Message) (change, bool) {
	if c, ok := creation(request); ok {
		return change{makes: &c}, true
	}
	c, ok := balancerChange(request)
	if !ok {
		c, ok = otherChange(request)
	}
	return c, ok
}

func creation(request proto.Message) (made, bool) {
	switch r := request.(type) {
	case *slbv1.CreateLoadBalancerRequest:
		return made{kind: LoadBalancer, tags: r.GetTags(), vswitchID: r.GetVswitchId()}, true
	case *slbv1.CreateAccessControlListRequest:
		return made{kind: AccessControlList, tags: r.GetTags()}, true
	case *slbv1.UploadServerCertificateRequest:
		return made{kind: ServerCertificate, tags: r.GetTags()}, true
	case *slbv1.UploadCaCertificateRequest:
		return made{kind: CACertificate, tags: r.GetTags()}, true
	case *vpcv1.CreateRouteTableRequest:
		return made{kind: RouteTable, tags: r.GetTags(), vpcID: r.GetVpcId()}, true
	case *vpcv1.CreateVSwitchRequest:
		return made{kind: VSwitch, tags: r.GetTags(), vpcID: r.GetVpcId()}, true
	case *vpcv1.AllocateEipRequest:
		return made{kind: EIP, tags: r.GetTags()}, true
	}
	return made{}, false
}

// balancerChange is a change of a load balancer, or of a part of one.
func balancerChange(request proto.Message) (change, bool) {
	id := ""
	switch r := request.(type) {
	case *slbv1.UpdateLoadBalancerRequest:
		return retagged(LoadBalancer, r.GetLoadBalancerId(), r), true
	case *slbv1.CreateListenerRequest, *slbv1.UpdateListenerRequest, *slbv1.DeleteListenerRequest, *slbv1.StartListenerRequest,
		*slbv1.StopListenerRequest, *slbv1.BatchCreateForwardingRulesRequest, *slbv1.BatchDeleteForwardingRulesRequest,
		*slbv1.CreateDomainExtensionRequest:
		id = r.(interface{ GetKey() *slbv1.ListenerKey }).GetKey().GetLoadBalancerId() //nolint:forcetypeassert // All of them have one.
	case *slbv1.DeleteLoadBalancerRequest, *slbv1.CreateServerGroupRequest, *slbv1.ApplyServerChangesRequest, *slbv1.UpdateServerGroupRequest,
		*slbv1.DeleteServerGroupRequest, *slbv1.ApplyDefaultServerChangesRequest, *slbv1.UpdateForwardingRuleRequest,
		*slbv1.UpdateDomainExtensionRequest, *slbv1.DeleteDomainExtensionRequest:
		id = r.(interface{ GetLoadBalancerId() string }).GetLoadBalancerId() //nolint:forcetypeassert // All of them have one.
	default:
		return change{}, false
	}
	return only(LoadBalancer, id), true
}

func otherChange(request proto.Message) (change, bool) {
	switch r := request.(type) {
	case *slbv1.UpdateAccessControlListRequest:
		return retagged(AccessControlList, r.GetAclId(), r), true
	case *slbv1.DeleteAccessControlListRequest:
		return only(AccessControlList, r.GetAclId()), true
	case *slbv1.UpdateServerCertificateRequest:
		return retagged(ServerCertificate, r.GetServerCertificateId(), r), true
	case *slbv1.DeleteServerCertificateRequest:
		return only(ServerCertificate, r.GetServerCertificateId()), true
	case *slbv1.UpdateCaCertificateRequest:
		return retagged(CACertificate, r.GetCaCertificateId(), r), true
	case *slbv1.DeleteCaCertificateRequest:
		return only(CACertificate, r.GetCaCertificateId()), true
	case *vpcv1.DeleteRouteTableRequest, *vpcv1.AssociateRouteTableRequest, *vpcv1.UnassociateRouteTableRequest,
		*vpcv1.BatchCreateRouteEntriesRequest, *vpcv1.BatchDeleteRouteEntriesRequest, *vpcv1.UpdateRouteEntryRequest:
		return only(Network, r.(interface{ GetVpcId() string }).GetVpcId()), true //nolint:forcetypeassert // All of them have one.
	case *vpcv1.DeleteVSwitchRequest:
		return only(VSwitch, r.GetVswitchId()), true
	case *vpcv1.UpdateEipRequest:
		return retagged(EIP, r.GetAllocationId(), r), true
	case *vpcv1.AssociateEipRequest:
		return change{of: []Resource{{Kind: EIP, ID: r.GetAllocationId()}, {Kind: bindable(r.GetInstanceType()), ID: r.GetInstanceId()}}}, true
	case *vpcv1.UnassociateEipRequest:
		return only(EIP, r.GetAllocationId()), true
	case *vpcv1.ReleaseEipRequest:
		return only(EIP, r.GetAllocationId()), true
	case *ecsv1.UpdateInstanceRequest:
		return retagged(Instance, r.GetInstanceId(), r), true
	case *ecsv1.StartInstanceRequest:
		return only(Instance, r.GetInstanceId()), true
	case *ecsv1.StopInstanceRequest:
		return only(Instance, r.GetInstanceId()), true
	case *ecsv1.DeleteInstanceRequest:
		return only(Instance, r.GetInstanceId()), true
	case *ecsv1.UpdateNetworkInterfaceRequest:
		return retagged(NetworkInterface, r.GetNetworkInterfaceId(), r), true
	}
	return change{}, false
}

// bindable is the kind of what an EIP is bound to. Of other kinds nothing can be read.
func bindable(instanceType string) Kind {
	switch instanceType {
	case "EcsInstance":
		return Instance
	case "SlbInstance":
		return LoadBalancer
	case "NetworkInterface":
		return NetworkInterface
	}
	return Kind(instanceType)
}

func only(kind Kind, id string) change { return change{of: []Resource{{Kind: kind, ID: id}}} }

func retagged(kind Kind, id string, r interface {
	GetSetTags() []*commonv1.Tag
	GetRemoveTagKeys() []string
}) change {
	c := only(kind, id)
	c.setTags, c.removeTagKeys = r.GetSetTags(), r.GetRemoveTagKeys()
	return c
}
