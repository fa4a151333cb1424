package vpc

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
)

// GetVSwitch reads one vSwitch.
func (c *Client) GetVSwitch(ctx context.Context, id string, maxAge time.Duration) (*vpcv1.VSwitch, error) {
	vswitch, err := c.vswitches.Get(ctx, id, maxAge, func(ctx context.Context) (*vpcv1.VSwitch, error) { return c.lookAtVSwitch(ctx, id) })
	if err == nil && vswitch == nil {
		err = noVSwitch(id)
	}
	return vswitch, err
}

func noVSwitch(id string) error {
	return &rpcerr.Error{
		Code: codes.NotFound, Reason: rpcerr.VSwitchNotFound, API: "vpc/DescribeVSwitches",
		Message: fmt.Sprintf("there is no vSwitch %s in this region, or the gateway may not see it", id),
	}
}

// lookAtVSwitch reads a vSwitch now; nil: there is none.
func (c *Client) lookAtVSwitch(ctx context.Context, id string) (*vpcv1.VSwitch, error) {
	found, err := c.describeVSwitches(ctx, cloud.Params{"VSwitchId": id})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0], nil
}

// ListVSwitches reads every vSwitch that matches, ordered by id.
func (c *Client) ListVSwitches(ctx context.Context, r *vpcv1.ListVSwitchesRequest) ([]*vpcv1.VSwitch, error) {
	maxAge := r.GetMaxAge().AsDuration()
	r = proto.CloneOf(r)
	r.MaxAge, r.VswitchIds = nil, cloud.Sorted(r.GetVswitchIds())
	return c.vswitchLists.Get(ctx, listKey(r), maxAge, func(ctx context.Context) ([]*vpcv1.VSwitch, error) {
		filter := cloud.Tags(cloud.Params{}, r.GetTags()).
			With("VpcId", r.GetVpcId()).With("ZoneId", r.GetZoneId()).With("VSwitchName", r.GetName())
		ids := r.GetVswitchIds()
		if len(ids) == 0 {
			return c.describeVSwitches(ctx, filter)
		}
		var found []*vpcv1.VSwitch
		if len(ids) > fewVSwitches {
			all, err := c.describeVSwitchesIn(ctx, filter, len(ids))
			if !errors.Is(err, errTooMany) {
				return slices.DeleteFunc(all, func(v *vpcv1.VSwitch) bool {
					_, wanted := slices.BinarySearch(ids, v.GetVswitchId())
					return !wanted
				}), err
			}
		}
		for _, id := range ids {
			one, err := c.describeVSwitches(ctx, cloud.Params{"VSwitchId": id}.Merge(filter))
			if err != nil {
				return nil, err
			}
			found = append(found, one...)
		}
		return found, nil
	})
}

// fewVSwitches is up to how many vSwitches are read one by one. The cloud takes one id per call, so for more of them it is tried to
// read all that there are.
const fewVSwitches = 5

// errTooMany says that there are too many vSwitches to read them all.
var errTooMany = errors.New("too many vSwitches")

// describeVSwitches reads all pages of DescribeVSwitches.
func (c *Client) describeVSwitches(ctx context.Context, filter cloud.Params) ([]*vpcv1.VSwitch, error) {
	return c.describeVSwitchesIn(ctx, filter, math.MaxInt32)
}

// describeVSwitchesIn reads all pages of DescribeVSwitches, unless there are more of them; then it reads one and gives errTooMany.
func (c *Client) describeVSwitchesIn(ctx context.Context, filter cloud.Params, pages int) ([]*vpcv1.VSwitch, error) {
	var found []*vpcv1.VSwitch
	err := cloud.Numbered(ctx, filter, pageSize, func(p cloud.Params) (int, int, error) {
		var answer struct {
			TotalCount int
			VSwitches  struct{ VSwitch []vswitchAnswer }
		}
		if err := c.read(ctx, "DescribeVSwitches", p, &answer); err != nil {
			return 0, 0, err
		}
		if answer.TotalCount > pages*pageSize {
			return 0, 0, errTooMany
		}
		for _, a := range answer.VSwitches.VSwitch {
			found = append(found, a.decode())
		}
		return len(answer.VSwitches.VSwitch), answer.TotalCount, nil
	})
	return sortedBy(found, (*vpcv1.VSwitch).GetVswitchId), err
}

