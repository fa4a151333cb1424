package desired

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/backend"
	"alicloud-controllers.dev/lbcontroller/internal/clb/model"
)

// policy is what the Service says about its backends.
func (b *builder) policy() backend.Policy {
	p := backend.Policy{Mode: b.view.Mode, Nodes: b.view.Nodes, Each: b.number(annotation.DefaultWeight)}
	if len(b.mapped) > 0 {
		p.Total = b.number(annotation.Weight)
	}
	return p
}

// groupName names the vServer group of a port: a user's by its id, if one is to be filled.
func (b *builder) groupName(port corev1.ServicePort) string {
	if id := b.mapped[port.Port]; id != "" {
		return id
	}
	return b.ownName(port)
}

// ownName is the same for ports that share their backends, such as TCP and UDP on one node port.
func (b *builder) ownName(port corev1.ServicePort) string {
	if b.view.Mode != backend.Pods {
		return b.owner.Group(strconv.Itoa(int(port.NodePort)))
	}
	target := backend.TargetPort(port)
	return b.owner.Group(target.String())
}

// former are the names of the groups of the Service's ports in the other modes.
func (b *builder) former() []string {
	var names []string
	for _, port := range b.view.Service.Spec.Ports {
		target := backend.TargetPort(port)
		for _, name := range []string{b.owner.Group(strconv.Itoa(int(port.NodePort))), b.owner.Group(target.String())} {
			if name != b.ownName(port) {
				names = append(names, name)
			}
		}
	}
	return names
}

func (b *builder) groups() []model.Group {
	byName, filled := map[string]model.Group{}, map[string]string{}
	for i, port := range b.view.Service.Spec.Ports {
		if b.view.Mode != backend.Pods && port.NodePort == 0 {
			b.problem("spec.ports[%d].nodePort: missing; nodes as backends need it, set spec.allocateLoadBalancerNodePorts to true or annotation %s to eni", i, annotation.BackendType)
			continue
		}
		name, description := b.groupName(port), b.ownName(port)
		if other, done := filled[name]; done {
			if other != description {
				b.misfit(annotation.VGroupPort, "a vServer group of its own for each port: "+name+" is named for two that have different backends")
			}
			continue
		}
		filled[name] = description
		byName[name] = model.Group{
			ID: b.mapped[port.Port], Name: name, Servers: b.servers(description, port),
			KeepWeights: b.keepWeights || b.values.On(annotation.IgnoreWeightUpdate), OnlyRemove: b.keepChoice,
		}
	}
	groups := make([]model.Group, 0, len(byName))
	for _, g := range byName {
		groups = append(groups, g)
	}
	slices.SortFunc(groups, func(a, b model.Group) int { return strings.Compare(a.Name, b.Name) })
	return groups
}

// servers returns the backends of a port. The network interfaces of pods are left open.
func (b *builder) servers(description string, port corev1.ServicePort) []model.Server {
	set := map[model.ServerKey]model.Server{}
	for be, weight := range b.source.Backends(b.policy(), port) {
		key := model.ServerKey{Type: slbv1.ServerType_SERVER_TYPE_ENI, IP: be.IP, Port: be.Port}
		if be.Instance != "" {
			key = model.ServerKey{Type: slbv1.ServerType_SERVER_TYPE_ECS, ID: be.Instance, Port: be.Port}
		}
		set[key] = model.Server{ServerKey: key, Weight: weight, Description: description}
	}
	return model.SortedServers(set)
}
