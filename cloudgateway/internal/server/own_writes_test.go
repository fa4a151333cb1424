package server

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/durationpb"

	casv1 "alicloud-controllers.dev/proto/cloudgateway/cas/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/proto/method"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/cloudgateway/writetest"

	"alicloud-controllers.dev/cloudgateway/internal/config"
)

// TestEveryOwnWriteIsSeen: who has read all there is, writes, and then reads again what may be an hour old sees his own write. The same
// reads with no age say what he has to see.
func TestEveryOwnWriteIsSeen(t *testing.T) {
	asked, calls := map[string]bool{}, sent{}
	for _, op := range writetest.Operations() {
		t.Run(op.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, emptySeed)
				at := w.site(t, op)
				before := w.questions()
				for q := range before {
					w.ask(t, q, before[q], time.Hour)
				}
				if err := op.Run(t.Context(), w.Client, at); err != nil {
					t.Fatal(err)
				}
				all := w.questions()
				maps.Copy(all, before)
				for _, q := range slices.Sorted(maps.Keys(all)) {
					method, _, _ := strings.Cut(q, " ")
					asked[method] = true
					remembered := w.ask(t, q, all[q], time.Hour)
					if now := w.ask(t, q, all[q], 0); remembered != now {
						t.Errorf("%s: remembered\n%s, it is now\n%s", q, remembered, now)
					}
				}
				calls.add(w.calls(true))
			})
		})
	}
	calls.check(t)
	for method, row := range Policies(config.API{Enable: method.ToolServices()}) {
		if !row.Mutating && !asked[method] && methodNamed(t, method).Input().Fields().ByName("max_age") != nil {
			t.Errorf("%s was not asked", method)
		}
	}
}

// ask gives the answer to a question as a text.
func (w *world) ask(t *testing.T, question string, request proto.Message, age time.Duration) string {
	t.Helper()
	method, _, _ := strings.Cut(question, " ")
	descriptor := methodNamed(t, method)
	request = proto.Clone(request)
	field := request.ProtoReflect().Descriptor().Fields().ByName("max_age")
	request.ProtoReflect().Set(field, converted(request.ProtoReflect(), field, durationpb.New(age)))
	answer := dynamicpb.NewMessage(descriptor.Output())
	if err := w.conn.Invoke(t.Context(), method, request, answer); err != nil {
		return fmt.Sprint(status.Code(err), rpcerr.ReasonOf(err))
	}
	answer.Clear(descriptor.Output().Fields().ByName("as_of"))
	return consequence.ReplaceAllString(prototext.Format(answer), "")
}

// consequence is what the change of one resource does to the answers about another one, which are remembered all the same, as
// docs/gateway-api.md says.
var consequence = regexp.MustCompile(`(?m)^ *(available_ip_count|eip):.*\n`)

// questions are requests to read everything that the cloud holds, in every way, by "method request".
func (w *world) questions() map[string]proto.Message {
	all := map[string]proto.Message{}
	ask := func(method string, request proto.Message) { all[fmt.Sprintf("%s %v", method, request)] = request }
	w.sim.View(func(c *state.Cloud) {
		askBalancers(c, ask)
		askNetworkBalancers(c, ask)
		askNetworks(c, ask)
		instances := slices.DeleteFunc(slices.Sorted(maps.Keys(c.Instances)), func(id string) bool {
			return !strings.HasSuffix(id, "-00") && !strings.HasSuffix(id, "-01") // Those that operations use by themselves.
		})
		for _, id := range instances {
			ask(ecsv1.InstanceService_GetInstance_FullMethodName, &ecsv1.GetInstanceRequest{InstanceId: id})
		}
		ask(ecsv1.InstanceService_BatchGetInstances_FullMethodName, &ecsv1.BatchGetInstancesRequest{InstanceIds: instances})
		ask(ecsv1.InstanceService_BatchGetInstanceStatuses_FullMethodName, &ecsv1.BatchGetInstanceStatusesRequest{InstanceIds: instances})
		ask(ecsv1.InstanceService_ListInstances_FullMethodName, &ecsv1.ListInstancesRequest{ZoneId: "cn-hangzhou-h"})
		ask(ecsv1.InstanceService_ListInstanceEvents_FullMethodName, &ecsv1.ListInstanceEventsRequest{})
		ask(ecsv1.SecurityGroupService_ListSecurityGroups_FullMethodName, &ecsv1.ListSecurityGroupsRequest{})
		for id := range c.SecurityGroups {
			ask(ecsv1.SecurityGroupService_GetSecurityGroup_FullMethodName, &ecsv1.GetSecurityGroupRequest{SecurityGroupId: id})
		}
		for id, n := range c.Interfaces {
			if !slices.Contains(instances, n.InstanceID) {
				continue
			}
			ask(ecsv1.NetworkInterfaceService_GetNetworkInterface_FullMethodName, &ecsv1.GetNetworkInterfaceRequest{NetworkInterfaceId: id})
			ask(ecsv1.NetworkInterfaceService_ListNetworkInterfaces_FullMethodName, &ecsv1.ListNetworkInterfacesRequest{VpcId: n.VpcID})
			ask(ecsv1.NetworkInterfaceService_BatchGetNetworkInterfaces_FullMethodName,
				&ecsv1.BatchGetNetworkInterfacesRequest{VpcId: n.VpcID, IpAddresses: n.PrivateIPs})
		}
	})
	return all
}

