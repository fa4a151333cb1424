package gatewaytest

import (
	"cmp"
	"context"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/proto/rpcerr"
)

// networks serves VPCs.
type networks struct {
	vpcv1.UnimplementedNetworkServiceServer

	f *Fake
}

func (s *networks) GetVpc(_ context.Context, req *vpcv1.GetVpcRequest) (*vpcv1.GetVpcResponse, error) {
	if err := required("vpc_id", req.GetVpcId()); err != nil {
		return nil, err
	}
	s.f.enter()
	defer s.f.leave()
	vpc, ok := s.f.Vpcs[req.GetVpcId()]
	if !ok {
		return nil, notFound(rpcerr.VpcNotFound, "VPC", req.GetVpcId())
	}
	return &vpcv1.GetVpcResponse{Vpc: proto.CloneOf(vpc)}, nil
}

// vswitches serves vSwitches.
type vswitches struct {
	vpcv1.UnimplementedVSwitchServiceServer

	f *Fake
}

func (s *vswitches) ListVSwitches(_ context.Context, req *vpcv1.ListVSwitchesRequest) (*vpcv1.ListVSwitchesResponse, error) {
	if req.GetVpcId() == "" && len(req.GetVswitchIds()) == 0 {
		return nil, invalid("vpc_id", "at least one filter is required: vpc_id or vswitch_ids")
	}
	s.f.enter()
	defer s.f.leave()
	return &vpcv1.ListVSwitchesResponse{Vswitches: sorted(s.f.VSwitches, func(v *vpcv1.VSwitch) bool {
		return (req.GetVpcId() == "" || v.GetVpcId() == req.GetVpcId()) &&
			(len(req.GetVswitchIds()) == 0 || slices.Contains(req.GetVswitchIds(), v.GetVswitchId()))
	})}, nil
}

// eips serves EIPs.
type eips struct {
	vpcv1.UnimplementedEipServiceServer

	f *Fake
}

// eip finds an EIP; f is locked.
func (f *Fake) eip(id string) (*vpcv1.Eip, error) {
	if e := f.Eips[id]; e != nil {
		return e, nil
	}
	return nil, notFound(rpcerr.EipNotFound, "EIP", id)
}

func (s *eips) ListEips(_ context.Context, req *vpcv1.ListEipsRequest) (*vpcv1.ListEipsResponse, error) {
	s.f.enter()
	defer s.f.leave()
	return &vpcv1.ListEipsResponse{Eips: sorted(s.f.Eips, func(e *vpcv1.Eip) bool {
		return among(req.GetAllocationIds(), e.GetAllocationId()) && hasTags(e.GetTags(), req.GetTags()) &&
			match(req.GetAssociatedInstanceType(), e.GetInstanceType()) && match(req.GetAssociatedInstanceId(), e.GetInstanceId())
	})}, nil
}

func (s *eips) AllocateEip(_ context.Context, req *vpcv1.AllocateEipRequest) (*vpcv1.AllocateEipResponse, error) {
	s.f.enter()
	defer s.f.leave()
	earlier, err := s.f.replay(req.GetRequestId(), req)
	if err != nil {
		return nil, err
	}
	if response, ok := earlier.(*vpcv1.AllocateEipResponse); ok {
		return proto.CloneOf(response), nil
	}
	e := &vpcv1.Eip{
		AllocationId: s.f.nextID("eip-new"), IpAddress: s.f.nextAddress(true, false), Status: "Available", Name: req.GetName(),
		BandwidthMbps: cmp.Or(req.GetBandwidthMbps(), 5), Tags: cloneAll(req.GetTags()), ResourceGroupId: req.GetResourceGroupId(),
		InternetChargeType: cmp.Or(req.GetInternetChargeType(), vpcv1.InternetChargeType_INTERNET_CHARGE_TYPE_PAY_BY_BANDWIDTH),
	}
	s.f.Eips[e.GetAllocationId()] = e
	response := &vpcv1.AllocateEipResponse{Eip: proto.CloneOf(e)}
	s.f.remember(req.GetRequestId(), req, response)
	return response, nil
}

// AssociateEip is for load balancers, of which each has one EIP at most.
func (s *eips) AssociateEip(_ context.Context, req *vpcv1.AssociateEipRequest) (*vpcv1.AssociateEipResponse, error) {
	s.f.enter()
	defer s.f.leave()
	e, err := s.f.eip(req.GetAllocationId())
	if err != nil {
		return nil, err
	}
	if _, err := s.f.loadBalancer(req.GetInstanceId()); err != nil {
		return nil, err
	}
	for _, other := range s.f.Eips {
		isBound := other == e && e.GetInstanceId() != "" || other.GetInstanceId() == req.GetInstanceId()
		if isBound && (other != e || e.GetInstanceId() != req.GetInstanceId()) {
			return nil, refused(codes.FailedPrecondition, rpcerr.ResourceInUse, "EIP %s is bound to %s", other.GetAllocationId(),
				other.GetInstanceId())
		}
	}
	e.InstanceId, e.InstanceType, e.Status = req.GetInstanceId(), req.GetInstanceType(), "InUse"
	return &vpcv1.AssociateEipResponse{Eip: proto.CloneOf(e)}, nil
}

func (s *eips) UnassociateEip(_ context.Context, req *vpcv1.UnassociateEipRequest) (*vpcv1.UnassociateEipResponse, error) {
	s.f.enter()
	defer s.f.leave()
	if e := s.f.Eips[req.GetAllocationId()]; e != nil && match(req.GetInstanceId(), e.GetInstanceId()) {
		e.InstanceId, e.InstanceType, e.Status = "", "", "Available"
	}
	return &vpcv1.UnassociateEipResponse{}, nil
}

func (s *eips) ReleaseEip(_ context.Context, req *vpcv1.ReleaseEipRequest) (*vpcv1.ReleaseEipResponse, error) {
	s.f.enter()
	defer s.f.leave()
	if e := s.f.Eips[req.GetAllocationId()]; e.GetInstanceId() != "" {
		return nil, refused(codes.FailedPrecondition, rpcerr.ResourceInUse, "EIP %s is bound to %s", e.GetAllocationId(), e.GetInstanceId())
	}
	delete(s.f.Eips, req.GetAllocationId())
	return &vpcv1.ReleaseEipResponse{}, nil
}
