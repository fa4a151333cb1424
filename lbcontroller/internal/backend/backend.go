package backend

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"alicloud-controllers.dev/lbcontroller/internal/readiness"
)

// Mode says what the backends of a Service are.
type Mode int

// The modes.
const (
	// Cluster: every node, on the node port.
	Cluster Mode = iota
	// Local: the nodes that run a ready pod, on the node port, weighted by their number of pods.
	Local
	// Pods: the pods themselves, on their own port, through their network interfaces.
	Pods
)

const (
	maxWeight = 100
	minWeight = 1
	// shownNames bounds the lists in warnings.
	shownNames = 5
)

// Backend is what takes traffic: a node by its instance, or a pod by its address.
type Backend struct {
	// Instance is the ECS instance of a node; empty for a pod.
	Instance string
	// IP is the address of a pod, or the internal one of a node, which may be empty.
	IP   string
	Port int32
}

// Policy is what a Service says about its backends.
type Policy struct {
	Mode  Mode
	Nodes View
	// Total is the weight that all backends have together, in server groups that are shared with others; nil for none.
	Total *int32
	// Each is the weight of every backend, where pods don't decide; nil for the most.
	Each *int32
	// Seed makes the choice of a Service its own, where not all backends are taken.
	Seed string
	// MaxNodes is how many nodes are taken in mode Cluster, and Limit how many backends in any mode; 0 for all.
	MaxNodes, Limit int
	// Drain keeps pods that terminate without new connections until they are gone.
	Drain bool
	// IPv6 takes the IPv6 addresses of pods instead of the IPv4 ones.
	IPv6 bool
	// Unknown are instances that the cloud doesn't have.
	Unknown map[string]bool
}

// Source is what the cluster says about the backends of a Service.
type Source struct {
	Slices []*discoveryv1.EndpointSlice
	Nodes  *Set
	// Gated are the pods that may wait for the load balancer before they are ready.
	Gated readiness.Pods
}

// Choice is the backends that take the traffic of a port.
type Choice struct {
	// nodes take traffic on port, with weight. Services that select alike share the list.
	nodes        []Share
	port, weight int32
	// inOrder reports that nodes are in the order of their instances.
	inOrder bool
	// shares are the other backends.
	shares []Share
	// Draining lose their weight if they are servers, and Staying are left as they are. No backend becomes a server for that.
	Draining, Staying map[Backend]bool
	// KeepLast says that nodes decide which backends there are, or that nothing is known of the port. That there is none of them left is a
	// fault and no reason to remove the last.
	KeepLast bool
	// Nobody says that pods decide which backends there are, and that the Service certainly has none.
	Nobody bool
	// Most is how many backends there may be together with those that stay; 0 for any number.
	Most int
	// Left is how many backends are left out because of Limit.
	Left int
}

// Share is a backend and its weight.
type Share struct {
	Backend
	Weight int32
	// pods is for how many pods it stands, and zone where it is.
	pods int32
	zone string
}

// Len is how many backends there are.
func (c Choice) Len() int { return len(c.nodes) + len(c.shares) }

// All are the backends, each once. Nodes are in the order of their instances unless only some are taken.
func (c Choice) All() iter.Seq[Share] {
	return func(yield func(Share) bool) {
		for _, b := range c.nodes {
			if b.Port, b.Weight = c.port, c.weight; !yield(b) {
				return
			}
		}
		for _, b := range c.shares {
			if !yield(b) {
				return
			}
		}
	}
}

// Nodes are the instances of nodes if only these are chosen, in order; they have one port and one weight. The list is
// shared and must not be changed.
func (c Choice) Nodes() (instances []Share, port, weight int32, only bool) {
	return c.nodes, c.port, c.weight, c.inOrder && len(c.shares) == 0
}

// apart returns the choice with no list that others share.
func (c Choice) apart() Choice {
	c.shares, c.nodes = slices.AppendSeq(make([]Share, 0, c.Len()), c.All()), nil
	return c
}

