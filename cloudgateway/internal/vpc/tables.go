package vpc

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
)

// ListRouteTables reads all route tables of a VPC, ordered by id.
func (c *Client) ListRouteTables(ctx context.Context, vpcID string, maxAge time.Duration) ([]*vpcv1.RouteTable, error) {
	return c.tables.Get(ctx, vpcID, maxAge, func(ctx context.Context) ([]*vpcv1.RouteTable, error) {
		return c.describeTables(ctx, cloud.Params{"VpcId": vpcID})
	})
}

// describeTables reads all pages of DescribeRouteTableList.
func (c *Client) describeTables(ctx context.Context, filter cloud.Params) ([]*vpcv1.RouteTable, error) {
	var found []*vpcv1.RouteTable
	err := cloud.Numbered(ctx, filter, pageSize, func(p cloud.Params) (int, int, error) {
		var answer struct {
			TotalCount      int
			RouterTableList struct{ RouterTableListType []tableAnswer }
		}
		if err := c.read(ctx, "DescribeRouteTableList", p, &answer); err != nil {
			return 0, 0, err
		}
		list := answer.RouterTableList.RouterTableListType
		for _, a := range list {
			found = append(found, a.decode())
		}
		return len(list), answer.TotalCount, nil
	})
	return sortedBy(found, (*vpcv1.RouteTable).GetRouteTableId), err
}

// tableAnswer is one table in the answer to DescribeRouteTableList.
type tableAnswer struct {
	RouteTableID    string `json:"RouteTableId"`
	VpcID           string `json:"VpcId"`
	RouteTableType  string
	RouteTableName  string
	Description     string
	Status          string
	ResourceGroupID string `json:"ResourceGroupId"`
	VSwitchIDs      struct {
		VSwitchID []string `json:"VSwitchId"`
	} `json:"VSwitchIds"`
	Tags tagList
}

func (a tableAnswer) decode() *vpcv1.RouteTable {
	return &vpcv1.RouteTable{
		RouteTableId:    a.RouteTableID,
		VpcId:           a.VpcID,
		Type:            a.RouteTableType,
		Name:            a.RouteTableName,
		Description:     a.Description,
		Status:          a.Status,
		ResourceGroupId: a.ResourceGroupID,
		VswitchIds:      a.VSwitchIDs.VSwitchID,
		Tags:            a.Tags.decode(),
	}
}

// lookAtTable reads a route table now; nil: there is none.
func (c *Client) lookAtTable(ctx context.Context, id string) (*vpcv1.RouteTable, error) {
	found, err := c.describeTables(ctx, cloud.Params{"RouteTableId": id})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0], nil
}

// CreateRouteTable creates a table and waits until it can be used. The request id is the cloud's ClientToken, so it may be sent again.
func (c *Client) CreateRouteTable(ctx context.Context, r *vpcv1.CreateRouteTableRequest) (table *vpcv1.RouteTable, err error) {
	params := cloud.Tags(cloud.Params{"ClientToken": r.GetRequestId()}, r.GetTags()).
		With("VpcId", r.GetVpcId()).
		With("RouteTableName", r.GetName()).
		With("Description", r.GetDescription())
	err = c.exclusively(ctx, r.GetVpcId(), func(ctx context.Context) error {
		var answer struct {
			RouteTableID string `json:"RouteTableId"`
		}
		if err := c.set(ctx, "CreateRouteTable", params, &answer); err != nil {
			return err
		}
		table, err = change[*vpcv1.RouteTable]{
			name:  "the creation of " + answer.RouteTableID,
			look:  func(ctx context.Context) (*vpcv1.RouteTable, error) { return c.lookAtTable(ctx, answer.RouteTableID) },
			judge: func(t *vpcv1.RouteTable) (verdict, error) { return whenAvailable(t.GetStatus()), nil },
		}.run(ctx)
		return err
	})
	return table, err
}

