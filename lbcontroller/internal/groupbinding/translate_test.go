package groupbinding

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"alicloud-controllers.dev/lbcontroller/internal/backend"
	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/shadow"
)

// port of the Services of the tables.
const (
	web = "web"
	dns = "dns"
)

func bindingFor(change ...func(*Binding)) *Binding {
	b := &Binding{ObjectMeta: metav1.ObjectMeta{Namespace: "red", Name: "b", UID: "u-b", Generation: 3}, Spec: Spec{
		ServiceRef:  ServiceRef{Name: "shop", Port: intstr.FromString(web)},
		ServerGroup: ServerGroup{Kind: NLB, LoadBalancerID: "nlb-1", ID: "sgp-1"},
	}}
	for _, c := range change {
		c(b)
	}
	return b
}

// worldOf has the Service shop with two ports, and what is found of the server groups.
func worldOf(found Found, bindings ...*Binding) (*World, map[types.NamespacedName]*corev1.Service) {
	services := map[types.NamespacedName]*corev1.Service{}
	add := func(svc *corev1.Service) {
		svc.Namespace, services[types.NamespacedName{Namespace: "red", Name: svc.Name}] = "red", svc
	}
	ports := []corev1.ServicePort{{Name: web, Port: 80}, {Name: dns, Port: 53, Protocol: corev1.ProtocolUDP},
		{Name: "s", Port: 90, Protocol: corev1.ProtocolSCTP}}
	add(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "shop"}, Spec: corev1.ServiceSpec{Ports: ports}})
	made := map[string]string{shadow.LabelManagedBy: backend.SlicesManager}
	add(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "gateways", Labels: made,
		OwnerReferences: []metav1.OwnerReference{{Kind: "Gateway", Name: "gw", UID: "u-gw", Controller: new(true)}}},
		Spec: corev1.ServiceSpec{Ports: ports}})
	add(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "elsewhere"},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName}})
	return &World{
		Bindings: bindings,
		Service:  func(name types.NamespacedName) *corev1.Service { return services[name] },
		Slices: func(name types.NamespacedName) []*discoveryv1.EndpointSlice {
			if name.Name != "shop" {
				return nil
			}
			return []*discoveryv1.EndpointSlice{
				{ObjectMeta: metav1.ObjectMeta{Name: "shop-1"}, AddressType: discoveryv1.AddressTypeIPv4,
					Ports:     []discoveryv1.EndpointPort{{Name: new(web), Port: new(int32(8080))}},
					Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}}}},
				{ObjectMeta: metav1.ObjectMeta{Name: "shop-2"}, AddressType: discoveryv1.AddressTypeFQDN,
					Ports: []discoveryv1.EndpointPort{{Name: new(web), Port: new(int32(8080))}}},
			}
		},
		Found:  func(*Binding) Found { return found },
		Filled: func(types.NamespacedName) *controller.Filled { return nil },
	}, services
}

func accepted(s Status) string {
	c := meta.FindStatusCondition(s.Conditions, ConditionAccepted)
	return fmt.Sprintf("%s %s", c.Status, c.Reason)
}

