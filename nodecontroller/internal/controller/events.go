package controller

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/services/kube"

	"alicloud-controllers.dev/nodecontroller/internal/nodestate"
)

// maxEvents bounds the events that one cause makes in one look.
const maxEvents = 20

// Reasons of events, the same as those of the existing CCM where it has them.
const (
	// Normal: the Node has its provider ID, addresses and labels and may run pods.
	eventInitialized = "InitializedNode"
	// Warning: the Node can't be brought in step with its instance; the text says what to do.
	eventSyncFailed = "SyncNodeFailed"
	// Warning: the serving certificate that the kubelet asks for is left to people; the text says why.
	eventUnapproved = "CertificateNotApproved"
	// Warning: a tag of the instance has a value that the Node can't have; the last good one stays.
	eventInvalidTag = "InvalidTag"
	// Normal: the Node is excluded and waits for its initialization, which is left to another component.
	eventExcluded = "ExcludedNode"
	// Warning: the Node waits for more than a minute for a change of its network interface.
	eventWaiting = "WaitingForCloud"
	// Normal: the instance is gone and so is the Node.
	eventDeleted = "DeletedNode"
	// Normal: the instance is stopped, and the Node has the taint node.cloudprovider.kubernetes.io/shutdown.
	eventStopped = "InstanceStopped"
	// Warning: the instance seems gone but the Node stays for now; the text says why.
	eventDeleteFailed = "DeleteNodeFailed"
)

func (c *Controller) normal(node, reason, message string) {
	c.events.Normal(kube.NodeReference(node), reason, message)
}

func (c *Controller) warn(node, reason, message string) {
	c.events.Warning(kube.NodeReference(node), reason, message)
}

func (c *Controller) fail(node, reason string, err error) {
	c.events.Failure(kube.NodeReference(node), reason, err)
}

// syncFailed warns about a node, unless its Node went or was made anew while the attempt was under way: the error is about the old one.
func (c *Controller) syncFailed(node *corev1.Node, err error) {
	if c.current(node) {
		c.fail(node.Name, eventSyncFailed, err)
	}
}

// reportTags says what of an instance its node can't have.
func (c *Controller) reportTags(node *corev1.Node, change nodestate.Change) {
	if len(change.Problems) == 0 {
		c.events.Resolve(kube.NodeReference(node.Name), eventInvalidTag)
		return
	}
	c.warn(node.Name, eventInvalidTag, strings.Join(change.Problems, "; ")+"; change it in the cloud")
}
