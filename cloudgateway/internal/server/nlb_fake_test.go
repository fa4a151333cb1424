package server

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// TestFakeOfNLB: the gateway by which controllers are tested answers like the real one.
func TestFakeOfNLB(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, slowJobs, func(c *openapisim.Config) {
			c.Seed.Vpcs[testVPC].Ipv6Cidrs = []string{"2408:4005::/56"}
			c.Seed.Ipv6Gateways = map[string]*state.InternetGateway{"ipv6gw-1": {VpcID: testVPC}}
			c.Seed.VSwitches[testVSwitch].Ipv6Cidr, c.Seed.VSwitches[otherVSwitch].Ipv6Cidr = "2408:4005:0:1::/64", "2408:4005:0:2::/64"
			c.Seed.VSwitches["vsw-3"] = &state.VSwitch{VpcID: testVPC, ZoneID: "cn-hangzhou-j", CidrBlock: "192.168.128.0/18",
				Ipv6Cidr: "2408:4005:0:3::/64"}
			c.Seed.UserCertificates["cert-2"] = &state.UserCertificate{}
			c.Seed.SecurityGroups = map[string]*state.SecurityGroup{"sg-1": {VpcID: testVPC, Type: "normal"}}
			c.Settings.BackendHealthy = 0
		})
		want := nlbStory(t, w.Client, func() {
			w.strike(t, fault.Rule{Product: "nlb", Job: true, Times: 1, Error: &fault.Error{Code: "InternalError"}})
		}, func() {
			w.strike(t, fault.Rule{Product: "nlb", Job: true, Latency: api.Duration(time.Hour)})
		})
		fake := gatewaytest.New(t)
		fake.NLB.Job = func(string, proto.Message) gatewaytest.Job { return gatewaytest.Job{Takes: time.Second} }
		for id, zone := range map[string]string{testVSwitch: "cn-hangzhou-h", otherVSwitch: "cn-hangzhou-i", "vsw-3": "cn-hangzhou-j"} {
			fake.VSwitches[id] = &vpcv1.VSwitch{VswitchId: id, VpcId: testVPC, ZoneId: zone, Ipv6CidrBlock: "2408:4005::/64"}
		}
		fake.SecurityGroups["sg-1"] = &ecsv1.SecurityGroup{SecurityGroupId: "sg-1", VpcId: testVPC}
		for i := range 100 {
			id := instanceID(i)
			fake.Instances[id] = &ecsv1.Instance{InstanceId: id, VpcId: testVPC, ZoneId: "cn-hangzhou-h",
				PrivateIps: []string{fmt.Sprintf("192.168.1.%d", 1+i)}}
		}
		next := func(job gatewaytest.Job, always bool) {
			fake.Lock()
			defer fake.Unlock()
			usual := fake.NLB.Job
			fake.NLB.Job = func(string, proto.Message) gatewaytest.Job {
				if !always {
					fake.NLB.Job = usual
				}
				return job
			}
		}
		got := nlbStory(t, fake.Client(), func() { next(gatewaytest.Job{Takes: time.Second, Fails: "InternalError"}, false) },
			func() { next(gatewaytest.Job{Takes: time.Hour}, true) })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the fake (-gateway +fake):\n%s", diff)
		}
	})
}

