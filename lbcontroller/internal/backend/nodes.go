package backend

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/services/nodes"
)

// Node is a node that carries traffic, or did so.
type Node struct {
	Name string
	// InstanceID is the ECS instance; empty for a virtual node, or if the providerID can't be read.
	InstanceID string
	// IP is the internal address; empty if the node doesn't say.
	IP string
	// Virtual nodes run pods that are reached directly, never through the node.
	Virtual bool
	// Zone is where the node is; empty if it doesn't say.
	Zone string
	// NotReady nodes stay where they are servers, and aren't made servers: the health checks of the load balancer decide about the traffic.
	NotReady bool
	// Leaving nodes are about to be deleted, or cordoned where that counts: they take no new connections.
	Leaving bool
	// Draining nodes are drained or maintained, or are about to be: their servers take no new connections until the node or the
	// pods are gone.
	Draining bool
}

// View selects nodes for a Service. It is comparable, so that Services that select alike share the work.
type View struct {
	// Labels are the labels a node must carry: key=value, sorted, joined by commas.
	Labels string
	// Schedulable leaves cordoned nodes out.
	Schedulable bool
}

// ViewOf makes a view.
func ViewOf(labels map[string]string, schedulable bool) View {
	items := make([]string, 0, len(labels))
	for k, v := range labels {
		items = append(items, k+"="+v)
	}
	slices.Sort(items)
	return View{Labels: strings.Join(items, ","), Schedulable: schedulable}
}

// entry is what a snapshot keeps of a node.
type entry struct {
	Node
	labels   map[string]string
	cordoned bool
}

// Set is a snapshot. It may be used by several goroutines.
type Set struct {
	entries []entry // in the order of instances
	// notReady are the names of nodes that are not ready, virtual ones apart.
	notReady map[string]bool

	mu    sync.Mutex
	views map[View]*selection
	// addresses are nil until somebody asks.
	addresses []string
}

// selection is what a view shows of a snapshot. It is made once for all Services that select alike: each looks at it in every pass.
type selection struct {
	byName map[string]Node
	// ready, notReady, leaving and draining are the nodes whose instance is known, each once and in order, as backends without a port and
	// a weight.
	ready, notReady, leaving, draining []Share
	virtual                            bool
}

// New takes a snapshot of the nodes that are not excluded, without those whose instance nodecontroller has found to be
// none of the cluster's: a kubelet alone says which instance its Node is. A virtual node needs neither to be ready nor
// to be included: it only says where its pods are.
func New(list []*corev1.Node) *Set { return newSet(list, func(*corev1.Node) bool { return false }) }

// NewDraining is New where conditions of nodes say that they are being drained.
func NewDraining(list []*corev1.Node) *Set { return newSet(list, nodes.Draining) }

func newSet(list []*corev1.Node, draining func(*corev1.Node) bool) *Set {
	s := &Set{views: map[View]*selection{}, notReady: map[string]bool{}}
	for _, n := range list {
		virtual, leaving := nodes.IsVirtual(n), nodes.HasTaint(n, nodes.TaintToBeDeleted)
		if virtual && leaving || !virtual && (nodes.ExcludedFromLoadBalancer(n) || nodes.Foreign(n)) {
			continue
		}
		e := entry{labels: n.Labels, cordoned: n.Spec.Unschedulable, Node: Node{
			Name: n.Name, Virtual: virtual, Zone: n.Labels[corev1.LabelTopologyZone], Leaving: leaving,
			NotReady: !virtual && nodes.Ready(n) != corev1.ConditionTrue, Draining: !virtual && draining(n),
		}}
		if id, ok := nodes.ParseProviderID(n.Spec.ProviderID); ok && !virtual {
			e.InstanceID, e.IP = id.InstanceID, internalIP(n)
		}
		if e.NotReady && !leaving {
			s.notReady[n.Name] = true
		}
		s.entries = append(s.entries, e)
	}
	slices.SortFunc(s.entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.InstanceID, b.InstanceID), cmp.Compare(a.Name, b.Name))
	})
	return s
}

// internalIP is the IPv4 address of a node within the VPC; empty if the node doesn't say.
func internalIP(n *corev1.Node) string {
	for _, a := range n.Status.Addresses {
		if ip, err := netip.ParseAddr(a.Address); a.Type == corev1.NodeInternalIP && err == nil && ip.Is4() {
			return a.Address
		}
	}
	return ""
}

// Addresses are the internal addresses of the nodes with an instance. The list is shared and must not be changed.
func (s *Set) Addresses() []string {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.addresses == nil {
		s.addresses = make([]string, 0, len(s.entries))
		for _, e := range s.entries {
			if e.IP != "" {
				s.addresses = append(s.addresses, e.IP)
			}
		}
	}
	return s.addresses
}

