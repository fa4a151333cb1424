package server

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/scope"
)

// Scoped is an interceptor that refuses writes outside of the scopes of their callers. It comes right before the handlers.
func (s *Services) Scoped(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	return s.guard.Intercept(ctx, request, info, next)
}

// Guard keeps callers to their scopes.
func (s *Services) Guard() *scope.Guard { return s.guard }

// marked is what all resources have that scopes look at.
type marked interface{ GetTags() []*commonv1.Tag }

// reads makes the guard read a kind of resource as a caller would.
func reads[T marked](g *scope.Guard, kind scope.Kind, read func(ctx context.Context, id string, maxAge *durationpb.Duration) (T, error)) {
	g.Reads(kind, func(ctx context.Context, id string, maxAge time.Duration) (scope.Facts, error) {
		found, err := read(ctx, id, durationpb.New(maxAge))
		if err != nil {
			return scope.Facts{}, err
		}
		facts := scope.Facts{Tags: found.GetTags()}
		if in, ok := any(found).(interface{ GetVpcId() string }); ok {
			facts.VpcID = in.GetVpcId()
		}
		return facts, nil
	})
}

func (s *Services) readECS(instances ecsv1.InstanceServiceServer, interfaces ecsv1.NetworkInterfaceServiceServer) {
	reads(s.guard, scope.Instance, func(ctx context.Context, id string, age *durationpb.Duration) (*ecsv1.Instance, error) {
		answer, err := instances.GetInstance(ctx, &ecsv1.GetInstanceRequest{InstanceId: id, MaxAge: age})
		return answer.GetInstance(), err
	})
	reads(s.guard, scope.NetworkInterface, func(ctx context.Context, id string, age *durationpb.Duration) (*ecsv1.NetworkInterface, error) {
		answer, err := interfaces.GetNetworkInterface(ctx, &ecsv1.GetNetworkInterfaceRequest{NetworkInterfaceId: id, MaxAge: age})
		return answer.GetNetworkInterface(), err
	})
}

func (s *Services) readVPC(networks vpcv1.NetworkServiceServer, vswitches vpcv1.VSwitchServiceServer, eips vpcv1.EipServiceServer) {
	reads(s.guard, scope.Network, func(ctx context.Context, id string, age *durationpb.Duration) (*vpcv1.Vpc, error) {
		answer, err := networks.GetVpc(ctx, &vpcv1.GetVpcRequest{VpcId: id, MaxAge: age})
		return answer.GetVpc(), err
	})
	reads(s.guard, scope.VSwitch, func(ctx context.Context, id string, age *durationpb.Duration) (*vpcv1.VSwitch, error) {
		answer, err := vswitches.GetVSwitch(ctx, &vpcv1.GetVSwitchRequest{VswitchId: id, MaxAge: age})
		return answer.GetVswitch(), err
	})
	reads(s.guard, scope.EIP, func(ctx context.Context, id string, age *durationpb.Duration) (*vpcv1.Eip, error) {
		answer, err := eips.GetEip(ctx, &vpcv1.GetEipRequest{AllocationId: id, MaxAge: age})
		return answer.GetEip(), err
	})
}

func (s *Services) readSLB(
	balancers slbv1.LoadBalancerServiceServer, acls slbv1.AccessControlListServiceServer, certificates slbv1.CertificateServiceServer,
) {
	reads(s.guard, scope.LoadBalancer, func(ctx context.Context, id string, age *durationpb.Duration) (*slbv1.LoadBalancer, error) {
		answer, err := balancers.GetLoadBalancer(ctx, &slbv1.GetLoadBalancerRequest{LoadBalancerId: id, MaxAge: age})
		return answer.GetLoadBalancer(), err
	})
	s.guard.Lists(func(ctx context.Context, tag *commonv1.Tag) error {
		_, err := balancers.ListLoadBalancers(ctx, &slbv1.ListLoadBalancersRequest{Tags: []*commonv1.Tag{tag}})
		return err
	})
	reads(s.guard, scope.AccessControlList, func(ctx context.Context, id string, age *durationpb.Duration) (*slbv1.AccessControlList, error) {
		answer, err := acls.GetAccessControlList(ctx, &slbv1.GetAccessControlListRequest{AclId: id, MaxAge: age})
		return answer.GetAccessControlList(), err
	})
	reads(s.guard, scope.ServerCertificate, func(ctx context.Context, id string, age *durationpb.Duration) (*slbv1.ServerCertificate, error) {
		answer, err := certificates.ListServerCertificates(ctx, &slbv1.ListServerCertificatesRequest{ServerCertificateIds: []string{id}, MaxAge: age})
		return one(scope.ServerCertificate, id, answer.GetServerCertificates(), err)
	})
	reads(s.guard, scope.CACertificate, func(ctx context.Context, id string, age *durationpb.Duration) (*slbv1.CaCertificate, error) {
		answer, err := certificates.ListCaCertificates(ctx, &slbv1.ListCaCertificatesRequest{CaCertificateIds: []string{id}, MaxAge: age})
		return one(scope.CACertificate, id, answer.GetCaCertificates(), err)
	})
}

// one is the only one of a list.
func one[T any](kind scope.Kind, id string, found []T, err error) (T, error) {
	if err == nil && len(found) == 1 {
		return found[0], nil
	}
	if err == nil {
		err = rpcerr.Errorf(rpcerr.CertificateNotFound, "there is no %s %s in this region", kind, id)
	}
	var none T
	return none, err
}
