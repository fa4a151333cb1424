package lb_test

import (
	"fmt"
	"os"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/nlb"
)

// zones adds the vSwitches in which NLBs are.
func (w *world) zones() {
	w.cloud.Lock()
	defer w.cloud.Unlock()
	addZones(w.cloud.Cloud)
}

// usersNLB adds an NLB of a user's, with a listener and a server group by hand.
func (w *world) usersNLB(id string) {
	w.cloud.Lock()
	defer w.cloud.Unlock()
	group := "sgp-of-" + id
	w.cloud.NLBs[id] = &state.NLB{Name: "mine-" + id, VpcID: "vpc-test"}
	w.cloud.NLBServerGroups[group] = &state.NLBServerGroup{Name: "mine", VpcID: "vpc-test",
		Servers: []*state.NLBServer{nlbInstanceServer("i-users", 9000, 7, "by hand")}}
	w.cloud.NLBListeners["lsn-of-"+id] = &state.NLBListener{NLBID: id, Port: 9000, Protocol: "TCP", Description: "by hand",
		ServerGroupID: group}
}

// nlbState is what state says of NLBs, and of what stands beside them.
func (w *world) nlbState() (lines []string) {
	c := w.cloud.Cloud
	for _, lb := range c.NLBs {
		var groups []string
		for _, id := range lb.SecurityGroupIDs {
			groups = append(groups, c.SecurityGroups[id].Name)
		}
		slices.Sort(groups)
		lines = append(lines, fmt.Sprintf("NLB %s %s protected=%t tags=%d security groups=%v", lb.Name, lb.AddressType, lb.Deletion.On,
			len(lb.Tags), groups))
	}
	for _, g := range c.NLBServerGroups {
		lines = append(lines, fmt.Sprintf("server group %s %s drain=%t tags=%d %s", g.Name, g.Scheduler, g.Drain, len(g.Tags),
			placesText(nlbPlacesOf(g.Servers))))
	}
	for _, l := range c.NLBListeners {
		lines = append(lines, fmt.Sprintf("listener %s %s/%s %s -> %s %v %v %ds", c.NLBs[l.NLBID].Name, portsOf(l), l.Protocol, l.Status,
			c.NLBServerGroups[l.ServerGroupID].Name, l.CertificateIDs, l.Additional, l.IdleTimeout))
	}
	for _, g := range c.SecurityGroups {
		var rules []string
		for _, r := range g.Rules {
			rules = append(rules, fmt.Sprintf("%s %s %s%s", r.Priority, r.Policy, r.SourceCidr, r.Ipv6SourceCidr))
		}
		slices.Sort(rules)
		lines = append(lines, fmt.Sprintf("security group %s %v", g.Name, rules))
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
		w.cloud.SecurityGroups[id] = &state.SecurityGroup{Name: id, VpcID: "vpc-test", Type: "normal"}
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
