package groupbinding_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
)

// furnish puts the things of users into the cloud. In each group there is a server that somebody has put there by hand.
func (w *world) furnish() {
	w.cloud.Lock()
	defer w.cloud.Unlock()
	for i := range 3 {
		id := fmt.Sprintf("i-%d", i+1)
		w.cloud.Instances[id] = &ecsv1.Instance{InstanceId: id, VpcId: "vpc-test", Status: "Running"}
	}
	for _, ip := range []string{"10.0.0.1", "10.0.0.2", "10.0.0.3"} {
		w.cloud.NetworkInterfaces["eni-"+ip] = &ecsv1.NetworkInterface{NetworkInterfaceId: "eni-" + ip, VpcId: "vpc-test",
			PrimaryIp:  ip,
			PrivateIps: []string{ip}, Status: "InUse"}
	}
	made := []*commonv1.Tag{{Key: ownership.TagService, Value: "a1"}, {Key: ownership.TagCluster, Value: "c-one"}}
	for id, vpc := range map[string]string{"nlb-1": "vpc-test", "nlb-away": "vpc-other", "nlb-made": "vpc-test"} {
		w.cloud.NLB.LoadBalancers[id] = &nlbv1.LoadBalancer{LoadBalancerId: id, Name: id, VpcId: vpc,
			DnsName: id + ".example.com",
			Status:  nlbv1.LoadBalancerStatus_LOAD_BALANCER_STATUS_ACTIVE}
	}
	w.cloud.NLB.LoadBalancers["nlb-made"].Tags = made
	for id, g := range map[string]*nlbv1.ServerGroup{
		"sgp-web":  {Name: "web"},
		"sgp-api":  {Name: "api"},
		"sgp-udp":  {Name: "udp", Protocol: nlbv1.ServerGroupProtocol_SERVER_GROUP_PROTOCOL_UDP},
		"sgp-tls":  {Name: "tls", Protocol: nlbv1.ServerGroupProtocol_SERVER_GROUP_PROTOCOL_TCPSSL},
		"sgp-both": {Name: "both", Protocol: nlbv1.ServerGroupProtocol_SERVER_GROUP_PROTOCOL_TCP_UDP},
		"sgp-all":  {Name: "all", AnyPortEnabled: true},
		"sgp-away": {Name: "away", VpcId: "vpc-other"},
		"sgp-made": {Name: "made", Tags: made},
		"sgp-old":  {Name: "k8s.30001.TCP.old.default.c-one"},
		"sgp-x":    {Name: "twice"},
		"sgp-y":    {Name: "twice"},
	} {
		w.addGroup(id, g)
	}
	for id, vpc := range map[string]string{"lb-1": "", "lb-away": "vpc-other", "lb-made": ""} {
		w.cloud.LoadBalancers[id] = &slbv1.LoadBalancer{LoadBalancerId: id, Name: id, VpcId: vpc, Address: "198.51.100.1",
			Status:      "active",
			AddressType: slbv1.AddressType_ADDRESS_TYPE_INTERNET}
	}
	w.cloud.LoadBalancers["lb-made"].Tags = made
	for id, name := range map[string]string{"rsp-web": "web", "rsp-api": "api", "rsp-x": "twice", "rsp-y": "twice",
		"rsp-old": "k8s/30001/old/default/c-one"} {
		w.addVGroup(id, name)
	}
}

func (w *world) addGroup(id string, g *nlbv1.ServerGroup) {
	g.ServerGroupId, g.Status = id, nlbv1.ServerGroupStatus_SERVER_GROUP_STATUS_AVAILABLE
	g.Type = nlbv1.ServerGroupType_SERVER_GROUP_TYPE_INSTANCE
	g.Protocol = max(g.GetProtocol(), nlbv1.ServerGroupProtocol_SERVER_GROUP_PROTOCOL_TCP)
	g.IpVersion = nlbv1.IpVersion_IP_VERSION_IPV4
	if g.GetVpcId() == "" {
		g.VpcId = "vpc-test"
	}
	g.Servers = []*nlbv1.Server{{Type: nlbv1.ServerType_SERVER_TYPE_ECS, ServerId: "i-3", Port: 9000,
		Weight: new(int32(7))}}
	w.cloud.NLB.ServerGroups[id] = g
}

func (w *world) addVGroup(id, name string) {
	w.cloud.ServerGroups[id] = &gatewaytest.ServerGroup{ID: id, LoadBalancerID: "lb-1", Name: name,
		Servers: []*slbv1.Server{{Type: slbv1.ServerType_SERVER_TYPE_ECS, ServerId: "i-3", Port: 9000,
			Weight: new(int32(7))}}}
}

// dropGroup deletes a server group, as a person does in the console.
func (w *world) dropGroup(id string) {
	w.cloud.Lock()
	defer w.cloud.Unlock()
	delete(w.cloud.NLB.ServerGroups, id)
	delete(w.cloud.ServerGroups, id)
}

// servers are those of the server groups, by id, without those that were put there by hand.
func (w *world) servers() map[string]string {
	w.cloud.Lock()
	defer w.cloud.Unlock()
	groups := map[string][]string{}
	add := func(group, id string, port, weight int32, description string) {
		if description == "" && id == "i-3" && port == 9000 && weight == 7 {
			groups[group] = append(groups[group], "")
			return
		}
		owner, _ := ownership.MadeFor(description)
		groups[group] = append(groups[group], fmt.Sprintf("%s:%d=%d of %s", id, port, weight, owner.ClusterID))
	}
	for id, g := range w.cloud.NLB.ServerGroups {
		for _, s := range g.GetServers() {
			add(id, s.GetServerId(), s.GetPort(), s.GetWeight(), s.GetDescription())
		}
	}
	for id, g := range w.cloud.ServerGroups {
		for _, s := range g.Servers {
			add(id, s.GetServerId(), s.GetPort(), s.GetWeight(), s.GetDescription())
		}
	}
	texts := map[string]string{}
	for id, list := range groups {
		slices.Sort(list)
		if list[0] != "" {
			w.t.Errorf("the server that was put into %s by hand is gone", id)
		}
		texts[id] = strings.TrimSpace(strings.Join(list, " "))
	}
	maps.DeleteFunc(texts, func(_, text string) bool { return text == "" })
	return texts
}
