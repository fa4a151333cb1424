// Package vswitch serves VSwitchService.
package vswitch

import (
	"context"
	"strconv"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/vpc"
	"alicloud-controllers.dev/cloudgateway/internal/write"
)

// kind describes vSwitches. The cloud takes one id in a call, so of more than a few ids it is asked for all vSwitches.
func kind() cloud.Kind[vpcv1.VSwitch] {
	const few = 5
	return cloud.Kind[vpcv1.VSwitch]{
		Name: "vSwitch", Cache: "vswitches", NotFound: rpcerr.VSwitchNotFound, IDs: "vswitch_ids",
		Listing: cloud.Listing[*vpcv1.VSwitch]{
			Action: "DescribeVSwitches", Items: "VSwitches.VSwitch", Decode: decode, ID: (*vpcv1.VSwitch).GetVswitchId, PerPage: vpc.PageSize,
		},
		Filters: map[string]cloud.Filter{"vswitch_ids": cloud.CommaList("VSwitchId", 1).UpTo(few), "name": cloud.Param("VSwitchName")},
	}
}

// Service implements vpcv1.VSwitchServiceServer.
type Service struct {
	vpcv1.UnimplementedVSwitchServiceServer

	product   *vpc.Product
	vswitches *cloud.Collection[vpcv1.VSwitch]
}

// New makes a Service.
func New(p *vpc.Product) *Service {
	s := &Service{product: p, vswitches: cloud.NewCollection(p.API, p.Shared, kind())}
	p.Networks.OnWrite(func(string) { s.vswitches.ForgetAll() })
	return s
}

// Owner is how the scopes of callers see vSwitches.
func (s *Service) Owner() cloud.Owner { return s.vswitches }

// GetVSwitch reads one vSwitch.
func (s *Service) GetVSwitch(ctx context.Context, r *vpcv1.GetVSwitchRequest) (*vpcv1.GetVSwitchResponse, error) {
	found, err := s.vswitches.Get(ctx, r.GetVswitchId(), r.GetMaxAge())
	return cloud.Answer(&vpcv1.GetVSwitchResponse{Vswitch: found}, err)
}

// Look reads a vSwitch now; nil: there is none.
func (s *Service) Look(ctx context.Context, id string) (*vpcv1.VSwitch, error) {
	return s.vswitches.Look(ctx, id)
}

// NotFound is the error about a vSwitch that does not exist.
func (s *Service) NotFound(id string) error { return s.vswitches.NotFound(id) }

// ListVSwitches reads every vSwitch that matches, ordered by id.
func (s *Service) ListVSwitches(ctx context.Context, r *vpcv1.ListVSwitchesRequest) (*vpcv1.ListVSwitchesResponse, error) {
	found, err := s.vswitches.List(ctx, r)
	return cloud.Answer(&vpcv1.ListVSwitchesResponse{Vswitches: found}, err)
}

// CreateVSwitch creates a vSwitch and waits until it can be used. The request id is the cloud's ClientToken, so it may be sent again.
func (s *Service) CreateVSwitch(ctx context.Context, r *vpcv1.CreateVSwitchRequest) (*vpcv1.CreateVSwitchResponse, error) {
	params := cloud.Tags(cloud.Params{"ClientToken": r.GetRequestId()}, r.GetTags()).
		With("ZoneId", r.GetZoneId()).
		With("CidrBlock", r.GetCidrBlock()).
		With("VSwitchName", r.GetName()).
		With("Description", r.GetDescription())
	if r.Ipv6Subnet != nil {
		params["Ipv6CidrBlock"] = strconv.Itoa(int(r.GetIpv6Subnet()))
	}
	made, err := vpc.Make(ctx, s.product, r.GetVpcId(), "CreateVSwitch", params, "VSwitchId", s.Look)
	return cloud.Answer(&vpcv1.CreateVSwitchResponse{Vswitch: made}, err)
}

// NetworkOf finds the VPC of a vSwitch.
func (s *Service) NetworkOf(ctx context.Context, id string) (string, error) {
	found, err := s.vswitches.Get(ctx, id, nil)
	return found.GetVpcId(), err
}

// DeleteVSwitch deletes a vSwitch and waits until it is gone.
func (s *Service) DeleteVSwitch(ctx context.Context, r *vpcv1.DeleteVSwitchRequest) (*vpcv1.DeleteVSwitchResponse, error) {
	id := r.GetVswitchId()
	_, err := write.Converge[*vpcv1.VSwitch]{
		Name: "the deletion of " + id, LookFirst: true,
		Look: func(ctx context.Context) (*vpcv1.VSwitch, error) { return s.Look(ctx, id) },
		Judge: func(v *vpcv1.VSwitch) (write.Verdict, error) {
			// The VPC decides in which order writes go.
			if of := v.GetVpcId(); v != nil && of != r.GetVpcId() {
				return write.Failed, rpcerr.Invalidf("vpc_id", "vSwitch %s is of %s; name that VPC", id, of)
			}
			return vpc.UntilGone(v != nil, v.GetStatus()), nil
		},
		Send: func(ctx context.Context, _ *vpcv1.VSwitch) error {
			return cloud.Unless(s.product.Send(ctx, "DeleteVSwitch", cloud.Params{"VSwitchId": id}, nil), rpcerr.VSwitchNotFound)
		},
	}.RunAlone(ctx, s.product.Networks, r.GetVpcId())
	return cloud.Answer(&vpcv1.DeleteVSwitchResponse{}, err)
}
