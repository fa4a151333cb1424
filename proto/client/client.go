package client

import (
	"context"

	"google.golang.org/grpc"

	casv1 "alicloud-controllers.dev/proto/cloudgateway/cas/v1"
	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/proto/rpcerr"
)

// Client calls every service of the gateway. Its fields are interfaces, so that a test can replace one.
type Client struct {
	LoadBalancers      slbv1.LoadBalancerServiceClient
	Listeners          slbv1.ListenerServiceClient
	ServerGroups       slbv1.ServerGroupServiceClient
	ServerHealth       slbv1.ServerHealthServiceClient
	ForwardingRules    slbv1.ForwardingRuleServiceClient
	DomainExtensions   slbv1.DomainExtensionServiceClient
	AccessControlLists slbv1.AccessControlListServiceClient
	Certificates       slbv1.CertificateServiceClient
	// Those of NLB.
	NetworkLoadBalancers nlbv1.LoadBalancerServiceClient
	NetworkListeners     nlbv1.ListenerServiceClient
	NetworkServerGroups  nlbv1.ServerGroupServiceClient
	// UserCertificates are those of the Certificate Management Service, which NLB takes.
	UserCertificates  casv1.CertificateServiceClient
	Routes            vpcv1.RouteServiceClient
	Networks          vpcv1.NetworkServiceClient
	VSwitches         vpcv1.VSwitchServiceClient
	Eips              vpcv1.EipServiceClient
	Instances         ecsv1.InstanceServiceClient
	NetworkInterfaces ecsv1.NetworkInterfaceServiceClient
	SecurityGroups    ecsv1.SecurityGroupServiceClient
	Capabilities      commonv1.CapabilitiesServiceClient
	Status            commonv1.StatusServiceClient
}

// New makes a Client on a connection. The errors of its calls are *rpcerr.Error.
func New(cc grpc.ClientConnInterface) *Client {
	cc = typedErrors{cc}
	return &Client{
		LoadBalancers:        slbv1.NewLoadBalancerServiceClient(cc),
		Listeners:            slbv1.NewListenerServiceClient(cc),
		ServerGroups:         slbv1.NewServerGroupServiceClient(cc),
		ServerHealth:         slbv1.NewServerHealthServiceClient(cc),
		ForwardingRules:      slbv1.NewForwardingRuleServiceClient(cc),
		DomainExtensions:     slbv1.NewDomainExtensionServiceClient(cc),
		AccessControlLists:   slbv1.NewAccessControlListServiceClient(cc),
		Certificates:         slbv1.NewCertificateServiceClient(cc),
		NetworkLoadBalancers: nlbv1.NewLoadBalancerServiceClient(cc),
		NetworkListeners:     nlbv1.NewListenerServiceClient(cc),
		NetworkServerGroups:  nlbv1.NewServerGroupServiceClient(cc),
		UserCertificates:     casv1.NewCertificateServiceClient(cc),
		Routes:               vpcv1.NewRouteServiceClient(cc),
		Networks:             vpcv1.NewNetworkServiceClient(cc),
		VSwitches:            vpcv1.NewVSwitchServiceClient(cc),
		Eips:                 vpcv1.NewEipServiceClient(cc),
		Instances:            ecsv1.NewInstanceServiceClient(cc),
		NetworkInterfaces:    ecsv1.NewNetworkInterfaceServiceClient(cc),
		SecurityGroups:       ecsv1.NewSecurityGroupServiceClient(cc),
		Capabilities:         commonv1.NewCapabilitiesServiceClient(cc),
		Status:               commonv1.NewStatusServiceClient(cc),
	}
}

// typedErrors makes every failed call an *rpcerr.Error, which shows in logs what the bare status hides.
type typedErrors struct{ grpc.ClientConnInterface }

// Invoke implements grpc.ClientConnInterface.
func (c typedErrors) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	err := c.ClientConnInterface.Invoke(ctx, method, args, reply, opts...)
	if e, ok := rpcerr.From(err); ok {
		return e
	}
	return err
}
