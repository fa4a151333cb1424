package vpc

import (
	"context"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
)

// GetVpc reads one VPC.
func (c *Client) GetVpc(ctx context.Context, id string, maxAge time.Duration) (*vpcv1.Vpc, error) {
	return c.vpcs.Get(ctx, id, maxAge, func(ctx context.Context) (*vpcv1.Vpc, error) {
		answer := vpcAnswer{VpcID: id}
		if err := c.read(ctx, "DescribeVpcAttribute", cloud.Params{"VpcId": id}, &answer); err != nil {
			return nil, err
		}
		return answer.decode(), nil
	})
}

// ListVpcs reads every VPC that matches, ordered by id.
func (c *Client) ListVpcs(ctx context.Context, r *vpcv1.ListVpcsRequest) ([]*vpcv1.Vpc, error) {
	maxAge := r.GetMaxAge().AsDuration()
	r = proto.CloneOf(r)
	r.MaxAge, r.VpcIds = nil, cloud.Sorted(r.GetVpcIds())
	return c.vpcLists.Get(ctx, listKey(r), maxAge, func(ctx context.Context) ([]*vpcv1.Vpc, error) {
		var found []*vpcv1.Vpc
		for _, ids := range chunksOf(r.GetVpcIds(), vpcsPerCall) {
			filter := cloud.Tags(cloud.Params{}, r.GetTags()).With("VpcId", strings.Join(ids, ",")).With("VpcName", r.GetName())
			err := cloud.Numbered(ctx, filter, pageSize, func(p cloud.Params) (int, int, error) {
				var answer struct {
					TotalCount int
					Vpcs       struct{ Vpc []vpcAnswer }
				}
				if err := c.read(ctx, "DescribeVpcs", p, &answer); err != nil {
					return 0, 0, err
				}
				for _, a := range answer.Vpcs.Vpc {
					found = append(found, a.decode())
				}
				return len(answer.Vpcs.Vpc), answer.TotalCount, nil
			})
			if err != nil {
				return nil, err
			}
		}
		return sortedBy(found, (*vpcv1.Vpc).GetVpcId), nil
	})
}

// vpcAnswer is a VPC in the answers to DescribeVpcAttribute and DescribeVpcs.
type vpcAnswer struct {
	VpcID               string `json:"VpcId"`
	VpcName             string
	Description         string
	Status              string
	IsDefault           bool
	ResourceGroupID     string `json:"ResourceGroupId"`
	Tags                tagList
	CidrBlock           string
	Ipv6CidrBlock       string
	SecondaryCidrBlocks struct{ SecondaryCidrBlock []string }
	Ipv6CidrBlocks      struct {
		Ipv6CidrBlock []struct{ Ipv6CidrBlock string }
	}
}

func (a vpcAnswer) decode() *vpcv1.Vpc {
	vpc := &vpcv1.Vpc{
		VpcId:               a.VpcID,
		Name:                a.VpcName,
		Description:         a.Description,
		Status:              a.Status,
		IsDefault:           a.IsDefault,
		ResourceGroupId:     a.ResourceGroupID,
		Tags:                a.Tags.decode(),
		CidrBlock:           a.CidrBlock,
		SecondaryCidrBlocks: a.SecondaryCidrBlocks.SecondaryCidrBlock,
	}
	for _, b := range a.Ipv6CidrBlocks.Ipv6CidrBlock {
		vpc.Ipv6CidrBlocks = append(vpc.Ipv6CidrBlocks, b.Ipv6CidrBlock)
	}
	if six := a.Ipv6CidrBlock; six != "" && !slices.Contains(vpc.GetIpv6CidrBlocks(), six) {
		vpc.Ipv6CidrBlocks = append(vpc.Ipv6CidrBlocks, six)
	}
	return vpc
}
