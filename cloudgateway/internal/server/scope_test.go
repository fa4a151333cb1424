package server

import (
	"maps"
	"slices"
	"strings"
	"testing"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/config"
	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// inTwoTeams is a cloud in which everything is there twice: "in" with the tag team=web in the first VPC, "out" with another in the second.
func inTwoTeams(cfg *openapisim.Config) {
	owned(cfg)
	c := cfg.Seed
	for which, team := range map[string]string{"in": "web", "out": "db"} {
		tags := []state.Tag{{Key: "team", Value: team}}
		vpc, vsw := testVPC, testVSwitch
		if which == "out" {
			vpc, vsw = "vpc-2", "vsw-2"
		}
		c.LoadBalancers["lb-"+which] = &state.LoadBalancer{AddressType: "intranet", VpcID: vpc, VSwitchID: vsw, Spec: "slb.s2.small", Tags: tags}
		c.ServerGroups["rsp-"+which] = &state.ServerGroup{LoadBalancerID: "lb-" + which, Name: "web"}
		c.NLBs["nlb-"+which] = &state.NLB{VpcID: vpc, Tags: tags}
		c.NLBServerGroups["sgp-"+which] = &state.NLBServerGroup{VpcID: vpc, Name: "web", Tags: tags}
		c.NLBListeners["lsn-"+which] = &state.NLBListener{NLBID: "nlb-" + which, Port: 80, ServerGroupID: "sgp-" + which}
		c.NLBServerGroups["sgp-free-"+which] = &state.NLBServerGroup{VpcID: vpc, Name: "free", Tags: tags}
		c.SecurityGroups["sg-"+which] = &state.SecurityGroup{VpcID: vpc, Name: which, Tags: tags}
		c.Acls["acl-"+which] = &state.Acl{Name: which, Tags: tags}
		c.Certificates["cert-"+which] = &state.Certificate{Name: which, Tags: tags}
		c.Certificates["ca-"+which] = &state.Certificate{Name: which, CA: true, Tags: tags}
		c.Eips["eip-"+which] = &state.Eip{Address: map[string]string{"in": "47.96.1.1", "out": "47.96.1.2"}[which], Tags: tags}
		c.Vpcs[vpc].Tags = tags
		c.VSwitches["vsw-free-"+which] = &state.VSwitch{
			VpcID: vpc, ZoneID: "cn-hangzhou-h", CidrBlock: map[string]string{"in": "192.168.200.0/24", "out": "10.0.9.0/24"}[which], Tags: tags,
		}
		c.RouteTables["vtb-"+which] = &state.RouteTable{VpcID: vpc, Type: "Custom"}
		c.Instances["i-"+which] = &state.Instance{
			VpcID: vpc, VSwitchID: vsw, ZoneID: "cn-hangzhou-h", Status: "Stopped", Tags: tags,
			PrivateIPs: []string{map[string]string{"in": "192.168.9.9", "out": "10.0.0.9"}[which]},
		}
	}
}

// scopedNLBWrites are those of NLB and of its security groups.
func scopedNLBWrites() map[string]func(t *testing.T, w *world, which string) error {
	return map[string]func(t *testing.T, w *world, which string) error{
		"NLB UpdateLoadBalancer": func(t *testing.T, w *world, which string) error {
			return second(w.NetworkLoadBalancers.UpdateLoadBalancer(t.Context(),
				&nlbv1.UpdateLoadBalancerRequest{LoadBalancerId: "nlb-" + which, Name: new("new")}))
		},
		"NLB DeleteLoadBalancer": func(t *testing.T, w *world, which string) error {
			return second(w.NetworkLoadBalancers.DeleteLoadBalancer(t.Context(), &nlbv1.DeleteLoadBalancerRequest{LoadBalancerId: "nlb-" + which}))
		},
		"NLB CreateListener": func(t *testing.T, w *world, which string) error {
			return second(w.NetworkListeners.CreateListener(t.Context(), &nlbv1.CreateListenerRequest{
				RequestId: "r-1", LoadBalancerId: "nlb-" + which, Protocol: nlbv1.ListenerProtocol_LISTENER_PROTOCOL_TCP, Port: 81,
				Config: &nlbv1.ListenerConfig{ServerGroupId: new("sgp-" + which)},
			}))
		},
		"NLB UpdateListener": func(t *testing.T, w *world, which string) error {
			return second(w.NetworkListeners.UpdateListener(t.Context(), &nlbv1.UpdateListenerRequest{
				LoadBalancerId: "nlb-" + which, ListenerId: "lsn-" + which, Config: &nlbv1.ListenerConfig{IdleTimeout: new(int32(60))},
			}))
		},
		"NLB ApplyServerChanges": func(t *testing.T, w *world, which string) error {
			server := &nlbv1.Server{Type: nlbv1.ServerType_SERVER_TYPE_ECS, ServerId: "i-" + which, Port: 80}
			return second(w.NetworkServerGroups.ApplyServerChanges(t.Context(), &nlbv1.ApplyServerChangesRequest{
				ServerGroupId: "sgp-" + which, Add: []*nlbv1.Server{server},
			}))
		},
		"NLB DeleteServerGroup": func(t *testing.T, w *world, which string) error {
			return second(w.NetworkServerGroups.DeleteServerGroup(t.Context(), &nlbv1.DeleteServerGroupRequest{ServerGroupId: "sgp-free-" + which}))
		},
		"UpdateSecurityGroup": func(t *testing.T, w *world, which string) error {
			return second(w.SecurityGroups.UpdateSecurityGroup(t.Context(),
				&ecsv1.UpdateSecurityGroupRequest{SecurityGroupId: "sg-" + which, Name: new("new")}))
		},
		"CreateSecurityGroup": func(t *testing.T, w *world, which string) error {
			return second(w.SecurityGroups.CreateSecurityGroup(t.Context(), &ecsv1.CreateSecurityGroupRequest{
				RequestId: "r-1", Name: "web", VpcId: map[string]string{"in": testVPC, "out": "vpc-2"}[which],
				Tags: []*commonv1.Tag{{Key: "team", Value: map[string]string{"in": "web", "out": "db"}[which]}},
			}))
		},
	}
}

// scopedWrites are writes of all kinds of resources. They name the resource "in" or "out".
func scopedWrites() map[string]func(t *testing.T, w *world, which string) error {
	vpc := func(which string) string { return map[string]string{"in": testVPC, "out": "vpc-2"}[which] }
	table := func(which string) string { return map[string]string{"in": testTable, "out": "vtb-system"}[which] }
	writes := map[string]func(t *testing.T, w *world, which string) error{
		"UpdateLoadBalancer": func(t *testing.T, w *world, which string) error {
			return second(w.LoadBalancers.UpdateLoadBalancer(t.Context(),
				&slbv1.UpdateLoadBalancerRequest{LoadBalancerId: "lb-" + which, Name: new("new")}))
		},
		"DeleteLoadBalancer": func(t *testing.T, w *world, which string) error {
			return second(w.LoadBalancers.DeleteLoadBalancer(t.Context(), &slbv1.DeleteLoadBalancerRequest{LoadBalancerId: "lb-" + which}))
		},
		"CreateListener": func(t *testing.T, w *world, which string) error {
			return second(w.Listeners.CreateListener(t.Context(), &slbv1.CreateListenerRequest{
				Key:    &slbv1.ListenerKey{LoadBalancerId: "lb-" + which, Port: 80, Protocol: slbv1.Protocol_PROTOCOL_TCP},
				Config: &slbv1.ListenerConfig{ServerGroupId: new("rsp-" + which), BandwidthMbps: new(int32(-1))},
			}))
		},
		"ApplyServerChanges": func(t *testing.T, w *world, which string) error {
			return second(w.ServerGroups.ApplyServerChanges(t.Context(), &slbv1.ApplyServerChangesRequest{
				LoadBalancerId: "lb-" + which, ServerGroupId: "rsp-" + which, Add: ecsServers(0, 1),
			}))
		},
		"UpdateAccessControlList": func(t *testing.T, w *world, which string) error {
			return second(w.AccessControlLists.UpdateAccessControlList(t.Context(),
				&slbv1.UpdateAccessControlListRequest{AclId: "acl-" + which, Name: new("new")}))
		},
		"UpdateServerCertificate": func(t *testing.T, w *world, which string) error {
			return second(w.Certificates.UpdateServerCertificate(t.Context(),
				&slbv1.UpdateServerCertificateRequest{ServerCertificateId: "cert-" + which, Name: new("new")}))
		},
		"DeleteCaCertificate": func(t *testing.T, w *world, which string) error {
			return second(w.Certificates.DeleteCaCertificate(t.Context(), &slbv1.DeleteCaCertificateRequest{CaCertificateId: "ca-" + which}))
		},
		"AssociateEip": func(t *testing.T, w *world, which string) error {
			return second(w.Eips.AssociateEip(t.Context(), &vpcv1.AssociateEipRequest{AllocationId: "eip-in", InstanceId: "lb-" +
				which, InstanceType: "SlbInstance"}))
		},
		"ReleaseEip": func(t *testing.T, w *world, which string) error {
			return second(w.Eips.ReleaseEip(t.Context(), &vpcv1.ReleaseEipRequest{AllocationId: "eip-" + which}))
		},
		"BatchCreateRouteEntries": func(t *testing.T, w *world, which string) error {
			return second(w.Routes.BatchCreateRouteEntries(t.Context(), &vpcv1.BatchCreateRouteEntriesRequest{VpcId: vpc(which),
				RouteEntries: []*vpcv1.RouteEntry{
					{RouteTableId: table(which), DestinationCidr: "172.16.0.0/24", NextHopId: "i-" + which},
				}}))
		},
		"DeleteRouteTable": func(t *testing.T, w *world, which string) error {
			return second(w.Routes.DeleteRouteTable(t.Context(), &vpcv1.DeleteRouteTableRequest{VpcId: vpc(which), RouteTableId: "vtb-" + which}))
		},
		"DeleteVSwitch": func(t *testing.T, w *world, which string) error {
			return second(w.VSwitches.DeleteVSwitch(t.Context(), &vpcv1.DeleteVSwitchRequest{VpcId: vpc(which), VswitchId: "vsw-free-" + which}))
		},
		"StartInstance": func(t *testing.T, w *world, which string) error {
			return second(w.Instances.StartInstance(t.Context(), &ecsv1.StartInstanceRequest{InstanceId: "i-" + which}))
		},
		"CreateLoadBalancer": func(t *testing.T, w *world, which string) error {
			team := map[string]string{"in": "web", "out": "db"}[which]
			return second(w.LoadBalancers.CreateLoadBalancer(t.Context(), &slbv1.CreateLoadBalancerRequest{
				RequestId: "r-1", VswitchId: "vsw-free-" + which, AddressType: slbv1.AddressType_ADDRESS_TYPE_INTRANET, Spec: "slb.s1.small",
				Tags: []*commonv1.Tag{{Key: "team", Value: team}},
			}))
		},
		"CreateVSwitch": func(t *testing.T, w *world, which string) error {
			team := map[string]string{"in": "web", "out": "db"}[which]
			return second(w.VSwitches.CreateVSwitch(t.Context(), &vpcv1.CreateVSwitchRequest{
				RequestId: "r-1", VpcId: vpc(which), ZoneId: "cn-hangzhou-h", CidrBlock: map[string]string{"in": "192.168.210.0/24",
					"out": "10.0.10.0/24"}[which],
				Tags: []*commonv1.Tag{{Key: "team", Value: team}},
			}))
		},
	}
	maps.Copy(writes, scopedNLBWrites())
	return writes
}

// TestScope: each kind of write goes through inside of the scope and is refused outside of it, before anything is
// written, whether the scope is one of tags or of VPCs. Where the resource can't be read, nothing is written either.
func TestScope(t *testing.T) {
	scopes := map[string]config.Scope{
		"tags": {Callers: []string{scoped}, Tags: map[string]string{"team": "web"}},
		"VPC":  {Callers: []string{"system:serviceaccount:tools:*"}, VpcIDs: []string{testVPC}},
	}
	noVPC := []string{"UpdateAccessControlList", "UpdateServerCertificate", "DeleteCaCertificate", "AssociateEip", "ReleaseEip"}
	for name, s := range scopes {
		for action, write := range scopedWrites() {
			t.Run(name+"/"+action, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, inTwoTeams)
				w.scopes = []config.Scope{s}
				w.startGateway(t)
				err := write(t, w, "out")
				if e, _ := rpcerr.From(err); e == nil || e.Reason != rpcerr.CallerForbidden || !strings.Contains(e.Message, "scopes[0]") {
					t.Errorf("outside: got %v, want CALLER_FORBIDDEN that names the scope", err)
				}
				inside := name == "tags" || !slices.Contains(noVPC, action)
				if inside && (!strings.HasPrefix(action, "Create") || action == "CreateListener") {
					w.startGateway(t) // one that remembers nothing
					no := &fault.Error{Status: 403, Code: "Forbidden.RAM", Message: "no"}
					w.strike(t, fault.Rule{Action: "Describe*", Error: no}, fault.Rule{Action: "List*", Error: no})
					if err := write(t, w, "in"); err == nil {
						t.Error("succeeded where nothing can be read")
					}
					w.strike(t)
				}
				if writes := w.actions(false); len(writes) > 0 {
					t.Errorf("%q were sent", writes)
				}
				if err := write(t, w, "in"); (err == nil) != inside {
					t.Errorf("inside: %v, want success: %t", err, inside)
				}
			})
		}
	}
}

