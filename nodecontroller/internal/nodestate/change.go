package nodestate

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/services/nodes"

	"alicloud-controllers.dev/nodecontroller/internal/addresses"
)

// Reasons and messages of the condition NetworkUnavailable; the first pair is that of the existing CCM.
const (
	ReasonNoRoute   = "NoRouteCreated"
	messageNoRoute  = "Node created without a route"
	reasonNoRoutes  = "CloudRoutesOff"
	messageNoRoutes = "Cloud routes are not configured, the network plugin connects the pods"
)

// Options are the parts of the configuration that decisions depend on.
type Options struct {
	// CloudRoutes says that pods are reached by routes of the VPC, so that a new node has no network until it has its route.
	CloudRoutes bool
	// IPv6 publishes the IPv6 addresses of instances.
	IPv6 bool
	// ShutdownTaint taints nodes whose instances are stopped.
	ShutdownTaint bool
	// Rules say what becomes of the tags of instances.
	Rules []Rule
}

// Change is what to write to a node.
type Change struct {
	// Addresses replace the node's if AddressesDiffer.
	Addresses       []corev1.NodeAddress
	AddressesDiffer bool
	// Condition is set in the same write as the addresses, that is before the taint goes; its times are for the writer, but
	// for a transition that was earlier.
	Condition *corev1.NodeCondition
	// Labels are those to set, none of which the node has with that value.
	Labels map[string]string
	// Unlabel are the keys of the labels to take off: we have set them, and the cloud has no value for them any more.
	Unlabel []string
	// Annotate are annotations to set, and Unannotate those to take off, as for labels.
	Annotate   map[string]string
	Unannotate []string
	// Problems are values of the instance that the node can't have.
	Problems []string
	// InstanceAbsent replaces the annotation that names the instance which is gone; "" takes it off, nil leaves it as it is.
	InstanceAbsent *string
	// Managed replaces the annotation that names the labels of which we would do so; nil leaves it as it is.
	Managed *string
	// ProviderID is set if the node has none.
	ProviderID string
	// Untaint are the keys of the taints to remove, Taint the taints to add.
	Untaint []string
	Taint   []corev1.Taint
}

// Status reports whether the status subresource is to be written.
func (c Change) Status() bool { return c.AddressesDiffer || c.Condition != nil }

// Object reports whether the node itself is to be written.
func (c Change) Object() bool {
	return len(c.Labels)+len(c.Unlabel)+len(c.Annotate)+len(c.Unannotate) > 0 || c.Managed != nil || c.InstanceAbsent != nil ||
		c.ProviderID != "" || c.taints()
}

func (c Change) taints() bool { return len(c.Untaint) > 0 || len(c.Taint) > 0 }

// Empty reports whether nothing is to be written.
func (c Change) Empty() bool { return !c.Status() && !c.Object() }

// Tainted is the change without the removal of the taint of an uninitialised node, for a node that has to wait for something else.
func (c Change) Tainted() Change {
	c.Untaint = slices.DeleteFunc(slices.Clone(c.Untaint), func(key string) bool { return key == nodes.TaintUninitialized })
	return c
}

// Decide gives the change that makes a node agree with its instance.
func Decide(node *corev1.Node, instance *ecsv1.Instance, opts Options) (Change, error) {
	provided := node.Annotations[nodes.AnnotationProvidedIP]
	list, err := addresses.Of(instance, node.Status.Addresses, provided, opts.IPv6)
	if err != nil {
		return Change{}, err
	}
	change := Change{
		Condition: condition(node, opts),
	}
	if _, has := node.Annotations[nodes.AnnotationInstanceAbsent]; has {
		change.InstanceAbsent = new("")
	}
	change.manage(node, instance, opts)
	if nodes.Foreign(node) {
		change.Untaint = append(change.Untaint, nodes.TaintForeign)
	}
	if nodes.IsUninitialized(node) {
		change.Untaint = append(change.Untaint, nodes.TaintUninitialized)
		change.keepPodsOff(node, opts)
	}
	change.shutdown(node, instance, opts)
	// Every instance has an address in its network. Without one, the node would be cut off from the API server; it means
	// that the cloud has not given out addresses yet, or not returned them. A node whose kubelet has a --node-ip may leave
	// out that one.
	known := provided != "" || slices.ContainsFunc(list, func(a corev1.NodeAddress) bool { return a.Type == corev1.NodeInternalIP })
	if known && !slices.Equal(list, node.Status.Addresses) {
		change.Addresses, change.AddressesDiffer = list, true
	}
	if node.Spec.ProviderID == "" {
		if instance.GetRegionId() == "" {
			return Change{}, fmt.Errorf("the cloud returned no region for instance %s", instance.GetInstanceId())
		}
		change.ProviderID = nodes.ID{Region: instance.GetRegionId(), InstanceID: instance.GetInstanceId()}.String()
	}
	return change, nil
}

