package gatewaytest

import (
	"context"
	"slices"

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
	s.f.Lock()
	defer s.f.Unlock()
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
	s.f.Lock()
	defer s.f.Unlock()
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

func (s *eips) ListEips(_ context.Context, req *vpcv1.ListEipsRequest) (*vpcv1.ListEipsResponse, error) {
	if err := required("associated_instance_type", req.GetAssociatedInstanceType()); err != nil {
		return nil, err
	}
	s.f.Lock()
	defer s.f.Unlock()
	return &vpcv1.ListEipsResponse{Eips: sorted(s.f.Eips, func(e *vpcv1.Eip) bool {
		return e.GetInstanceType() == req.GetAssociatedInstanceType() &&
			(req.GetAssociatedInstanceId() == "" || e.GetInstanceId() == req.GetAssociatedInstanceId())
	})}, nil
}
