package desired

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/backend"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
)

// policy is what the Service says about its backends.
func (b *Builder) policy() backend.Policy {
	p := b.View.Policy()
	p.Each, p.Limit, p.Unknown = b.Number(annotation.DefaultWeight), b.limit, b.unknown
	return p
}

// policyFor is policy for the backends of a port: those in a group that is shared with others have a weight together.
func (b *Builder) policyFor(port corev1.ServicePort) backend.Policy {
	p := b.policy()
	if b.mapped[port.Port] != "" {
		p.Total = b.Number(annotation.Weight)
	}
	return p
}

// shape is what the server group of the port of an index is. The kind is asked once for all ports: it may have to look at
// all of them, and at annotations with an item for each.
func (b *Builder) shape(index int) Shape {
	if b.shapes == nil {
		b.shapes = b.kind.Shapes(b)
	}
	return b.shapes[index]
}

// GroupName names the server group of the port of an index: a user's by its id, if one is to be filled.
func (b *Builder) GroupName(index int) string {
	if id := b.mapped[b.View.Service.Spec.Ports[index].Port]; id != "" {
		return id
	}
	return b.ownName(index)
}

// ownName is the same for ports that share their backends, such as TCP and UDP on one node port.
func (b *Builder) ownName(index int) string {
	port, shape := b.View.Service.Spec.Ports[index], b.shape(index)
	if b.View.Mode != backend.Pods {
		return b.mark(strconv.Itoa(int(port.NodePort)), shape)
	}
	target := backend.TargetPort(port)
	return b.mark(target.String(), shape)
}

// mark names what is made for a port. By a dotted name TCP and UDP on one node port share nothing.
func (b *Builder) mark(name string, shape Shape) string {
	if b.DottedNames {
		return b.Owner.Dotted(cmp.Or(shape.Ports, name), shape.Protocol)
	}
	return b.Owner.Group(name)
}

// former are the names of the groups of the Service's ports in the other modes.
func (b *Builder) former() []string {
	var names []string
	for i, port := range b.View.Service.Spec.Ports {
		target, shape, own := backend.TargetPort(port), b.shape(i), b.ownName(i)
		for _, name := range []string{b.mark(strconv.Itoa(int(port.NodePort)), shape), b.mark(target.String(), shape)} {
			if name != own {
				names = append(names, name)
			}
		}
	}
	return names
}

// mappedNames are the names of the groups of the ports that annotation vgroup-port still maps to server groups of a
// user's load balancer that the Service names no more. A group that is mapped to ports with different backends has
// none.
func (b *Builder) mappedNames() map[string]string {
	if b.Reuse.ID != "" {
		return nil
	}
	var names map[string]string
	for _, p := range b.Values.Pairs(annotation.VGroupPort) {
		for i, port := range b.View.Service.Spec.Ports {
			if number, err := ParsePort(p.Value); err != nil || number != port.Port {
				continue
			}
			if names == nil {
				names = map[string]string{}
			}
			name := b.ownName(i)
			if other, twice := names[p.Key]; twice && other != name {
				name = ""
			}
			names[p.Key] = name
		}
	}
	return names
}

func (b *Builder) groups() []model.Group {
	keepWeights := b.keepWeights || b.Values.On(annotation.IgnoreWeightUpdate)
	byName, filled, first := map[string]model.Group{}, map[string]string{}, map[string]int32{}
	for i, port := range b.View.Service.Spec.Ports {
		if b.refused[i] != "" {
			continue
		}
		if b.View.Mode != backend.Pods && port.NodePort == 0 {
			b.Problem(
				"spec.ports[%d].nodePort: missing; nodes as backends need it, set spec.allocateLoadBalancerNodePorts to true or "+
					"annotation %s to eni", i, annotation.BackendType)
			continue
		}
		name, description := b.GroupName(i), b.ownName(i)
		if other, done := filled[name]; done {
			if other != description {
				b.Misfit(annotation.VGroupPort, "a server group of its own for each port: "+name+" is named for two that have different backends")
			}
			if config := byName[name].Config; config != nil && !proto.Equal(config, b.shape(i).Config) {
				b.refuseShared(name, first[name], port.Port)
			}
			continue
		}
		filled[name], first[name] = description, port.Port
		shape := b.shape(i)
		group, left := b.group(description, port, shape)
		group.ID, group.Name = b.mapped[port.Port], name
		if group.ID == "" {
			group.Shape, group.Config = shape.Fixed, shape.Config
		}
		group.KeepWeights, group.OnlyRemove = keepWeights, b.keepChoice
		byName[name] = group
		b.left = max(b.left, left)
	}
	groups := make([]model.Group, 0, len(byName))
	for _, g := range byName {
		groups = append(groups, g)
	}
	if g := b.kind.BuiltIn(b, groups); g != nil {
		g.BuiltIn, g.KeepWeights, g.OnlyRemove = true, keepWeights, b.keepChoice
		groups = append(groups, *g)
	}
	slices.SortFunc(groups, func(a, b model.Group) int { return strings.Compare(a.Name, b.Name) })
	return groups
}

