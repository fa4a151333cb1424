package writetest

import (
	"context"
	"fmt"
	"path"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/services/gateway"
)

func eipOperations() []Operation {
	return []Operation{
		{Name: "AllocateEip", Actions: []string{"AllocateEipAddress"}, Prepare: nothing, Run: withEip},
		{
			Name: "UpdateEip", Actions: []string{"ModifyEipAddressAttribute", "TagResources", "UnTagResources"}, Prepare: withEip,
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				_, err := c.Eips.UpdateEip(ctx, &vpcv1.UpdateEipRequest{
					AllocationId: s.eip, Name: new(s.Name + "-renamed"), BandwidthMbps: new(int32(30)),
					SetTags: []*commonv1.Tag{{Key: "more", Value: "1"}}, RemoveTagKeys: []string{"ack.aliyun.com"},
				})
				return err
			},
		},
		{
			Name: "AssociateEip", Actions: []string{"AssociateEipAddress"}, Prepare: withEip,
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				_, err := c.Eips.AssociateEip(ctx, s.association())
				return err
			},
		},
		{
			Name: "UnassociateEip", Actions: []string{"UnassociateEipAddress"}, Prepare: withBoundEip,
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				_, err := c.Eips.UnassociateEip(ctx, &vpcv1.UnassociateEipRequest{AllocationId: s.eip, InstanceId: s.instance(0)})
				return err
			},
		},
		{
			Name: "ReleaseEip", Actions: []string{"ReleaseEipAddress"}, Prepare: withEip,
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				_, err := c.Eips.ReleaseEip(ctx, &vpcv1.ReleaseEipRequest{AllocationId: s.eip})
				return err
			},
		},
	}
}

func vswitchOperations() []Operation {
	return []Operation{
		{Name: "CreateVSwitch", Actions: []string{"CreateVSwitch"}, Prepare: nothing, Run: withVSwitch},
		{
			Name: "DeleteVSwitch", Actions: []string{"DeleteVSwitch"}, Prepare: withVSwitch,
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				_, err := c.VSwitches.DeleteVSwitch(ctx, &vpcv1.DeleteVSwitchRequest{VpcId: s.vpc(), VswitchId: s.made})
				return err
			},
		},
	}
}

func tableOperations() []Operation {
	several := func(ctx context.Context, c *gateway.Client, s *Site) error {
		r, err := c.Routes.BatchCreateRouteEntries(ctx, &vpcv1.BatchCreateRouteEntriesRequest{VpcId: s.vpc(), RouteEntries: []*vpcv1.RouteEntry{{
			RouteTableId: s.table(), DestinationCidr: "10.0.0.0/24", Description: "k8s",
			NextHops: []*vpcv1.NextHop{{NextHopId: s.instance(0)}, {NextHopId: s.instance(1), Weight: new(int32(50))}},
		}}})
		return FirstFailure(err, r.GetResults())
	}
	associate := func(ctx context.Context, c *gateway.Client, s *Site) error {
		_, err := c.Routes.AssociateRouteTable(ctx, &vpcv1.AssociateRouteTableRequest{
			VpcId: s.vpc(), RouteTableId: s.made, VswitchId: s.vswitch(),
		})
		return err
	}
	return []Operation{
		{Name: "CreateRouteTable", Actions: []string{"CreateRouteTable"}, Prepare: nothing, Run: withTable},
		{
			Name: "DeleteRouteTable", Actions: []string{"DeleteRouteTable"}, Prepare: withTable,
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				_, err := c.Routes.DeleteRouteTable(ctx, &vpcv1.DeleteRouteTableRequest{VpcId: s.vpc(), RouteTableId: s.made})
				return err
			},
		},
		{Name: "AssociateRouteTable", Actions: []string{"AssociateRouteTable"}, Prepare: withTable, Run: associate},
		{
			Name: "UnassociateRouteTable", Actions: []string{"UnassociateRouteTable"},
			Prepare: func(ctx context.Context, c *gateway.Client, s *Site) error {
				if err := withTable(ctx, c, s); err != nil {
					return err
				}
				return associate(ctx, c, s)
			},
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				_, err := c.Routes.UnassociateRouteTable(ctx, &vpcv1.UnassociateRouteTableRequest{
					VpcId: s.vpc(), RouteTableId: s.made, VswitchId: s.vswitch(),
				})
				return err
			},
		},
		{Name: "BatchCreateRouteEntries, several next hops", Actions: []string{"CreateRouteEntry"}, Prepare: nothing, Run: several},
		{
			Name: "UpdateRouteEntry", Actions: []string{"ModifyRouteEntry"}, Prepare: withEntry,
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				_, err := c.Routes.UpdateRouteEntry(ctx, &vpcv1.UpdateRouteEntryRequest{
					VpcId: s.vpc(), RouteTableId: s.table(), RouteEntryId: s.entry, Description: new("moved"),
					NextHop: &vpcv1.NextHop{NextHopId: s.instance(2)},
				})
				return err
			},
		},
	}
}

