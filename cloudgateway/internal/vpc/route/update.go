package route

import (
	"context"
	"fmt"

	"google.golang.org/grpc/codes"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/vpc"
	"alicloud-controllers.dev/cloudgateway/internal/write"
)

// UpdateRouteEntry changes what an entry lacks of the attributes that are present, and waits until it is in force. What there is is
// read first, since the cloud refuses to give an entry the next hop that it has.
func (s *Service) UpdateRouteEntry(ctx context.Context, r *vpcv1.UpdateRouteEntryRequest) (*vpcv1.UpdateRouteEntryResponse, error) {
	id := r.GetRouteEntryId()
	if err := s.CheckVPC(ctx, r.GetRouteTableId(), r.GetVpcId()); err != nil {
		return nil, err
	}
	entry, err := write.Converge[*vpcv1.RouteEntry]{
		Name: "the change of route entry " + id,
		Look: func(ctx context.Context) (*vpcv1.RouteEntry, error) {
			return cloud.First(s.describeEntries(ctx, r.GetRouteTableId(), cloud.Params{"RouteEntryId": id}))
		},
		Judge: func(e *vpcv1.RouteEntry) (write.Verdict, error) { return judgeUpdate(r, e) },
		Send: func(ctx context.Context, seen *vpcv1.RouteEntry) error {
			return s.api.Send(ctx, "ModifyRouteEntry", lacking(r, seen).With("RouteEntryId", id), nil)
		},
		LookFirst: true,
	}.RunAlone(ctx, s.networks, r.GetVpcId())
	return cloud.Answer(&vpcv1.UpdateRouteEntryResponse{RouteEntry: entry}, err)
}

// lacking are the parameters of what an entry is not yet.
func lacking(r *vpcv1.UpdateRouteEntryRequest, e *vpcv1.RouteEntry) cloud.Params {
	params := cloud.Params{}
	if r.Name != nil && r.GetName() != e.GetName() {
		params["RouteEntryName"] = r.GetName()
	}
	if r.Description != nil && r.GetDescription() != e.GetDescription() {
		params["Description"] = r.GetDescription()
	}
	if hop := r.GetNextHop(); hop != nil && hop.GetNextHopId() != e.GetNextHopId() {
		params["NewNextHopId"], params["NewNextHopType"] = hop.GetNextHopId(), hopType(hop.GetNextHopType())
	}
	return params
}

func judgeUpdate(r *vpcv1.UpdateRouteEntryRequest, e *vpcv1.RouteEntry) (write.Verdict, error) {
	refuse := func(code codes.Code, reason rpcerr.Reason, format string, args ...any) (write.Verdict, error) {
		return write.Failed, &rpcerr.Error{Code: code, Reason: reason, API: "vpc/ModifyRouteEntry", Message: fmt.Sprintf(format, args...)}
	}
	switch {
	case e == nil:
		return refuse(codes.NotFound, rpcerr.RouteNotFound, "route table %s has no entry %s", r.GetRouteTableId(), r.GetRouteEntryId())
	case e.GetMultipleNextHops() && r.GetNextHop() != nil:
		return refuse(codes.FailedPrecondition, rpcerr.InvalidState,
			"route entry %s has several next hops, which can't be changed; delete it and create another one", r.GetRouteEntryId())
	case e.GetStatus() != vpc.Available:
		return write.Waiting, nil
	case len(lacking(r, e)) > 0:
		return write.Todo, nil
	default:
		return write.Done, nil
	}
}
