package server

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"

	casv1 "alicloud-controllers.dev/proto/cloudgateway/cas/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/proto/method"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// listed are requests for lists of which the world of pages has several items.
func listed() map[string][2]proto.Message {
	key := &slbv1.ListenerKey{LoadBalancerId: "lb-p", Port: 80, Protocol: slbv1.Protocol_PROTOCOL_HTTPS}
	return map[string][2]proto.Message{
		"slb.v1.ListenerService/ListListeners": {
			&slbv1.ListListenersRequest{LoadBalancerIds: []string{"lb-p"}}, &slbv1.ListListenersResponse{}},
		"slb.v1.ServerGroupService/ListServerGroups": {&slbv1.ListServerGroupsRequest{LoadBalancerId: "lb-p"},
			&slbv1.ListServerGroupsResponse{}},
		"slb.v1.ForwardingRuleService/ListForwardingRules": {&slbv1.ListForwardingRulesRequest{Key: key},
			&slbv1.ListForwardingRulesResponse{}},
		"slb.v1.DomainExtensionService/ListDomainExtensions": {&slbv1.ListDomainExtensionsRequest{Key: key},
			&slbv1.ListDomainExtensionsResponse{}},
		"slb.v1.AccessControlListService/ListAccessControlLists": {&slbv1.ListAccessControlListsRequest{},
			&slbv1.ListAccessControlListsResponse{}},
		"slb.v1.CertificateService/ListServerCertificates": {&slbv1.ListServerCertificatesRequest{},
			&slbv1.ListServerCertificatesResponse{}},
		"slb.v1.CertificateService/ListCaCertificates": {&slbv1.ListCaCertificatesRequest{}, &slbv1.ListCaCertificatesResponse{}},
		"nlb.v1.ListenerService/ListListenerCertificates": {&nlbv1.ListListenerCertificatesRequest{
			ListenerId: "lsn-0"}, &nlbv1.ListListenerCertificatesResponse{}},
		"cas.v1.CertificateService/ListCertificates": {&casv1.ListCertificatesRequest{}, &casv1.ListCertificatesResponse{}},
		"vpc.v1.NetworkService/ListVpcs":             {&vpcv1.ListVpcsRequest{}, &vpcv1.ListVpcsResponse{}},
		"vpc.v1.VSwitchService/ListVSwitches":        {&vpcv1.ListVSwitchesRequest{VpcId: testVPC}, &vpcv1.ListVSwitchesResponse{}},
		"vpc.v1.RouteService/ListRouteTables": {&vpcv1.ListRouteTablesRequest{VpcId: testVPC},
			&vpcv1.ListRouteTablesResponse{}},
		"ecs.v1.InstanceService/ListInstances":      {&ecsv1.ListInstancesRequest{VpcId: testVPC}, &ecsv1.ListInstancesResponse{}},
		"ecs.v1.InstanceService/ListInstanceEvents": {&ecsv1.ListInstanceEventsRequest{}, &ecsv1.ListInstanceEventsResponse{}},
		"ecs.v1.NetworkInterfaceService/ListNetworkInterfaces": {&ecsv1.ListNetworkInterfacesRequest{VpcId: testVPC},
			&ecsv1.ListNetworkInterfacesResponse{}},
		"ecs.v1.SecurityGroupService/ListSecurityGroups": {&ecsv1.ListSecurityGroupsRequest{VpcId: testVPC},
			&ecsv1.ListSecurityGroupsResponse{}},
		"slb.v1.LoadBalancerService/ListLoadBalancers": {&slbv1.ListLoadBalancersRequest{Status: "active"},
			&slbv1.ListLoadBalancersResponse{}},
		"nlb.v1.LoadBalancerService/ListLoadBalancers": {&nlbv1.ListLoadBalancersRequest{VpcIds: []string{testVPC}},
			&nlbv1.ListLoadBalancersResponse{}},
		"nlb.v1.ListenerService/ListListeners": {
			&nlbv1.ListListenersRequest{LoadBalancerIds: []string{"nlb-0"}}, &nlbv1.ListListenersResponse{}},
		"nlb.v1.ServerGroupService/ListServerGroups": {&nlbv1.ListServerGroupsRequest{VpcId: testVPC},
			&nlbv1.ListServerGroupsResponse{}},
		"vpc.v1.EipService/ListEips": {&vpcv1.ListEipsRequest{}, &vpcv1.ListEipsResponse{}},
		"vpc.v1.RouteService/ListRouteEntries": {&vpcv1.ListRouteEntriesRequest{RouteTableId: testTable},
			&vpcv1.ListRouteEntriesResponse{}},
	}
}