// Choose decides which backends take the traffic of a port.
func (s Source) Choose(p Policy, port corev1.ServicePort) Choice {
	c := s.choice(p, port)
	if p.Mode == Cluster && p.MaxNodes > 0 {
		c.Most = p.MaxNodes + len(c.shares)
	}
	if p.Limit > 0 && c.Len() > p.Limit {
		c = c.apart()
		c.Left = len(c.shares) - p.Limit
		c.shares = pick(c.shares, p.Seed, p.Limit)
	}
	if p.Limit > 0 && (c.Most == 0 || p.Limit < c.Most) {
		c.Most = p.Limit
	}
	if len(c.Draining)+len(c.Staying) > 0 {
		for b := range c.All() {
			delete(c.Draining, b.Backend)
			delete(c.Staying, b.Backend)
		}
	}
	switch {
	case p.Total != nil:
		c = c.apart()
		divide(*p.Total, c.shares)
	case p.Mode == Local:
		normalise(c.shares)
	default:
		c.weight = value(p.Each, maxWeight)
		for i := range c.shares {
			c.shares[i].Weight = c.weight
		}
		if p.Mode == Pods {
			s.weigh(port, c.weight, c.shares)
		}
	}
	return c
}

// choice returns the backends of a port, without weights. What stays although it takes no traffic any more is part of it.
func (s Source) choice(p Policy, port corev1.ServicePort) Choice {
	selected := s.Nodes.selection(p.Nodes)
	c := Choice{Draining: map[Backend]bool{}, Staying: map[Backend]bool{}, KeepLast: p.Mode == Cluster,
		Nobody: p.Mode != Cluster && s.isEmpty()}
	if p.Mode == Cluster {
		s.addNodes(&c, p, port, selected)
		if !selected.virtual {
			return c
		}
	}
	pods, at := s.endpoints(p, port), placement{p, port, selected}
	c.KeepLast = c.KeepLast || pods.unnamed || p.Mode == Local && len(pods.taking) > 0
	c.addPods(pods, at)
	if len(s.Nodes.notReady) == 0 {
		return c
	}
	// What a node reports of its pods is no better than what it reports of itself.
	for _, e := range slices.Concat(pods.taking, pods.ending, pods.down) {
		if b, _, ok := at.of(e); ok && s.Nodes.notReady[e.node] {
			c.Staying[b] = true
		}
	}
	return c
}

// addNodes adds nodes that take the traffic for all pods.
func (s Source) addNodes(c *Choice, p Policy, port corev1.ServicePort, selected *selection) {
	ready, notReady := s.Nodes.take(p)
	c.nodes, c.port, c.inOrder = ready, port.NodePort, p.MaxNodes == 0
	for _, b := range notReady {
		c.Staying[Backend{Instance: b.Instance, IP: b.IP, Port: port.NodePort}] = true
	}
	drains := selected.draining
	if p.Drain {
		drains = slices.Concat(drains, selected.leaving)
	}
	for _, b := range drains {
		c.Draining[Backend{Instance: b.Instance, IP: b.IP, Port: port.NodePort}] = true
	}
}

// addPods adds where the traffic goes for each pod. Pods of nodes that are drained go on taking traffic if no others do.
func (c *Choice) addPods(pods endpoints, at placement) {
	drains := slices.ContainsFunc(pods.taking, func(e endpoint) bool {
		_, n, ok := at.of(e)
		return ok && at.serves(n) && !n.Draining
	})
	index := map[Backend]int{}
	for _, e := range pods.taking {
		b, n, ok := at.of(e)
		if !ok {
			continue
		}
		drained := drains && n.Draining
		if drained || at.Mode == Local && n.Leaving && at.Drain {
			c.Draining[b] = true
		}
		if !at.serves(n) || drained {
			continue
		}
		i, present := index[b]
		if !present {
			i = len(c.shares)
			index[b], c.shares = i, append(c.shares, Share{Backend: b, zone: n.Zone})
		}
		c.shares[i].pods++
	}
	for _, e := range pods.ending {
		if b, _, ok := at.of(e); ok && at.Drain {
			c.Draining[b] = true
		}
	}
}

// placement says where the traffic for a pod goes.
type placement struct {
	Policy
	port corev1.ServicePort
	*selection
}

// of is the backend for a pod, and its node; not ok if it has none.
func (p placement) of(e endpoint) (b Backend, n Node, ok bool) {
	n, ok = p.byName[e.node]
	switch {
	case p.Mode == Pods:
		return onPod(e), n, true
	case ok && n.Virtual:
		return onPod(e), n, e.ip != "" && !n.Leaving
	case ok && p.Mode == Local && n.InstanceID != "" && !p.Unknown[n.InstanceID]:
		return onNode(n, p.port), n, true
	}
	return Backend{}, n, false
}