// TestAccepted: what is said of each binding that something is wrong with, and of those that can be carried out.
func TestAccepted(t *testing.T) {
	t.Parallel()
	tcp := Found{Group: Group{ID: "sgp-1", Protocol: "tcp"}}
	of := func(protocol string) Found { return Found{Group: Group{ID: "sgp-1", Protocol: protocol}} }
	port := func(p intstr.IntOrString) func(*Binding) { return func(b *Binding) { b.Spec.ServiceRef.Port = p } }
	group := func(g ServerGroup) func(*Binding) { return func(b *Binding) { b.Spec.ServerGroup = g } }
	weight := func(w int32) func(*Binding) { return func(b *Binding) { b.Spec.Weight = &w } }
	service := func(name string) func(*Binding) { return func(b *Binding) { b.Spec.ServiceRef.Name = name } }
	for _, c := range []struct {
		name   string
		found  Found
		change func(*Binding)
		want   string
	}{
		{"port by name", tcp, port(intstr.FromString(web)), "True Accepted"},
		{"port by number", tcp, port(intstr.FromInt32(80)), "True Accepted"},
		{"no such port", tcp, port(intstr.FromInt32(81)), "False PortNotFound"},
		{"no port of that name", tcp, port(intstr.FromString("80")), "False PortNotFound"},
		{"no Service", tcp, service("gone"), "False ServiceNotFound"},
		{"that of a Gateway", tcp, service("gateways"), "True Accepted"},
		{"an ExternalName", tcp, service("elsewhere"), "False Invalid"},
		{"udp for tcp", of("tcp"), port(intstr.FromString(dns)), "False OtherProtocol"},
		{"tcp for udp", of("udp"), port(intstr.FromString(web)), "False OtherProtocol"},
		{"udp for udp", of("udp"), port(intstr.FromString(dns)), "True Accepted"},
		{"tcp for tcpssl", of("tcpssl"), port(intstr.FromString(web)), "True Accepted"},
		{"udp for tcpssl", of("tcpssl"), port(intstr.FromString(dns)), "False OtherProtocol"},
		{"tcp for both", of("tcp_udp"), port(intstr.FromString(web)), "True Accepted"},
		{"udp for both", of("tcp_udp"), port(intstr.FromString(dns)), "True Accepted"},
		{"udp for any", of(""), port(intstr.FromString(dns)), "True Accepted"},
		{"sctp for any", of(""), port(intstr.FromString("s")), "False OtherProtocol"},
		{"no such kind", tcp, group(ServerGroup{Kind: "ALB", LoadBalancerID: "alb-1", ID: "sgp-1"}), "False Invalid"},
		{"a CLB as an NLB", tcp, group(ServerGroup{Kind: NLB, LoadBalancerID: "lb-1", ID: "sgp-1"}), "False Invalid"},
		{"an NLB as a CLB", tcp, group(ServerGroup{Kind: CLB, LoadBalancerID: "nlb-1", ID: "rsp-1"}), "False Invalid"},
		{"a CLB's group", tcp, group(ServerGroup{Kind: NLB, LoadBalancerID: "nlb-1", ID: "rsp-1"}), "False Invalid"},
		{"an NLB's group", tcp, group(ServerGroup{Kind: CLB, LoadBalancerID: "lb-1", ID: "sgp-1"}), "False Invalid"},
		{"id and name", tcp, group(ServerGroup{Kind: NLB, LoadBalancerID: "nlb-1", ID: "sgp-1", Name: "a"}), "False Invalid"},
		{"neither", tcp, group(ServerGroup{Kind: NLB, LoadBalancerID: "nlb-1"}), "False Invalid"},
		{"two groups in an id", tcp, group(ServerGroup{Kind: NLB, LoadBalancerID: "nlb-1", ID: "sgp-1:80,sgp-2"}),
			"False Invalid"},
		{"an id that ends", tcp, group(ServerGroup{Kind: NLB, LoadBalancerID: "nlb-", ID: "sgp-1"}), "False Invalid"},
		{"weight 0", tcp, weight(0), "True Accepted"},
		{"weight 100", tcp, weight(100), "True Accepted"},
		{"weight 101", tcp, weight(101), "False Invalid"},
		{"weight -1", tcp, weight(-1), "False Invalid"},
		{"not known yet", Found{}, port(intstr.FromString(web)), "Unknown Pending"},
		{"the cloud says no", Found{Refused: shadow.Refuse(ReasonOtherVPC, "x")}, port(intstr.FromString(web)), "False OtherVPC"},
	} {
		b := bindingFor(c.change)
		w, _ := worldOf(c.found, b)
		got := w.Translate()[0]
		if s := accepted(got.Status); s != c.want || (got.Service != nil) != (c.want == "True Accepted") {
			t.Errorf("%s: %q, %v, want %q", c.name, s, got.Service, c.want)
		}
	}
}

