package lb_test

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
	"alicloud-controllers.dev/lbcontroller/internal/nlb"
)

// oracle looks at the cloud between any two changes that the controller makes, of both kinds of load balancers, and tells what must never
// be: that somebody may connect whom neither the Service as it was nor as it is admits; that a listener with a serving server has none,
// while its Service has one; that something is changed that isn't ours by its tags and its name. What people do in the console, or a
// test, is theirs.
type oracle struct {
	w      *world
	report func(format string, args ...any)

	mu sync.Mutex // guards what follows, which the API server's reactions use; it is locked after the cloud
	// last are the listeners after the last change.
	last map[doorKey]door
	// pasts are the Services as they were while what the controller does now may come from it, the newest last.
	pasts map[string][]*corev1.Service
	// since are when they were first seen.
	since map[*corev1.Service]time.Time
	// born are the Services that there ever were, by the default name of their load balancers.
	born map[string]*corev1.Service
	// gone is when there was none of a name any more.
	gone map[string]time.Time
	// worded are those whose access was last restricted by annotations, by UID.
	worded map[string]bool
	// sound are the servers that could take traffic, as it was until then.
	sound    []soundness
	calls    int // writes
	lastCall time.Time
}

// doorKey names a listener, as 80/tcp, 80/http, or 80-90/udp, of a load balancer.
type doorKey struct{ loadBalancer, port string }

// door is a listener.
type door struct {
	service   string   // whose it is, by its description or the load balancer's mark; "" for nobody's
	open      uint32   // who may connect: a bit for each of callers
	servers   []string // that take traffic: ids of instances, and addresses
	redirects bool
}

// caller is somebody who connects: from an address, by way of the internet or of the VPC.
type caller struct {
	internet bool
	address  netip.Addr
}

func (c caller) String() string {
	if c.internet {
		return c.address.String() + " by way of the internet"
	}
	return c.address.String() + " by way of the VPC"
}

// callers are those for whom the oracle tries each listener. Tests restrict the access to some of their networks.
var callers = func() (all []caller) {
	for _, address := range []string{"10.9.9.9", "192.0.2.9", "198.51.100.9", "203.0.113.9", "172.16.9.9", "2001:db8::9", "2400:3200::9"} {
		for _, internet := range []bool{false, true} {
			all = append(all, caller{internet, netip.MustParseAddr(address)})
		}
	}
	return all
}()

// soundness is which servers could take traffic until a moment.
type soundness struct {
	until time.Time
	sound map[string]bool
}

// settled is how long after a change, the last call and the last event that a cache was late with nothing is under way any more that comes
// from before: changes of nodes are gathered for less.
const settled = 8 * time.Second

// watchOver lets an oracle watch a world. What it finds fails the test.
func watchOver(w *world) *oracle {
	o := &oracle{w: w, pasts: map[string][]*corev1.Service{}, since: map[*corev1.Service]time.Time{}, born: map[string]*corev1.Service{},
		gone: map[string]time.Time{}, worded: map[string]bool{}}
	o.report = func(format string, args ...any) { w.t.Errorf("oracle: "+format, args...) }
	w.oracle = o
	w.cloud.OnWrite(o.calling)
	w.cloud.Sim.Watch(&openapisim.Watcher{
		Changed: func(*state.Cloud) { o.changed() },
		ByHand: func(*state.Cloud) {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.last = o.look()
		},
	})
	return o
}

// written is told that the API server is about to write an object.
func (o *oracle) written(resource string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.isQuiet() {
		o.sound = slices.DeleteFunc(o.sound, func(s soundness) bool { return time.Since(s.until) > settled })
	}
	switch resource {
	case "services":
		o.remember(true)
	case "nodes", "endpointslices":
		o.sound = append(o.sound, soundness{time.Now(), o.soundNow()})
	}
}

// isQuiet reports whether nothing is under way any more.
func (o *oracle) isQuiet() bool {
	return time.Since(o.lastCall) > settled && o.w.cloud.Underway() == 0 && o.w.trailing.isOver(settled)
}

// listOf are the objects of a resource.
func listOf[L runtime.Object](o *oracle, resource schema.GroupVersionResource, kind string) L {
	list, err := o.w.kube.Tracker().List(resource, resource.GroupVersion().WithKind(kind), "")
	if err != nil {
		panic(err) // The tracker knows these kinds.
	}
	typed, ok := list.(L)
	if !ok {
		panic(fmt.Sprintf("%T", list))
	}
	return typed
}

