package nodestate

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/services/nodes"
)

// States of an instance.
const (
	statusStopping = "Stopping"
	statusStopped  = "Stopped"
)

// shutdown taints the node of a stopped instance, and takes the taint off again once the instance is started or the
// kubelet is ready (ReadyAgain does so without an answer of the cloud). The taint goes though the option is off, for no
// other component would ever remove what the option has left behind.
func (c *Change) shutdown(node *corev1.Node, instance *ecsv1.Instance, opts Options) {
	tainted := nodes.HasTaint(node, nodes.TaintShutdown)
	ready := nodes.Ready(node) == corev1.ConditionTrue
	status := instance.GetStatus()
	switch {
	case tainted && (ready || status != "" && status != statusStopped):
		c.Untaint = append(c.Untaint, nodes.TaintShutdown)
	case !tainted && !ready && status == statusStopped && opts.ShutdownTaint:
		c.Taint = append(c.Taint, corev1.Taint{Key: nodes.TaintShutdown, Effect: corev1.TaintEffectNoSchedule})
	}
}

// ReadyAgain is the change that takes the taint of a stopped instance off a node whose kubelet is ready: nobody has to
// ask the cloud for that.
func ReadyAgain(node *corev1.Node) Change {
	if !nodes.HasTaint(node, nodes.TaintShutdown) || nodes.Ready(node) != corev1.ConditionTrue {
		return Change{}
	}
	return Change{Untaint: []string{nodes.TaintShutdown}}
}

// Release is the change that takes off a node what the controller has put there and goes with the instance's state or
// tags. It is for a node that leaves the controller's hands: nobody else would ever take it off.
func Release(node *corev1.Node, opts Options) Change {
	var change Change
	for _, key := range []string{nodes.TaintShutdown, nodes.TaintForeign} {
		if nodes.HasTaint(node, key) {
			change.Untaint = append(change.Untaint, key)
		}
	}
	if _, has := node.Annotations[nodes.AnnotationInstanceAbsent]; has {
		change.InstanceAbsent = new("")
	}
	w := wantedOf(nil, opts.Rules)
	var kept []string
	before := w.managed(node)
	for _, entry := range before {
		if slices.Contains(optional(), entry) {
			kept = append(kept, entry)
		} else if has, _ := w.there(node, entry); has {
			change.unset(entry)
		}
	}
	if !slices.Equal(before, kept) {
		change.Managed = new(strings.Join(kept, ","))
	}
	return change
}

// Stopping reports whether it is a matter of time until the instance of a node is stopped, so that the node has to be looked at again.
func Stopping(instance *ecsv1.Instance) bool { return instance.GetStatus() == statusStopping }

// MayBeShutDown reports whether it takes a look at the instance to know what is to become of the node's taint.
func MayBeShutDown(node *corev1.Node, opts Options) bool {
	return nodes.HasTaint(node, nodes.TaintShutdown) || opts.ShutdownTaint && nodes.Ready(node) != corev1.ConditionTrue
}
