package writetest

import (
	"context"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	"alicloud-controllers.dev/services/gateway"
)

const secondZone = "cn-hangzhou-i"

func (s *Site) securityGroup(i int) string { return []string{"sg-1-", "sg-2-"}[i] + s.Name }
func (s *Site) bandwidthPackage() string   { return "cbwp-" + s.Name }
func (s *Site) secondVSwitch() string      { return s.vswitch() + "-2" }

func (s *Site) zones() []*nlbv1.ZoneMapping {
	return []*nlbv1.ZoneMapping{{ZoneId: zone, VswitchId: s.vswitch()}, {ZoneId: secondZone, VswitchId: s.secondVSwitch()}}
}

func (s *Site) networkBalancer() *nlbv1.CreateLoadBalancerRequest {
	return &nlbv1.CreateLoadBalancerRequest{
		RequestId: s.Name, Name: s.Name, VpcId: s.vpc(), AddressType: nlbv1.AddressType_ADDRESS_TYPE_INTERNET,
		IpVersion: nlbv1.IpVersion_IP_VERSION_DUAL_STACK, ZoneMappings: s.zones(), SecurityGroupIds: []string{s.securityGroup(0)},
		DeletionProtection: &nlbv1.Protection{Enabled: true, Reason: "managed"}, Tags: []*commonv1.Tag{{Key: "ack.aliyun.com", Value: "c-1"}},
	}
}

func (s *Site) networkServers(first, count int) []*nlbv1.Server {
	list := make([]*nlbv1.Server, count)
	for i := range list {
		list[i] = &nlbv1.Server{Type: nlbv1.ServerType_SERVER_TYPE_ECS, ServerId: s.instance(first + i), Port: 30080, Description: "web"}
	}
	return list
}

func (s *Site) networkGroup(name string, servers ...*nlbv1.Server) *nlbv1.CreateServerGroupRequest {
	return &nlbv1.CreateServerGroupRequest{
		RequestId: name, Name: name, VpcId: s.vpc(), Servers: servers, PreserveClientIpEnabled: new(false),
		HealthCheck: &nlbv1.HealthCheck{Interval: new(int32(4))}, Tags: []*commonv1.Tag{{Key: "site", Value: s.Name}},
	}
}

func withNetworkBalancer(ctx context.Context, c *gateway.Client, s *Site) error {
	answer, err := c.NetworkLoadBalancers.CreateLoadBalancer(ctx, s.networkBalancer())
	s.lb = answer.GetLoadBalancer().GetLoadBalancerId()
	return err
}

func withNetworkGroup(ctx context.Context, c *gateway.Client, s *Site) error {
	answer, err := c.NetworkServerGroups.CreateServerGroup(ctx, s.networkGroup(s.Name+"-80", s.networkServers(0, 20)...))
	s.group, s.tagged = answer.GetServerGroupId(), answer.GetServerGroupId()
	return err
}

func (s *Site) networkListener() *nlbv1.CreateListenerRequest {
	return &nlbv1.CreateListenerRequest{
		RequestId: s.Name, LoadBalancerId: s.lb, Protocol: nlbv1.ListenerProtocol_LISTENER_PROTOCOL_TCPSSL, Port: 443,
		Config: &nlbv1.ListenerConfig{
			ServerGroupId: &s.group, Description: new(s.Name), CertificateIds: []string{certificate}, IdleTimeout: new(int32(60)),
		},
		Tags: []*commonv1.Tag{{Key: "site", Value: s.Name}},
	}
}

func withNetworkListener(ctx context.Context, c *gateway.Client, s *Site) error {
	if err := withNetworkGroup(ctx, c, s); err != nil {
		return err
	}
	if err := withNetworkBalancer(ctx, c, s); err != nil {
		return err
	}
	answer, err := c.NetworkListeners.CreateListener(ctx, s.networkListener())
	s.listenerID, s.tagged = answer.GetListenerId(), answer.GetListenerId()
	return err
}

// shiftedTo takes one zone of an instance out of its name, and puts the others back into it.
func shiftedTo(s *Site, out int) *nlbv1.UpdateLoadBalancerRequest {
	return &nlbv1.UpdateLoadBalancerRequest{ShiftedZones: &nlbv1.ShiftedZones{ZoneIds: []string{s.zones()[out].GetZoneId()}}}
}