// MarkAbsent is the change that marks a node whose instance is gone though its kubelet reports.
func MarkAbsent(node *corev1.Node, instance string) Change {
	if node.Annotations[nodes.AnnotationInstanceAbsent] == instance {
		return Change{}
	}
	return Change{InstanceAbsent: &instance}
}

// keepPodsOff adds the taint that kube-controller-manager derives from the condition NetworkUnavailable. It does so only a moment
// after the taint of an uninitialised node is gone, and the scheduler would use that moment.
func (c *Change) keepPodsOff(node *corev1.Node, opts Options) {
	current, _ := nodes.Condition(node, corev1.NodeNetworkUnavailable)
	unavailable := c.Condition != nil && c.Condition.Status == corev1.ConditionTrue || current.Status == corev1.ConditionTrue
	if opts.CloudRoutes && !nodes.Excluded(node) && unavailable && !nodes.HasTaint(node, corev1.TaintNodeNetworkUnavailable) {
		c.Taint = append(c.Taint, corev1.Taint{Key: corev1.TaintNodeNetworkUnavailable, Effect: corev1.TaintEffectNoSchedule})
	}
}

// condition is the condition to set, nil for none. Pods must not land on a node before it has its route: the scheduler sees the
// condition from the moment the taint is gone.
func condition(node *corev1.Node, opts Options) *corev1.NodeCondition {
	current, exists := nodes.Condition(node, corev1.NodeNetworkUnavailable)
	switch {
	case opts.CloudRoutes && !nodes.Excluded(node) && nodes.IsUninitialized(node) && (!exists || current.Status == corev1.ConditionUnknown):
		return &corev1.NodeCondition{
			Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionTrue, Reason: ReasonNoRoute, Message: messageNoRoute,
		}
	case !opts.CloudRoutes && exists && current.Status == corev1.ConditionTrue && current.Reason == ReasonNoRoute:
		// Left over from the time when routes were configured; no other component would ever clear it.
		return &corev1.NodeCondition{
			Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionFalse, Reason: reasonNoRoutes, Message: messageNoRoutes,
		}
	default:
		return nil
	}
}

// StatusPatch is the strategic merge patch of the status: the whole list of addresses, and one condition.
func (c Change) StatusPatch(now metav1.Time) map[string]any {
	status := map[string]any{}
	if c.AddressesDiffer {
		// Without the directive the API server would merge addresses by type and lose all but one of each.
		var list []any
		for _, address := range c.Addresses {
			list = append(list, address)
		}
		status["addresses"] = append(list, map[string]any{"$patch": "replace"})
	}
	if c.Condition != nil {
		written := *c.Condition
		written.LastHeartbeatTime = now
		if written.LastTransitionTime.IsZero() {
			written.LastTransitionTime = now
		}
		status["conditions"] = []corev1.NodeCondition{written}
	}
	return map[string]any{"status": status}
}

// ObjectPatch is the strategic merge patch of the node that was read. A change of taints rewrites the list of all of them, so
// that patch holds only for the very version that was read.
func (c Change) ObjectPatch(node *corev1.Node) map[string]any {
	metadata, spec := map[string]any{}, map[string]any{}
	if len(c.Labels)+len(c.Unlabel) > 0 {
		labels := map[string]any{}
		for key, value := range c.Labels {
			labels[key] = value
		}
		for _, key := range c.Unlabel {
			labels[key] = nil // takes it off
		}
		metadata["labels"] = labels
	}
	annotations := map[string]any{}
	for key, value := range c.Annotate {
		annotations[key] = value
	}
	for _, key := range c.Unannotate {
		annotations[key] = nil
	}
	for key, value := range map[string]*string{nodes.AnnotationCloudLabels: c.Managed, nodes.AnnotationInstanceAbsent: c.InstanceAbsent} {
		switch {
		case value == nil:
		case *value == "":
			annotations[key] = nil // takes it off
		default:
			annotations[key] = *value
		}
	}
	if len(annotations) > 0 {
		metadata["annotations"] = annotations
	}
	if c.ProviderID != "" {
		spec["providerID"] = c.ProviderID
	}
	if c.taints() {
		metadata["resourceVersion"] = node.ResourceVersion
		kept := slices.DeleteFunc(slices.Clone(node.Spec.Taints), func(t corev1.Taint) bool { return slices.Contains(c.Untaint, t.Key) })
		// The node may have got a taint since it was decided about, and the API server refuses one that is there twice.
		missing := slices.DeleteFunc(slices.Clone(c.Taint), func(t corev1.Taint) bool {
			return slices.ContainsFunc(kept, func(k corev1.Taint) bool { return k.Key == t.Key })
		})
		spec["taints"] = append(kept, missing...)
	}
	patch := map[string]any{}
	if len(metadata) > 0 {
		patch["metadata"] = metadata
	}
	if len(spec) > 0 {
		patch["spec"] = spec
	}
	return patch
}
