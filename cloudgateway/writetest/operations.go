package writetest

import (
	"context"
	"slices"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway"
)

// Step is a part of an operation at its site.
type Step func(ctx context.Context, c *gateway.Client, s *Site) error

// Operation is a write RPC.
type Operation struct {
	Name    string
	Actions []string // the cloud's writes it consists of
	Prepare Step     // makes what the RPC needs
	Run     Step
	// Resume is what a caller does whose gateway was killed and that may not simply repeat the RPC; nil: it may.
	Resume Step
}

// Operations has at least one operation for each write RPC.
func Operations() []Operation {
	return slices.Concat(
		balancerOperations(),
		groupOperations(),
		listenerOperations(),
		protocolOperations(),
		ruleOperations(),
		aclOperations(),
		certificateOperations(),
		userCertificateOperations(),
		networkOperations(),
		tableOperations(),
		vswitchOperations(),
		eipOperations(),
		instanceOperations(),
		interfaceOperations(),
		securityGroupOperations(),
		nlbOperations(),
	)
}

func balancerOperations() []Operation {
	return []Operation{
		{
			Name: "CreateLoadBalancer", Actions: []string{"CreateLoadBalancer"}, Prepare: nothing,
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				_, err := c.LoadBalancers.CreateLoadBalancer(ctx, s.balancer())
				return err
			},
		},
		{
			Name: "UpdateLoadBalancer", Prepare: withBalancer,
			Actions: []string{"SetLoadBalancerName", "TagResources", "UntagResources", "SetLoadBalancerDeleteProtection"},
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				_, err := c.LoadBalancers.UpdateLoadBalancer(ctx, &slbv1.UpdateLoadBalancerRequest{
					LoadBalancerId: s.lb, Name: new(s.Name + "-renamed"), DeleteProtection: new(false),
					SetTags: []*commonv1.Tag{{Key: "more", Value: "1"}}, RemoveTagKeys: []string{"ack.aliyun.com"},
				})
				return err
			},
		},
		{
			Name: "UpdateLoadBalancer, size", Prepare: withPublicBalancer,
			Actions: []string{"ModifyLoadBalancerInstanceSpec", "ModifyLoadBalancerInternetSpec", "SetLoadBalancerModificationProtection"},
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				_, err := c.LoadBalancers.UpdateLoadBalancer(ctx, &slbv1.UpdateLoadBalancerRequest{
					LoadBalancerId: s.lb, Spec: new("slb.s2.small"), ModificationProtection: &slbv1.ModificationProtection{},
					InternetSpec: &slbv1.InternetSpec{
						ChargeType: slbv1.InternetChargeType_INTERNET_CHARGE_TYPE_PAY_BY_BANDWIDTH, BandwidthMbps: 20,
					},
				})
				return err
			},
		},
		{
			Name: "UpdateLoadBalancer, charge type", Actions: []string{"ModifyLoadBalancerInstanceChargeType"}, Prepare: withBalancer,
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				_, err := c.LoadBalancers.UpdateLoadBalancer(ctx, &slbv1.UpdateLoadBalancerRequest{
					LoadBalancerId: s.lb, InstanceChargeType: slbv1.InstanceChargeType_INSTANCE_CHARGE_TYPE_PAY_BY_CLCU.Enum(),
				})
				return err
			},
		},
		{
			Name: "UpdateLoadBalancer, place", Actions: []string{"MoveResourceGroup", "SetLoadBalancerStatus"}, Prepare: withBalancer,
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				_, err := c.LoadBalancers.UpdateLoadBalancer(ctx, &slbv1.UpdateLoadBalancerRequest{
					LoadBalancerId: s.lb, ResourceGroupId: new("rg-other"), Active: new(false),
				})
				return err
			},
		},
		{
			Name: "DeleteLoadBalancer", Actions: []string{"DeleteLoadBalancer"},
			Prepare: func(ctx context.Context, c *gateway.Client, s *Site) error {
				if err := withListener(ctx, c, s); err != nil {
					return err
				}
				_, err := c.LoadBalancers.UpdateLoadBalancer(ctx, &slbv1.UpdateLoadBalancerRequest{
					LoadBalancerId: s.lb, DeleteProtection: new(false),
				})
				return err
			},
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				_, err := c.LoadBalancers.DeleteLoadBalancer(ctx, &slbv1.DeleteLoadBalancerRequest{LoadBalancerId: s.lb})
				return err
			},
		},
	}
}

