package lb_test

import (
	"fmt"
	"maps"
	"slices"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
)

const (
	foreignLB = "lb-foreign"
	// foreignPort is one that no Service asks for.
	foreignPort = 9999
	// podAddresses are how many there are.
	podAddresses = 9
)

// foreign is what others have put into a CLB of ours.
type foreign struct {
	instance string
	listener gatewaytest.ListenerKey
	groups   []string
}

func podIP(n int) string { return fmt.Sprintf("10.0.0.%d", n) }

func podIPv6(n int) string { return fmt.Sprintf("2408:4005::%d", n) }

// seedCloud adds the network interfaces of pods, and a CLB that is none of ours although its group is named like one.
func (m *monkey) seedCloud() {
	m.cloud.Lock()
	defer m.cloud.Unlock()
	for n := 1; n <= podAddresses; n++ {
		id := "eni-" + podIP(n)
		m.cloud.NetworkInterfaces[id] = &ecsv1.NetworkInterface{NetworkInterfaceId: id, VpcId: "vpc-test", PrimaryIp: podIP(n),
			Ipv6Addresses: []string{podIPv6(n)}}
	}
	for _, id := range []string{"cert-1", "cert-2"} { // A listener that replaces another one is proved to have its certificate.
		m.cloud.ServerCertificates[id] = &slbv1.ServerCertificate{ServerCertificateId: id, Name: "of a user"}
	}
	m.cloud.LoadBalancers[foreignLB] = &slbv1.LoadBalancer{
		LoadBalancerId: foreignLB, Name: "theirs", Address: "203.0.113.7",
		Tags: []*commonv1.Tag{tag(ownership.TagService, "somebody"), tag("owner", "them")},
	}
	m.cloud.ServerGroups["rsp-foreign"] = &gatewaytest.ServerGroup{
		ID: "rsp-foreign", LoadBalancerID: foreignLB, Name: "k8s/30001/svc-0/default/" + clusterID,
		Servers: []*slbv1.Server{{Type: slbv1.ServerType_SERVER_TYPE_ECS, ServerId: "i-1", Port: 30001,
			Weight: new(int32(100)), Description: "k8s/30001/svc-0/default/" + clusterID}},
	}
	key := gatewaytest.ListenerKey{LoadBalancerID: foreignLB, Port: 80, Protocol: slbv1.Protocol_PROTOCOL_TCP}
	m.cloud.Listeners[key] = &slbv1.Listener{
		Key:    &slbv1.ListenerKey{LoadBalancerId: foreignLB, Port: 80, Protocol: key.Protocol},
		Config: &slbv1.ListenerConfig{ServerGroupId: new("rsp-foreign"), Description: new("theirs")}, Status: "running",
	}
	m.theirs = m.foreignParts()
	m.seedUsers()
	m.seedNLB()
}

// byConsole begins what is done in the console.
const byConsole = "console: "

