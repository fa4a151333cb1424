package nodestate

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/services/nodes"
)

// Labels and the tag that only this cloud has.
const (
	labelChargeType   = "node.alibabacloud.com/instance-charge-type"
	labelSpotStrategy = "node.alibabacloud.com/spot-strategy"
	labelNodePool     = "node.alibabacloud.com/nodepool-id"
	tagNodePool       = "ack.alibabacloud.com/nodepool-id"
)

// optional are the labels that an instance may lose the value of.
func optional() []string { return []string{labelChargeType, labelSpotStrategy, labelNodePool} }

// complete reports whether the answer about an instance has what every instance has, so that what it lacks is not there.
func complete(instance *ecsv1.Instance) bool {
	return instance.GetInstanceType() != "" && instance.GetZoneId() != "" && instance.GetRegionId() != ""
}

// managed gives the optional labels that we have set on a node.
func managed(node *corev1.Node) []string {
	keys := strings.Split(node.Annotations[nodes.AnnotationCloudLabels], ",")
	return slices.DeleteFunc(keys, func(key string) bool { return !slices.Contains(optional(), key) })
}

// manage decides about the optional labels: which to take off, and which are ours from now on. Only what we have set is ever taken off;
// a label that was there before may be that of a user or another tool.
func (c *Change) manage(node *corev1.Node, instance *ecsv1.Instance) {
	before := managed(node)
	wanted := labelsOf(instance)
	var after []string
	for _, key := range optional() {
		_, set := c.Labels[key]
		switch {
		case set || wanted[key] != "" && slices.Contains(before, key):
			after = append(after, key)
		case slices.Contains(before, key) && complete(instance):
			if _, has := node.Labels[key]; has {
				c.Unlabel = append(c.Unlabel, key)
			}
		case slices.Contains(before, key):
			after = append(after, key)
		}
	}
	if !slices.Equal(before, after) {
		c.Managed = new(strings.Join(after, ","))
	}
}

// labelsOf gives the labels that an instance's node has to have. What the cloud does not return is left out.
func labelsOf(instance *ecsv1.Instance) map[string]string {
	labels := map[string]string{
		corev1.LabelInstanceType:            instance.GetInstanceType(),
		corev1.LabelInstanceTypeStable:      instance.GetInstanceType(),
		corev1.LabelFailureDomainBetaZone:   instance.GetZoneId(),
		corev1.LabelTopologyZone:            instance.GetZoneId(),
		corev1.LabelFailureDomainBetaRegion: instance.GetRegionId(),
		corev1.LabelTopologyRegion:          instance.GetRegionId(),
		labelChargeType:                     chargeType(instance.GetChargeType()),
		labelSpotStrategy:                   instance.GetSpotStrategy(),
	}
	for _, tag := range instance.GetTags() {
		if tag.GetKey() == tagNodePool {
			labels[labelNodePool] = tag.GetValue()
		}
	}
	for key, value := range labels {
		if value == "" {
			delete(labels, key)
		}
	}
	return labels
}

// chargeType is the cloud's word, which is what labels have always had.
func chargeType(c commonv1.ChargeType) string {
	switch c {
	case commonv1.ChargeType_CHARGE_TYPE_POST_PAID:
		return "PostPaid"
	case commonv1.ChargeType_CHARGE_TYPE_PRE_PAID:
		return "PrePaid"
	case commonv1.ChargeType_CHARGE_TYPE_UNSPECIFIED:
	}
	return ""
}

// missing gives the wanted labels that differ.
func missing(have, want map[string]string) map[string]string {
	differ := map[string]string{}
	for key, value := range want {
		if have[key] != value {
			differ[key] = value
		}
	}
	return differ
}
