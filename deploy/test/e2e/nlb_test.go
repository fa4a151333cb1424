package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/journal"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/deploy/tools/local/cloud"
	"alicloud-controllers.dev/deploy/tools/local/world"
)

// newNLBService is a Service for which an NLB is made.
func newNLBService(name string, annotations map[string]string, ports ...int32) *corev1.Service {
	s := newService(name, annotations, ports...)
	s.Spec.LoadBalancerClass = new(nlbClass)
	return s
}

// nlbWorld is a world in which NLBs are made, in the time that the cloud takes for it.
type nlbWorld struct {
	testWorld
	since int64 // the calls before are counted
}

// TestNLB is what Services of class NLB cost and what becomes of them, with the real gateway and the time that jobs take.
func TestNLB(t *testing.T) {
	t.Parallel()
	booted := bootWith(t, world.Config{
		Nodes: 20, Controllers: world.Controllers(), Node: seldom(), Route: seldom(), DualStack: true,
		LB: map[string]any{"nodeGather": map[string]any{"quiet": "2s", "max": "1m"}},
	})
	booted.initialised(t)
	w := &nlbWorld{testWorld: booted, since: booted.position(t)}
	for _, act := range []struct {
		name string
		run  func(t *testing.T)
	}{
		{"costs", w.costs},
		{"on the NLB of a user", w.reuses},
		{"who may connect", w.restricts},
		{"pods that wait for it", w.gates},
		{"both families", w.dualStack},
		{"from a CLB to an NLB and back", w.handOver},
		{"the gateway is killed", w.killed},
	} {
		if !t.Run(act.name, act.run) {
			return
		}
		// The costs are those of the job times of the cloud; the rest is to be quick, and without any write during a job.
		err := w.Cloud().Limits(t.Context(), func(doc *openapisim.LimitsDocument) {
			doc.Settings.NLBActive, doc.Settings.NLBJobsLock = time.Second, true
		})
		if err != nil {
			t.Fatal(err)
		}
		if left := w.state(t); len(left.NLBs)+len(left.NLBListeners)+len(left.NLBServerGroups)+len(left.LoadBalancers) > 0 {
			t.Fatalf("left in the cloud after %q:\n%s", act.name, strings.Join(nlbLines(left), "\n"))
		}
	}
	w.stayed(t)
}

// nlbLines shows what the cloud holds of load balancers, without ids.
func nlbLines(c *state.Cloud) []string {
	var lines []string
	for _, g := range c.NLBServerGroups {
		weights := map[int]int{}
		for _, s := range g.Servers {
			weights[s.Weight]++
		}
		lines = append(lines, fmt.Sprintf("group %s %s %s, servers by weight %v", g.Name, g.Type, g.Protocol, weights))
	}
	for id, lb := range c.NLBs {
		var parts, tags []string
		for _, l := range c.NLBListeners {
			if group := c.NLBServerGroups[l.ServerGroupID]; l.NLBID == id && group != nil {
				parts = append(parts, fmt.Sprintf("%s:%d %s to %s", l.Protocol, l.Port, l.Status, group.Name))
			}
		}
		for _, tag := range lb.Tags {
			tags = append(tags, tag.Key)
		}
		slices.Sort(parts)
		slices.Sort(tags)
		lines = append(lines, fmt.Sprintf("NLB %s %s in %d zones, protected %t %t, %v: %s", lb.AddressType, lb.Status, len(lb.Zones),
			lb.Deletion.On, lb.Modification.On, tags, strings.Join(parts, ", ")))
	}
	for _, lb := range c.LoadBalancers {
		lines = append(lines, "CLB "+lb.Name)
	}
	slices.Sort(lines)
	return lines
}

// cost checks what was called since the last time: these writes to NLB, and at most so many reads.
func (w *nlbWorld) cost(t *testing.T, what string, mostReads int, writes map[string]int) {
	t.Helper()
	calls, next := w.settle(t, w.since)
	w.since = next
	var wrote, read []journal.Call
	for _, call := range calls {
		switch {
		case call.Mutating:
			wrote = append(wrote, call)
		case call.Product == "nlb":
			read = append(read, call)
		}
	}
	if diff := cmp.Diff(writes, counts(wrote, "nlb")); diff != "" {
		t.Errorf("writes to NLB for %s (-want +got):\n%s", what, diff)
	}
	t.Logf("reads of NLB for %s: %v", what, counts(read, "nlb"))
	if len(read) > mostReads {
		t.Errorf("%d reads of NLB for %s, want at most %d: %v", len(read), what, mostReads, counts(read, "nlb"))
	}
}