// nlbStory is what a client is told. The next job fails after fail; all jobs go on after hang.
func nlbStory(t *testing.T, c *gateway.Client, fail, hang func()) []string {
	t.Helper()
	s := &story{t: t, Client: c, names: map[string]string{}}
	create := nlbRequest("r-1")
	create.Name = "9web"
	s.tell("a name that begins with a digit", second(c.NetworkLoadBalancers.CreateLoadBalancer(t.Context(), create)))
	create.Name, create.ZoneMappings[1].VswitchId = "web", "vsw-gone"
	s.tell("a vSwitch that is gone", second(c.NetworkLoadBalancers.CreateLoadBalancer(t.Context(), create)))
	create.ZoneMappings[1] = create.GetZoneMappings()[0]
	s.tell("the same zone twice", second(c.NetworkLoadBalancers.CreateLoadBalancer(t.Context(), create)))
	create.ZoneMappings[1] = &nlbv1.ZoneMapping{ZoneId: "cn-hangzhou-h", VswitchId: otherVSwitch}
	s.tell("a vSwitch of another zone", second(c.NetworkLoadBalancers.CreateLoadBalancer(t.Context(), create)))
	create = nlbRequest("r-1")
	create.IpVersion, create.DeletionProtection = nlbv1.IpVersion_IP_VERSION_DUAL_STACK, &nlbv1.Protection{Enabled: true, Reason: "mine"}
	made, err := c.NetworkLoadBalancers.CreateLoadBalancer(t.Context(), create)
	s.tell("create", err, made)
	lb := made.GetLoadBalancer().GetLoadBalancerId()
	again, err := c.NetworkLoadBalancers.CreateLoadBalancer(t.Context(), create)
	s.tell("create again", err, again)
	create.Name = "other"
	s.tell("the request_id with other content", second(c.NetworkLoadBalancers.CreateLoadBalancer(t.Context(), create)))
	group := s.groups()
	listener := s.listeners(lb, group)
	s.updates(lb, group, listener)
	s.deletions(lb, group, listener)

	fail()
	s.tell("a job that fails", second(c.NetworkLoadBalancers.CreateLoadBalancer(t.Context(), nlbRequest("r-9"))))
	s.tell("and again", second(c.NetworkLoadBalancers.CreateLoadBalancer(t.Context(), nlbRequest("r-9"))))
	failed, err := c.NetworkLoadBalancers.ListLoadBalancers(t.Context(), &nlbv1.ListLoadBalancersRequest{Names: []string{"web-r-9"}})
	s.tell("what it leaves", err, failed)
	s.tell("delete it", second(c.NetworkLoadBalancers.DeleteLoadBalancer(t.Context(), &nlbv1.DeleteLoadBalancerRequest{
		LoadBalancerId: failed.GetLoadBalancers()[0].GetLoadBalancerId(),
	})))
	hang()
	short, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	s.tell("a job that goes on", second(c.NetworkLoadBalancers.CreateLoadBalancer(short, nlbRequest("r-10"))))
	underway, err := c.NetworkLoadBalancers.ListLoadBalancers(t.Context(), &nlbv1.ListLoadBalancersRequest{Names: []string{"web-r-10"}})
	s.tell("meanwhile", err, underway)
	short, cancel = context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	s.tell("what waits for its turn", second(c.NetworkListeners.CreateListener(short, &nlbv1.CreateListenerRequest{
		RequestId: "l-9", LoadBalancerId: underway.GetLoadBalancers()[0].GetLoadBalancerId(),
		Protocol: nlbv1.ListenerProtocol_LISTENER_PROTOCOL_TCP, Port: 80,
		Config: &nlbv1.ListenerConfig{ServerGroupId: &group},
	})))
	return s.lines
}

// story is what was told, with the ids as names that are the same everywhere.
type story struct {
	*gateway.Client

	t     *testing.T
	lines []string
	names map[string]string
}

var (
	chance  = regexp.MustCompile(`\b(nlb|sgp|lsn|eni|eip)-[a-z0-9-]+(@\d+)?`)
	address = regexp.MustCompile(`ipv(4|6)_address: *"[0-9a-f:.]+"`)
	moment  = regexp.MustCompile(`(creation_time|as_of): *\{[^}]*\}\n *`)
)

func (s *story) tell(what string, err error, answers ...proto.Message) {
	line := what + ": "
	if err != nil {
		line += fmt.Sprintf("%s %s", rpcerr.ReasonOf(err), status.Code(err))
	}
	for _, a := range answers {
		if err == nil {
			line += "\n" + prototext.MarshalOptions{Multiline: true}.Format(a)
		}
	}
	line = address.ReplaceAllString(moment.ReplaceAllString(line, ""), "ipv${1}_address")
	line = strings.ReplaceAll(line, ":  ", ": ")
	s.lines = append(s.lines, chance.ReplaceAllStringFunc(line, func(id string) string {
		if s.names[id] == "" {
			s.names[id] = fmt.Sprintf("#%d", len(s.names))
		}
		return s.names[id]
	}))
}

