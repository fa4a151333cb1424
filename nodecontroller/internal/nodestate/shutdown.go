package nodestate

import (
	corev1 "k8s.io/api/core/v1"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/services/nodes"
)

// States of an instance.
const (
	statusStopping = "Stopping"
	statusStopped  = "Stopped"
)

// shutdown taints the node of a stopped instance, and takes the taint off again once the instance is started or the kubelet is
// ready, whatever the cloud says. The taint goes though the option is off, for no other component would ever remove what the
// option has left behind.
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

// Stopping reports whether it is a matter of time until the instance of a node is stopped, so that the node has to be looked at again.
func Stopping(instance *ecsv1.Instance) bool { return instance.GetStatus() == statusStopping }

// MayBeShutDown reports whether it takes a look at the instance to know what is to become of the node's taint.
func MayBeShutDown(node *corev1.Node, opts Options) bool {
	return nodes.HasTaint(node, nodes.TaintShutdown) || opts.ShutdownTaint && nodes.Ready(node) != corev1.ConditionTrue
}