// many is how many items lists have in the world of pages, at least.
const many = 5

// worldOfPages has something for every list.
func worldOfPages(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, func(cfg *openapisim.Config) {
		balancer := &state.LoadBalancer{AddressType: "internet", Status: "active"}
		cfg.Seed.LoadBalancers["lb-p"] = balancer
		for i := range many {
			balancer.Listeners = append(balancer.Listeners, &state.Listener{Port: 80 + 30*i, Protocol: "https", Status: "running"})
			first := balancer.Listeners[0]
			first.Rules = append(first.Rules, &state.Rule{ID: fmt.Sprintf("rule-%d", i), Domain: fmt.Sprintf("r%d.example.com",
				i), ServerGroupID: "rsp-0"})
			first.Domains = append(first.Domains, &state.Domain{ID: fmt.Sprintf("de-%d", i),
				Domain: fmt.Sprintf("d%d.example.com", i), CertificateID: testCert})
			cfg.Seed.ServerGroups[fmt.Sprintf("rsp-%d", i)] = &state.ServerGroup{LoadBalancerID: "lb-p"}
			cfg.Seed.Acls[fmt.Sprintf("acl-%d", i)] = &state.Acl{IPVersion: "ipv4"}
			cfg.Seed.Certificates[fmt.Sprintf("cert-p%d", i)] = &state.Certificate{}
			cfg.Seed.UserCertificates[strconv.Itoa(1000+i)] = &state.UserCertificate{}
			cfg.Seed.Certificates[fmt.Sprintf("ca-%d", i)] = &state.Certificate{CA: true}
			cfg.Seed.Vpcs[fmt.Sprintf("vpc-p%d", i)] = &state.Vpc{CidrBlock: "10.0.0.0/8"}
			cfg.Seed.VSwitches[fmt.Sprintf("vsw-p%d", i)] = &state.VSwitch{VpcID: testVPC, ZoneID: "cn-hangzhou-h",
				CidrBlock: fmt.Sprintf("192.168.%d.0/24", 128+i)}
			cfg.Seed.RouteTables[fmt.Sprintf("vtb-own-%d", i)] = &state.RouteTable{VpcID: testVPC, Type: "Custom"}
			id := fmt.Sprintf("nlb-%d", i)
			cfg.Seed.NLBs[id] = &state.NLB{ID: id, VpcID: testVPC}
			cfg.Seed.NLBServerGroups[fmt.Sprintf("sgp-%d", i)] = &state.NLBServerGroup{ID: fmt.Sprintf("sgp-%d", i), VpcID: testVPC}
			cfg.Seed.NLBListeners[fmt.Sprintf("lsn-%d", i)] = &state.NLBListener{
				ID: fmt.Sprintf("lsn-%d", i), NLBID: "nlb-0", Protocol: "TCPSSL", Port: 80 + i, CaCertificateIDs: []string{"ca-0",
					"ca-1", "ca-2", "ca-3", "ca-4"},
			}
			cfg.Seed.InstanceEvents[fmt.Sprintf("e-%d", i)] = &state.InstanceEvent{ID: fmt.Sprintf("e-%d", i), InstanceID: instanceID(i),
				Status: "Scheduled"}
			cfg.Seed.SecurityGroups[fmt.Sprintf("sg-%d", i)] = &state.SecurityGroup{VpcID: testVPC, Type: "normal"}
			cfg.Seed.Eips[fmt.Sprintf("eip-%d", i)] = &state.Eip{Address: fmt.Sprintf("47.1.2.%d", 100-i), Status: "Available", Bandwidth: "5"}
			cfg.Seed.RouteTables[testTable].Entries = append(cfg.Seed.RouteTables[testTable].Entries, &state.RouteEntry{
				ID: fmt.Sprintf("rte-%d", i), Cidr: fmt.Sprintf("10.0.%d.0/24", 12-i), NextHopID: instanceID(i),
				NextHopType: "Instance", Type: "Custom", Status: "Available",
			})
		}
	})
	for i := range many {
		w.createBalancer(t, fmt.Sprintf("lb-%d", i))
	}
	return w
}