func withTable(ctx context.Context, c *gateway.Client, s *Site) error {
	answer, err := c.Routes.CreateRouteTable(ctx, &vpcv1.CreateRouteTableRequest{
		RequestId: path.Join(s.Name, "table"), VpcId: s.vpc(), Name: s.Name, Tags: []*commonv1.Tag{{Key: "ack.aliyun.com", Value: "c-1"}},
	})
	s.made = answer.GetRouteTable().GetRouteTableId()
	return err
}

// withEntry makes an entry and looks up its id.
func withEntry(ctx context.Context, c *gateway.Client, s *Site) error {
	entry := s.routes()[0]
	r, err := c.Routes.BatchCreateRouteEntries(ctx, &vpcv1.BatchCreateRouteEntriesRequest{
		VpcId: s.vpc(), RouteEntries: []*vpcv1.RouteEntry{entry},
	})
	if err := FirstFailure(err, r.GetResults()); err != nil {
		return err
	}
	listed, err := c.Routes.ListRouteEntries(ctx, &vpcv1.ListRouteEntriesRequest{
		RouteTableId: s.table(), DestinationCidrs: []string{entry.GetDestinationCidr()},
	})
	if err == nil && len(listed.GetRouteEntries()) == 1 {
		s.entry = listed.GetRouteEntries()[0].GetRouteEntryId()
	}
	return err
}

// withVSwitch makes a second one, in which nothing is.
func withVSwitch(ctx context.Context, c *gateway.Client, s *Site) error {
	answer, err := c.VSwitches.CreateVSwitch(ctx, &vpcv1.CreateVSwitchRequest{
		RequestId: path.Join(s.Name, "vswitch"), VpcId: s.vpc(), ZoneId: zone, CidrBlock: fmt.Sprintf("172.%d.1.0/24", s.number), Name: s.Name,
		Tags: []*commonv1.Tag{{Key: "ack.aliyun.com", Value: "c-1"}},
	})
	s.made = answer.GetVswitch().GetVswitchId()
	return err
}

// networkParams is Params for the resources of a VPC.
func (s *Site) networkParams(action string) map[string]string {
	switch action {
	case "AllocateEipAddress":
		return map[string]string{"Name": s.Name}
	case "ModifyEipAddressAttribute", "AssociateEipAddress", "UnassociateEipAddress", "ReleaseEipAddress":
		return map[string]string{"AllocationId": s.eip}
	case "CreateVSwitch", "CreateRouteTable":
		return map[string]string{"VpcId": s.vpc()}
	case "DeleteRouteTable", "AssociateRouteTable", "UnassociateRouteTable":
		return map[string]string{"RouteTableId": s.made}
	case "CreateRouteEntry":
		return map[string]string{"RouteTableId": s.table()}
	case "ModifyRouteEntry":
		return map[string]string{"RouteEntryId": s.entry}
	case "DeleteVSwitch":
		return map[string]string{"VSwitchId": s.made}
	}
	return nil
}

func (s *Site) address() *vpcv1.AllocateEipRequest {
	return &vpcv1.AllocateEipRequest{
		RequestId: path.Join(s.Name, "eip"), Name: s.Name, Description: "web", BandwidthMbps: 20,
		InternetChargeType: vpcv1.InternetChargeType_INTERNET_CHARGE_TYPE_PAY_BY_TRAFFIC,
		Tags:               []*commonv1.Tag{{Key: "ack.aliyun.com", Value: "c-1"}},
	}
}

func (s *Site) association() *vpcv1.AssociateEipRequest {
	return &vpcv1.AssociateEipRequest{AllocationId: s.eip, InstanceId: s.instance(0), InstanceType: "EcsInstance"}
}

func withEip(ctx context.Context, c *gateway.Client, s *Site) error {
	answer, err := c.Eips.AllocateEip(ctx, s.address())
	s.eip = answer.GetEip().GetAllocationId()
	return err
}

func withBoundEip(ctx context.Context, c *gateway.Client, s *Site) error {
	if err := withEip(ctx, c, s); err != nil {
		return err
	}
	_, err := c.Eips.AssociateEip(ctx, s.association())
	return err
}