// console is what somebody does to a CLB of ours by hand.
func (m *monkey) console() string {
	m.cloud.Lock()
	var ids []string
	for id := range m.cloud.LoadBalancers {
		if id != foreignLB {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	m.cloud.Unlock()
	if m.n(6) == 0 {
		return m.nlbConsole()
	}
	if len(ids) == 0 {
		return "nobody finds a load balancer in the console"
	}
	id := pick(m, ids...)
	drift := pick(m, Drift{}, Drift{}, Drift{ReportInstance: true, ReportListeners: true, ReportStopped: true})
	if drift != m.drift {
		m.drift = drift
		m.restart()
	}
	switch m.n(6) {
	case 0:
		if users(id) {
			return "nobody dares to delete " + id
		}
		m.deleteCLB(id)
		return id + " is deleted in the console"
	case 1:
		return id + " " + m.addForeign(id)
	case 2:
		m.cloud.Lock()
		defer m.cloud.Unlock()
		key := pick(m, ownership.TagCluster, "a", "b")
		m.cloud.LoadBalancers[id].Tags = slices.DeleteFunc(m.cloud.LoadBalancers[id].GetTags(), func(t *commonv1.Tag) bool {
			return t.GetKey() == key
		})
		return id + " loses tag " + key
	}
	m.cloud.Lock()
	defer m.cloud.Unlock()
	for key, l := range m.cloud.Listeners {
		if key.LoadBalancerID == id && key.Port != foreignPort {
			l.Status, l.Config.Scheduler = "stopped", new("wlc")
		}
	}
	for _, g := range m.cloud.ServerGroups {
		if g.LoadBalancerID == id {
			g.Servers = slices.DeleteFunc(g.Servers, func(s *slbv1.Server) bool { return s.GetPort() != foreignPort })
		}
	}
	return id + " is stopped, and its servers are removed"
}

// deleteCLB deletes a CLB with all its parts, and lets its Service have another, as the event advises.
func (m *monkey) deleteCLB(id string) {
	m.cloud.Lock()
	delete(m.cloud.LoadBalancers, id)
	for key := range m.cloud.Listeners {
		if key.LoadBalancerID == id {
			delete(m.cloud.Listeners, key)
		}
	}
	for group, g := range m.cloud.ServerGroups {
		if g.LoadBalancerID == id {
			delete(m.cloud.ServerGroups, group)
		}
	}
	delete(m.cloud.DefaultGroups, id)
	for _, eip := range m.cloud.Eips {
		if eip.GetInstanceId() == id {
			eip.InstanceId = ""
		}
	}
	m.cloud.Unlock()
	m.clearStatus()
}

// eip binds an EIP to another CLB, or to none.
func (m *monkey) eip() string {
	m.cloud.Lock()
	defer m.cloud.Unlock()
	ids := []string{""}
	for _, id := range slices.Sorted(maps.Keys(m.cloud.LoadBalancers)) {
		if id != foreignLB && !users(id) {
			ids = append(ids, id)
		}
	}
	id := pick(m, ids...)
	eip := pick(m, "eip-1", "eip-2")
	m.cloud.Eips[eip] = &vpcv1.Eip{AllocationId: eip, InstanceType: "SlbInstance", InstanceId: id, IpAddress: "192.0.2." + eip[4:]}
	return fmt.Sprintf("%s is bound to %q", eip, id)
}

// eipsOf are the EIPs of a CLB; the cloud is locked.
func (m *monkey) eipsOf(id string) []string {
	var list []string
	for _, eip := range m.cloud.Eips {
		if eip.GetInstanceId() == id {
			list = append(list, eip.GetIpAddress())
		}
	}
	slices.Sort(list)
	return list
}

// clearStatus takes away addresses that no CLB has, and those of CLBs that their Services are to move away from. It
// reports whether there are any.
func (m *monkey) clearStatus() (cleared bool) {
	m.cloud.Lock()
	alive := map[string]bool{}
	for id, lb := range m.cloud.LoadBalancers {
		alive[lb.GetAddress()] = true
		for _, ip := range m.eipsOf(id) {
			alive[ip] = true
		}
		alive[id] = true
	}
	m.cloud.Unlock()
	for _, svc := range m.services() {
		ingress := svc.Status.LoadBalancer.Ingress
		if len(ingress) == 0 {
			continue
		}
		if ingress[0].Hostname != "" && isNLB(svc) {
			if m.nlbElsewhere(svc) {
				m.edit(svc, map[string]any{"status": map[string]any{"loadBalancer": nil}}, "status")
				cleared = true
			}
			continue
		}
		isAlive := alive[ingress[0].IP]
		if ingress[0].Hostname != "" || m.value(svc, annotation.ExternalIPType) != "" {
			isAlive = alive[svc.Labels[LabelLoadBalancerID]]
		}
		if !isAlive || m.elsewhere(svc) {
			m.edit(svc, map[string]any{"status": map[string]any{"loadBalancer": nil}}, "status")
			cleared = true
		}
	}
	return cleared
}

// addForeign puts a server into each group of a CLB of ours, and a listener and a tag onto it.
func (m *monkey) addForeign(id string) string {
	m.cloud.Lock()
	defer m.cloud.Unlock()
	added := foreign{instance: id, listener: gatewaytest.ListenerKey{LoadBalancerID: id, Port: foreignPort,
		Protocol: slbv1.Protocol_PROTOCOL_UDP}}
	if _, again := m.cloud.Listeners[added.listener]; again {
		return "has foreign things already"
	}
	for _, g := range m.cloud.ServerGroups {
		if g.LoadBalancerID == id {
			added.groups = append(added.groups, g.ID)
			g.Servers = append(g.Servers, &slbv1.Server{
				Type: slbv1.ServerType_SERVER_TYPE_ECS, ServerId: "i-1", Port: foreignPort, Weight: new(int32(7)), Description: "by hand",
			})
		}
	}
	byHand := &slbv1.ListenerConfig{Description: new("by hand")}
	if len(added.groups) > 0 {
		byHand.ServerGroupId = new(slices.Min(added.groups)) // People bind listeners of their own to our groups.
	}
	m.cloud.Listeners[added.listener] = &slbv1.Listener{
		Key:    &slbv1.ListenerKey{LoadBalancerId: id, Port: foreignPort, Protocol: added.listener.Protocol},
		Config: byHand, Status: "running",
	}
	m.cloud.LoadBalancers[id].Tags = append(m.cloud.LoadBalancers[id].GetTags(), tag("by", "hand"))
	m.foreign = append(m.foreign, added)
	return "gets foreign servers, a listener and a tag"
}

func foreignServer(s *slbv1.Server) bool { return s.GetPort() == foreignPort }
