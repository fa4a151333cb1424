package writetest

import (
	"context"
	"path"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/services/gateway"
)

func interfaceOperations() []Operation {
	return []Operation{
		{Name: "CreateNetworkInterface", Actions: []string{"CreateNetworkInterface"}, Prepare: nothing, Run: withInterface},
		{Name: "AttachNetworkInterface", Actions: []string{"AttachNetworkInterface"}, Prepare: withInterface, Run: attachInterface},
		{
			Name: "DetachNetworkInterface", Actions: []string{"DetachNetworkInterface"},
			Prepare: func(ctx context.Context, c *gateway.Client, s *Site) error {
				if err := withInterface(ctx, c, s); err != nil {
					return err
				}
				return attachInterface(ctx, c, s)
			},
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				_, err := c.NetworkInterfaces.DetachNetworkInterface(ctx, &ecsv1.DetachNetworkInterfaceRequest{
					NetworkInterfaceId: s.eni, InstanceId: s.instance(0),
				})
				return err
			},
		},
		{
			Name: "DeleteNetworkInterface", Actions: []string{"DeleteNetworkInterface"}, Prepare: withInterface,
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				_, err := c.NetworkInterfaces.DeleteNetworkInterface(ctx, &ecsv1.DeleteNetworkInterfaceRequest{NetworkInterfaceId: s.eni})
				return err
			},
		},
		{
			Name: "AssignAddresses", Actions: []string{"AssignPrivateIpAddresses", "AssignIpv6Addresses"}, Prepare: withInterface,
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				_, err := c.NetworkInterfaces.AssignAddresses(ctx, &ecsv1.AssignAddressesRequest{
					RequestId: path.Join(s.Name, "addresses"), NetworkInterfaceId: s.eni, Ipv4Count: 2, Ipv6Count: 2,
				})
				return err
			},
		},
		{
			Name: "UnassignAddresses", Actions: []string{"UnassignPrivateIpAddresses", "UnassignIpv6Addresses"},
			Prepare: withInterface,
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				_, err := c.NetworkInterfaces.UnassignAddresses(ctx, &ecsv1.UnassignAddressesRequest{
					NetworkInterfaceId: s.eni, IpAddresses: s.addresses,
				})
				return err
			},
		},
	}
}

// withInterface makes an interface with further addresses of both families.
func withInterface(ctx context.Context, c *gateway.Client, s *Site) error {
	answer, err := c.NetworkInterfaces.CreateNetworkInterface(ctx, &ecsv1.CreateNetworkInterfaceRequest{
		RequestId: path.Join(s.Name, "eni"), VswitchId: s.vswitch(), SecurityGroupIds: []string{s.securityGroup(0)}, Name: "g" + s.Name,
		Description: "of " + s.Name, Ipv4Count: 3, Ipv6Count: 2, Tags: []*commonv1.Tag{{Key: "site", Value: s.Name}},
	})
	made := answer.GetNetworkInterface()
	s.eni, s.addresses = made.GetNetworkInterfaceId(), nil
	for _, address := range made.GetPrivateIps() {
		if address != made.GetPrimaryIp() {
			s.addresses = append(s.addresses, address)
		}
	}
	s.addresses = append(s.addresses, made.GetIpv6Addresses()...)
	return err
}

func attachInterface(ctx context.Context, c *gateway.Client, s *Site) error {
	_, err := c.NetworkInterfaces.AttachNetworkInterface(ctx, &ecsv1.AttachNetworkInterfaceRequest{
		NetworkInterfaceId: s.eni, InstanceId: s.instance(0),
	})
	return err
}