// hostname waits until a Service has a name, and returns it.
func (w *nlbWorld) hostname(t *testing.T, service string) string {
	t.Helper()
	var ingress corev1.LoadBalancerIngress
	eventually(t, "Service "+service+" gets the name of an NLB", func(ctx context.Context) error {
		s, err := w.Client().CoreV1().Services(metav1.NamespaceDefault).Get(ctx, service, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if list := s.Status.LoadBalancer.Ingress; len(list) != 1 || list[0].Hostname == "" || list[0].IP != "" {
			return fmt.Errorf("status %v; events %q", list, w.events(ctx, service))
		}
		ingress = s.Status.LoadBalancer.Ingress[0]
		return nil
	})
	return ingress.Hostname
}

// holds waits until the cloud holds so many servers in all groups, and all jobs have ended.
func (w *nlbWorld) holds(t *testing.T, what string, servers int) {
	t.Helper()
	eventually(t, what, func(context.Context) error {
		c, n := w.state(t), 0
		for _, g := range c.NLBServerGroups {
			n += len(g.Servers)
		}
		if n != servers || len(c.NLBRunningJobs) > 0 {
			return fmt.Errorf("%d servers, want %d; %d jobs are running", n, servers, len(c.NLBRunningJobs))
		}
		return nil
	})
}

func (w *nlbWorld) costs(t *testing.T) {
	const nodes = 20
	w.create(t, newNLBService("cost", nil, 80))
	name := w.hostname(t, "cost")
	w.holds(t, "all nodes serve", nodes)
	w.cost(t, "a Service with one port and 20 nodes", 8, map[string]int{
		"CreateLoadBalancer": 1, "CreateServerGroup": 1, "AddServersToServerGroup": 1, "CreateListener": 1,
	})
	for _, lb := range w.state(t).NLBs {
		if lb.DNSName != name || len(lb.Zones) != 2 || !lb.Deletion.On || !lb.Modification.On {
			t.Errorf("published is %s, the NLB is %+v", name, lb)
		}
	}
	w.change(t, "cost", func(s *corev1.Service) { metav1.SetMetaDataLabel(&s.ObjectMeta, "team", "blue") })
	w.cost(t, "an update that changes nothing", 0, map[string]int{})

	w.addNodes(t, 1)
	w.holds(t, "the new node serves", nodes+1)
	w.cost(t, "one more node", 1, map[string]int{"AddServersToServerGroup": 1})

	w.annotate(t, "cost", "idle-timeout", "60")
	eventually(t, "the listener is changed", func(context.Context) error {
		for _, l := range w.state(t).NLBListeners {
			if l.IdleTimeout != 60 {
				return fmt.Errorf("the idle timeout is %d", l.IdleTimeout)
			}
		}
		return nil
	})
	// What a user changes is compared with what the cloud holds: instance, listeners, groups, servers; then the job.
	w.cost(t, "one attribute of a listener", 7, map[string]int{"UpdateListenerAttribute": 1})

	w.remove(t, "cost")
	// One of the reads finds NLBs of the Service that could not be made.
	w.cost(t, "deletion", 7, map[string]int{"UpdateLoadBalancerProtection": 1, "DeleteLoadBalancer": 1, "DeleteServerGroup": 1})
}

// annotate sets an annotation of a Service.
func (w *nlbWorld) annotate(t *testing.T, service, key, value string) {
	t.Helper()
	w.change(t, service, func(s *corev1.Service) { metav1.SetMetaDataAnnotation(&s.ObjectMeta, annotationPrefix+key, value) })
}

// reuses is the life of two Services on an NLB that somebody made by hand: one fills a server group of the user's, the
// other has listeners. In the end all is as it was.
func (w *nlbWorld) reuses(t *testing.T) {
	api := w.product(t, "NLB", "2022-04-30")
	id, group := w.usersNLB(t, api)
	before, nodes := w.state(t), len(w.nodes(t))
	_, w.since = w.settle(t, 0)

	w.create(t, newNLBService("filling", map[string]string{"id": id, "vgroup-port": group + ":80", "weight": "63"}, 80))
	w.hostname(t, "filling")
	w.holds(t, "the user's server group is filled", nodes)
	w.cost(t, "a Service that fills a server group", 7, map[string]int{"AddServersToServerGroup": 1, "TagResources": 1})
	for _, s := range w.state(t).NLBServerGroups[group].Servers {
		if s.Weight != 3 {
			t.Errorf("the weight of %s is %d, want 3 of 63 for each of 21", s.ServerID, s.Weight)
		}
	}
	w.create(t, newNLBService("listening", map[string]string{"id": id, "force-override-listeners": "true"}, 443))
	w.hostname(t, "listening")
	w.holds(t, "both server groups are filled", 2*nodes)
	w.cost(t, "a Service that has a listener", 7, map[string]int{
		"CreateServerGroup": 1, "AddServersToServerGroup": 1, "CreateListener": 1,
	})
	w.create(t, newNLBService("late", map[string]string{"id": id, "force-override-listeners": "true"}, 443))
	eventuallyWarned(t, w.testWorld, "late", "Service default/listening")

	for _, name := range []string{"filling", "listening", "late"} {
		w.remove(t, name)
	}
	after := w.state(t)
	if diff := cmp.Diff(before.NLBServerGroups, after.NLBServerGroups); diff != "" {
		t.Errorf("server groups (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(before.NLBListeners, after.NLBListeners); diff != "" {
		t.Errorf("listeners (-before +after):\n%s", diff)
	}
	if lb := after.NLBs[id]; lb == nil || !lb.Deletion.On || len(after.NLBs) != 1 {
		t.Errorf("the user's NLB: %+v", lb)
	}
	for _, act := range []struct { // In this order: the NLB is protected, and the server group in use.
		action, gone string
		params       map[string]string
	}{
		{"UpdateLoadBalancerProtection", "ResourceNotFound.loadBalancer",
			map[string]string{"LoadBalancerId": id, "DeletionProtectionEnabled": "false"}},
		{"DeleteLoadBalancer", "ResourceNotFound.loadBalancer", map[string]string{"LoadBalancerId": id}},
		{"DeleteServerGroup", "ResourceNotFound.serverGroup", map[string]string{"ServerGroupId": group}},
	} {
		act.params["RegionId"] = world.Region
		if err := api.Insist(t.Context(), act.action, act.gone, act.params); err != nil {
			t.Fatal(err)
		}
	}
	w.holds(t, "what was the user's is gone", 0)
}

// usersNLB makes an NLB with a listener to a server group, by hand.
func (w *nlbWorld) usersNLB(t *testing.T, api cloud.API) (id, group string) {
	t.Helper()
	call := func(action string, params map[string]string) {
		t.Helper()
		params["RegionId"] = world.Region
		if err := api.Call(t.Context(), action, params); err != nil {
			t.Fatal(err)
		}
		w.holds(t, action+" has ended", 0)
	}
	zones := map[string]string{
		"LoadBalancerName": "mine", "AddressType": "Internet", "VpcId": world.VpcID,
		"DeletionProtectionConfig.Enabled": "true",
	}
	for i, v := range world.VSwitchIDs() {
		zones[fmt.Sprintf("ZoneMappings.%d.VSwitchId", i+1)] = v
		zones[fmt.Sprintf("ZoneMappings.%d.ZoneId", i+1)] = w.state(t).VSwitches[v].ZoneID
	}
	call("CreateLoadBalancer", zones)
	call("CreateServerGroup", map[string]string{
		"ServerGroupName": "mine", "VpcId": world.VpcID, "Protocol": "TCP", "ServerGroupType": "Instance",
	})
	c := w.state(t)
	id, group = slices.Collect(maps.Keys(c.NLBs))[0], slices.Collect(maps.Keys(c.NLBServerGroups))[0]
	call("CreateListener", map[string]string{
		"LoadBalancerId": id, "ListenerProtocol": "TCP", "ListenerPort": "80", "ServerGroupId": group, "ListenerDescription": "by hand",
	})
	return id, group
}

// recorded waits until so many Services are in the record of backends: a controller that starts anew reads the others.
func (w *nlbWorld) recorded(t *testing.T, services int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d Services are in the record", services), func(ctx context.Context) error {
		record, err := w.Client().CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, "lbcontroller-backends", metav1.GetOptions{})
		if err != nil {
			return err
		}
		known := 0
		for _, digest := range record.Data {
			if digest != "-" { // It is being changed.
				known++
			}
		}
		if known != services {
			return fmt.Errorf("there are %d: %v", known, record.Data)
		}
		return nil
	})
}

