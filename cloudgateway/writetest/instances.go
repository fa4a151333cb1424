package writetest

import (
	"context"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/services/gateway"
)

func instanceOperations() []Operation {
	stop := func(ctx context.Context, c *gateway.Client, s *Site) error {
		_, err := c.Instances.StopInstance(ctx, &ecsv1.StopInstanceRequest{InstanceId: s.instance(0)})
		return err
	}
	return []Operation{
		{
			Name: "UpdateInstance", Actions: []string{"ModifyInstanceAttribute", "TagResources", "UntagResources"},
			Prepare: func(ctx context.Context, c *gateway.Client, s *Site) error {
				_, err := c.Instances.UpdateInstance(ctx, &ecsv1.UpdateInstanceRequest{
					InstanceId: s.instance(0), SetTags: []*commonv1.Tag{{Key: "old", Value: "1"}},
				})
				return err
			},
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				_, err := c.Instances.UpdateInstance(ctx, &ecsv1.UpdateInstanceRequest{
					InstanceId: s.instance(0), Name: new(s.Name + "-renamed"), Description: new("web"), DeletionProtection: new(true),
					SetTags: []*commonv1.Tag{{Key: "more", Value: "1"}}, RemoveTagKeys: []string{"old"},
				})
				return err
			},
		},
		{
			Name: "StartInstance", Actions: []string{"StartInstance"}, Prepare: stop,
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				_, err := c.Instances.StartInstance(ctx, &ecsv1.StartInstanceRequest{InstanceId: s.instance(0)})
				return err
			},
		},
		{Name: "StopInstance", Actions: []string{"StopInstance"}, Prepare: nothing, Run: stop},
		{
			Name: "DeleteInstance", Actions: []string{"DeleteInstance"}, Prepare: nothing,
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				_, err := c.Instances.DeleteInstance(ctx, &ecsv1.DeleteInstanceRequest{InstanceId: s.instance(0), Force: true})
				return err
			},
		},
		{
			Name: "UpdateNetworkInterface", Actions: []string{"ModifyNetworkInterfaceAttribute", "TagResources", "UntagResources"},
			Prepare: func(ctx context.Context, c *gateway.Client, s *Site) error {
				answer, err := c.Instances.GetInstance(ctx, &ecsv1.GetInstanceRequest{InstanceId: s.instance(0)})
				if err != nil {
					return err
				}
				s.eni = answer.GetInstance().GetPrimaryNetworkInterfaceId()
				_, err = c.NetworkInterfaces.UpdateNetworkInterface(ctx, &ecsv1.UpdateNetworkInterfaceRequest{
					NetworkInterfaceId: s.eni, SetTags: []*commonv1.Tag{{Key: "old", Value: "1"}},
				})
				return err
			},
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				_, err := c.NetworkInterfaces.UpdateNetworkInterface(ctx, &ecsv1.UpdateNetworkInterfaceRequest{
					NetworkInterfaceId: s.eni, SourceDestCheck: new(false), Name: new("forwards"), Description: new("pods"),
					SetTags: []*commonv1.Tag{{Key: "more", Value: "1"}}, RemoveTagKeys: []string{"old"},
				})
				return err
			},
		},
	}
}
