package lb_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/nlb"
)

// zones adds the vSwitches in which NLBs are.
func (w *world) zones() {
	w.cloud.Lock()
	defer w.cloud.Unlock()
	addZones(w.cloud)
}

// usersNLB adds an NLB of a user's, with a listener and a server group by hand.
func (w *world) usersNLB(id string) {
	w.cloud.Lock()
	defer w.cloud.Unlock()
	n, group := w.cloud.NLB, "sgp-of-"+id
	n.LoadBalancers[id] = &nlbv1.LoadBalancer{LoadBalancerId: id, Name: "mine-" + id, VpcId: "vpc-test"}
	n.ServerGroups[group] = &nlbv1.ServerGroup{ServerGroupId: group, Name: "mine", VpcId: "vpc-test", Servers: []*nlbv1.Server{{
		Type: nlbv1.ServerType_SERVER_TYPE_ECS, ServerId: "i-users", Port: 9000, Weight: new(int32(7)), Description: "by hand",
		Status: nlbv1.ServerStatus_SERVER_STATUS_AVAILABLE,
	}}}
	n.Listeners["lsn-of-"+id] = &nlbv1.Listener{
		ListenerId: "lsn-of-" + id, LoadBalancerId: id, Port: 9000, Protocol: nlbv1.ListenerProtocol_LISTENER_PROTOCOL_TCP,
		Config: &nlbv1.ListenerConfig{Description: new("by hand"), ServerGroupId: new(group)},
	}
}

// nlbState is what state says of NLBs, and of what stands beside them.
func (w *world) nlbState() (lines []string) {
	n := w.cloud.NLB
	var groups []string
	for _, lb := range n.LoadBalancers {
		for _, id := range lb.GetSecurityGroupIds() {
			groups = append(groups, w.cloud.SecurityGroups[id].GetName())
		}
		slices.Sort(groups)
		lines = append(lines, fmt.Sprintf("NLB %s %s protected=%t tags=%d security groups=%v", lb.GetName(), lb.GetAddressType(),
			lb.GetDeletionProtection().GetEnabled(), len(lb.GetTags()), groups))
	}
	for _, g := range n.ServerGroups {
		var servers []string
		for _, s := range g.GetServers() {
			servers = append(servers, fmt.Sprintf("%s%s:%d=%d", s.GetServerId(), s.GetServerIp(), s.GetPort(), s.GetWeight()))
		}
		slices.Sort(servers)
		lines = append(lines, fmt.Sprintf("server group %s %s drain=%t tags=%d %s", g.GetName(), g.GetScheduler(),
			g.GetConnectionDrainEnabled(), len(g.GetTags()), strings.Join(servers, " ")))
	}
	for id, l := range n.Listeners {
		lines = append(lines, fmt.Sprintf("listener %s %d-%d/%s %s -> %s %v %v %ds", n.LoadBalancers[l.GetLoadBalancerId()].GetName(),
			max(l.GetPort(), l.GetStartPort()), l.GetEndPort(), l.GetProtocol(), l.GetStatus(),
			n.ServerGroups[l.GetConfig().GetServerGroupId()].GetName(), l.GetConfig().GetCertificateIds(), n.AdditionalCertificates[id],
			l.GetConfig().GetIdleTimeout()))
	}
	for _, g := range w.cloud.SecurityGroups {
		var rules []string
		for _, r := range g.GetRules() {
			rules = append(rules, fmt.Sprintf("%d %s %s", r.GetPriority(), r.GetPolicy(), r.GetCidr()))
		}
		slices.Sort(rules)
		lines = append(lines, fmt.Sprintf("security group %s %v", g.GetName(), rules))
	}
	return lines
}

// ofClass makes a Service one of NLBs.
func ofClass(svc *corev1.Service) { svc.Spec.LoadBalancerClass = new(nlb.Class) }

// networkWeb is web with an NLB.
func networkWeb(changes ...func(*corev1.Service)) *corev1.Service {
	return web(slices.Concat([]func(*corev1.Service){ofClass}, changes)...)
}

// addSecurityGroups adds two security groups of a user's.
func addSecurityGroups(w *world) {
	w.cloud.Lock()
	defer w.cloud.Unlock()
	for _, id := range []string{"sg-user-1", "sg-user-2"} {
		w.cloud.SecurityGroups[id] = &ecsv1.SecurityGroup{SecurityGroupId: id, Name: id, VpcId: "vpc-test"}
	}
}

// ordinaryNLBScenarios are those that make test plays; make soak plays all. CRASHES=all asks for them.
var ordinaryNLBScenarios = []string{"create", "change ports", "change protocol", "add a node", "delete", "reuse", "move to a user's",
	"change source ranges", "go public with source ranges", "rollout behind readiness gates"}