func askBalancers(c *state.Cloud, ask func(string, proto.Message)) {
	ask(slbv1.LoadBalancerService_ListAvailableZones_FullMethodName, &slbv1.ListAvailableZonesRequest{})
	ask(slbv1.LoadBalancerService_ListLoadBalancers_FullMethodName, &slbv1.ListLoadBalancersRequest{Name: "web"})
	ask(slbv1.CertificateService_ListServerCertificates_FullMethodName, &slbv1.ListServerCertificatesRequest{})
	ask(slbv1.CertificateService_ListCaCertificates_FullMethodName, &slbv1.ListCaCertificatesRequest{})
	ask(slbv1.AccessControlListService_ListAccessControlLists_FullMethodName, &slbv1.ListAccessControlListsRequest{})
	for id := range c.Acls {
		ask(slbv1.AccessControlListService_GetAccessControlList_FullMethodName, &slbv1.GetAccessControlListRequest{AclId: id})
	}
	for id := range c.ServerGroups {
		ask(slbv1.ServerGroupService_GetServerGroup_FullMethodName, &slbv1.GetServerGroupRequest{ServerGroupId: id})
	}
	for id, lb := range c.LoadBalancers {
		ask(slbv1.LoadBalancerService_GetLoadBalancer_FullMethodName, &slbv1.GetLoadBalancerRequest{LoadBalancerId: id,
			View: slbv1.View_VIEW_FULL})
		ask(slbv1.ListenerService_ListListeners_FullMethodName, &slbv1.ListListenersRequest{LoadBalancerIds: []string{id}})
		ask(slbv1.ServerHealthService_ListServerHealth_FullMethodName, &slbv1.ListServerHealthRequest{LoadBalancerId: id})
		ask(slbv1.ServerGroupService_ListServerGroups_FullMethodName, &slbv1.ListServerGroupsRequest{LoadBalancerId: id})
		ask(slbv1.ServerGroupService_ListServerGroups_FullMethodName, &slbv1.ListServerGroupsRequest{LoadBalancerId: id, IncludeUsers: true})
		ask(slbv1.ServerGroupService_GetDefaultServerGroup_FullMethodName, &slbv1.GetDefaultServerGroupRequest{LoadBalancerId: id})
		for _, l := range lb.Listeners {
			key := &slbv1.ListenerKey{
				LoadBalancerId: id, Port: int32(l.Port),
				Protocol: slbv1.Protocol(slbv1.Protocol_value["PROTOCOL_"+strings.ToUpper(l.Protocol)]),
			}
			switch l.Protocol {
			case "https":
				ask(slbv1.DomainExtensionService_ListDomainExtensions_FullMethodName, &slbv1.ListDomainExtensionsRequest{Key: key})
				fallthrough
			case "http":
				ask(slbv1.ForwardingRuleService_ListForwardingRules_FullMethodName, &slbv1.ListForwardingRulesRequest{Key: key})
			}
		}
	}
}

