package server

import (
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/openapisim/fault"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// owned is a cloud with two load balancers and two VPCs, of which the second ones have a part of each kind.
func owned(cfg *openapisim.Config) {
	c := cfg.Seed
	for _, id := range []string{"lb-1", "lb-2"} {
		c.LoadBalancers[id] = &state.LoadBalancer{
			AddressType: "intranet", VpcID: testVPC, VSwitchID: testVSwitch, Spec: "slb.s2.small",
			Listeners: []*state.Listener{{
				Protocol: "https", Port: 443, Status: "running",
				Attributes: map[string]string{"VServerGroupId": "rsp-of-" + id, "ServerCertificateId": testCert},
				Domains:    []*state.Domain{{ID: "de-of-" + id, Domain: "b.example.com", CertificateID: testCert}},
				Rules:      []*state.Rule{{ID: "rule-of-" + id, Name: "a", URL: "/a", ServerGroupID: "rsp-of-" + id}},
			}},
		}
		c.ServerGroups["rsp-of-"+id] = &state.ServerGroup{LoadBalancerID: id, Name: "web"}
		c.ServerGroups["rsp-spare-"+id] = &state.ServerGroup{LoadBalancerID: id, Name: "spare"}
	}
	c.Vpcs["vpc-2"] = &state.Vpc{CidrBlock: "10.0.0.0/8"}
	c.VSwitches["vsw-2"] = &state.VSwitch{VpcID: "vpc-2", ZoneID: "cn-hangzhou-h", CidrBlock: "10.0.0.0/24"}
	c.Instances["i-2"] = &state.Instance{VpcID: "vpc-2", VSwitchID: "vsw-2", ZoneID: "cn-hangzhou-h", Status: "Running",
		PrivateIPs: []string{"10.0.0.1"}}
	c.VSwitches["vsw-3"] = &state.VSwitch{VpcID: "vpc-2", ZoneID: "cn-hangzhou-h", CidrBlock: "10.0.1.0/24"}
	c.RouteTables["vtb-system"] = &state.RouteTable{VpcID: "vpc-2", Type: "System"}
	c.RouteTables["vtb-2"] = &state.RouteTable{VpcID: "vpc-2", Type: "Custom"}
}

// TestWrongOwner: a request that names another load balancer or VPC than that of the part that it changes is refused,
// in words that name the field, and nothing is written, whether the gateway knows the part or has to find out. What is
// remembered of the right one stays.
func TestWrongOwner(t *testing.T) {
	changes := []struct {
		name, field string
		send        func(w *world, lb, vpc string) error
		finds       []string // the reads of a gateway that knows nothing
	}{
		{name: "ApplyServerChanges", field: "load_balancer_id", send: func(w *world, lb, _ string) error {
			_, err := w.ServerGroups.ApplyServerChanges(t.Context(), &slbv1.ApplyServerChangesRequest{
				ServerGroupId: "rsp-of-lb-2", LoadBalancerId: lb, Add: ecsServers(0, 1),
			})
			return err
		}, finds: []string{"DescribeVServerGroups", "DescribeVServerGroupAttribute"}},
		{name: "UpdateServerGroup", field: "load_balancer_id", send: func(w *world, lb, _ string) error {
			return second(w.ServerGroups.UpdateServerGroup(t.Context(), &slbv1.UpdateServerGroupRequest{
				ServerGroupId: "rsp-of-lb-2", LoadBalancerId: lb, Name: new("renamed"),
			}))
		}, finds: []string{"DescribeVServerGroups", "DescribeVServerGroupAttribute"}},
		{name: "DeleteServerGroup", field: "load_balancer_id", send: func(w *world, lb, _ string) error {
			return second(w.ServerGroups.DeleteServerGroup(t.Context(), &slbv1.DeleteServerGroupRequest{
				ServerGroupId: "rsp-spare-lb-2", LoadBalancerId: lb,
			}))
		}, finds: []string{"DescribeVServerGroups", "DescribeVServerGroupAttribute"}},
		{name: "UpdateForwardingRule", field: "load_balancer_id", send: func(w *world, lb, _ string) error {
			return second(w.ForwardingRules.UpdateForwardingRule(t.Context(), &slbv1.UpdateForwardingRuleRequest{
				RuleId: "rule-of-lb-2", LoadBalancerId: lb, Config: &slbv1.ForwardingRuleConfig{Name: new("renamed")},
			}))
		}, finds: []string{"DescribeRuleAttribute"}},
		{name: "UpdateDomainExtension", field: "load_balancer_id", send: func(w *world, lb, _ string) error {
			return second(w.DomainExtensions.UpdateDomainExtension(t.Context(), &slbv1.UpdateDomainExtensionRequest{
				DomainExtensionId: "de-of-lb-2", LoadBalancerId: lb, ServerCertificateId: testCert,
			}))
		}, finds: []string{"DescribeDomainExtensionAttribute"}},
		{name: "DeleteDomainExtension", field: "load_balancer_id", send: func(w *world, lb, _ string) error {
			return second(w.DomainExtensions.DeleteDomainExtension(t.Context(), &slbv1.DeleteDomainExtensionRequest{
				DomainExtensionId: "de-of-lb-2", LoadBalancerId: lb,
			}))
		}, finds: []string{"DescribeDomainExtensionAttribute"}},
		{name: "BatchCreateRouteEntries", field: "vpc_id", send: func(w *world, _, vpc string) error {
			return second(w.Routes.BatchCreateRouteEntries(t.Context(), &vpcv1.BatchCreateRouteEntriesRequest{
				VpcId: vpc, RouteEntries: []*vpcv1.RouteEntry{{RouteTableId: "vtb-2", DestinationCidr: "172.16.0.0/24", NextHopId: "i-2"}},
			}))
		}, finds: []string{"DescribeRouteTableList"}},
		{name: "AssociateRouteTable", field: "vpc_id", send: func(w *world, _, vpc string) error {
			return second(w.Routes.AssociateRouteTable(t.Context(), &vpcv1.AssociateRouteTableRequest{
				VpcId: vpc, RouteTableId: "vtb-2", VswitchId: "vsw-2",
			}))
		}, finds: []string{"DescribeRouteTableList"}},
		{name: "UnassociateRouteTable", field: "vpc_id", send: func(w *world, _, vpc string) error {
			return second(w.Routes.UnassociateRouteTable(t.Context(), &vpcv1.UnassociateRouteTableRequest{
				VpcId: vpc, RouteTableId: "vtb-2", VswitchId: "vsw-2",
			}))
		}, finds: []string{"DescribeRouteTableList"}},
		{name: "DeleteRouteTable", field: "vpc_id", send: func(w *world, _, vpc string) error {
			return second(w.Routes.DeleteRouteTable(t.Context(), &vpcv1.DeleteRouteTableRequest{VpcId: vpc, RouteTableId: "vtb-2"}))
		}, finds: []string{"DescribeRouteTableList"}},
		{name: "DeleteVSwitch", field: "vpc_id", send: func(w *world, _, vpc string) error {
			return second(w.VSwitches.DeleteVSwitch(t.Context(), &vpcv1.DeleteVSwitchRequest{VpcId: vpc, VswitchId: "vsw-3"}))
		}, finds: []string{"DescribeVSwitches"}},
	}
	for _, tt := range changes {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, owned)
			for _, known := range []bool{false, true} {
				w.forget()
				err := tt.send(w, "lb-1", testVPC)
				e, _ := rpcerr.From(err)
				if status.Code(err) != codes.InvalidArgument || e == nil || !slices.ContainsFunc(e.Fields, func(v rpcerr.FieldViolation) bool {
					return v.Field == tt.field && (strings.Contains(v.Description, "lb-2") || strings.Contains(v.Description, "vpc-2"))
				}) {
					t.Errorf("known %t: got %v, want INVALID_ARGUMENT that names %s and the right one", known, err, tt.field)
				}
				if writes := w.actions(false); len(writes) > 0 {
					t.Errorf("known %t: %q were sent", known, writes)
				}
				if reads := w.actions(true); !known && !slices.Equal(reads, tt.finds) || known && tt.name != "DeleteVSwitch" && len(reads) > 0 {
					t.Errorf("known %t: found out by %q, want %q, and nothing the second time", known, reads, tt.finds)
				}
			}
			w.strike(t, fault.Rule{Action: "Describe*", Error: &fault.Error{Status: 403, Code: "Forbidden.RAM", Message: "no"}})
			w.startGateway(t) // one that knows nothing
			if err := tt.send(w, "", ""); err == nil {
				t.Error("the owner can't be found, and the request is carried out")
			}
			w.strike(t)
			if err := tt.send(w, "", ""); err != nil {
				t.Errorf("without one: %v", err)
			}
			if err := tt.send(w, "lb-2", "vpc-2"); err != nil && !rpcerr.IsNotFound(err) {
				t.Errorf("with the right one: %v", err)
			}
		})
	}
}