// WithoutControlPlane leaves out the nodes of the control plane, for clusters that want no traffic there.
func WithoutControlPlane(list []*corev1.Node) []*corev1.Node {
	return slices.DeleteFunc(slices.Clone(list), nodes.IsControlPlane)
}

// take returns the nodes that take traffic for a Service, at most MaxNodes of them if that isn't 0: always the same
// ones for a seed, spread over the zones; all of them are in the order of their instances. While there are fewer, those
// of notReady may go on being servers. The lists are shared and must not be changed.
func (s *Set) take(p Policy) (ready, notReady []Share) {
	selected := s.selection(p.Nodes)
	ready, notReady = p.known(selected.ready), p.known(selected.notReady)
	if len(ready) == 0 { // There is nobody to take the traffic of those that are drained.
		ready = p.known(selected.draining)
	}
	if p.MaxNodes == 0 {
		return ready, notReady
	}
	if ready = pick(ready, p.Seed, p.MaxNodes); len(ready) == p.MaxNodes {
		return ready, nil
	}
	return ready, notReady
}

// known leaves out the instances that the cloud doesn't have.
func (p Policy) known(list []Share) []Share {
	unknown := func(b Share) bool { return p.Unknown[b.Instance] }
	if len(p.Unknown) == 0 || !slices.ContainsFunc(list, unknown) {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), unknown)
}

// pick is subset for backends.
func pick(list []Share, seed string, n int) []Share {
	return subset(list, func(b *Share) (string, string, string) {
		if b.Instance != "" {
			return b.Instance, "", b.zone
		}
		return "", b.IP, b.zone
	}, seed, n)
}

// Select returns the nodes of a view by name. The result is shared and must not be changed.
func (s *Set) Select(v View) map[string]Node { return s.selection(v).byName }

func (s *Set) selection(v View) *selection {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.views[v]; ok {
		return known
	}
	made := &selection{byName: make(map[string]Node, len(s.entries))}
	for _, e := range s.entries {
		if !v.matches(e) {
			continue
		}
		n := e.Node
		n.Leaving = n.Leaving || v.Schedulable && e.cordoned
		made.byName[n.Name] = n
		list := &made.ready
		switch {
		case n.Virtual:
			made.virtual = made.virtual || !n.Leaving
			continue
		case n.Leaving:
			list = &made.leaving
		case n.InstanceID == "":
			continue
		case n.NotReady:
			list = &made.notReady
		case n.Draining:
			list = &made.draining
		}
		// Two Nodes may be of one instance.
		if last := len(*list) - 1; n.InstanceID != "" && (last < 0 || (*list)[last].Instance != n.InstanceID) {
			*list = append(*list, Share{Backend: Backend{Instance: n.InstanceID, IP: n.IP}, pods: 1, zone: n.Zone})
		}
	}
	s.views[v] = made
	return made
}

func (v View) matches(e entry) bool {
	if v.Labels == "" {
		return true
	}
	for item := range strings.SplitSeq(v.Labels, ",") {
		key, want, _ := strings.Cut(item, "=")
		if got, ok := e.labels[key]; !ok || got != want {
			return false
		}
	}
	return true
}

// Reporting gives the instances of at most so many nodes that are ready, but some: what the cloud has to know, if it knows anything.
func (s *Set) Reporting(most int, but []string) []string {
	var ids []string
	for _, e := range s.entries {
		if len(ids) == most {
			break
		}
		if id := e.InstanceID; id != "" && !e.NotReady && !e.Leaving && !e.Draining && !slices.Contains(but, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// HasVirtual reports whether any node of the view is virtual, which makes pods matter even where nodes carry the traffic.
func (s *Set) HasVirtual(v View) bool { return s.selection(v).virtual }

// Changed returns the names of the nodes whose part in the view differs between two snapshots.
func Changed(before, after *Set, v View) map[string]bool {
	a, b := before.Select(v), after.Select(v)
	changed := map[string]bool{}
	for name, n := range a {
		if b[name] != n {
			changed[name] = true
		}
	}
	for name := range maps.Keys(b) {
		if _, ok := a[name]; !ok {
			changed[name] = true
		}
	}
	return changed
}

// sameNodes compares lists of different nodes, in any order.
func sameNodes(a, b []Share) bool {
	if len(a) != len(b) {
		return false
	}
	had := make(map[Share]bool, len(a))
	for _, n := range a {
		had[n] = true
	}
	return !slices.ContainsFunc(b, func(n Share) bool { return !had[n] })
}