// serves reports whether pods of a node take traffic.
func (p placement) serves(n Node) bool { return p.Mode != Local || !n.NotReady && !n.Leaving }

func onNode(n Node, port corev1.ServicePort) Backend {
	return Backend{Instance: n.InstanceID, IP: n.IP, Port: port.NodePort}
}

func onPod(e endpoint) Backend { return Backend{IP: e.ip, Port: e.port} }

// divide gives every share a part of the total, and at least the least weight unless the total is zero.
func divide(total int32, shares []Share) {
	var sum int64
	for _, s := range shares {
		sum += int64(s.pods)
	}
	for i, s := range shares {
		shares[i].Weight = min(total, max(minWeight, int32(int64(total)*int64(s.pods)/sum)))
	}
}

// normalise scales numbers of pods down to the weights the cloud knows, without dropping any share to zero.
func normalise(shares []Share) {
	most := int32(maxWeight)
	for _, s := range shares {
		most = max(most, s.pods)
	}
	for i, s := range shares {
		shares[i].Weight = max(minWeight, int32(int64(s.pods)*maxWeight/int64(most)))
	}
}

// Warnings names the nodes that would be backends if their instance were known, and what else keeps backends away: the nodes with pods of
// the Service where only these are backends, and else any if there is no other.
func (s Source) Warnings(p Policy) []string {
	if p.Mode == Pods {
		return s.familyWarning(p)
	}
	selected := s.Nodes.selection(p.Nodes)
	hosts := s.hosts()
	if p.Mode == Cluster {
		if ready, notReady := s.Nodes.take(p); len(ready)+len(notReady) > 0 {
			return nil // One bad node would have every Service say so: the event is the node's own.
		}
		hosts = maps.Keys(selected.byName)
	}
	var unnamed, unknown []string
	for name := range hosts {
		switch n, ok := selected.byName[name]; {
		case !ok || n.Virtual || n.Leaving:
		case n.InstanceID == "":
			unnamed = append(unnamed, name)
		case p.Unknown[n.InstanceID]:
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unnamed)
	slices.Sort(unknown)
	var warnings []string
	warn := func(names []string, why, next string) {
		if len(names) > 0 {
			warnings = append(warnings, fmt.Sprintf("%d nodes are left out because %s: %s; %s", len(names), why,
				strings.Join(names[:min(len(names), shownNames)], ", "), next))
		}
	}
	warn(unnamed, "spec.providerID is not region.instanceId", "see the events of these nodes")
	warn(unknown, "the cloud has no such instance in this region", "delete the Nodes whose instances are released")
	return warnings
}

// hosts are the names of the nodes on which pods of the Service run, each once.
func (s Source) hosts() iter.Seq[string] {
	names := map[string]bool{}
	for _, slice := range s.Slices {
		for _, e := range slice.Endpoints {
			if e.NodeName != nil {
				names[*e.NodeName] = true
			}
		}
	}
	return maps.Keys(names)
}

// familyWarning says so if pods have addresses, but none of the family that is taken.
func (s Source) familyWarning(p Policy) []string {
	other := 0
	for _, slice := range s.Slices {
		switch {
		case len(slice.Endpoints) == 0:
		case slice.AddressType == p.family():
			return nil
		default:
			other += len(slice.Endpoints)
		}
	}
	switch {
	case other == 0:
		return nil
	case p.IPv6:
		return []string{
			fmt.Sprintf(
				"%d pods are left out because they have no IPv6 address; remove annotation backend-ip-version, or add IPv6 to spec.ipFamilies", other)}
	default:
		return []string{
			fmt.Sprintf(
				"%d pods are left out because they have no IPv4 address; set the annotations ip-version and backend-ip-version "+
					"to ipv6, or add IPv4 to spec.ipFamilies", other)}
	}
}

func (p Policy) family() discoveryv1.AddressType {
	if p.IPv6 {
		return discoveryv1.AddressTypeIPv6
	}
	return discoveryv1.AddressTypeIPv4
}