func (s *story) groups() string {
	ctx, c := s.t.Context(), s.NetworkServerGroups
	request := &nlbv1.CreateServerGroupRequest{RequestId: "g-1", Name: "k8s-80", VpcId: testVPC, Servers: nlbServers(0, 3),
		Tags: []*commonv1.Tag{{Key: "k", Value: "v"}}}
	made, err := c.CreateServerGroup(ctx, request)
	s.tell("create a group", err, made)
	again, err := c.CreateServerGroup(ctx, request)
	s.tell("create it again", err, again)
	group := made.GetServerGroupId()
	request.RequestId, request.Scheduler = "g-2", new("qch")
	s.tell("a scheduler that does not fit", second(c.CreateServerGroup(ctx, request)))
	request.Scheduler, request.AnyPortEnabled, request.Servers = nil, true, nil
	s.tell("all ports without a port to check", second(c.CreateServerGroup(ctx, request)))
	changes, err := c.ApplyServerChanges(ctx, &nlbv1.ApplyServerChangesRequest{
		ServerGroupId: group, Add: append(nlbServers(2, 3), nlbServers(5000, 1)...), Remove: append(nlbServers(0, 1), nlbServers(90, 1)...),
		Update: []*nlbv1.Server{{Type: nlbv1.ServerType_SERVER_TYPE_ECS, ServerId: instanceID(1), Port: 30080, Weight: new(int32(7))}},
	})
	s.tell("change servers, one of which is unknown", err, changes)
	s.tell("a server with another port is not there", second(c.ApplyServerChanges(ctx, &nlbv1.ApplyServerChangesRequest{
		ServerGroupId: group, Update: []*nlbv1.Server{{Type: nlbv1.ServerType_SERVER_TYPE_ECS, ServerId: instanceID(1),
			Port: 1, Weight: new(int32(7))}},
	})))
	s.tell("an address does not fit", second(c.ApplyServerChanges(ctx, &nlbv1.ApplyServerChangesRequest{
		ServerGroupId: group, Add: []*nlbv1.Server{{Type: nlbv1.ServerType_SERVER_TYPE_IP, ServerId: "192.168.7.7", Port: 1}},
	})))
	_, err = c.ApplyServerChanges(ctx, &nlbv1.ApplyServerChangesRequest{ServerGroupId: group, Add: nlbServers(1, 1), Remove: nlbServers(0, 1)})
	s.tell("nothing to be done", err)
	got, err := c.GetServerGroup(ctx, &nlbv1.GetServerGroupRequest{ServerGroupId: group})
	s.tell("the group", err, got)
	listed, err := c.ListServerGroups(ctx, &nlbv1.ListServerGroupsRequest{Names: []string{"k8s-80"},
		Tags: []*commonv1.Tag{{Key: "k", Value: "v"}}})
	s.tell("the groups", err, listed)
	request = &nlbv1.CreateServerGroupRequest{RequestId: "g-4", Name: "both", VpcId: testVPC, IpVersion: nlbv1.IpVersion_IP_VERSION_DUAL_STACK,
		IpVersionAffinity: nlbv1.IpVersionAffinity_IP_VERSION_AFFINITY_AFFINITY}
	both, err := c.CreateServerGroup(ctx, request)
	s.tell("a group of both families", err, both)
	before, err := c.GetServerGroup(ctx, &nlbv1.GetServerGroupRequest{ServerGroupId: both.GetServerGroupId()})
	s.tell("what it does with them", err, before)
	s.tell("and not any more", second(c.UpdateServerGroup(ctx, &nlbv1.UpdateServerGroupRequest{ServerGroupId: both.GetServerGroupId(),
		IpVersionAffinity: nlbv1.IpVersionAffinity_IP_VERSION_AFFINITY_NON_AFFINITY.Enum()})))
	after, err := c.GetServerGroup(ctx, &nlbv1.GetServerGroupRequest{ServerGroupId: both.GetServerGroupId()})
	s.tell("then", err, after)
	s.tell("a group that is not there", second(c.GetServerGroup(ctx, &nlbv1.GetServerGroupRequest{ServerGroupId: "sgp-gone"})))
	return group
}