// TestService: what a binding asks of the engine, by kind.
func TestService(t *testing.T) {
	t.Parallel()
	describe := func(b *Binding, found Found) string {
		w, _ := worldOf(found, b)
		w.CLBClass = "classic"
		got := w.Translate()[0]
		var lines []string
		for key, text := range got.Service.Annotations {
			if !strings.HasPrefix(key, "gateway.alibabacloud.com/") {
				lines = append(lines, strings.TrimPrefix(key, "service.beta.kubernetes.io/")+"="+text)
			}
		}
		for _, slice := range got.Slices {
			lines = append(lines, fmt.Sprintf("slice %d of %v", *slice.Ports[0].Port, slice.Endpoints))
		}
		lines = append(lines, "class "+*got.Service.Spec.LoadBalancerClass, fmt.Sprint(got.Service.Spec.Ports[0].Port))
		return strings.Join(sorted(lines), "\n")
	}
	nlb := describe(bindingFor(func(b *Binding) { b.Spec.Weight, b.Spec.BackendType = new(int32(60)), "ecs" }),
		Found{Group: Group{ID: "sgp-1", Protocol: "tcp", Addresses: true}})
	if diff := cmp.Diff(strings.Join(sorted([]string{
		"80", "alibaba-cloud-loadbalancer-id=nlb-1", "alibaba-cloud-loadbalancer-server-group-type=Ip",
		"alibaba-cloud-loadbalancer-vgroup-port=sgp-1:80", "alibaba-cloud-loadbalancer-weight=60", "backend-type=ecs",
		"class alibabacloud.com/nlb", "slice 8080 of [{[10.0.0.1] {<nil> <nil> <nil>} <nil> nil map[] <nil> <nil> nil}]",
	}), "\n"), nlb); diff != "" {
		t.Errorf("NLB (-want +got):\n%s", diff)
	}
	clb := describe(bindingFor(func(b *Binding) {
		b.Spec.ServerGroup = ServerGroup{Kind: CLB, LoadBalancerID: "lb-1", Name: "web"}
		b.Spec.ServiceRef.Port = intstr.FromString(dns)
	}), Found{Group: Group{ID: "rsp-1"}})
	if diff := cmp.Diff(strings.Join(sorted([]string{
		"53", "alibaba-cloud-loadbalancer-id=lb-1", "alibaba-cloud-loadbalancer-ip-mode=Proxy",
		"alibaba-cloud-loadbalancer-vgroup-port=rsp-1:53", "class classic", "slice 53 of []",
	}), "\n"), clb); diff != "" {
		t.Errorf("CLB (-want +got):\n%s", diff)
	}
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }

// TestSameServersTwice: of two bindings that fill a group with the same servers one is refused: not the one that fills
// it, else the younger.
func TestSameServersTwice(t *testing.T) {
	t.Parallel()
	found := Found{Group: Group{ID: "sgp-1", Protocol: "tcp"}}
	named := func(name string, age time.Duration) *Binding {
		return bindingFor(func(b *Binding) {
			b.Name, b.UID = name, types.UID("u-"+name)
			b.CreationTimestamp = metav1.NewTime(time.Unix(1_000_000, 0).Add(-age))
		})
	}
	verdicts := func(w *World) string {
		var list []string
		for _, got := range w.Translate() {
			list = append(list, got.Binding.Name+" "+accepted(got.Status))
		}
		return strings.Join(sorted(list), ", ")
	}
	a, b := named("a", time.Hour), named("b", 2*time.Hour)
	w, services := worldOf(found, a, b)
	if got := verdicts(w); got != "a False Conflicted, b True Accepted" {
		t.Errorf("the older one: %s", got)
	}
	made := w.service(a, found.Group, corev1.ServicePort{Port: 80, Protocol: corev1.ProtocolTCP})
	services[ServiceName(a)] = made
	if got := verdicts(w); got != "a True Accepted, b False Conflicted" {
		t.Errorf("the one that fills it: %s", got)
	}
	b.Spec.ServiceRef.Port = intstr.FromString(dns)
	w.Found = func(*Binding) Found { return Found{Group: Group{ID: "sgp-1", Protocol: "tcp_udp"}} }
	if got := verdicts(w); got != "a True Accepted, b True Accepted" {
		t.Errorf("other ports: %s", got)
	}
}