func nlbOperations() []Operation {
	more, site := []*commonv1.Tag{{Key: "more", Value: "1"}}, []string{"site"}
	update := func(r *nlbv1.UpdateLoadBalancerRequest) Step {
		return func(ctx context.Context, c *gateway.Client, s *Site) error {
			r.LoadBalancerId = s.lb
			_, err := c.NetworkLoadBalancers.UpdateLoadBalancer(ctx, r)
			return err
		}
	}
	return []Operation{
		{Name: "NLB CreateLoadBalancer", Actions: []string{"CreateLoadBalancer"}, Prepare: nothing, Run: withNetworkBalancer},
		{
			Name: "NLB UpdateLoadBalancer", Prepare: withNetworkBalancer,
			Actions: []string{"UpdateLoadBalancerProtection", "UpdateLoadBalancerAttribute", "MoveResourceGroup", "TagResources", "UntagResources"},
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				return update(&nlbv1.UpdateLoadBalancerRequest{
					Name: new(s.Name + "-renamed"), Cps: new(int32(100)), CrossZoneEnabled: new(false), DeletionProtection: &nlbv1.Protection{},
					ModificationProtection: &nlbv1.Protection{Enabled: true, Reason: "managed"}, ResourceGroupId: new("rg-other"),
					SetTags: more, RemoveTagKeys: []string{"ack.aliyun.com"},
				})(ctx, c, s)
			},
		},
		{
			Name: "NLB UpdateLoadBalancer, network", Prepare: withNetworkBalancer,
			Actions: []string{
				"EnableLoadBalancerIpv6Internet", "LoadBalancerJoinSecurityGroup", "LoadBalancerLeaveSecurityGroup",
				"AttachCommonBandwidthPackageToLoadBalancer",
			},
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				return update(&nlbv1.UpdateLoadBalancerRequest{
					Ipv6AddressType:    nlbv1.AddressType_ADDRESS_TYPE_INTERNET.Enum(),
					SecurityGroups:     &nlbv1.SecurityGroups{SecurityGroupIds: []string{s.securityGroup(1)}},
					BandwidthPackageId: new(s.bandwidthPackage()),
				})(ctx, c, s)
			},
		},
		{
			Name: "NLB UpdateLoadBalancer, back",
			Actions: []string{"DisableLoadBalancerIpv6Internet", "DetachCommonBandwidthPackageFromLoadBalancer",
				"UpdateLoadBalancerAddressTypeConfig"},
			Prepare: func(ctx context.Context, c *gateway.Client, s *Site) error {
				if err := withNetworkBalancer(ctx, c, s); err != nil {
					return err
				}
				return update(&nlbv1.UpdateLoadBalancerRequest{
					Ipv6AddressType: nlbv1.AddressType_ADDRESS_TYPE_INTERNET.Enum(), BandwidthPackageId: new(s.bandwidthPackage()),
				})(ctx, c, s)
			},
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				if err := update(&nlbv1.UpdateLoadBalancerRequest{
					Ipv6AddressType: nlbv1.AddressType_ADDRESS_TYPE_INTRANET.Enum(), BandwidthPackageId: new(""),
				})(ctx, c, s); err != nil {
					return err
				}
				return update(&nlbv1.UpdateLoadBalancerRequest{AddressType: nlbv1.AddressType_ADDRESS_TYPE_INTRANET.Enum()})(ctx, c, s)
			},
		},
		{
			Name: "NLB UpdateLoadBalancer, zones", Actions: []string{"UpdateLoadBalancerZones"}, Prepare: withNetworkBalancer,
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				zones := append(s.zones(), &nlbv1.ZoneMapping{ZoneId: "cn-hangzhou-j", VswitchId: s.vswitch() + "-3"})
				return update(&nlbv1.UpdateLoadBalancerRequest{ZoneMappings: &nlbv1.ZoneMappings{ZoneMappings: zones}})(ctx, c, s)
			},
		},
		{
			Name: "NLB UpdateLoadBalancer, shift", Actions: []string{"StartShiftLoadBalancerZones"}, Prepare: withNetworkBalancer,
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				return update(shiftedTo(s, 1))(ctx, c, s)
			},
		},
		{
			Name: "NLB UpdateLoadBalancer, shift and back", Actions: []string{"CancelShiftLoadBalancerZones", "StartShiftLoadBalancerZones"},
			Prepare: func(ctx context.Context, c *gateway.Client, s *Site) error {
				if err := withNetworkBalancer(ctx, c, s); err != nil {
					return err
				}
				return update(shiftedTo(s, 1))(ctx, c, s)
			},
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				return update(shiftedTo(s, 0))(ctx, c, s)
			},
		},
		{
			Name: "NLB DeleteLoadBalancer", Actions: []string{"DeleteLoadBalancer"},
			Prepare: func(ctx context.Context, c *gateway.Client, s *Site) error {
				if err := withNetworkListener(ctx, c, s); err != nil {
					return err
				}
				return update(&nlbv1.UpdateLoadBalancerRequest{DeletionProtection: &nlbv1.Protection{}})(ctx, c, s)
			},
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				_, err := c.NetworkLoadBalancers.DeleteLoadBalancer(ctx, &nlbv1.DeleteLoadBalancerRequest{LoadBalancerId: s.lb})
				return err
			},
		},
		{Name: "NLB CreateServerGroup", Actions: []string{"CreateServerGroup", "AddServersToServerGroup"}, Prepare: nothing,
			Run: withNetworkGroup},
		{
			Name: "NLB ApplyServerChanges", Prepare: withNetworkGroup,
			Actions: []string{"AddServersToServerGroup", "UpdateServerGroupServersAttribute", "RemoveServersFromServerGroup"},
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				lighter := s.networkServers(10, 5)
				for _, server := range lighter {
					server.Weight = new(int32(1))
				}
				_, err := c.NetworkServerGroups.ApplyServerChanges(ctx, &nlbv1.ApplyServerChangesRequest{
					ServerGroupId: s.group, Add: s.networkServers(20, 10), Update: lighter, Remove: s.networkServers(0, 5),
				})
				return err
			},
		},
		{
			Name: "NLB UpdateServerGroup", Actions: []string{"UpdateServerGroupAttribute", "MoveResourceGroup", "TagResources", "UntagResources"},
			Prepare: withNetworkGroup,
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				_, err := c.NetworkServerGroups.UpdateServerGroup(ctx, &nlbv1.UpdateServerGroupRequest{
					ServerGroupId: s.group, Name: new(s.Name + "-renamed"), Scheduler: new("Wlc"), ConnectionDrainEnabled: new(true),
					ConnectionDrainTimeout: new(int32(30)), HealthCheck: &nlbv1.HealthCheck{Interval: new(int32(9))}, ResourceGroupId: new("rg-other"),
					SetTags: more, RemoveTagKeys: site,
				})
				return err
			},
		},
		{
			Name: "NLB DeleteServerGroup", Actions: []string{"DeleteServerGroup"}, Prepare: withNetworkGroup,
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				_, err := c.NetworkServerGroups.DeleteServerGroup(ctx, &nlbv1.DeleteServerGroupRequest{ServerGroupId: s.group})
				return err
			},
		},
		{
			Name: "NLB CreateListener", Actions: []string{"CreateListener", "AssociateAdditionalCertificatesWithListener"},
			Prepare: func(ctx context.Context, c *gateway.Client, s *Site) error {
				if err := withNetworkGroup(ctx, c, s); err != nil {
					return err
				}
				return withNetworkBalancer(ctx, c, s)
			},
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				r := s.networkListener()
				r.AdditionalCertificateIds = []string{otherCertificate}
				_, err := c.NetworkListeners.CreateListener(ctx, r)
				return err
			},
		},
		{
			Name: "NLB UpdateListener", Actions: []string{"UpdateListenerAttribute",
				"AssociateAdditionalCertificatesWithListener", "TagResources", "UntagResources"},
			Prepare: withNetworkListener,
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				_, err := c.NetworkListeners.UpdateListener(ctx, &nlbv1.UpdateListenerRequest{
					ListenerId: s.listenerID, LoadBalancerId: s.lb, SetTags: more, RemoveTagKeys: site,
					Config:                 &nlbv1.ListenerConfig{IdleTimeout: new(int32(90)), ProxyProtocolEnabled: new(true)},
					AdditionalCertificates: &nlbv1.CertificateIds{CertificateIds: []string{otherCertificate}},
				})
				return err
			},
		},
		{
			Name: "NLB UpdateListener, certificates", Actions: []string{"DisassociateAdditionalCertificatesWithListener"},
			Prepare: func(ctx context.Context, c *gateway.Client, s *Site) error {
				if err := withNetworkListener(ctx, c, s); err != nil {
					return err
				}
				return additional(ctx, c, s, otherCertificate)
			},
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error { return additional(ctx, c, s) },
		},
		{Name: "NLB StopListener", Actions: []string{"StopListener"}, Prepare: withNetworkListener, Run: stopNetworkListener},
		{
			Name: "NLB StartListener", Actions: []string{"StartListener"},
			Prepare: func(ctx context.Context, c *gateway.Client, s *Site) error {
				if err := withNetworkListener(ctx, c, s); err != nil {
					return err
				}
				return stopNetworkListener(ctx, c, s)
			},
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				_, err := c.NetworkListeners.StartListener(ctx, &nlbv1.StartListenerRequest{ListenerId: s.listenerID, LoadBalancerId: s.lb})
				return err
			},
		},
		{
			Name: "NLB DeleteListener", Actions: []string{"DeleteListener"}, Prepare: withNetworkListener,
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				_, err := c.NetworkListeners.DeleteListener(ctx, &nlbv1.DeleteListenerRequest{ListenerId: s.listenerID, LoadBalancerId: s.lb})
				return err
			},
		},
	}
}

func additional(ctx context.Context, c *gateway.Client, s *Site, certificates ...string) error {
	_, err := c.NetworkListeners.UpdateListener(ctx, &nlbv1.UpdateListenerRequest{
		ListenerId: s.listenerID, LoadBalancerId: s.lb, AdditionalCertificates: &nlbv1.CertificateIds{CertificateIds: certificates},
	})
	return err
}

func stopNetworkListener(ctx context.Context, c *gateway.Client, s *Site) error {
	_, err := c.NetworkListeners.StopListener(ctx, &nlbv1.StopListenerRequest{ListenerId: s.listenerID, LoadBalancerId: s.lb})
	return err
}