func askNetworkBalancers(c *state.Cloud, ask func(string, proto.Message)) {
	ask(nlbv1.LoadBalancerService_ListZones_FullMethodName, &nlbv1.ListZonesRequest{})
	ask(nlbv1.LoadBalancerService_ListLoadBalancers_FullMethodName, &nlbv1.ListLoadBalancersRequest{})
	ask(nlbv1.ServerGroupService_ListServerGroups_FullMethodName, &nlbv1.ListServerGroupsRequest{})
	ask(casv1.CertificateService_ListCertificates_FullMethodName, &casv1.ListCertificatesRequest{})
	for id := range c.UserCertificates {
		ask(casv1.CertificateService_GetCertificate_FullMethodName, &casv1.GetCertificateRequest{CertificateId: id})
	}
	for id := range c.NLBs {
		ask(nlbv1.LoadBalancerService_GetLoadBalancer_FullMethodName, &nlbv1.GetLoadBalancerRequest{LoadBalancerId: id})
		ask(nlbv1.ListenerService_ListListeners_FullMethodName, &nlbv1.ListListenersRequest{LoadBalancerIds: []string{id}})
	}
	for id := range c.NLBListeners {
		ask(nlbv1.ListenerService_GetListener_FullMethodName, &nlbv1.GetListenerRequest{ListenerId: id})
		ask(nlbv1.ListenerService_ListListenerCertificates_FullMethodName, &nlbv1.ListListenerCertificatesRequest{ListenerId: id})
		ask(nlbv1.ListenerService_ListServerHealth_FullMethodName, &nlbv1.ListServerHealthRequest{ListenerId: id})
	}
	for id := range c.NLBServerGroups {
		ask(nlbv1.ServerGroupService_GetServerGroup_FullMethodName, &nlbv1.GetServerGroupRequest{ServerGroupId: id})
	}
}

func askNetworks(c *state.Cloud, ask func(string, proto.Message)) {
	ask(vpcv1.NetworkService_ListVpcs_FullMethodName, &vpcv1.ListVpcsRequest{})
	ask(vpcv1.EipService_ListEips_FullMethodName, &vpcv1.ListEipsRequest{})
	ask(vpcv1.EipService_ListEips_FullMethodName, &vpcv1.ListEipsRequest{AssociatedInstanceType: "EcsInstance"})
	for id := range c.Vpcs {
		ask(vpcv1.NetworkService_GetVpc_FullMethodName, &vpcv1.GetVpcRequest{VpcId: id})
		ask(vpcv1.VSwitchService_ListVSwitches_FullMethodName, &vpcv1.ListVSwitchesRequest{VpcId: id})
		ask(vpcv1.RouteService_ListRouteTables_FullMethodName, &vpcv1.ListRouteTablesRequest{VpcId: id})
	}
	for id := range c.VSwitches {
		ask(vpcv1.VSwitchService_GetVSwitch_FullMethodName, &vpcv1.GetVSwitchRequest{VswitchId: id})
	}
	for id := range c.RouteTables {
		ask(vpcv1.RouteService_ListRouteEntries_FullMethodName, &vpcv1.ListRouteEntriesRequest{RouteTableId: id})
	}
	for id := range c.Eips {
		ask(vpcv1.EipService_GetEip_FullMethodName, &vpcv1.GetEipRequest{AllocationId: id})
		ask(vpcv1.EipService_ListEips_FullMethodName, &vpcv1.ListEipsRequest{AllocationIds: []string{id}})
	}
}

// TestInterfacesOfNLBs: an instance has network interfaces in its zones, so what is remembered of these is forgotten with
// each write to one.
func TestInterfacesOfNLBs(t *testing.T) {
	w := newWorld(t, func(c *openapisim.Config) {
		c.Seed.VSwitches[otherVSwitch] = &state.VSwitch{VpcID: testVPC, ZoneID: "cn-hangzhou-i", CidrBlock: "192.168.64.0/18"}
	})
	read := func() int {
		t.Helper()
		w.forget()
		_, err := w.NetworkInterfaces.ListNetworkInterfaces(t.Context(), &ecsv1.ListNetworkInterfacesRequest{
			VpcId: testVPC, MaxAge: durationpb.New(time.Hour),
		})
		if err != nil {
			t.Fatal(err)
		}
		return len(w.calls(true))
	}
	if first, second := read(), read(); first == 0 || second != 0 {
		t.Fatalf("%d calls, and then %d", first, second)
	}
	made, err := w.NetworkLoadBalancers.CreateLoadBalancer(t.Context(), &nlbv1.CreateLoadBalancerRequest{
		RequestId: "r-1", Name: "web", VpcId: testVPC, AddressType: nlbv1.AddressType_ADDRESS_TYPE_INTRANET,
		ZoneMappings: []*nlbv1.ZoneMapping{
			{ZoneId: "cn-hangzhou-h", VswitchId: testVSwitch}, {ZoneId: "cn-hangzhou-i", VswitchId: otherVSwitch},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if calls := read(); calls == 0 {
		t.Error("after the creation of an instance the former list was given")
	}
	if _, err := w.NetworkLoadBalancers.DeleteLoadBalancer(t.Context(), &nlbv1.DeleteLoadBalancerRequest{
		LoadBalancerId: made.GetLoadBalancer().GetLoadBalancerId(),
	}); err != nil {
		t.Fatal(err)
	}
	if calls := read(); calls == 0 {
		t.Error("after the deletion of an instance the former list was given")
	}
}