// TestOwnersCostNoCalls: the owner of what was read, or made, through the gateway is known. A gateway that knows nothing reads it once for
// all groups of a load balancer.
func TestOwnersCostNoCalls(t *testing.T) {
	apply := func(w *world, group string) {
		t.Helper()
		if _, err := w.ServerGroups.ApplyServerChanges(t.Context(), &slbv1.ApplyServerChangesRequest{
			ServerGroupId: group, LoadBalancerId: "lb-1", Add: ecsServers(0, 1),
		}); err != nil {
			t.Fatal(err)
		}
	}
	want := func(w *world, what string, calls ...string) {
		t.Helper()
		if got := w.actions(true); !slices.Equal(got, calls) {
			t.Errorf("%s: calls %q, want %q", what, got, calls)
		}
		w.forget()
	}
	w := newWorld(t, owned)
	if _, err := w.LoadBalancers.GetLoadBalancer(t.Context(), &slbv1.GetLoadBalancerRequest{
		LoadBalancerId: "lb-1", View: slbv1.View_VIEW_FULL, MaxAge: durationpb.New(time.Minute),
	}); err != nil {
		t.Fatal(err)
	}
	w.forget()
	apply(w, "rsp-of-lb-1")
	want(w, "after a read", "AddVServerGroupBackendServers")

	made, err := w.ServerGroups.CreateServerGroup(t.Context(), &slbv1.CreateServerGroupRequest{RequestId: "r-1",
		LoadBalancerId: "lb-1", Name: "new"})
	if err != nil {
		t.Fatal(err)
	}
	w.forget()
	apply(w, made.GetServerGroupId())
	want(w, "after a creation", "AddVServerGroupBackendServers")

	w.startGateway(t)
	apply(w, "rsp-of-lb-1")
	want(w, "after a failover", "DescribeVServerGroups", "AddVServerGroupBackendServers")
	apply(w, "rsp-spare-lb-1")
	want(w, "the next group", "AddVServerGroupBackendServers")
}