// TestScopeOfWhatIsGone: deleting something twice is no mistake for callers with a scope, either.
func TestScopeOfWhatIsGone(t *testing.T) {
	w := newWorld(t)
	w.scopes = []config.Scope{{Callers: []string{scoped}, ClusterID: "c-1"}}
	w.startGateway(t)
	if _, err := w.LoadBalancers.DeleteLoadBalancer(t.Context(), &slbv1.DeleteLoadBalancerRequest{LoadBalancerId: "lb-gone"}); err != nil {
		t.Errorf("deletion: %v", err)
	}
	_, err := w.LoadBalancers.UpdateLoadBalancer(t.Context(), &slbv1.UpdateLoadBalancerRequest{LoadBalancerId: "lb-gone", Name: new("new")})
	wantNotFound(t, err, rpcerr.LoadBalancerNotFound)
}

// TestScopeOfControllers is what the chart gives lbcontroller: nothing of another cluster, and everything else. It costs no calls where the
// gateway has read or made the load balancer and its groups. After a failover it costs one for up to a hundred load
// balancers of the cluster, and one for all server groups of a load balancer.
func TestScopeOfControllers(t *testing.T) {
	w := newWorld(t, owned, func(cfg *openapisim.Config) {
		for _, id := range []string{"lb-3", "lb-4"} {
			cfg.Seed.LoadBalancers[id] = &state.LoadBalancer{AddressType: "internet", Spec: "slb.s2.small",
				Tags: []state.Tag{{Key: "ack.aliyun.com", Value: "c-1"}}}
			cfg.Seed.ServerGroups["rsp-of-"+id] = &state.ServerGroup{LoadBalancerID: id, Name: "web"}
		}
		cfg.Seed.LoadBalancers["lb-2"].Tags = []state.Tag{{Key: "ack.aliyun.com", Value: "c-2"}}
	})
	w.scopes = []config.Scope{{Callers: []string{scoped}, ClusterID: "c-1", Controller: true}}
	w.startGateway(t)
	apply := func(lb, group string) error {
		t.Helper()
		return second(w.ServerGroups.ApplyServerChanges(t.Context(), &slbv1.ApplyServerChangesRequest{
			ServerGroupId: group, LoadBalancerId: lb, Add: ecsServers(0, 1),
		}))
	}
	calls := func(what string, want ...string) {
		t.Helper()
		got := w.actions(true)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: calls %q, want %q", what, got, want)
		}
		w.forget()
	}
	read := func(id string) {
		t.Helper()
		if _, err := w.LoadBalancers.GetLoadBalancer(t.Context(), &slbv1.GetLoadBalancerRequest{LoadBalancerId: id,
			View: slbv1.View_VIEW_FULL}); err != nil {
			t.Fatal(err)
		}
		w.forget()
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	forbidden := func(err error) {
		t.Helper()
		if rpcerr.ReasonOf(err) != rpcerr.CallerForbidden {
			t.Errorf("got %v, want CALLER_FORBIDDEN", err)
		}
	}

	read("lb-1") // made by hand, as users name it
	must(apply("lb-1", "rsp-of-lb-1"))
	calls("a user's load balancer", "AddVServerGroupBackendServers")
	read("lb-2")
	forbidden(apply("lb-2", "rsp-of-lb-2"))
	forbidden(second(w.LoadBalancers.DeleteLoadBalancer(t.Context(), &slbv1.DeleteLoadBalancerRequest{LoadBalancerId: "lb-2"})))
	calls("that of another cluster")

	made, err := w.LoadBalancers.CreateLoadBalancer(t.Context(), &slbv1.CreateLoadBalancerRequest{
		RequestId: "r-1", Spec: "slb.s1.small", AddressType: slbv1.AddressType_ADDRESS_TYPE_INTERNET,
		Tags: []*commonv1.Tag{{Key: "ack.aliyun.com", Value: "c-1"}},
	})
	must(err)
	own := made.GetLoadBalancer().GetLoadBalancerId()
	group, err := w.ServerGroups.CreateServerGroup(t.Context(), &slbv1.CreateServerGroupRequest{RequestId: "r-2",
		LoadBalancerId: own, Name: "web"})
	must(err)
	must(apply(own, group.GetServerGroupId()))
	calls("a new load balancer", "AddVServerGroupBackendServers", "CreateLoadBalancer", "CreateVServerGroup", "DescribeVServerGroups")

	// It is kept for the user when the Service goes, and is then nobody's.
	must(second(w.LoadBalancers.UpdateLoadBalancer(t.Context(), &slbv1.UpdateLoadBalancerRequest{LoadBalancerId: own,
		RemoveTagKeys: []string{"ack.aliyun.com"}})))
	forbidden(second(w.LoadBalancers.UpdateLoadBalancer(t.Context(), &slbv1.UpdateLoadBalancerRequest{
		LoadBalancerId: own, SetTags: []*commonv1.Tag{{Key: "ack.aliyun.com", Value: "c-2"}},
	})))
	w.forget()

	w.startGateway(t)
	must(apply("lb-3", "rsp-of-lb-3"))
	calls("the first after a failover", "AddVServerGroupBackendServers", "DescribeLoadBalancers", "DescribeVServerGroups")
	must(apply("lb-4", "rsp-of-lb-4"))
	calls("the second after a failover", "AddVServerGroupBackendServers", "DescribeVServerGroups")
	must(apply("lb-1", "rsp-of-lb-1"))
	calls("a user's after a failover", "AddVServerGroupBackendServers", "DescribeLoadBalancers", "DescribeVServerGroups")
	must(apply("lb-1", "rsp-spare-lb-1"))
	calls("another group of it", "AddVServerGroupBackendServers")
	forbidden(apply("lb-2", "rsp-of-lb-2"))
	calls("that of another cluster after a failover", "DescribeLoadBalancers")

	// The parts of another cluster's load balancer are not reached in the name of an own one, whatever the gateway knows of them.
	for _, known := range []bool{false, true} {
		for what, write := range map[string]func() error{
			"ApplyServerChanges": func() error { return apply("lb-3", "rsp-of-lb-2") },
			"DeleteServerGroup": func() error {
				return second(w.ServerGroups.DeleteServerGroup(t.Context(), &slbv1.DeleteServerGroupRequest{LoadBalancerId: "lb-3",
					ServerGroupId: "rsp-spare-lb-2"}))
			},
			"UpdateDomainExtension": func() error {
				return second(w.DomainExtensions.UpdateDomainExtension(t.Context(), &slbv1.UpdateDomainExtensionRequest{
					DomainExtensionId: "de-of-lb-2", LoadBalancerId: "lb-3", ServerCertificateId: testCert,
				}))
			},
			"DeleteDomainExtension": func() error {
				return second(w.DomainExtensions.DeleteDomainExtension(t.Context(), &slbv1.DeleteDomainExtensionRequest{
					DomainExtensionId: "de-of-lb-2", LoadBalancerId: "lb-3",
				}))
			},
		} {
			if err := write(); rpcerr.ReasonOf(err) != rpcerr.InvalidField {
				t.Errorf("known %t: %s in the name of an own load balancer: got %v", known, what, err)
			}
			if writes := w.actions(false); len(writes) > 0 {
				t.Errorf("known %t: %s: %q were sent", known, what, writes)
			}
		}
	}
}