// vswitchAnswer is one vSwitch in the answer to DescribeVSwitches.
type vswitchAnswer struct {
	VSwitchID               string `json:"VSwitchId"`
	VSwitchName             string
	VpcID                   string `json:"VpcId"`
	ZoneID                  string `json:"ZoneId"`
	CidrBlock               string
	Ipv6CidrBlock           string
	AvailableIPAddressCount int64 `json:"AvailableIpAddressCount"`
	Description             string
	Status                  string
	IsDefault               bool
	ResourceGroupID         string `json:"ResourceGroupId"`
	RouteTable              struct {
		RouteTableID string `json:"RouteTableId"`
	}
	Tags tagList
}

func (a vswitchAnswer) decode() *vpcv1.VSwitch {
	return &vpcv1.VSwitch{
		VswitchId:        a.VSwitchID,
		VpcId:            a.VpcID,
		ZoneId:           a.ZoneID,
		CidrBlock:        a.CidrBlock,
		AvailableIpCount: a.AvailableIPAddressCount,
		Name:             a.VSwitchName,
		Description:      a.Description,
		Status:           a.Status,
		Ipv6CidrBlock:    a.Ipv6CidrBlock,
		RouteTableId:     a.RouteTable.RouteTableID,
		IsDefault:        a.IsDefault,
		ResourceGroupId:  a.ResourceGroupID,
		Tags:             a.Tags.decode(),
	}
}

// CreateVSwitch creates a vSwitch and waits until it can be used. The request id is the cloud's ClientToken, so it may be sent again.
func (c *Client) CreateVSwitch(ctx context.Context, r *vpcv1.CreateVSwitchRequest) (vswitch *vpcv1.VSwitch, err error) {
	params := cloud.Tags(cloud.Params{"ClientToken": r.GetRequestId()}, r.GetTags()).
		With("VpcId", r.GetVpcId()).
		With("ZoneId", r.GetZoneId()).
		With("CidrBlock", r.GetCidrBlock()).
		With("VSwitchName", r.GetName()).
		With("Description", r.GetDescription())
	if r.Ipv6Subnet != nil {
		params["Ipv6CidrBlock"] = strconv.Itoa(int(r.GetIpv6Subnet()))
	}
	err = c.exclusively(ctx, r.GetVpcId(), func(ctx context.Context) error {
		var answer struct {
			VSwitchID string `json:"VSwitchId"`
		}
		if err := c.set(ctx, "CreateVSwitch", params, &answer); err != nil {
			return err
		}
		vswitch, err = change[*vpcv1.VSwitch]{
			name:  "the creation of " + answer.VSwitchID,
			look:  func(ctx context.Context) (*vpcv1.VSwitch, error) { return c.lookAtVSwitch(ctx, answer.VSwitchID) },
			judge: func(v *vpcv1.VSwitch) (verdict, error) { return whenAvailable(v.GetStatus()), nil },
		}.run(ctx)
		return err
	})
	return vswitch, err
}

// whenAvailable judges something new by its status.
func whenAvailable(status string) verdict {
	if status == statusAvailable {
		return done
	}
	return waiting
}

// untilGone judges something that is to be deleted.
func untilGone(exists bool, status string) verdict {
	switch {
	case !exists:
		return done
	case status == statusAvailable:
		return todo
	default:
		return waiting
	}
}

// DeleteVSwitch deletes a vSwitch and waits until it is gone.
func (c *Client) DeleteVSwitch(ctx context.Context, vpcID, id string) error {
	return c.exclusively(ctx, vpcID, func(ctx context.Context) error {
		_, err := change[*vpcv1.VSwitch]{
			name:  "the deletion of " + id,
			look:  func(ctx context.Context) (*vpcv1.VSwitch, error) { return c.lookAtVSwitch(ctx, id) },
			judge: func(v *vpcv1.VSwitch) (verdict, error) { return untilGone(v != nil, v.GetStatus()), nil },
			send: func(ctx context.Context, _ *vpcv1.VSwitch) error {
				return cloud.Unless(c.write(ctx, "DeleteVSwitch", cloud.Params{"VSwitchId": id}), rpcerr.VSwitchNotFound)
			},
		}.run(ctx)
		return err
	})
}