// remember takes down the Services as they are. Before one is changed, while nothing is under way, what it was before that is forgotten.
func (o *oracle) remember(forget bool) {
	there := map[string]*corev1.Service{}
	list := listOf[*corev1.ServiceList](o, serviceResource(), "Service")
	for i := range list.Items {
		svc := &list.Items[i]
		there[svc.Namespace+"/"+svc.Name] = svc
	}
	quiet := forget && o.isQuiet()
	for _, key := range slices.Sorted(maps.Keys(there)) {
		svc, past := there[key], o.pasts[key]
		o.born[ownership.DefaultName(string(svc.UID))] = svc
		if opened := word(svc, annotation.ACLStatus) == "off" || word(svc, annotation.SecurityGroupIDs) == "none"; restricts(svc) {
			o.worded[string(svc.UID)] = !opened
		} else if opened || len(svc.Spec.LoadBalancerSourceRanges) > 0 {
			o.worded[string(svc.UID)] = false
		}
		if n := len(past); n == 0 || !asksTheSame(past[n-1], svc) {
			past = append(past, svc)
			o.since[svc] = time.Now()
		}
		for quiet && len(past) > 1 && time.Since(o.since[past[1]]) > settled {
			delete(o.since, past[0])
			past = past[1:]
		}
		o.pasts[key] = past
	}
	for key, past := range o.pasts {
		switch {
		case there[key] != nil:
		case past[len(past)-1] != nil:
			o.pasts[key] = append(past, nil)
			o.gone[key] = time.Now()
		case quiet && time.Since(o.gone[key]) > settled:
			o.pasts[key] = []*corev1.Service{nil}
		}
	}
}

func asksTheSame(a, b *corev1.Service) bool {
	asked := func(svc *corev1.Service) map[string]string {
		notes := maps.Clone(svc.Annotations)
		maps.DeleteFunc(notes, func(key, _ string) bool {
			return !strings.HasPrefix(key, annotation.Prefix) && key != annotation.BackendType
		})
		return notes
	}
	return a != nil && a.UID == b.UID && (a.DeletionTimestamp == nil) == (b.DeletionTimestamp == nil) &&
		maps.Equal(asked(a), asked(b)) && apiequality.Semantic.DeepEqual(a.Spec, b.Spec)
}

// changed compares the cloud with what it was.
func (o *oracle) changed() {
	o.mu.Lock()
	defer o.mu.Unlock()
	before, now := o.last, o.look()
	o.last, o.lastCall = now, time.Now()
	remember := sync.OnceFunc(func() { o.remember(false) })
	for key, d := range now {
		gained := d.open &^ before[key].open
		if gained != 0 {
			remember()
		}
		for i, c := range callers {
			if gained&(1<<i) != 0 && !o.admitted(d.service, key.loadBalancer, c) {
				o.report("who may connect: %s to %s of %s, which is of %q; no version of the Service admits him",
					c, key.port, key.loadBalancer, d.service)
				break
			}
		}
	}
	for key, had := range before {
		if has, there := now[key]; len(had.servers) > 0 && len(has.servers) == 0 && !has.redirects {
			remember()
			if server := o.mustServe(key, had); server != "" {
				o.report("who serves: %s of %s, which is of %q, had %v and has none (there: %t), but %s could serve",
					key.port, key.loadBalancer, had.service, had.servers, there, server)
			}
		}
	}
}

// admitted reports whether a Service, as it is or was, lets somebody connect; the state is locked.
func (o *oracle) admitted(service, loadBalancer string, c caller) bool {
	return slices.ContainsFunc(o.pasts[service], func(svc *corev1.Service) bool {
		return svc != nil && svc.DeletionTimestamp == nil && svc.Spec.Type == corev1.ServiceTypeLoadBalancer &&
			o.admits(svc, c, o.hasEIPByHand(loadBalancer))
	})
}

func word(svc *corev1.Service, suffix string) string {
	return svc.Annotations[annotation.Prefix+suffix]
}

// restricts reports whether annotations of its kind restrict the access to the load balancer of a Service.
func restricts(svc *corev1.Service) bool {
	if ofNLB(svc) {
		return word(svc, annotation.SecurityGroupIDs) != ""
	}
	return word(svc, annotation.ACLStatus) == "on" || word(svc, annotation.ACLID) != ""
}

