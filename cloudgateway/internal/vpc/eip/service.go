// Package eip serves EipService: elastic IP addresses. Reads of single EIPs that come at about the same time share calls.
package eip

import (
	"context"
	"fmt"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/vpc"
	"alicloud-controllers.dev/cloudgateway/internal/write"
)

// kind describes EIPs. The limits are those of DescribeEipAddresses (VPC API reference).
func kind() cloud.Kind[vpcv1.Eip] {
	const perCall, perPage = 50, 100
	return cloud.Kind[vpcv1.Eip]{
		Name: "EIP", Cache: "eips", NotFound: rpcerr.EipNotFound, IDs: "allocation_ids",
		Listing: cloud.Listing[*vpcv1.Eip]{
			Action: "DescribeEipAddresses", Items: "EipAddresses.EipAddress", Decode: decode, ID: (*vpcv1.Eip).GetAllocationId, PerPage: perPage,
		},
		Filters: map[string]cloud.Filter{
			"allocation_ids":       cloud.CommaList("AllocationId", perCall),
			"ip_addresses":         cloud.CommaList("EipAddress", perCall),
			"name":                 cloud.Param("EipName"),
			"isp":                  cloud.Param("ISP"),
			"instance_charge_type": cloud.Param("ChargeType"),
		},
	}
}

// Service implements vpcv1.EipServiceServer.
type Service struct {
	vpcv1.UnimplementedEipServiceServer

	api    cloud.API
	writes *write.Serial
	eips   *cloud.Collection[vpcv1.Eip]
}

// New makes a Service.
func New(p *vpc.Product) *Service {
	s := &Service{api: p.API, writes: write.NewSerial(p.Locks), eips: cloud.NewCollection(p.API, p.Shared, kind())}
	s.writes.OnWrite(s.eips.Forget)
	return s
}

// Owner is how the scopes of callers see EIPs.
func (s *Service) Owner() cloud.Owner { return s.eips }

// GetEip reads one EIP.
func (s *Service) GetEip(ctx context.Context, r *vpcv1.GetEipRequest) (*vpcv1.GetEipResponse, error) {
	found, err := s.eips.Get(ctx, r.GetAllocationId(), r.GetMaxAge())
	return cloud.Answer(&vpcv1.GetEipResponse{Eip: found}, err)
}

// ListEips reads every EIP that matches, ordered by id.
func (s *Service) ListEips(ctx context.Context, r *vpcv1.ListEipsRequest) (*vpcv1.ListEipsResponse, error) {
	found, err := s.eips.List(ctx, r)
	return cloud.Answer(&vpcv1.ListEipsResponse{Eips: found}, err)
}

// The states of an EIP in which nothing is under way.
const (
	free  = "Available"
	inUse = "InUse"
)

// AllocateEip buys an EIP and waits until the cloud shows it. The request id is the cloud's ClientToken, so it may be sent again.
func (s *Service) AllocateEip(ctx context.Context, r *vpcv1.AllocateEipRequest) (*vpcv1.AllocateEipResponse, error) {
	defer s.eips.ForgetLists()
	params := cloud.Tags(cloud.Params{"ClientToken": r.GetRequestId()}, r.GetTags()).
		Int("Bandwidth", int(r.GetBandwidthMbps())).
		With("InternetChargeType", cloud.Word(r.GetInternetChargeType())).
		With("InstanceChargeType", cloud.Word(r.GetInstanceChargeType())).
		With("PricingCycle", r.GetPricingCycle()).
		Int("Period", int(r.GetPeriod())).
		With("ISP", r.GetIsp()).
		With("Name", r.GetName()).
		With("Description", r.GetDescription()).
		With("ResourceGroupId", r.GetResourceGroupId())
	if r.GetPeriod() > 0 {
		params["AutoPay"] = "true" // An order that is not paid makes no EIP.
	}
	id := ""
	if err := s.api.Set(ctx, "AllocateEipAddress", params, &cloud.Fields{"AllocationId": cloud.Required(&id)}); err != nil {
		return nil, err
	}
	made, err := write.Converge[*vpcv1.Eip]{
		Name: "the allocation of " + id,
		Look: func(ctx context.Context) (*vpcv1.Eip, error) { return s.eips.Look(ctx, id) },
		Judge: func(e *vpcv1.Eip) (write.Verdict, error) {
			if e == nil {
				return write.Waiting, nil
			}
			return write.Done, nil
		},
	}.Run(ctx)
	return cloud.Answer(&vpcv1.AllocateEipResponse{Eip: made}, err)
}

// UpdateEip changes the attributes that are present.
func (s *Service) UpdateEip(ctx context.Context, r *vpcv1.UpdateEipRequest) (*vpcv1.UpdateEipResponse, error) {
	id := r.GetAllocationId()
	err := s.writes.Do(ctx, id, func(ctx context.Context) error {
		if r.Name != nil || r.Description != nil || r.BandwidthMbps != nil {
			params := cloud.Params{"AllocationId": id}.
				With("Name", r.GetName()).
				With("Description", r.GetDescription()).
				Int("Bandwidth", int(r.GetBandwidthMbps()))
			if err := s.api.Set(ctx, "ModifyEipAddressAttribute", params, nil); err != nil {
				return err
			}
		}
		return s.api.ChangeTags(ctx, "EIP", id, rpcerr.EipNotFound, r.GetSetTags(), r.GetRemoveTagKeys())
	})
	return cloud.Answer(&vpcv1.UpdateEipResponse{}, err)
}