// restricts is the life of spec.loadBalancerSourceRanges of a Service of each kind. The controller dies and comes back
// meanwhile, and writes nothing then.
func (w *nlbWorld) restricts(t *testing.T) {
	before := w.state(t)
	shows := func(what string, want ...string) {
		t.Helper()
		eventually(t, what, func(ctx context.Context) error {
			if diff := cmp.Diff(want, whoMayConnect(w.state(t), before)); diff != "" {
				return fmt.Errorf("who may connect (-want +got):\n%s; events %q, %q", diff, w.events(ctx, "classic"), w.events(ctx, "network"))
			}
			return nil
		})
	}
	for _, s := range []*corev1.Service{newService("classic", nil, 80, 443), newNLBService("network", nil, 80)} {
		s.Spec.LoadBalancerSourceRanges = []string{"198.51.100.0/24", "2001:db8::/32"}
		w.create(t, s)
		w.balanced(t, s.Name)
	}
	shows("two networks may connect", "CLB tcp:443 white 198.51.100.0/24", "CLB tcp:80 white 198.51.100.0/24",
		"NLB Accept 198.51.100.0/24, Accept 2001:db8::/32, Drop 0.0.0.0/0, Drop ::/0")
	eventuallyWarned(t, w.testWorld, "classic", "2001:db8::/32 in spec.loadBalancerSourceRanges have no effect")
	w.recorded(t, 2)
	_, w.since = w.settle(t, 0)
	if err := w.Kill(world.LB); err != nil {
		t.Fatal(err)
	}
	w.restart(t, world.LB)
	w.cost(t, "a restart", 0, map[string]int{})
	each := func(ranges ...string) {
		t.Helper()
		for _, name := range []string{"classic", "network"} {
			w.change(t, name, func(s *corev1.Service) { s.Spec.LoadBalancerSourceRanges = ranges })
		}
	}
	each("203.0.113.0/24")
	shows("another network may connect", "CLB tcp:443 white 203.0.113.0/24", "CLB tcp:80 white 203.0.113.0/24",
		"NLB Accept 203.0.113.0/24, Drop 0.0.0.0/0, Drop ::/0")
	each()
	shows("everybody may connect", "no listener of a CLB has 203.0.113.0/24") // It is named still, and the cloud keeps it for that.
	each("198.51.100.0/24")
	shows("one network may connect again", "CLB tcp:443 white 198.51.100.0/24", "CLB tcp:80 white 198.51.100.0/24",
		"NLB Accept 198.51.100.0/24, Drop 0.0.0.0/0, Drop ::/0")
	each()
	shows("everybody may connect again", "no listener of a CLB has 198.51.100.0/24")
	w.remove(t, "classic")
	w.remove(t, "network")
	shows("no list is left")
}

