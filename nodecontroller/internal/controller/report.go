package controller

import "alicloud-controllers.dev/services/kube"

// Reasons of events, the same as those of the existing CCM where it has them.
const (
	eventInitialized  = "InitializedNode"  // Normal: the Node has its provider ID, addresses and labels and may run pods.
	eventSyncFailed   = "SyncNodeFailed"   // Warning: the Node can't be brought in step with its instance; it is tried again.
	eventDeleted      = "DeletedNode"      // Normal: the instance is gone and so is the Node.
	eventStopped      = "InstanceStopped"  // Normal: the instance is stopped, and the Node has the taint node.cloudprovider.kubernetes.io/shutdown.
	eventDeleteFailed = "DeleteNodeFailed" // Warning: the instance seems gone but the Node stays for now; the text says why.
)

func (c *Controller) nodeEvent(node, kind, reason, message string) {
	c.cfg.Recorder.Event(kube.NodeReference(node), kind, reason, message)
}
