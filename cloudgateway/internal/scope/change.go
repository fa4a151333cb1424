package scope

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

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

// changeOf says what a request that writes is about; false if that is not known. Handlers see to it that the load balancer and the VPC that a
// request names for a part are those of the part.
func changeOf(request proto.Message) (change, bool) {
	if c, ok := creation(request); ok {
		return change{makes: &c}, true
	}
	owner, id := ownerOf(request)
	if owner == "" {
		return change{}, false
	}
	c := change{of: []Resource{{Kind: owner, ID: id}}}
	switch r := request.(type) {
	case *slbv1.UpdateListenerRequest, *slbv1.UpdateServerGroupRequest: // The tags are those of a part.
	case *vpcv1.AssociateEipRequest:
		c.of = append(c.of, Resource{Kind: bindable(r.GetInstanceType()), ID: r.GetInstanceId()})
	case interface {
		GetSetTags() []*commonv1.Tag
		GetRemoveTagKeys() []string
	}:
		c.setTags, c.removeTagKeys = r.GetSetTags(), r.GetRemoveTagKeys()
	}
	return c, true
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

// ownerOf gives the kind and the id of what a request changes, or of what that is a part of.
func ownerOf(request proto.Message) (owner Kind, id string) {
	field := protoreflect.Name("load_balancer_id")
	of := request.ProtoReflect()
	switch request.(type) {
	case *slbv1.UpdateLoadBalancerRequest, *slbv1.DeleteLoadBalancerRequest, *slbv1.CreateServerGroupRequest, *slbv1.ApplyServerChangesRequest,
		*slbv1.UpdateServerGroupRequest, *slbv1.DeleteServerGroupRequest, *slbv1.ApplyDefaultServerChangesRequest,
		*slbv1.UpdateForwardingRuleRequest, *slbv1.UpdateDomainExtensionRequest, *slbv1.DeleteDomainExtensionRequest:
		owner = LoadBalancer
	case *slbv1.CreateListenerRequest, *slbv1.UpdateListenerRequest, *slbv1.DeleteListenerRequest, *slbv1.StartListenerRequest,
		*slbv1.StopListenerRequest, *slbv1.BatchCreateForwardingRulesRequest, *slbv1.BatchDeleteForwardingRulesRequest,
		*slbv1.CreateDomainExtensionRequest:
		owner, of = LoadBalancer, of.Get(of.Descriptor().Fields().ByName("key")).Message()
	case *slbv1.UpdateAccessControlListRequest, *slbv1.DeleteAccessControlListRequest:
		owner, field = AccessControlList, "acl_id"
	case *slbv1.UpdateServerCertificateRequest, *slbv1.DeleteServerCertificateRequest:
		owner, field = ServerCertificate, "server_certificate_id"
	case *slbv1.UpdateCaCertificateRequest, *slbv1.DeleteCaCertificateRequest:
		owner, field = CACertificate, "ca_certificate_id"
	case *vpcv1.DeleteRouteTableRequest, *vpcv1.AssociateRouteTableRequest, *vpcv1.UnassociateRouteTableRequest,
		*vpcv1.BatchCreateRouteEntriesRequest, *vpcv1.BatchDeleteRouteEntriesRequest, *vpcv1.UpdateRouteEntryRequest:
		owner, field = Network, "vpc_id"
	case *vpcv1.DeleteVSwitchRequest:
		owner, field = VSwitch, "vswitch_id"
	case *vpcv1.UpdateEipRequest, *vpcv1.AssociateEipRequest, *vpcv1.UnassociateEipRequest, *vpcv1.ReleaseEipRequest:
		owner, field = EIP, "allocation_id"
	case *ecsv1.UpdateInstanceRequest, *ecsv1.StartInstanceRequest, *ecsv1.StopInstanceRequest, *ecsv1.DeleteInstanceRequest:
		owner, field = Instance, "instance_id"
	case *ecsv1.UpdateNetworkInterfaceRequest:
		owner, field = NetworkInterface, "network_interface_id"
	default:
		return "", ""
	}
	return owner, of.Get(of.Descriptor().Fields().ByName(field)).String()
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
