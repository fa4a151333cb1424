// Package vswitch serves VSwitchService.
package vswitch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/batch"
	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/vpc"
	"alicloud-controllers.dev/cloudgateway/internal/write"
)

// Service implements vpcv1.VSwitchServiceServer.
type Service struct {
	vpcv1.UnimplementedVSwitchServiceServer

	product   *vpc.Product
	vswitches *batch.Reader[string, *vpcv1.VSwitch]
	lists     *batch.Reader[string, []*vpcv1.VSwitch] // by filter
}

// New makes a Service.
func New(p *vpc.Product) *Service {
	s := &Service{
		product: p, vswitches: cloud.NewCache[*vpcv1.VSwitch](p.Shared, "vswitches"),
		lists: cloud.NewCache[[]*vpcv1.VSwitch](p.Shared, "vswitch_lists"),
	}
	p.Networks.OnWrite(func(string) {
		s.vswitches.Clear()
		s.lists.Clear()
	})
	return s
}

// GetVSwitch reads one vSwitch.
func (s *Service) GetVSwitch(ctx context.Context, r *vpcv1.GetVSwitchRequest) (*vpcv1.GetVSwitchResponse, error) {
	id := r.GetVswitchId()
	found, err := s.vswitches.Do(ctx, id, r.GetMaxAge().AsDuration(),
		func(ctx context.Context) (*vpcv1.VSwitch, error) { return s.Look(ctx, id) })
	if err == nil && found == nil {
		err = NotFound(id)
	}
	return cloud.Answer(&vpcv1.GetVSwitchResponse{Vswitch: found}, err)
}

// NotFound is the error about a vSwitch that does not exist.
func NotFound(id string) error {
	return cloud.NotFound(rpcerr.VSwitchNotFound, "vpc/DescribeVSwitches", "vSwitch "+id)
}

// Look reads a vSwitch now; nil: there is none.
func (s *Service) Look(ctx context.Context, id string) (*vpcv1.VSwitch, error) {
	return cloud.First(s.describe(ctx, cloud.Params{"VSwitchId": id}, 0))
}

// ListVSwitches reads every vSwitch that matches, ordered by id.
func (s *Service) ListVSwitches(ctx context.Context, r *vpcv1.ListVSwitchesRequest) (*vpcv1.ListVSwitchesResponse, error) {
	found, err := s.list(ctx, r)
	return cloud.Answer(&vpcv1.ListVSwitchesResponse{Vswitches: found}, err)
}

func (s *Service) list(ctx context.Context, r *vpcv1.ListVSwitchesRequest) ([]*vpcv1.VSwitch, error) {
	ids := cloud.Sorted(r.GetVswitchIds())
	filter := cloud.Tags(cloud.Params{}, r.GetTags()).
		With("VpcId", r.GetVpcId()).With("ZoneId", r.GetZoneId()).With("VSwitchName", r.GetName())
	key := fmt.Sprintf("%q %q", filter, ids)
	return s.lists.Do(ctx, key, r.GetMaxAge().AsDuration(), func(ctx context.Context) ([]*vpcv1.VSwitch, error) {
		if len(ids) > few {
			all, err := s.describe(ctx, filter, (len(ids)+1)/2*vpc.PageSize) // Pages but the last are read twice.
			if !errors.Is(err, cloud.ErrTooMany) {
				return slices.DeleteFunc(all, func(v *vpcv1.VSwitch) bool {
					_, wanted := slices.BinarySearch(ids, v.GetVswitchId())
					return !wanted
				}), err
			}
		}
		return cloud.InChunks(ids, 1, func(id []string) ([]*vpcv1.VSwitch, error) {
			return s.describe(ctx, cloud.Params{}.Merge(filter).With("VSwitchId", strings.Join(id, ",")), 0)
		})
	})
}

// few is up to how many vSwitches are read one by one. The cloud takes one id per call, so for more of them it is tried to
// read all that there are.
const few = 5

// describe reads all pages of DescribeVSwitches, unless there are more than most vSwitches; see cloud.Listing.
func (s *Service) describe(ctx context.Context, filter cloud.Params, most int) ([]*vpcv1.VSwitch, error) {
	return cloud.Listing[*vpcv1.VSwitch]{
		Action: "DescribeVSwitches", Items: "VSwitches.VSwitch", Decode: decode, PerPage: vpc.PageSize, Most: most,
		ID: (*vpcv1.VSwitch).GetVswitchId,
	}.Numbered(ctx, s.product.API, filter)
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