// TestPagesOfAllLists: the pages of a list are the list, in its order, and only the first costs calls.
func TestPagesOfAllLists(t *testing.T) {
	w := worldOfPages(t)
	for _, m := range method.All() {
		if m.Descriptor.Output().Fields().ByName("next_page_token") == nil {
			continue
		}
		messages, known := listed()[m.Service+"/"+m.Name]
		if !known {
			t.Errorf("%s has pages that no test knows", m.FullName())
			continue
		}
		t.Run(m.Service+"/"+m.Name, func(t *testing.T) {
			request, answer := messages[0].ProtoReflect(), messages[1].ProtoReflect()
			items := answer.Descriptor().Fields().Get(0)
			ask := func() (ids []proto.Message, next string) {
				if err := w.conn.Invoke(t.Context(), m.FullName(), request.Interface(), answer.Interface()); err != nil {
					t.Fatal(err)
				}
				list := answer.Get(items).List()
				for i := range list.Len() {
					ids = append(ids, list.Get(i).Message().Interface())
				}
				return ids, answer.Get(answer.Descriptor().Fields().ByName("next_page_token")).String()
			}
			all, next := ask()
			if len(all) < many || next != "" {
				t.Fatalf("%d items, and then %q; worldOfPages needs %d items", len(all), next, many)
			}
			byIDs(t, request, all[:2], ask)
			size := len(all)/2 - 1
			request.Set(request.Descriptor().Fields().ByName("page_size"), protoreflect.ValueOfInt32(int32(size)))
			var paged []proto.Message
			pages := 0
			for next = "begin"; next != ""; pages++ {
				var items []proto.Message
				items, next = ask()
				paged = append(paged, items...)
				if pages > 0 && len(w.actions(true)) > 0 {
					t.Errorf("page %d cost the calls %q", pages, w.actions(true))
				}
				request.Set(request.Descriptor().Fields().ByName("page_token"), protoreflect.ValueOfString(next))
				w.forget()
			}
			if diff := cmp.Diff(all, paged, protocmp.Transform()); diff != "" || pages != (len(all)+size-1)/size {
				t.Errorf("%d pages (-all +paged):\n%s", pages, diff)
			}
		})
	}
}

// TestAnswersSayHowOldTheyAre: as_of is in the answers to all requests that have max_age, and distinguishes what was read from what was
// remembered.
func TestAnswersSayHowOldTheyAre(t *testing.T) {
	for _, m := range method.All() {
		asked, answered := m.Descriptor.Input().Fields().ByName("max_age") != nil, m.Descriptor.Output().Fields().ByName("as_of") != nil
		if asked != answered && m.Name != "GetStatus" {
			t.Errorf("%s: max_age in the request is %t, as_of in the answer %t", m.FullName(), asked, answered)
		}
	}
	w := newWorld(t)
	id := w.createBalancer(t, "lb-1")
	asOf := func(maxAge time.Duration) time.Time {
		t.Helper()
		answer, err := w.LoadBalancers.GetLoadBalancer(t.Context(), &slbv1.GetLoadBalancerRequest{LoadBalancerId: id,
			MaxAge: durationpb.New(maxAge)})
		if err != nil {
			t.Fatal(err)
		}
		return answer.GetAsOf().AsTime()
	}
	begun := time.Now()
	first := asOf(time.Hour)
	if first.Before(begun) || first.After(time.Now()) {
		t.Errorf("read now: %s, want about %s", first, begun)
	}
	if again := asOf(time.Hour); !again.Equal(first) {
		t.Errorf("remembered: %s, want %s", again, first)
	}
	if fresh := asOf(0); !fresh.After(first) {
		t.Errorf("read again: %s, want after %s", fresh, first)
	}
}

