// Package server answers the gateway's gRPC methods: each handler checks the request as a whole, lets the product do the work,
// and wraps the result. What a method needs to be allowed stands in Policies.
package server

import (
	"google.golang.org/grpc"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/cloudgateway/internal/acl"
	"alicloud-controllers.dev/cloudgateway/internal/certificate"
	"alicloud-controllers.dev/cloudgateway/internal/ecs"
	"alicloud-controllers.dev/cloudgateway/internal/slb"
	"alicloud-controllers.dev/cloudgateway/internal/vpc"
)

// Config holds what the handlers work with.
type Config struct {
	SLB *slb.Client
	VPC *vpc.Client
	ECS *ecs.Client
	ACL *acl.Client
	// Certificates are those of SLB.
	Certificates certificate.Client
	// Version, Region and VpcID are told to callers who ask for the capabilities.
	Version, Region, VpcID string
}

// Register adds all services to a server.
func Register(r grpc.ServiceRegistrar, cfg Config) {
	slbv1.RegisterLoadBalancerServiceServer(r, &loadBalancers{slb: cfg.SLB})
	slbv1.RegisterListenerServiceServer(r, &listeners{slb: cfg.SLB})
	slbv1.RegisterServerGroupServiceServer(r, &serverGroups{slb: cfg.SLB})
	slbv1.RegisterHealthServiceServer(r, &health{slb: cfg.SLB})
	slbv1.RegisterForwardingRuleServiceServer(r, &forwardingRules{slb: cfg.SLB})
	slbv1.RegisterDomainExtensionServiceServer(r, &domainExtensions{slb: cfg.SLB})
	slbv1.RegisterAccessControlListServiceServer(r, &accessControlLists{acl: cfg.ACL})
	slbv1.RegisterCertificateServiceServer(r, &certificates{certificates: cfg.Certificates})
	vpcv1.RegisterRouteServiceServer(r, &routes{vpc: cfg.VPC})
	vpcv1.RegisterNetworkServiceServer(r, &networks{vpc: cfg.VPC})
	vpcv1.RegisterVSwitchServiceServer(r, &vswitches{vpc: cfg.VPC})
	vpcv1.RegisterEipServiceServer(r, &eips{vpc: cfg.VPC})
	ecsv1.RegisterInstanceServiceServer(r, &instances{ecs: cfg.ECS})
	ecsv1.RegisterNetworkInterfaceServiceServer(r, &networkInterfaces{ecs: cfg.ECS})
	commonv1.RegisterCapabilitiesServiceServer(r, &capabilities{cfg: cfg})
}