// accessWords reports whether annotations, of either kind, are meant to restrict the access.
func accessWords(svc *corev1.Service) bool {
	return word(svc, annotation.ACLStatus) == "on" || word(svc, annotation.ACLID) != "" || word(svc, annotation.SecurityGroupIDs) != ""
}

// ofNLB reports whether a Service asks for an NLB.
func ofNLB(svc *corev1.Service) bool {
	return svc.Spec.LoadBalancerClass != nil && *svc.Spec.LoadBalancerClass == nlb.Class ||
		svc.Annotations[annotation.LoadBalancerType] == "nlb"
}

// hasEIPByHand reports whether people have given a load balancer an EIP: then it is they who let the internet in.
func (o *oracle) hasEIPByHand(loadBalancer string) bool {
	for _, e := range o.w.cloud.Eips {
		if e.InstanceID == loadBalancer && !o.hasMarks(e.Tags) {
			return true
		}
	}
	return false
}

// admits reports whether a Service lets somebody connect.
func (o *oracle) admits(svc *corev1.Service, c caller, isPublic bool) bool {
	isNLB := ofNLB(svc)
	inside := word(svc, annotation.AddressType) == "intranet"
	if isNLB && c.address.Is6() {
		inside = word(svc, annotation.IPv6AddressType) != "internet"
	}
	hasEIP := isPublic || word(svc, annotation.EIPID)+word(svc, annotation.EIPAllocate)+word(svc, annotation.ExternalIPType) != ""
	if c.internet && inside && !hasEIP && word(svc, annotation.ID) == "" {
		return false
	}
	if ranges := svc.Spec.LoadBalancerSourceRanges; len(ranges) > 0 {
		return slices.ContainsFunc(ranges, func(text string) bool {
			network, err := netip.ParsePrefix(strings.TrimSpace(text))
			return err == nil && network.Contains(c.address)
		})
	}
	switch {
	case isNLB && word(svc, annotation.SecurityGroupIDs) == "none", !isNLB && word(svc, annotation.ACLStatus) == "off":
		return true
	case isNLB && word(svc, annotation.SecurityGroupIDs) != "":
		return o.throughGroups(strings.Split(word(svc, annotation.SecurityGroupIDs), ","), c.address)
	case !isNLB && word(svc, annotation.ACLStatus) == "on":
		return o.throughLists(strings.Split(word(svc, annotation.ACLID), ","), word(svc, annotation.ACLType), c.address)
	}
	// The absence of a word opens nothing, where there was one.
	return !accessWords(svc) && !o.worded[string(svc.UID)]
}

// mustServe finds a server that could take traffic at a listener that has none any more, and had one; "" if that is as it should be. The
// state is locked.
func (o *oracle) mustServe(key doorKey, had door) string {
	past := o.pasts[had.service]
	if len(past) == 0 || slices.Contains(past, nil) || slices.ContainsFunc(past, func(svc *corev1.Service) bool {
		return !o.asksFor(svc, key)
	}) {
		return ""
	}
	sound := append(slices.Clone(o.sound), soundness{time.Now(), o.soundNow()})
	for _, server := range had.servers {
		if !slices.ContainsFunc(sound, func(s soundness) bool {
			return !s.sound[server] || slices.ContainsFunc(past, func(svc *corev1.Service) bool { return !canServe(svc, s.sound) })
		}) {
			return server
		}
	}
	return ""
}

// canServe reports whether a Service takes instances of nodes, or has ready pods, by what is sound.
func canServe(svc *corev1.Service, sound map[string]bool) bool {
	if word(svc, annotation.BackendLabel) != "" || word(svc, annotation.BackendIPVersion) != "" {
		return false
	}
	if svc.Spec.ExternalTrafficPolicy != corev1.ServiceExternalTrafficPolicyLocal && svc.Annotations[annotation.BackendType] != "eni" {
		return true
	}
	return slices.ContainsFunc(slices.Collect(maps.Keys(sound)), func(server string) bool { return strings.HasPrefix(server, svc.Name+" ") })
}

