package nodestate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/services/nodes"
)

// young is how long a Node counts as new, so that its instance has to prove more than that of one in service.
const young = 10 * time.Minute

// unnamed is the id of every cluster whose configuration gave the existing CCM none. It says nothing about tags.
const unnamed = "clusterid"

// Home is what the instances of a cluster have in common.
type Home struct {
	// VPCs are where they may be, that of the cluster first.
	VPCs []string
	// Tag is the key of the tag whose value is the id of an instance's cluster. Of a cluster without an id of its own the value does not
	// count.
	Tag, ClusterID string
}

// Foreign says why an instance is none of the cluster's, and what to do; "" if nothing says so. The kubelet alone says
// which instance a Node is, so that without this question its word would be enough to change the network interface of
// any instance of the account.
//
// An instance of a Node that is in service for long, and does not join now, may carry the tag of the cluster that it
// was in before, and be in another VPC where no routes have to lead to it.
func (h Home) Foreign(joins bool, instance *ecsv1.Instance, opts Options) string {
	if vpc := instance.GetVpcId(); (joins || opts.CloudRoutes) && vpc != "" && !slices.Contains(h.VPCs, vpc) {
		return fmt.Sprintf("instance %s of spec.providerID is in %s, and the cluster is in %s: nothing in the cloud is changed for it. "+
			"If it is the wrong one, start the kubelet with the right --provider-id and delete the Node; if nodes may be in %s, "+
			"name that in nodeVPCIDs",
			instance.GetInstanceId(), vpc, strings.Join(h.VPCs, ", "), vpc)
	}
	if !joins || h.ClusterID == "" || h.ClusterID == unnamed {
		return ""
	}
	for _, tag := range instance.GetTags() {
		if tag.GetKey() == h.Tag && tag.GetValue() != "" && tag.GetValue() != h.ClusterID {
			return fmt.Sprintf("instance %s of spec.providerID has tag %s=%s, and this is cluster %s: nothing in the cloud is changed for it. "+
				"If it is the wrong one, start the kubelet with the right --provider-id and delete the Node; else give the instance the tag %s=%s, or "+
				"take the tag off", instance.GetInstanceId(), h.Tag, tag.GetValue(), h.ClusterID, h.Tag, h.ClusterID)
		}
	}
	return ""
}

// Joins reports whether a node was not in service yet, as far as is known.
func Joins(node *corev1.Node, now time.Time) bool {
	return nodes.IsUninitialized(node) || nodes.Foreign(node) || now.Sub(node.CreationTimestamp.Time) < young
}

// Claims reports whether a node says that it is an instance, and does not keep out of the controller's hands.
func Claims(node *corev1.Node) bool {
	_, ok := nodes.ParseProviderID(node.Spec.ProviderID)
	return ok && !nodes.Excluded(node) && !nodes.IsVirtual(node)
}

// Contains reports whether an instance is where those of the cluster are.
func (h Home) Contains(instance *ecsv1.Instance) bool {
	return slices.Contains(h.VPCs, instance.GetVpcId())
}

// Refused is the change that marks a node whose instance is foreign.
func Refused(node *corev1.Node) Change {
	if nodes.Foreign(node) {
		return Change{}
	}
	return Change{Taint: []corev1.Taint{{Key: nodes.TaintForeign, Effect: corev1.TaintEffectNoSchedule}}}
}