// nlbScenarios are those of scenarios that NLBs have, too, and their own.
func nlbScenarios() map[string]scenario {
	const usersNLB, next = "nlb-mine", "nlb-next"
	mapped := annotated(annotation.VGroupPort, "sgp-of-"+usersNLB+":80")
	secure := changed(annotated(annotation.ProtocolPort, "tcpssl:80"), annotated(annotation.CertID, "cert-1"))
	update := func(changes ...func(*corev1.Service)) func(*world) {
		return func(w *world) { w.update(changed(changes...)) }
	}
	create := func(changes ...func(*corev1.Service)) func(*world) {
		return func(w *world) { w.create(networkWeb(changes...)) }
	}
	all := map[string]scenario{
		"create": {change: create(morePorts)},
		"change ports": {before: networkWeb(morePorts), change: update(func(svc *corev1.Service) {
			svc.Spec.Ports[0].NodePort = 31080
			svc.Spec.Ports[1].Port = 8443
		}, annotated(annotation.Scheduler, "wlc"))},
		"a port less":     {before: networkWeb(morePorts), change: update(func(svc *corev1.Service) { svc.Spec.Ports = svc.Spec.Ports[:1] })},
		"change protocol": {before: networkWeb(morePorts), change: update(secure)},
		"change certificates": {before: networkWeb(secure), change: update(annotated(annotation.CertID, "cert-2"),
			annotated(annotation.AdditionalCertIDs, "cert-3,cert-4"))},
		"add a node": {before: networkWeb(morePorts), change: func(w *world) {
			w.addNode(7)
			w.settle()
		}},
		"delete":      {before: networkWeb(morePorts), change: func(w *world) { w.remove() }},
		"preserve":    {before: networkWeb(morePorts, annotated(annotation.PreserveOnDelete, "on")), change: func(w *world) { w.remove() }},
		"change type": {before: networkWeb(morePorts), change: update(func(svc *corev1.Service) { svc.Spec.Type = corev1.ServiceTypeNodePort })},
		"reuse":       {users: []string{usersNLB}, change: create(morePorts, naming(usersNLB), override, mapped)},
		"leave": {users: []string{usersNLB}, before: networkWeb(morePorts, naming(usersNLB), override, mapped),
			change: func(w *world) { w.remove() }},
		"move to a user's": {users: []string{usersNLB}, before: networkWeb(), change: func(w *world) {
			w.update(changed(naming(usersNLB), override))
			w.clearStatus()
		}},
		"move to its own": {users: []string{usersNLB}, before: networkWeb(naming(usersNLB), override), change: func(w *world) {
			w.update(without(annotation.ID))
			w.clearStatus()
		}},
		"move to another": {users: []string{usersNLB, next}, before: networkWeb(naming(usersNLB), override, mapped), change: func(w *world) {
			w.update(changed(naming(next), without(annotation.VGroupPort)))
			w.clearStatus()
		}},
		"change mapping": {users: []string{usersNLB}, before: networkWeb(morePorts, naming(usersNLB), override, mapped),
			change: update(annotated(annotation.VGroupPort, "sgp-of-"+usersNLB+":81"))},
		"source ranges":     {change: create(morePorts, ranges("10.0.0.0/8", "192.0.2.0/24"))},
		"add source ranges": {before: networkWeb(morePorts), change: update(ranges("10.0.0.0/8"))},
		"change source ranges": {before: networkWeb(ranges("10.0.0.0/8", "192.0.2.0/24")),
			change: update(ranges("192.0.2.0/24"), morePorts)},
		"remove source ranges":         {before: networkWeb(morePorts, ranges("10.0.0.0/8")), change: update(ranges())},
		"delete with source ranges":    {before: networkWeb(ranges("10.0.0.0/8")), change: func(w *world) { w.remove() }},
		"go public with source ranges": {before: networkWeb(intranet), change: update(without(annotation.AddressType), ranges("10.0.0.0/8"))},
		"name security groups": {prepare: addSecurityGroups, before: networkWeb(annotated(annotation.SecurityGroupIDs, "sg-user-1")),
			change: update(annotated(annotation.SecurityGroupIDs, "sg-user-2"))},
		"remove annotations": {before: networkWeb(annotated(annotation.Scheduler, "wlc"), annotated(annotation.ConnectionDrain, "on"),
			annotated(annotation.ConnectionDrainTimeout, "30"), annotated(annotation.IdleTimeout, "60")),
			change: update(without(annotation.Scheduler), without(annotation.ConnectionDrain), without(annotation.ConnectionDrainTimeout),
				without(annotation.IdleTimeout))},
		"change name and tags": {before: networkWeb(annotated(annotation.AdditionalTags, "a=1,b=2")),
			change: update(annotated(annotation.Name, "mine"), annotated(annotation.AdditionalTags, "b=3"))},
		"readiness gates": {change: func(w *world) {
			w.pods(w.gatedPod(1), w.gatedPod(2))
			w.create(networkWeb(podsMode))
		}},
		"rollout behind readiness gates": {before: networkWeb(podsMode), change: func(w *world) {
			w.pods(w.gatedPod(1))
			w.after(20 * time.Second)
			w.pods(waitingEndpoint("web-1", "10.0.0.1"), w.gatedPod(2))
			w.after(20 * time.Second)
			w.pods(waitingEndpoint("web-2", "10.0.0.2"))
		}},
	}
	named := map[string]scenario{}
	for name, s := range all {
		if os.Getenv("CRASHES") == "all" || slices.Contains(ordinaryNLBScenarios, name) {
			s.nlb = true
			named["NLB: "+name] = s
		}
	}
	return named
}
