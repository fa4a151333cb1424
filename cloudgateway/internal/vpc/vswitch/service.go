// Package vswitch serves VSwitchService.
package vswitch

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

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

	api       cloud.API
	networks  *write.Serial
	vswitches *batch.Cache[*vpcv1.VSwitch]
	lists     *batch.Cache[[]*vpcv1.VSwitch] // by filter
}

// New makes a Service.
func New(p *vpc.Product) *Service {
	s := &Service{
		api: p.API, networks: p.Networks, vswitches: cloud.NewCache[*vpcv1.VSwitch](p.Shared, "vswitches"),
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
	found, err := s.vswitches.Get(ctx, id, r.GetMaxAge().AsDuration(),
		func(ctx context.Context) (*vpcv1.VSwitch, error) { return s.Look(ctx, id) })
	if err == nil && found == nil {
		err = NotFound(id)
	}
	return cloud.Answer(&vpcv1.GetVSwitchResponse{Vswitch: found}, err)
}

// NotFound is the error about a vSwitch that does not exist.
func NotFound(id string) error {
	return &rpcerr.Error{
		Code: codes.NotFound, Reason: rpcerr.VSwitchNotFound, API: "vpc/DescribeVSwitches",
		Message: fmt.Sprintf("there is no vSwitch %s in this region, or the gateway may not see it", id),
	}
}

// Look reads a vSwitch now; nil: there is none.
func (s *Service) Look(ctx context.Context, id string) (*vpcv1.VSwitch, error) {
	found, err := s.describe(ctx, cloud.Params{"VSwitchId": id})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0], nil
}

// ListVSwitches reads every vSwitch that matches, ordered by id.
func (s *Service) ListVSwitches(ctx context.Context, r *vpcv1.ListVSwitchesRequest) (*vpcv1.ListVSwitchesResponse, error) {
	found, err := s.list(ctx, r)
	return cloud.Answer(&vpcv1.ListVSwitchesResponse{Vswitches: found}, err)
}

func (s *Service) list(ctx context.Context, r *vpcv1.ListVSwitchesRequest) ([]*vpcv1.VSwitch, error) {
	maxAge := r.GetMaxAge().AsDuration()
	r = proto.CloneOf(r)
	r.MaxAge, r.VswitchIds = nil, cloud.Sorted(r.GetVswitchIds())
	return s.lists.Get(ctx, vpc.ListKey(r), maxAge, func(ctx context.Context) ([]*vpcv1.VSwitch, error) {
		filter := cloud.Tags(cloud.Params{}, r.GetTags()).
			With("VpcId", r.GetVpcId()).With("ZoneId", r.GetZoneId()).With("VSwitchName", r.GetName())
		ids := r.GetVswitchIds()
		if len(ids) == 0 {
			return s.describe(ctx, filter)
		}
		var found []*vpcv1.VSwitch
		if len(ids) > few {
			all, err := s.describeIn(ctx, filter, len(ids))
			if !errors.Is(err, errTooMany) {
				return slices.DeleteFunc(all, func(v *vpcv1.VSwitch) bool {
					_, wanted := slices.BinarySearch(ids, v.GetVswitchId())
					return !wanted
				}), err
			}
		}
		for _, id := range ids {
			one, err := s.describe(ctx, cloud.Params{"VSwitchId": id}.Merge(filter))
			if err != nil {
				return nil, err
			}
			found = append(found, one...)
		}
		return found, nil
	})
}

// few is up to how many vSwitches are read one by one. The cloud takes one id per call, so for more of them it is tried to
// read all that there are.
const few = 5

// errTooMany says that there are too many vSwitches to read them all.
var errTooMany = errors.New("too many vSwitches")

// describe reads all pages of DescribeVSwitches.
func (s *Service) describe(ctx context.Context, filter cloud.Params) ([]*vpcv1.VSwitch, error) {
	return s.describeIn(ctx, filter, math.MaxInt32)
}