// whoMayConnect shows the access lists that were made since, each with where it is in force.
func whoMayConnect(now, before *state.Cloud) (lines []string) {
	for id, acl := range now.Acls {
		if before.Acls[id] != nil {
			continue
		}
		var entries, listeners []string
		for _, e := range acl.Entries {
			entries = append(entries, e.Entry)
		}
		slices.Sort(entries)
		for _, lb := range now.LoadBalancers {
			for _, l := range lb.Listeners {
				if l.Attributes["AclStatus"] == "on" && slices.Equal(l.AclIDs, []string{id}) {
					listeners = append(listeners, fmt.Sprintf("CLB %s:%d %s %s", l.Protocol, l.Port, l.Attributes["AclType"], strings.Join(entries, ", ")))
				}
			}
		}
		if len(listeners) == 0 {
			listeners = []string{"no listener of a CLB has " + strings.Join(entries, ", ")}
		}
		lines = append(lines, listeners...)
	}
	for id, group := range now.SecurityGroups {
		if before.SecurityGroups[id] != nil {
			continue
		}
		var rules []string
		for _, r := range group.Rules {
			if r.Direction == "ingress" {
				rules = append(rules, r.Policy+" "+r.SourceCidr+r.Ipv6SourceCidr)
			}
		}
		slices.Sort(rules)
		line := "no NLB has "
		for _, lb := range now.NLBs {
			if slices.Contains(lb.SecurityGroupIDs, id) {
				line = "NLB "
			}
		}
		lines = append(lines, line+strings.Join(rules, ", "))
	}
	slices.Sort(lines)
	return lines
}