// TestUsersOfServerGroups: one call says which listeners and rules use which group, and says so again after a change.
func TestUsersOfServerGroups(t *testing.T) {
	s := newWebSite(t)
	rule := s.create(t, s.rules(0, 1))[0].GetRuleId()
	s.forget()
	users := func() map[string]string {
		t.Helper()
		answer, err := s.ServerGroups.ListServerGroups(t.Context(), &slbv1.ListServerGroupsRequest{
			LoadBalancerId: s.key.GetLoadBalancerId(), IncludeUsers: true, MaxAge: durationpb.New(time.Hour),
		})
		if err != nil {
			t.Fatal(err)
		}
		used := map[string]string{}
		for _, g := range answer.GetServerGroups() {
			for _, l := range g.GetListeners() {
				used[g.GetServerGroupId()] += fmt.Sprint(l.GetLoadBalancerId(), " ", l.GetPort(), " ", l.GetProtocol(), " ")
			}
			for _, id := range g.GetForwardingRuleIds() {
				used[g.GetServerGroupId()] += id
			}
		}
		return used
	}
	var first string
	for group := range users() {
		if group != s.group {
			first = group
		}
	}
	listener := s.key.GetLoadBalancerId() + " 443 PROTOCOL_HTTPS "
	if diff := cmp.Diff(map[string]string{first: listener, s.group: rule}, users()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if calls := s.actions(true); len(calls) != 1 {
		t.Errorf("it took the calls %q", calls)
	}
	if _, err := s.Listeners.UpdateListener(t.Context(), &slbv1.UpdateListenerRequest{Key: s.key,
		Config: &slbv1.ListenerConfig{ServerGroupId: &s.group}}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{s.group: listener + rule}, users()); diff != "" {
		t.Errorf("after a change (-want +got):\n%s", diff)
	}
	plain, err := s.ServerGroups.ListServerGroups(t.Context(), &slbv1.ListServerGroupsRequest{LoadBalancerId: s.key.GetLoadBalancerId()})
	if err != nil || len(plain.GetServerGroups()) != 2 || len(plain.GetServerGroups()[1].GetListeners()) > 0 {
		t.Errorf("not asked for: %v, %v", plain, err)
	}
}

// byIDs asks for some of the items by their ids, if the list can be asked so: a parameter that takes one value finds no item by two.
func byIDs(t *testing.T, request protoreflect.Message, some []proto.Message, ask func() ([]proto.Message, string)) {
	t.Helper()
	for i := range request.Descriptor().Fields().Len() {
		filter := request.Descriptor().Fields().Get(i)
		single, _ := strings.CutSuffix(string(filter.Name()), "s")
		id := some[0].ProtoReflect().Descriptor().Fields().ByName(protoreflect.Name(single))
		if !strings.HasSuffix(single, "_id") || !filter.IsList() || id == nil || id.IsList() || request.Has(filter) {
			continue
		}
		wanted, got := map[string]bool{}, map[string]bool{}
		for _, item := range some {
			wanted[item.ProtoReflect().Get(id).String()] = true
		}
		for text := range wanted {
			request.Mutable(filter).List().Append(protoreflect.ValueOfString(text))
		}
		found, _ := ask()
		request.Clear(filter)
		for _, item := range found {
			got[item.ProtoReflect().Get(id).String()] = true
		}
		if diff := cmp.Diff(wanted, got); diff != "" {
			t.Errorf("found by %s (-want +got):\n%s", filter.Name(), diff)
		}
	}
}