// TestLastGoodGoesOn: a mistake in a binding leaves its Service as it is, and the servers follow; what somebody else
// made is left alone.
func TestLastGoodGoesOn(t *testing.T) {
	t.Parallel()
	b := bindingFor()
	found := Found{Group: Group{ID: "sgp-1", Protocol: "tcp"}}
	w, services := worldOf(found, b)
	live := w.Translate()[0].Service
	services[ServiceName(b)] = live
	b.Spec.ServerGroup.ID, b.Spec.Weight = "sgp-2", new(int32(5))
	w.Found = func(*Binding) Found { return Found{Refused: shadow.Refuse(ReasonServerGroupNotFound, "x")} }
	got := w.Translate()[0]
	if diff := cmp.Diff(live, got.Service); diff != "" || len(got.Slices) != 1 || len(got.Slices[0].Endpoints) != 1 {
		t.Errorf("%v (-want +got):\n%s", got.Slices, diff)
	}
	b.Spec.ServiceRef.Name = "gone"
	if got = w.Translate()[0]; got.Service != nil || got.Surplus != live {
		t.Errorf("without its Service: %v, surplus %v", got.Service, got.Surplus)
	}
	live.OwnerReferences[0].UID = "u-other"
	if got = w.Translate()[0]; got.Surplus != nil {
		t.Errorf("without its Service, and with a Service in the way: surplus %v", got.Surplus)
	}
	b.Spec.ServiceRef.Name, live.OwnerReferences[0].UID = "shop", "u-other"
	w.Found = func(*Binding) Found { return found }
	if got = w.Translate()[0]; got.Service != nil || accepted(got.Status) != "False Invalid" {
		t.Errorf("a Service in the way: %v, %s", got.Service, accepted(got.Status))
	}
	live.OwnerReferences[0].UID = b.UID
	b.Spec.ServiceRef = ServiceRef{Name: live.Name, Port: intstr.FromInt32(80)}
	if got = w.Translate()[0]; accepted(got.Status) != "False Invalid" {
		t.Errorf("the Service of a binding: %s", accepted(got.Status))
	}
}

// TestRegistered: what the engine says of the Service is what is said of the binding, and never more.
func TestRegistered(t *testing.T) {
	t.Parallel()
	found := Found{Group: Group{ID: "sgp-1", Protocol: "tcp"}}
	synced := func(status metav1.ConditionStatus, reason string) []metav1.Condition {
		return []metav1.Condition{{Type: controller.ConditionSynced, Status: status, Reason: reason}}
	}
	for _, c := range []struct {
		name       string
		conditions []metav1.Condition
		weight     int32
		want       string
	}{
		{"not looked at", nil, 50, "Unknown Pending"},
		{"synced", synced(metav1.ConditionTrue, "Synced"), 50, "True Registered"},
		{"changing", synced(metav1.ConditionUnknown, "Changing"), 50, "Unknown Changing"},
		{"refused", synced(metav1.ConditionFalse, "Refused"), 50, "False Refused"},
		{"another weight is asked for", synced(metav1.ConditionTrue, "Synced"), 60, "Unknown Pending"},
	} {
		b := bindingFor(func(b *Binding) { b.Spec.Weight = new(int32(50)) })
		w, services := worldOf(found, b)
		live := w.Translate()[0].Service
		live.Status.Conditions = c.conditions
		services[ServiceName(b)] = live
		w.Filled = func(types.NamespacedName) *controller.Filled {
			return &controller.Filled{Count: 2, Servers: []string{"x", "y"}}
		}
		b.Spec.Weight = &c.weight
		s := w.Translate()[0].Status
		got := meta.FindStatusCondition(s.Conditions, ConditionRegistered)
		if text := fmt.Sprintf("%s %s", got.Status, got.Reason); text != c.want || s.ServerCount != 2 ||
			got.ObservedGeneration != 3 {
			t.Errorf("%s: %q with %d servers, want %q", c.name, text, s.ServerCount, c.want)
		}
	}
}