// DeleteRouteTable deletes a table and waits until it is gone.
func (c *Client) DeleteRouteTable(ctx context.Context, vpcID, id string) error {
	return c.exclusively(ctx, vpcID, func(ctx context.Context) error {
		_, err := change[*vpcv1.RouteTable]{
			name: "the deletion of " + id,
			look: func(ctx context.Context) (*vpcv1.RouteTable, error) { return c.lookAtTable(ctx, id) },
			judge: func(t *vpcv1.RouteTable) (verdict, error) {
				// The cloud speaks of the table's status when it means this.
				if bound := t.GetVswitchIds(); len(bound) > 0 {
					return failed, inUse("DeleteRouteTable", "route table %s is bound to %s; unassociate it first", id, strings.Join(bound, ", "))
				}
				return untilGone(t != nil, t.GetStatus()), nil
			},
			send: func(ctx context.Context, _ *vpcv1.RouteTable) error {
				return cloud.Unless(c.write(ctx, "DeleteRouteTable", cloud.Params{"RouteTableId": id}), rpcerr.RouteTableNotFound)
			},
		}.run(ctx)
		return err
	})
}

// AssociateRouteTable binds a table to a vSwitch and waits until it is bound.
func (c *Client) AssociateRouteTable(ctx context.Context, r *vpcv1.AssociateRouteTableRequest) error {
	return c.bind(ctx, "AssociateRouteTable", r, change[*vpcv1.VSwitch]{
		judge: func(v *vpcv1.VSwitch) (verdict, error) {
			switch {
			case v == nil:
				return failed, noVSwitch(r.GetVswitchId())
			case v.GetStatus() != statusAvailable:
				return waiting, nil
			case v.GetRouteTableId() != r.GetRouteTableId():
				return todo, nil
			default:
				return done, nil
			}
		},
		// The vSwitch has a table already: perhaps this one.
		doubtful: func(err error) bool { return rpcerr.ReasonOf(err) == rpcerr.ResourceInUse },
	})
}

// UnassociateRouteTable gives a vSwitch the system's table back and waits until it has it.
func (c *Client) UnassociateRouteTable(ctx context.Context, r *vpcv1.UnassociateRouteTableRequest) error {
	return c.bind(ctx, "UnassociateRouteTable", r, change[*vpcv1.VSwitch]{
		judge: func(v *vpcv1.VSwitch) (verdict, error) {
			switch {
			case v.GetRouteTableId() != r.GetRouteTableId():
				return done, nil
			case v.GetStatus() != statusAvailable:
				return waiting, nil
			default:
				return todo, nil
			}
		},
		// The table, the vSwitch or the bond between them may be gone.
		doubtful: func(err error) bool {
			e, ok := rpcerr.From(err)
			return ok && (e.Code == codes.NotFound || e.Reason == rpcerr.InvalidState)
		},
	})
}

// bond names a table and a vSwitch of one VPC.
type bond interface {
	GetVpcId() string
	GetRouteTableId() string
	GetVswitchId() string
}

// bind makes or ends the bond between a table and a vSwitch, as which the vSwitch shows it.
func (c *Client) bind(ctx context.Context, action string, r bond, ch change[*vpcv1.VSwitch]) error {
	ch.name = fmt.Sprintf("%s of %s and %s", action, r.GetRouteTableId(), r.GetVswitchId())
	ch.look = func(ctx context.Context) (*vpcv1.VSwitch, error) { return c.lookAtVSwitch(ctx, r.GetVswitchId()) }
	ch.send = func(ctx context.Context, _ *vpcv1.VSwitch) error {
		return c.write(ctx, action, cloud.Params{"RouteTableId": r.GetRouteTableId(), "VSwitchId": r.GetVswitchId()})
	}
	return c.exclusively(ctx, r.GetVpcId(), func(ctx context.Context) error {
		_, err := ch.run(ctx)
		return err
	})
}