// TestScopeOfNodecontroller is what the chart gives nodecontroller: the interfaces in the VPC of the cluster, whatever
// a kubelet has claimed of them. It reads them before it changes them, so that the scope costs no call.
func TestScopeOfNodecontroller(t *testing.T) {
	w := newWorld(t, owned, func(cfg *openapisim.Config) {
		cfg.Seed.Interfaces["eni-in"] = &state.NetworkInterface{
			VSwitchID: testVSwitch, PrimaryIP: "192.168.20.1", SourceDestCheck: true,
		}
		cfg.Seed.Interfaces["eni-db"] = &state.NetworkInterface{
			VSwitchID: "vsw-2", PrimaryIP: "10.0.0.77", SourceDestCheck: true,
		}
	})
	w.scopes = []config.Scope{{Callers: []string{scoped}, VpcIDs: []string{testVPC}}}
	w.startGateway(t)
	off := func(id string) error {
		return second(w.NetworkInterfaces.UpdateNetworkInterface(t.Context(), &ecsv1.UpdateNetworkInterfaceRequest{
			NetworkInterfaceId: id, SourceDestCheck: new(false),
		}))
	}
	for _, known := range []bool{true, false} {
		if known {
			if _, err := w.NetworkInterfaces.BatchGetNetworkInterfaces(t.Context(), &ecsv1.BatchGetNetworkInterfacesRequest{
				NetworkInterfaceIds: []string{"eni-in", "eni-db"},
			}); err != nil {
				t.Fatal(err)
			}
		} else {
			w.startGateway(t) // one that remembers nothing
		}
		w.forget()
		err := off("eni-db")
		if e, _ := rpcerr.From(err); e == nil || e.Reason != rpcerr.CallerForbidden || !strings.Contains(e.Message, "it is in vpc-2") {
			t.Errorf("known %t: that of a database: %v", known, err)
		}
		if err := off("eni-in"); err != nil {
			t.Errorf("known %t: that of a node: %v", known, err)
		}
		if writes := w.actions(false); !slices.Equal(writes, []string{"ModifyNetworkInterfaceAttribute"}) {
			t.Errorf("known %t: %q were sent", known, writes)
		}
		if calls := w.actions(true); known && len(calls) != 1 {
			t.Errorf("the scope costs calls: %q", calls)
		}
	}
}