// describeIn reads all pages of DescribeVSwitches, unless there are more of them; then it reads one and gives errTooMany.
func (s *Service) describeIn(ctx context.Context, filter cloud.Params, pages int) ([]*vpcv1.VSwitch, error) {
	var found []*vpcv1.VSwitch
	err := cloud.Numbered(ctx, filter, vpc.PageSize, func(p cloud.Params) (int, int, error) {
		var page struct {
			TotalCount int
			VSwitches  struct{ VSwitch []answer }
		}
		if err := s.api.Read(ctx, "DescribeVSwitches", p, &page); err != nil {
			return 0, 0, err
		}
		if page.TotalCount > pages*vpc.PageSize {
			return 0, 0, errTooMany
		}
		for _, a := range page.VSwitches.VSwitch {
			found = append(found, a.decode())
		}
		return len(page.VSwitches.VSwitch), page.TotalCount, nil
	})
	return cloud.SortedBy(found, (*vpcv1.VSwitch).GetVswitchId), err
}

// CreateVSwitch creates a vSwitch and waits until it can be used. The request id is the cloud's ClientToken, so it may be sent again.
func (s *Service) CreateVSwitch(ctx context.Context, r *vpcv1.CreateVSwitchRequest) (*vpcv1.CreateVSwitchResponse, error) {
	params := cloud.Tags(cloud.Params{"ClientToken": r.GetRequestId()}, r.GetTags()).
		With("VpcId", r.GetVpcId()).
		With("ZoneId", r.GetZoneId()).
		With("CidrBlock", r.GetCidrBlock()).
		With("VSwitchName", r.GetName()).
		With("Description", r.GetDescription())
	if r.Ipv6Subnet != nil {
		params["Ipv6CidrBlock"] = strconv.Itoa(int(r.GetIpv6Subnet()))
	}
	var made *vpcv1.VSwitch
	err := s.networks.Do(ctx, r.GetVpcId(), func(ctx context.Context) (err error) {
		var answer struct {
			VSwitchID string `json:"VSwitchId"`
		}
		if err := s.api.Set(ctx, "CreateVSwitch", params, &answer); err != nil {
			return err
		}
		made, err = write.Converge[*vpcv1.VSwitch]{
			Name:  "the creation of " + answer.VSwitchID,
			Look:  func(ctx context.Context) (*vpcv1.VSwitch, error) { return s.Look(ctx, answer.VSwitchID) },
			Judge: func(v *vpcv1.VSwitch) (write.Verdict, error) { return vpc.WhenAvailable(v.GetStatus()), nil },
		}.Run(ctx)
		return err
	})
	return cloud.Answer(&vpcv1.CreateVSwitchResponse{Vswitch: made}, err)
}

// DeleteVSwitch deletes a vSwitch and waits until it is gone.
func (s *Service) DeleteVSwitch(ctx context.Context, r *vpcv1.DeleteVSwitchRequest) (*vpcv1.DeleteVSwitchResponse, error) {
	id := r.GetVswitchId()
	err := s.networks.Do(ctx, r.GetVpcId(), func(ctx context.Context) error {
		_, err := write.Converge[*vpcv1.VSwitch]{
			Name: "the deletion of " + id, LookFirst: true,
			Look: func(ctx context.Context) (*vpcv1.VSwitch, error) { return s.Look(ctx, id) },
			Judge: func(v *vpcv1.VSwitch) (write.Verdict, error) {
				// The VPC decides in which order writes go.
				if of := v.GetVpcId(); v != nil && of != r.GetVpcId() {
					return write.Failed, rpcerr.Invalid(rpcerr.FieldViolation{
						Field: "vpc_id", Description: fmt.Sprintf("vSwitch %s is of %s; name that VPC", id, of),
					})
				}
				return vpc.UntilGone(v != nil, v.GetStatus()), nil
			},
			Send: func(ctx context.Context, _ *vpcv1.VSwitch) error {
				return cloud.Unless(s.api.Send(ctx, "DeleteVSwitch", cloud.Params{"VSwitchId": id}, nil), rpcerr.VSwitchNotFound)
			},
		}.Run(ctx)
		return err
	})
	return cloud.Answer(&vpcv1.DeleteVSwitchResponse{}, err)
}