func (s *story) listeners(lb, group string) string {
	ctx, c := s.t.Context(), s.NetworkListeners
	request := &nlbv1.CreateListenerRequest{
		RequestId: "l-1", LoadBalancerId: lb, Protocol: nlbv1.ListenerProtocol_LISTENER_PROTOCOL_TCP, Port: 80,
		Config: &nlbv1.ListenerConfig{ServerGroupId: &group, Description: new("k8s.80")},
	}
	made, err := c.CreateListener(ctx, request)
	s.tell("create a listener", err, made)
	request.RequestId = "l-2"
	s.tell("a port that is taken", second(c.CreateListener(ctx, request)))
	request.Port, request.Protocol = 443, nlbv1.ListenerProtocol_LISTENER_PROTOCOL_TCPSSL
	s.tell("no certificate", second(c.CreateListener(ctx, request)))
	request.Config.CertificateIds = []string{testCert}
	s.tell("a group with the addresses of clients behind TLS", second(c.CreateListener(ctx, request)))
	request.Protocol, request.Config.CertificateIds = nlbv1.ListenerProtocol_LISTENER_PROTOCOL_UDP, nil
	s.tell("a group of TCP behind UDP", second(c.CreateListener(ctx, request)))
	request.Protocol, request.Port, request.StartPort, request.EndPort = nlbv1.ListenerProtocol_LISTENER_PROTOCOL_TCP, 0, 1000, 2000
	s.tell("a range with a group of one port", second(c.CreateListener(ctx, request)))
	listed, err := c.ListListeners(ctx, &nlbv1.ListListenersRequest{LoadBalancerIds: []string{lb}})
	s.tell("the listeners", err, listed)
	health, err := c.ListServerHealth(ctx, &nlbv1.ListServerHealthRequest{ListenerId: made.GetListenerId()})
	s.tell("their health", err, health)
	s.tell("certificates of TCP",
		second(c.ListListenerCertificates(ctx, &nlbv1.ListListenerCertificatesRequest{ListenerId: made.GetListenerId()})))

	tls, err := s.NetworkServerGroups.CreateServerGroup(ctx, &nlbv1.CreateServerGroupRequest{
		RequestId: "g-3", Name: "k8s-443", VpcId: testVPC, Protocol: nlbv1.ServerGroupProtocol_SERVER_GROUP_PROTOCOL_TCPSSL,
	})
	s.tell("a group for TLS", err, tls)
	secure, err := c.CreateListener(ctx, &nlbv1.CreateListenerRequest{
		RequestId: "l-3", LoadBalancerId: lb, Protocol: nlbv1.ListenerProtocol_LISTENER_PROTOCOL_TCPSSL, Port: 443,
		AdditionalCertificateIds: []string{"cert-2"},
		Config:                   &nlbv1.ListenerConfig{ServerGroupId: &tls.ServerGroupId, CertificateIds: []string{testCert}},
	})
	s.tell("a listener for TLS", err, secure)
	certificates, err := c.ListListenerCertificates(ctx, &nlbv1.ListListenerCertificatesRequest{ListenerId: secure.GetListenerId()})
	s.tell("its certificates", err, certificates)
	s.tell("the addresses of clients behind TLS", second(s.NetworkServerGroups.UpdateServerGroup(ctx, &nlbv1.UpdateServerGroupRequest{
		ServerGroupId: tls.GetServerGroupId(), PreserveClientIpEnabled: new(true),
	})))
	got, err := c.GetListener(ctx, &nlbv1.GetListenerRequest{ListenerId: secure.GetListenerId()})
	s.tell("it", err, got)
	return made.GetListenerId()
}