// refuseShared refuses values for one port of what a server group has to which another port leads, too: it can have one only.
func (b *Builder) refuseShared(name string, one, other int32) {
	for _, spec := range b.Parser.Table() {
		isOfGroup := spec.Scope == annotation.Group || spec.Scope == annotation.Health
		if isOfGroup && !b.Values.Same(spec.Key, one, other) {
			b.Problem("annotation %s: ports %d and %d can't have different values, since both lead to server group %s; give them the same "+
				"value, or a targetPort each", b.Values.Name(spec.Key), one, other, name)
		}
	}
}

// group returns the servers of a port, and how many are left out because the cloud takes no more. The network
// interfaces of pods are left open.
func (b *Builder) group(description string, port corev1.ServicePort, shape Shape) (g model.Group, left int) {
	policy := b.policyFor(port)
	if policy.Mode == backend.Pods && b.View.dual {
		policy.IPv6 = false
		g, left = b.groupOf(policy, description, port, shape)
		policy.IPv6 = true
		more, leftToo := b.groupOf(policy, description, port, shape)
		g.Servers = slices.SortedFunc(slices.Values(slices.Concat(g.Servers, more.Servers)), model.Server.Compare)
		g.Draining, g.Staying = joinedKeys(g.Draining, more.Draining), joinedKeys(g.Staying, more.Staying)
		return g, left + leftToo
	}
	return b.groupOf(policy, description, port, shape)
}

func joinedKeys(a, b map[model.ServerKey]bool) map[model.ServerKey]bool {
	if a == nil {
		return b
	}
	maps.Copy(a, b)
	return a
}

func (b *Builder) groupOf(policy backend.Policy, description string, port corev1.ServicePort, shape Shape) (g model.Group, left int) {
	choice := b.source.Choose(policy, port)
	return model.Group{
		Servers: shape.serversOf(choice, description, b.lists), Draining: shape.serverKeys(choice.Draining),
		Staying:  shape.serverKeys(choice.Staying),
		KeepLast: choice.KeepLast, Most: choice.Most, Nobody: choice.Nobody,
	}, choice.Left
}

// serversOf returns the servers that take the traffic of a port, in order.
func (shape Shape) serversOf(choice backend.Choice, description string, lists *model.Lists) []model.Server {
	servers := lists.Make(choice.Len())
	// All that most Services have, and a thousand of them.
	if nodes, port, weight, only := choice.Nodes(); only && !shape.Addresses && shape.Ports == "" {
		for i := range nodes {
			s := &servers[i]
			s.Type, s.ID, s.Port, s.Weight, s.Description = model.ECS, nodes[i].Instance, port, weight, description
		}
		return servers
	}
	i := 0
	for b := range choice.All() {
		servers[i] = model.Server{ServerKey: shape.serverKey(b.Backend), Weight: b.Weight, Description: description}
		if !shape.Addresses || b.IP != "" { // A node may not have said its address yet.
			i++
		}
	}
	servers = servers[:i:i]
	slices.SortFunc(servers, model.Server.Compare)
	return servers
}

func (shape Shape) serverKey(be backend.Backend) model.ServerKey {
	port := be.Port
	if shape.Ports != "" {
		port = 0
	}
	switch {
	case shape.Addresses:
		return model.ServerKey{Type: model.IP, ID: be.IP, IP: be.IP, Port: port}
	case be.Instance != "":
		return model.ServerKey{Type: model.ECS, ID: be.Instance, Port: port}
	}
	return model.ServerKey{Type: model.ENI, IP: be.IP, Port: port}
}

func (shape Shape) serverKeys(backends map[backend.Backend]bool) map[model.ServerKey]bool {
	if len(backends) == 0 {
		return nil
	}
	keys := make(map[model.ServerKey]bool, len(backends))
	for be := range backends {
		keys[shape.serverKey(be)] = true
	}
	return keys
}
