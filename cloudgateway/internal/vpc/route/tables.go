package route

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/vpc"
	"alicloud-controllers.dev/cloudgateway/internal/write"
)

// kind describes route tables.
func kind(observe func(*vpcv1.RouteTable)) cloud.Kind[vpcv1.RouteTable] {
	return cloud.Kind[vpcv1.RouteTable]{
		Name: "route table", Cache: "routetables", NotFound: rpcerr.RouteTableNotFound, IDs: "route_table_ids",
		Listing: cloud.Listing[*vpcv1.RouteTable]{
			Action: "DescribeRouteTableList", Items: "RouterTableList.RouterTableListType", Decode: decodeTable,
			ID: (*vpcv1.RouteTable).GetRouteTableId, PerPage: vpc.PageSize,
		},
		Filters: map[string]cloud.Filter{"route_table_ids": cloud.CommaList("RouteTableId", 1)},
		Observe: observe,
	}
}

// ListRouteTables reads all route tables of a VPC, ordered by id.
func (s *Service) ListRouteTables(ctx context.Context, r *vpcv1.ListRouteTablesRequest) (*vpcv1.ListRouteTablesResponse, error) {
	found, err := s.tables.List(ctx, r)
	return cloud.Answer(&vpcv1.ListRouteTablesResponse{RouteTables: found}, err)
}

// checkVPC reports whether a table is of the VPC that a caller names, whose lock orders the writes to the table. A table does not change
// its VPC, so it is read once.
func (s *Service) checkVPC(ctx context.Context, id, vpcID string) error {
	of, err := s.NetworkOf(ctx, id)
	if err == nil && of != vpcID {
		err = rpcerr.Invalidf("vpc_id", "route table %s is of %s", id, of)
	}
	return err
}

// NetworkOf finds the VPC of a route table.
func (s *Service) NetworkOf(ctx context.Context, id string) (string, error) {
	if of, known := s.networkOf.Get(id); known {
		return of, nil
	}
	table, err := s.tables.Get(ctx, id, nil)
	return table.GetVpcId(), err
}

// CreateRouteTable creates a table and waits until it can be used. The request id is the cloud's ClientToken, so it may be sent again.
func (s *Service) CreateRouteTable(ctx context.Context, r *vpcv1.CreateRouteTableRequest) (*vpcv1.CreateRouteTableResponse, error) {
	params := cloud.Tags(cloud.Params{"ClientToken": r.GetRequestId()}, r.GetTags()).
		With("RouteTableName", r.GetName()).
		With("Description", r.GetDescription())
	table, err := vpc.Make(ctx, s.product, r.GetVpcId(), "CreateRouteTable", params, "RouteTableId", s.tables.Look)
	return cloud.Answer(&vpcv1.CreateRouteTableResponse{RouteTable: table}, err)
}

// DeleteRouteTable deletes a table and waits until it is gone.
func (s *Service) DeleteRouteTable(ctx context.Context, r *vpcv1.DeleteRouteTableRequest) (*vpcv1.DeleteRouteTableResponse, error) {
	id := r.GetRouteTableId()
	if err := cloud.Unless(s.checkVPC(ctx, id, r.GetVpcId()), rpcerr.RouteTableNotFound); err != nil {
		return nil, err
	}
	_, err := write.Converge[*vpcv1.RouteTable]{
		Name: "the deletion of " + id,
		Look: func(ctx context.Context) (*vpcv1.RouteTable, error) { return s.tables.Look(ctx, id) },
		Judge: func(t *vpcv1.RouteTable) (write.Verdict, error) {
			// The cloud speaks of the table's status when it means this.
			if bound := t.GetVswitchIds(); len(bound) > 0 {
				return write.Failed, vpc.InUse("DeleteRouteTable", "route table %s is bound to %s; unassociate it first", id, strings.Join(bound, ", "))
			}
			return vpc.UntilGone(t != nil, t.GetStatus()), nil
		},
		Send: func(ctx context.Context, _ *vpcv1.RouteTable) error {
			return cloud.Unless(s.product.Send(ctx, "DeleteRouteTable", cloud.Params{"RouteTableId": id}, nil), rpcerr.RouteTableNotFound)
		},
	}.RunAlone(ctx, s.product.Networks, r.GetVpcId())
	return cloud.Answer(&vpcv1.DeleteRouteTableResponse{}, err)
}

// AssociateRouteTable binds a table to a vSwitch and waits until it is bound.
func (s *Service) AssociateRouteTable(
	ctx context.Context, r *vpcv1.AssociateRouteTableRequest,
) (*vpcv1.AssociateRouteTableResponse, error) {
	err := s.bind(ctx, "AssociateRouteTable", r, write.Converge[*vpcv1.VSwitch]{
		Judge: func(v *vpcv1.VSwitch) (write.Verdict, error) {
			switch {
			case v == nil:
				return write.Failed, s.vswitches.NotFound(r.GetVswitchId())
			case v.GetStatus() != vpc.Available:
				return write.Waiting, nil
			case v.GetRouteTableId() != r.GetRouteTableId():
				return write.Todo, nil
			default:
				return write.Done, nil
			}
		},
		// The vSwitch has a table already: perhaps this one.
		Doubtful: func(err error) bool { return rpcerr.ReasonOf(err) == rpcerr.ResourceInUse },
	})
	return cloud.Answer(&vpcv1.AssociateRouteTableResponse{}, err)
}

// UnassociateRouteTable gives a vSwitch the system's table back and waits until it has it.
func (s *Service) UnassociateRouteTable(
	ctx context.Context, r *vpcv1.UnassociateRouteTableRequest,
) (*vpcv1.UnassociateRouteTableResponse, error) {
	err := s.bind(ctx, "UnassociateRouteTable", r, write.Converge[*vpcv1.VSwitch]{
		Judge: func(v *vpcv1.VSwitch) (write.Verdict, error) {
			switch {
			case v.GetRouteTableId() != r.GetRouteTableId():
				return write.Done, nil
			case v.GetStatus() != vpc.Available:
				return write.Waiting, nil
			default:
				return write.Todo, nil
			}
		},
		// The table, the vSwitch or the bond between them may be gone.
		Doubtful: func(err error) bool {
			e, ok := rpcerr.From(err)
			return ok && (e.Code == codes.NotFound || e.Reason == rpcerr.InvalidState)
		},
	})
	return cloud.Answer(&vpcv1.UnassociateRouteTableResponse{}, err)
}

// bond names a table and a vSwitch of one VPC.
type bond interface {
	GetVpcId() string
	GetRouteTableId() string
	GetVswitchId() string
}

// bind makes or ends the bond between a table and a vSwitch, as which the vSwitch shows it.
func (s *Service) bind(ctx context.Context, action string, r bond, ch write.Converge[*vpcv1.VSwitch]) error {
	ch.Name = fmt.Sprintf("%s of %s and %s", action, r.GetRouteTableId(), r.GetVswitchId())
	ch.Look = func(ctx context.Context) (*vpcv1.VSwitch, error) { return s.vswitches.Look(ctx, r.GetVswitchId()) }
	ch.Send = func(ctx context.Context, _ *vpcv1.VSwitch) error {
		return s.product.Send(ctx, action, cloud.Params{"RouteTableId": r.GetRouteTableId(), "VSwitchId": r.GetVswitchId()}, nil)
	}
	if err := cloud.Unless(s.checkVPC(ctx, r.GetRouteTableId(), r.GetVpcId()), rpcerr.RouteTableNotFound); err != nil {
		return err
	}
	_, err := ch.RunAlone(ctx, s.product.Networks, r.GetVpcId())
	return err
}