func (s *story) updates(lb, group, listener string) {
	ctx := s.t.Context()
	for i, r := range []*nlbv1.UpdateLoadBalancerRequest{
		{Name: new("renamed"), Cps: new(int32(9)), CrossZoneEnabled: new(false), SetTags: []*commonv1.Tag{{Key: "k", Value: "v"}}},
		{
			AddressType: nlbv1.AddressType_ADDRESS_TYPE_INTERNET.Enum(), Ipv6AddressType: nlbv1.AddressType_ADDRESS_TYPE_INTERNET.Enum(),
			SecurityGroups: &nlbv1.SecurityGroups{SecurityGroupIds: []string{"sg-1"}},
		},
		{SecurityGroups: &nlbv1.SecurityGroups{SecurityGroupIds: []string{"sg-1", "sg-gone"}}},
		{ZoneMappings: &nlbv1.ZoneMappings{ZoneMappings: []*nlbv1.ZoneMapping{
			{ZoneId: "cn-hangzhou-h", VswitchId: testVSwitch}, {ZoneId: "cn-hangzhou-j", VswitchId: "vsw-3"},
		}}},
		{ShiftedZones: &nlbv1.ShiftedZones{ZoneIds: []string{"cn-hangzhou-j"}}},
		{ShiftedZones: &nlbv1.ShiftedZones{ZoneIds: []string{"cn-hangzhou-h", "cn-hangzhou-j"}}},
		{ShiftedZones: &nlbv1.ShiftedZones{ZoneIds: []string{"cn-hangzhou-i"}}},
		{ShiftedZones: &nlbv1.ShiftedZones{ZoneIds: []string{"cn-hangzhou-h"}}},
		{Name: new("dry"), ValidateOnly: true},
	} {
		r.LoadBalancerId = lb
		s.tell(fmt.Sprint("update ", i), second(s.NetworkLoadBalancers.UpdateLoadBalancer(ctx, r)))
	}
	got, err := s.NetworkLoadBalancers.GetLoadBalancer(ctx, &nlbv1.GetLoadBalancerRequest{LoadBalancerId: lb})
	s.tell("the load balancer", err, got)
	s.tell("a listener", second(s.NetworkListeners.UpdateListener(ctx, &nlbv1.UpdateListenerRequest{
		ListenerId: listener, LoadBalancerId: lb, SetTags: []*commonv1.Tag{{Key: "k", Value: "v"}},
		Config: &nlbv1.ListenerConfig{IdleTimeout: new(int32(60)), ProxyProtocolV2: &nlbv1.ProxyProtocolV2{VpcIdEnabled: new(true)}},
	})))
	s.tell("a group for TLS", second(s.NetworkListeners.UpdateListener(ctx, &nlbv1.UpdateListenerRequest{
		ListenerId: listener, LoadBalancerId: lb, Config: &nlbv1.ListenerConfig{ServerGroupId: new("sgp-gone")},
	})))
	s.tell("a listener of another", second(s.NetworkListeners.UpdateListener(ctx, &nlbv1.UpdateListenerRequest{
		ListenerId: listener, LoadBalancerId: "nlb-other", Config: &nlbv1.ListenerConfig{IdleTimeout: new(int32(60))},
	})))
	stop := &nlbv1.StopListenerRequest{ListenerId: listener, LoadBalancerId: lb}
	s.tell("stop", second(s.NetworkListeners.StopListener(ctx, stop)))
	s.tell("stop again", second(s.NetworkListeners.StopListener(ctx, stop)))
	listed, err := s.NetworkListeners.ListListeners(ctx, &nlbv1.ListListenersRequest{ListenerIds: []string{listener}})
	s.tell("it", err, listed)
	s.tell("group", second(s.NetworkServerGroups.UpdateServerGroup(ctx, &nlbv1.UpdateServerGroupRequest{
		ServerGroupId: group, Scheduler: new("Wlc"), ConnectionDrainEnabled: new(true), ConnectionDrainTimeout: new(int32(30)),
		HealthCheck: &nlbv1.HealthCheck{Type: nlbv1.HealthCheckType_HEALTH_CHECK_TYPE_HTTP.Enum(), HttpCodes: []string{"http_3xx"}},
	})))
	found, err := s.NetworkServerGroups.GetServerGroup(ctx, &nlbv1.GetServerGroupRequest{ServerGroupId: group})
	s.tell("it", err, found)
}

func (s *story) deletions(lb, group, listener string) {
	ctx := s.t.Context()
	remove := &nlbv1.DeleteLoadBalancerRequest{LoadBalancerId: lb}
	s.tell("delete what is protected", second(s.NetworkLoadBalancers.DeleteLoadBalancer(ctx, remove)))
	s.tell("delete a group in use",
		second(s.NetworkServerGroups.DeleteServerGroup(ctx, &nlbv1.DeleteServerGroupRequest{ServerGroupId: group})))
	for range 2 {
		s.tell("delete a listener",
			second(s.NetworkListeners.DeleteListener(ctx, &nlbv1.DeleteListenerRequest{ListenerId: listener, LoadBalancerId: lb})))
		s.tell("delete a group", second(s.NetworkServerGroups.DeleteServerGroup(ctx, &nlbv1.DeleteServerGroupRequest{ServerGroupId: group})))
	}
	s.tell("protect no more", second(s.NetworkLoadBalancers.UpdateLoadBalancer(ctx, &nlbv1.UpdateLoadBalancerRequest{
		LoadBalancerId: lb, DeletionProtection: &nlbv1.Protection{},
	})))
	for range 2 {
		s.tell("delete", second(s.NetworkLoadBalancers.DeleteLoadBalancer(ctx, remove)))
	}
	left, err := s.NetworkLoadBalancers.ListLoadBalancers(ctx, &nlbv1.ListLoadBalancersRequest{})
	s.tell("what is left", err, left)
	groups, err := s.NetworkServerGroups.ListServerGroups(ctx, &nlbv1.ListServerGroupsRequest{})
	s.tell("of groups", err, groups)
}