func groupOperations() []Operation {
	return []Operation{
		{
			Name: "CreateServerGroup", Actions: []string{"CreateVServerGroup", "AddVServerGroupBackendServers"}, Prepare: withBalancer,
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				_, err := c.ServerGroups.CreateServerGroup(ctx, s.wantedGroup())
				return err
			},
			Resume: resumeGroup,
		},
		{
			Name: "ApplyServerChanges", Prepare: withGroup,
			Actions: []string{"ModifyVServerGroupBackendServers", "AddVServerGroupBackendServers", "SetVServerGroupAttribute"},
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				lighter := s.servers(20, 5)
				for _, server := range lighter {
					server.Weight = new(int32(1))
				}
				_, err := c.ServerGroups.ApplyServerChanges(ctx, &slbv1.ApplyServerChangesRequest{
					LoadBalancerId: s.lb, ServerGroupId: s.group, Add: s.servers(50, 45), Remove: s.servers(0, 5), Update: lighter,
				})
				return err
			},
		},
		{
			Name: "ApplyServerChanges, only removals", Actions: []string{"RemoveVServerGroupBackendServers"}, Prepare: withGroup,
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				_, err := c.ServerGroups.ApplyServerChanges(ctx, &slbv1.ApplyServerChangesRequest{
					LoadBalancerId: s.lb, ServerGroupId: s.group, Remove: s.servers(0, 25),
				})
				return err
			},
		},
		{
			Name: "UpdateServerGroup", Actions: []string{"SetVServerGroupAttribute", "TagResources", "UntagResources"},
			Prepare: func(ctx context.Context, c *gateway.Client, s *Site) error {
				err := withGroup(ctx, c, s)
				s.tagged = s.group
				return err
			},
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				_, err := c.ServerGroups.UpdateServerGroup(ctx, &slbv1.UpdateServerGroupRequest{
					LoadBalancerId: s.lb, ServerGroupId: s.group, Name: new(s.Name + "-renamed"),
					SetTags: []*commonv1.Tag{{Key: "more", Value: "1"}}, RemoveTagKeys: []string{"site"},
				})
				return err
			},
		},
		{
			Name: "ApplyDefaultServerChanges", Prepare: withDefaultServers,
			Actions: []string{"AddBackendServers", "SetBackendServers", "RemoveBackendServers"},
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				lighter := s.defaultServers(10, 5)
				for _, server := range lighter {
					server.Weight = new(int32(1))
				}
				_, err := c.ServerGroups.ApplyDefaultServerChanges(ctx, &slbv1.ApplyDefaultServerChangesRequest{
					LoadBalancerId: s.lb, Add: s.defaultServers(20, 5), Remove: s.defaultServers(0, 5), Update: lighter,
				})
				return err
			},
		},
		{
			Name: "DeleteServerGroup", Actions: []string{"DeleteVServerGroup"}, Prepare: withGroup,
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				_, err := c.ServerGroups.DeleteServerGroup(ctx,
					&slbv1.DeleteServerGroupRequest{LoadBalancerId: s.lb, ServerGroupId: s.group})
				return err
			},
		},
	}
}

func networkOperations() []Operation {
	create := func(ctx context.Context, c *gateway.Client, s *Site) error {
		r, err := c.Routes.BatchCreateRouteEntries(ctx, &vpcv1.BatchCreateRouteEntriesRequest{VpcId: s.vpc(), RouteEntries: s.routes()})
		return FirstFailure(err, r.GetResults())
	}
	return []Operation{
		{Name: "BatchCreateRouteEntries", Actions: []string{"CreateRouteEntries"}, Prepare: nothing, Run: create},
		{
			Name: "BatchDeleteRouteEntries", Actions: []string{"DeleteRouteEntries"}, Prepare: create,
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				r, err := c.Routes.BatchDeleteRouteEntries(ctx, &vpcv1.BatchDeleteRouteEntriesRequest{VpcId: s.vpc(), RouteEntries: s.routes()})
				return FirstFailure(err, r.GetResults())
			},
		},
	}
}

// wantedGroup is what CreateServerGroup creates: more servers than one call takes.
func (s *Site) wantedGroup() *slbv1.CreateServerGroupRequest {
	return s.serverGroup(s.servers(0, 45)...)
}

// resumeGroup looks for the group by its name and adds the servers that it lacks.
func resumeGroup(ctx context.Context, c *gateway.Client, s *Site) error {
	want := s.wantedGroup()
	listed, err := c.ServerGroups.ListServerGroups(ctx, &slbv1.ListServerGroupsRequest{LoadBalancerId: s.lb})
	if err != nil {
		return err
	}
	if len(listed.GetServerGroups()) == 0 {
		_, err = c.ServerGroups.CreateServerGroup(ctx, want)
		return err
	}
	id := listed.GetServerGroups()[0].GetServerGroupId()
	found, err := c.ServerGroups.GetServerGroup(ctx, &slbv1.GetServerGroupRequest{ServerGroupId: id})
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, server := range found.GetServerGroup().GetServers() {
		there[server.GetServerId()] = true
	}
	_, err = c.ServerGroups.ApplyServerChanges(ctx, &slbv1.ApplyServerChangesRequest{
		LoadBalancerId: s.lb, ServerGroupId: id,
		Add: slices.DeleteFunc(want.GetServers(), func(server *slbv1.Server) bool { return there[server.GetServerId()] }),
	})
	return err
}

// FirstFailure is what went wrong with a batch: the call, or the first of its items.
func FirstFailure[R interface{ GetError() *commonv1.ItemError }](err error, results []R) error {
	for _, r := range results {
		if err == nil {
			err = rpcerr.FromItem(r.GetError())
		}
	}
	return err
}
