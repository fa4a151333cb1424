package lb_test

import (
	"fmt"
	"maps"
	"slices"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"

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
		addInterface(m.cloud.Cloud, id, podIP(n), podIPv6(n))
	}
	m.cloud.LoadBalancers[foreignLB] = &state.LoadBalancer{
		ID: foreignLB, Name: "theirs", Address: "203.0.113.7", AddressType: "internet",
		Tags:      []state.Tag{tag(ownership.TagService, "somebody"), tag("owner", "them")},
		Listeners: []*state.Listener{listenerByHand(80, "tcp", "rsp-foreign", "theirs")},
	}
	name := "k8s/30001/svc-0/default/" + clusterID
	m.cloud.ServerGroups["rsp-foreign"] = &state.ServerGroup{
		LoadBalancerID: foreignLB, Name: name, Servers: []*state.Server{instanceServer("i-1", 30001, 100, name)},
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
		m.cloud.LoadBalancers[id].Tags = slices.DeleteFunc(m.cloud.LoadBalancers[id].Tags, func(t state.Tag) bool {
			return t.Key == key
		})
		return id + " loses tag " + key
	}
	m.cloud.Lock()
	defer m.cloud.Unlock()
	for _, l := range m.cloud.LoadBalancers[id].Listeners {
		if l.Port != foreignPort {
			l.Status, l.Attributes["Scheduler"] = "stopped", "wlc"
		}
	}
	for _, g := range m.cloud.ServerGroups {
		if g.LoadBalancerID == id {
			g.Servers = slices.DeleteFunc(g.Servers, func(s *state.Server) bool { return s.Port != foreignPort })
		}
	}
	return id + " is stopped, and its servers are removed"
}

// deleteCLB deletes a CLB with all its parts, and lets its Service have another, as the event advises.
func (m *monkey) deleteCLB(id string) {
	m.cloud.Lock()
	dropCLB(m.cloud.Cloud, id)
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
	eip := pick(m, "eip-by-hand-1", "eip-by-hand-2")
	m.cloud.Eips[eip] = &state.Eip{Address: "192.0.2." + eip[len(eip)-1:], Status: "Available"}
	if id != "" {
		m.cloud.Eips[eip].InstanceType, m.cloud.Eips[eip].InstanceID, m.cloud.Eips[eip].Status = "SlbInstance", id, "InUse"
	}
	return fmt.Sprintf("%s is bound to %q", eip, id)
}

// eipsOf are the EIPs of a CLB; the cloud is locked.
func (m *monkey) eipsOf(id string) []string {
	var list []string
	for _, eip := range m.cloud.Eips {
		if eip.InstanceID == id {
			list = append(list, eip.Address)
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
		alive[lb.Address] = true
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
	added := foreign{instance: id}
	if listenerAt(m.cloud.Cloud, id, foreignPort, "udp") != nil {
		return "has foreign things already"
	}
	for _, g := range m.cloud.ServerGroups {
		if g.LoadBalancerID == id {
			added.groups = append(added.groups, g.ID)
			g.Servers = append(g.Servers, instanceServer("i-1", foreignPort, 7, "by hand"))
		}
	}
	group := ""
	if len(added.groups) > 0 {
		group = slices.Min(added.groups) // People bind listeners of their own to our groups.
	}
	lb := m.cloud.LoadBalancers[id]
	lb.Listeners = append(lb.Listeners, listenerByHand(foreignPort, "udp", group, "by hand"))
	lb.Tags = append(lb.Tags, tag("by", "hand"))
	m.foreign = append(m.foreign, added)
	return "gets foreign servers, a listener and a tag"
}

func foreignServer(s *state.Server) bool { return s.Port == foreignPort }
