package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/proto/rpcerr"
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
	// Warning: a tag of the instance has a value that the Node can't have, or somebody else has set what it would set; what is there stays.
	eventInvalidTag = "InvalidTag"
	// Normal: the Node is excluded and waits for its initialization, which is left to another component.
	eventExcluded = "ExcludedNode"
	// Warning: the Node waits for more than a minute for a change of its network interface.
	eventWaiting = "WaitingForCloud"
	// Normal: the source/destination check of the Node's network interface was on again, and was switched off.
	eventCheckOff = "SourceDestCheckDisabled"
	// Warning: another Node is the same instance; the text says which to delete.
	eventDuplicate = "DuplicateNode"
	// Warning: the cloud is about to reboot, move, stop or release the Node's instance; the text says when.
	eventMaintenance = "MaintenancePlanned"
	// Warning: what the cloud plans for instances can't be read; the text says why.
	eventMaintenanceUnread = "MaintenanceUnread"
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

// reportUnread says on the cluster that the instances of its nodes can't be read, which is about no single node.
func (c *Controller) reportUnread(err error) {
	about := &corev1.ObjectReference{APIVersion: "v1", Kind: "Namespace", Name: metav1.NamespaceSystem}
	c.metrics.read(err)
	if err == nil {
		c.events.Resolve(about, eventSyncFailed)
		return
	}
	if _, wait := rpcerr.RetryAfter(err); !wait && !errors.Is(err, context.Canceled) {
		c.events.Failure(about, eventSyncFailed,
			fmt.Errorf("the instances of nodes can't be read: no node is initialised, kept in step or deleted: %w", err))
	}
}

// reportTags says what of an instance its node can't have.
func (c *Controller) reportTags(node *corev1.Node, change nodestate.Change) {
	if len(change.Problems) == 0 {
		c.events.Resolve(kube.NodeReference(node.Name), eventInvalidTag)
		return
	}
	c.warn(node.Name, eventInvalidTag, strings.Join(change.Problems, "; "))
}
