package desired

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/backend"
	"alicloud-controllers.dev/lbcontroller/internal/clb/model"
)

// Mode tells who the backends are.
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

// ModeOf returns the mode of a Service. Pod backends beat the traffic policy.
func ModeOf(cfg Config, svc *corev1.Service) Mode {
	pods := cfg.PodBackends
	if v := svc.Annotations[annotation.BackendType]; v != "" {
		pods = v == "eni"
	}
	switch {
	case pods:
		return Pods
	case svc.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal:
		return Local
	default:
		return Cluster
	}
}

// ViewOf returns which nodes a Service selects.
func ViewOf(svc *corev1.Service) backend.View {
	values, _ := annotation.Parse(svc.Annotations) // Problems are reported when the Service is built.
	return viewOf(values)
}

func viewOf(values annotation.Values) backend.View {
	labels := map[string]string{}
	for _, p := range values.Pairs(annotation.BackendLabel) {
		labels[p.Key] = p.Value
	}
	return backend.ViewOf(labels, values.On(annotation.RemoveUnscheduled))
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
	if b.mode != Pods {
		return b.owner.Group(strconv.Itoa(int(port.NodePort)))
	}
	target := targetPort(port)
	return b.owner.Group(target.String())
}

// targetPort is the port's own number unless another is given.
func targetPort(port corev1.ServicePort) intstr.IntOrString {
	if port.TargetPort.Type == intstr.Int && port.TargetPort.IntVal == 0 {
		return intstr.FromInt32(port.Port)
	}
	return port.TargetPort
}

func (b *builder) groups() []model.Group {
	view := b.Nodes.Select(viewOf(b.values))
	byName, filled := map[string]model.Group{}, map[string]string{}
	for i, port := range b.Service.Spec.Ports {
		if b.mode != Pods && port.NodePort == 0 {
			b.problem("spec.ports[%d].nodePort: missing; nodes as backends need it, set spec.allocateLoadBalancerNodePorts to true or annotation %s to eni", i, annotation.BackendType)
			continue
		}
		name, description := b.groupName(port), b.ownName(port)
		if other, done := filled[name]; done {
			if other != description {
				b.misfitMapping("a vServer group of its own for each port: " + name + " is named for two that have different backends")
			}
			continue
		}
		filled[name] = description
		byName[name] = model.Group{
			ID: b.mapped[port.Port], Name: name, Servers: b.servers(description, port, view), KeepWeights: b.values.On(annotation.IgnoreWeightUpdate),
		}
	}
	b.warnUnusable(view)
	groups := make([]model.Group, 0, len(byName))
	for _, g := range byName {
		groups = append(groups, g)
	}
	slices.SortFunc(groups, func(a, b model.Group) int { return strings.Compare(a.Name, b.Name) })
	return groups
}

// servers returns the backends of a port.
func (b *builder) servers(description string, port corev1.ServicePort, view map[string]backend.Node) []model.Server {
	set := map[model.ServerKey]model.Server{}
	for key, weight := range b.weights(b.shares(port, view)) {
		set[key] = model.Server{ServerKey: key, Weight: weight, Description: description}
	}
	return model.SortedServers(set)
}

// shares returns the backends of a port, and for how many pods each of them stands where that matters.
func (b *builder) shares(port corev1.ServicePort, view map[string]backend.Node) map[model.ServerKey]int32 {
	shares := map[model.ServerKey]int32{}
	switch b.mode {
	case Cluster:
		for _, n := range view {
			if n.InstanceID != "" {
				shares[instanceKey(n, port)] = 1
			}
		}
		for _, e := range b.endpoints(port) {
			if n, ok := view[e.node]; ok && n.Virtual {
				shares[podKey(e)] = 1
			}
		}
	case Local:
		for _, e := range b.endpoints(port) {
			switch n, ok := view[e.node]; {
			case ok && n.Virtual:
				shares[podKey(e)] = 1
			case ok && n.InstanceID != "":
				shares[instanceKey(n, port)]++
			}
		}
	case Pods:
		for _, e := range b.endpoints(port) {
			shares[podKey(e)] = 1
		}
	}
	return shares
}

// weights turns shares into weights: parts of the weight that the Service has in vServer groups it shares with others, numbers of
// pods, or the same for all.
func (b *builder) weights(shares map[model.ServerKey]int32) map[model.ServerKey]int32 {
	if total, ok := b.values.Number(annotation.Weight); ok && len(b.mapped) > 0 {
		return divide(total, shares)
	}
	if b.mode == Local {
		return normalise(shares)
	}
	weight, ok := b.values.Number(annotation.DefaultWeight)
	if !ok {
		weight = maxWeight
	}
	for key := range shares {
		shares[key] = weight
	}
	return shares
}

// divide gives everyone a part of the total, and at least the least weight unless the total is zero.
func divide(total int32, shares map[model.ServerKey]int32) map[model.ServerKey]int32 {
	var sum int64
	for _, n := range shares {
		sum += int64(n)
	}
	for key, n := range shares {
		shares[key] = min(total, max(minWeight, int32(int64(total)*int64(n)/sum)))
	}
	return shares
}

// normalise scales numbers of pods down to the weights the cloud knows, without dropping anyone to zero.
func normalise(pods map[model.ServerKey]int32) map[model.ServerKey]int32 {
	var most int32
	for _, n := range pods {
		most = max(most, n)
	}
	if most <= maxWeight {
		return pods
	}
	for key, n := range pods {
		pods[key] = max(minWeight, int32(int64(n)*maxWeight/int64(most)))
	}
	return pods
}

func instanceKey(n backend.Node, port corev1.ServicePort) model.ServerKey {
	return model.ServerKey{Type: slbv1.ServerType_SERVER_TYPE_ECS, ID: n.InstanceID, Port: port.NodePort}
}

// podKey leaves the network interface open: it is looked up later.
func podKey(e endpoint) model.ServerKey {
	return model.ServerKey{Type: slbv1.ServerType_SERVER_TYPE_ENI, IP: e.ip, Port: e.port}
}

// warnUnusable names nodes that would be backends if their instance were known.
func (b *builder) warnUnusable(view map[string]backend.Node) {
	if b.mode == Pods {
		return
	}
	var names []string
	for _, n := range view {
		if !n.Virtual && n.InstanceID == "" {
			names = append(names, n.Name)
		}
	}
	if len(names) == 0 {
		return
	}
	slices.Sort(names)
	b.warn("%d nodes are left out because spec.providerID is not region.instanceId: %s", len(names), strings.Join(names[:min(len(names), shownNames)], ", "))
}