// AssociateEip binds an EIP to an instance and waits until it is in use.
func (s *Service) AssociateEip(ctx context.Context, r *vpcv1.AssociateEipRequest) (*vpcv1.AssociateEipResponse, error) {
	id := r.GetAllocationId()
	params := cloud.Params{"AllocationId": id, "InstanceId": r.GetInstanceId(), "InstanceType": r.GetInstanceType()}.
		With("PrivateIpAddress", r.GetPrivateIpAddress()).
		With("Mode", r.GetMode())
	eip, err := write.Converge[*vpcv1.Eip]{
		Name:  fmt.Sprintf("the association of %s with %s", id, r.GetInstanceId()),
		Look:  func(ctx context.Context) (*vpcv1.Eip, error) { return s.eips.Look(ctx, id) },
		Judge: func(e *vpcv1.Eip) (write.Verdict, error) { return s.judgeAssociation(r, e) },
		Send: func(ctx context.Context, _ *vpcv1.Eip) error {
			return s.api.Send(ctx, "AssociateEipAddress", params, nil)
		},
		// The instance has an EIP already: perhaps this one.
		Doubtful: func(err error) bool { return rpcerr.ReasonOf(err) == rpcerr.ResourceInUse },
	}.RunAlone(ctx, s.writes, id)
	return cloud.Answer(&vpcv1.AssociateEipResponse{Eip: eip}, err)
}

func (s *Service) judgeAssociation(r *vpcv1.AssociateEipRequest, e *vpcv1.Eip) (write.Verdict, error) {
	ours := e.GetInstanceId() == r.GetInstanceId() &&
		(r.GetPrivateIpAddress() == "" || e.GetPrivateIpAddress() == r.GetPrivateIpAddress())
	switch {
	case e == nil:
		return write.Failed, s.eips.NotFound(r.GetAllocationId())
	case e.GetStatus() == free:
		return write.Todo, nil
	case e.GetStatus() == inUse && ours:
		return write.Done, nil
	case e.GetStatus() == inUse:
		return write.Failed, vpc.InUse("AssociateEipAddress", "EIP %s is bound to %s", e.GetAllocationId(), boundTo(e))
	default:
		return write.Waiting, nil
	}
}

func boundTo(e *vpcv1.Eip) string {
	text := e.GetInstanceType() + " " + e.GetInstanceId()
	if e.GetPrivateIpAddress() != "" {
		text += " at " + e.GetPrivateIpAddress()
	}
	return text
}

// UnassociateEip takes an EIP from its instance and waits until it is free. What it is bound to is read first: the call needs
// its type, too, and a repetition must not take it from another instance that it was given to meanwhile.
func (s *Service) UnassociateEip(ctx context.Context, r *vpcv1.UnassociateEipRequest) (*vpcv1.UnassociateEipResponse, error) {
	id, from := r.GetAllocationId(), r.GetInstanceId()
	_, err := write.Converge[*vpcv1.Eip]{
		Name: "the unassociation of " + id,
		Look: func(ctx context.Context) (*vpcv1.Eip, error) { return s.eips.Look(ctx, id) },
		Judge: func(e *vpcv1.Eip) (write.Verdict, error) {
			switch {
			case e == nil || e.GetStatus() == free:
				return write.Done, nil
			case e.GetStatus() != inUse:
				return write.Waiting, nil
			}
			if from == "" {
				from = e.GetInstanceId()
			}
			if e.GetInstanceId() != from {
				return write.Done, nil
			}
			return write.Todo, nil
		},
		Send: func(ctx context.Context, seen *vpcv1.Eip) error {
			return s.api.Send(ctx, "UnassociateEipAddress", cloud.Params{"AllocationId": id}.
				With("InstanceId", seen.GetInstanceId()).
				With("InstanceType", seen.GetInstanceType()).
				With("PrivateIpAddress", seen.GetPrivateIpAddress()), nil)
		},
		LookFirst: true,
	}.RunAlone(ctx, s.writes, id)
	return cloud.Answer(&vpcv1.UnassociateEipResponse{}, err)
}

// ReleaseEip gives an EIP back and waits until it is gone.
func (s *Service) ReleaseEip(ctx context.Context, r *vpcv1.ReleaseEipRequest) (*vpcv1.ReleaseEipResponse, error) {
	id := r.GetAllocationId()
	_, err := write.Converge[*vpcv1.Eip]{
		Name: "the release of " + id,
		Look: func(ctx context.Context) (*vpcv1.Eip, error) { return s.eips.Look(ctx, id) },
		Judge: func(e *vpcv1.Eip) (write.Verdict, error) {
			switch {
			case e == nil:
				return write.Done, nil
			case e.GetStatus() == inUse:
				return write.Failed, vpc.InUse("ReleaseEipAddress", "EIP %s is bound to %s; unassociate it first", id, boundTo(e))
			case e.GetStatus() == free:
				return write.Todo, nil
			default:
				return write.Waiting, nil
			}
		},
		Send: func(ctx context.Context, _ *vpcv1.Eip) error {
			err := s.api.Send(ctx, "ReleaseEipAddress", cloud.Params{"AllocationId": id}, nil)
			return cloud.Unless(err, rpcerr.EipNotFound)
		},
	}.RunAlone(ctx, s.writes, id)
	return cloud.Answer(&vpcv1.ReleaseEipResponse{}, err)
}