// handOver gives a Service that has a CLB an NLB, as its user does it: the class can be set when the type is. The
// controller may see the states in between, or not.
func (w *nlbWorld) handOver(t *testing.T) {
	w.create(t, newService("moving", nil, 80))
	w.balanced(t, "moving")
	class := func(class *string) {
		t.Helper()
		w.change(t, "moving", func(s *corev1.Service) {
			s.Spec.Type, s.Spec.LoadBalancerClass = corev1.ServiceTypeClusterIP, nil
		})
		w.change(t, "moving", func(s *corev1.Service) {
			s.Spec.Type, s.Spec.LoadBalancerClass = corev1.ServiceTypeLoadBalancer, class
		})
	}
	has := func(what string, nlbs, clbs int, finalizer string) {
		t.Helper()
		eventually(t, "the Service has only "+what, func(ctx context.Context) error {
			s, err := w.Client().CoreV1().Services(metav1.NamespaceDefault).Get(ctx, "moving", metav1.GetOptions{})
			if err != nil {
				return err
			}
			c := w.state(t)
			if len(c.NLBs) != nlbs || len(c.NLBListeners) != nlbs || len(c.NLBServerGroups) != nlbs || len(c.LoadBalancers) != clbs ||
				len(c.ServerGroups) != clbs || !slices.Equal(s.Finalizers, []string{finalizer}) || len(s.Status.LoadBalancer.Ingress) != 1 ||
				(s.Status.LoadBalancer.Ingress[0].Hostname != "") != (nlbs == 1) {
				return fmt.Errorf("finalizers %v, status %v, cloud %v; events %q", s.Finalizers, s.Status.LoadBalancer.Ingress, nlbLines(c),
					w.events(ctx, "moving"))
			}
			return nil
		})
	}
	class(new(nlbClass))
	has("an NLB", 1, 0, "service.k8s.alibaba/nlb")
	class(nil)
	has("a CLB", 0, 1, "service.k8s.alibaba/resources")
	class(new(nlbClass))
	// It dies anywhere on the way.
	w.afterCalls(t, 3)
	if err := w.Kill(world.LB); err != nil {
		t.Fatal(err)
	}
	w.restart(t, world.LB)
	has("an NLB", 1, 0, "service.k8s.alibaba/nlb")
	// One that is deleted and made anew under its name, as by `kubectl replace --force`.
	w.remove(t, "moving")
	w.create(t, newService("moving", nil, 80))
	has("a CLB", 0, 1, "service.k8s.alibaba/resources")
	w.remove(t, "moving")
}

// killed kills the gateway while Services are made, and once more while they are deleted.
func (w *nlbWorld) killed(t *testing.T) {
	const services = 6
	kill := func(calls int) {
		t.Helper()
		w.afterCalls(t, calls)
		if err := w.Kill(active); err != nil {
			t.Fatal(err)
		}
		w.restart(t, active)
	}
	names := make([]string, services)
	for i := range names {
		names[i] = fmt.Sprintf("disturbed-%d", i)
		w.create(t, newNLBService(names[i], nil, 80, 443))
	}
	kill(10)
	kill(10)
	for _, name := range names {
		w.hostname(t, name)
	}
	w.settle(t, 0)
	nodes := len(w.nodes(t))
	var want []string
	for _, name := range names {
		svc := w.balanced(t, name)
		var listeners []string
		for _, port := range svc.Spec.Ports {
			group := fmt.Sprintf("k8s.%d.TCP.%s.default.%s", port.NodePort, name, world.ClusterID)
			want = append(want, fmt.Sprintf("group %s Instance TCP, servers by weight map[100:%d]", group, nodes))
			listeners = append(listeners, fmt.Sprintf("TCP:%d Running to %s", port.Port, group))
		}
		slices.Sort(listeners)
		want = append(want, "NLB Internet Active in 2 zones, protected true true, [ack.aliyun.com kubernetes.do.not.delete]: "+
			strings.Join(listeners, ", "))
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, nlbLines(w.state(t))); diff != "" {
		t.Errorf("what the cloud holds (-want +got):\n%s", diff)
	}
	for _, name := range names {
		w.delete(t, name)
	}
	kill(10)
	for _, name := range names {
		w.gone(t, name)
	}
	eventually(t, "nothing is left", func(context.Context) error {
		if lines := nlbLines(w.state(t)); len(lines) > 0 {
			return fmt.Errorf("there are %q", lines)
		}
		return nil
	})
}