// asksFor reports whether a Service asks for a listener, and for servers that take traffic. One that is gone may be replaced by that of
// another protocol.
func (o *oracle) asksFor(svc *corev1.Service, key doorKey) bool {
	number, protocol, _ := strings.Cut(key.port, "/")
	id := word(svc, annotation.ID)
	switch {
	case svc.DeletionTimestamp != nil, svc.Annotations[annotation.Class] != "", svc.Spec.Type != corev1.ServiceTypeLoadBalancer,
		strings.HasPrefix(key.loadBalancer, "nlb-") != ofNLB(svc),
		id != "" && (id != key.loadBalancer || word(svc, annotation.ForceOverride) == ""),
		id == "" && ownership.DefaultName(string(svc.UID)) != o.markOf(key.loadBalancer),
		word(svc, annotation.ForwardPort) != "", word(svc, annotation.Weight) != "", word(svc, annotation.DefaultWeight) == "0",
		word(svc, annotation.VGroupPort) != "":
		return false
	}
	return slices.ContainsFunc(svc.Spec.Ports, func(p corev1.ServicePort) bool {
		wanted := strings.ToLower(string(p.Protocol))
		for item := range strings.SplitSeq(word(svc, annotation.ProtocolPort), ",") {
			if name, port, _ := strings.Cut(strings.TrimSpace(item), ":"); port == fmt.Sprint(p.Port) {
				wanted = name
			}
		}
		return fmt.Sprint(p.Port) == number && wanted == protocol
	})
}

// soundNow are the servers that could take traffic: the instances of ready nodes that nothing is said against, and the addresses of
// ready pods.
func (o *oracle) soundNow() map[string]bool {
	sound := map[string]bool{}
	for _, n := range listOf[*corev1.NodeList](o, corev1.SchemeGroupVersion.WithResource("nodes"), "Node").Items {
		ready := slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		})
		excluded := slices.ContainsFunc(slices.Collect(maps.Keys(n.Labels)), func(key string) bool {
			return strings.Contains(key, "exclude") || key == "type"
		})
		if ready && !excluded && n.DeletionTimestamp == nil && !n.Spec.Unschedulable && len(n.Spec.Taints) == 0 {
			sound[n.Spec.ProviderID[strings.LastIndexByte(n.Spec.ProviderID, '.')+1:]] = true
		}
	}
	slicesResource := discoveryv1.SchemeGroupVersion.WithResource("endpointslices")
	for _, slice := range listOf[*discoveryv1.EndpointSliceList](o, slicesResource, "EndpointSlice").Items {
		for _, e := range slice.Endpoints {
			if e.Conditions.Ready == nil || *e.Conditions.Ready {
				sound[slice.Labels[discoveryv1.LabelServiceName]+" "+e.Addresses[0]] = true
			}
		}
	}
	return sound
}

// hasMarks reports whether tags are those of a Service of this cluster, be it there or not.
func (o *oracle) hasMarks(tags []state.Tag) bool {
	marks := map[string]string{}
	for _, t := range tags {
		marks[t.Key] = t.Value
	}
	_, reused := marks[ownership.TagReused]
	cluster, hasCluster := marks[ownership.TagCluster]
	isKnown := o.born[marks[ownership.TagService]] != nil // What an old version has made has no mark of the cluster.
	return marks[ownership.TagService] != "" && !reused && (hasCluster && cluster == clusterID || !hasCluster && isKnown)
}

// isName reports whether a text is a name or a description that the controller gives.
func isName(text string) bool {
	owner, made := ownership.MadeFor(text)
	return made && owner.ClusterID == clusterID
}

// isListName reports whether a list of networks or a security group has the name that the controller gives it for its tags.
func isListName(name string, tags []state.Tag) bool {
	for _, t := range tags {
		if t.Key == ownership.TagService && (name == "k8s-clb-"+t.Value || name == "k8s-nlb-"+t.Value) {
			return true
		}
	}
	return false
}

// calling judges a write by what it is about, as that is now.
func (o *oracle) calling(method string, request proto.Message) {
	o.w.cloud.Look(func(*state.Cloud) { o.judge(method, request) })
}

// judge is calling; the cloud is locked.
func (o *oracle) judge(method string, request proto.Message) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.calls++
	o.lastCall = time.Now()
	if o.notOurs(request) == "" {
		return
	}
	o.remember(false)
	if why := o.notOurs(request); why != "" {
		o.report("whose it is: %s %s: %s", method, requestText(request), why)
	}
}

// silently lets an oracle keep what it finds, for tests that plant faults, in place of failing.
func (o *oracle) silently() *[]string {
	said := &[]string{}
	o.report = func(format string, args ...any) { *said = append(*said, fmt.Sprintf(format, args...)) }
	return said
}