// TestLooksAgain: a group that is there is looked at once, one that isn't every five minutes, and a cloud that can't be
// asked soon again.
func TestLooksAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		answer func() (Group, shadow.Verdict, error)
		want   time.Duration
	}{
		{"there", func() (Group, shadow.Verdict, error) { return Group{ID: "sgp-1"}, shadow.Verdict{}, nil }, 0},
		{"not there", func() (Group, shadow.Verdict, error) {
			return Group{}, shadow.Refuse(ReasonServerGroupNotFound, "x"), nil
		},
			lookAgain},
		{"no answer", func() (Group, shadow.Verdict, error) { return Group{}, shadow.Verdict{}, context.DeadlineExceeded }, firstRetry},
	} {
		b := bindingFor()
		w, _ := worldOf(Found{}, b)
		asked := 0
		l := &looks{done: func() {}, room: make(chan struct{}, 1), found: map[types.UID]*look{},
			look: func(context.Context, ServerGroup) (Group, shadow.Verdict, error) { asked++; return c.answer() }}
		l.ask(t.Context(), w)
		l.wait()
		next := l.ask(t.Context(), w)
		if asked != 1 || next > c.want || next < c.want-time.Minute || (c.want == 0) != (next == 0) {
			t.Errorf("%s: asked %d times, and the next time in %s, want %s", c.name, asked, next, c.want)
		}
		b.Spec.ServerGroup.ID = "sgp-2"
		l.ask(t.Context(), w)
		l.wait()
		if asked != 2 {
			t.Errorf("%s: asked %d times for two server groups", c.name, asked)
		}
	}
}

// TestWhatABindingSaysOfItself: after a restart it is believed which server group was found, if that was for what the
// binding says now. What was found for another name counts for nothing.
func TestWhatABindingSaysOfItself(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		accepted   metav1.ConditionStatus
		generation int64
		group      *Group
		want       int // looks
	}{
		"of this generation":     {metav1.ConditionTrue, 3, &Group{ID: "sgp-1"}, 0},
		"of a generation before": {metav1.ConditionTrue, 2, &Group{ID: "sgp-1"}, 1},
		"refused":                {metav1.ConditionFalse, 3, &Group{ID: "sgp-1"}, 1},
		"without a server group": {metav1.ConditionTrue, 3, nil, 1},
	} {
		b := bindingFor(func(b *Binding) {
			b.Status = Status{ServerGroup: c.group, Conditions: []metav1.Condition{{Type: ConditionAccepted, Status: c.accepted,
				ObservedGeneration: c.generation}}}
		})
		w, _ := worldOf(Found{}, b)
		asked := 0
		l := &looks{done: func() {}, room: make(chan struct{}, 1), found: map[types.UID]*look{},
			look: func(context.Context, ServerGroup) (Group, shadow.Verdict, error) {
				asked++
				return Group{ID: "sgp-1"}, shadow.Verdict{}, nil
			}}
		l.ask(t.Context(), w)
		l.wait()
		if asked != c.want || l.foundOf(b).Group.ID != "sgp-1" {
			t.Errorf("%s: %d looks, found %+v", name, asked, l.foundOf(b))
		}
		if b.Spec.ServerGroup.ID = "sgp-2"; l.foundOf(b) != (Found{}) {
			t.Errorf("%s: found for another server group: %+v", name, l.foundOf(b))
		}
	}
}
