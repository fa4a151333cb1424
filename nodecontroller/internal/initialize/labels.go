package initialize

import (
	corev1 "k8s.io/api/core/v1"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
)

// Labels and the tag that only this cloud has.
const (
	labelChargeType   = "node.alibabacloud.com/instance-charge-type"
	labelSpotStrategy = "node.alibabacloud.com/spot-strategy"
	labelNodePool     = "node.alibabacloud.com/nodepool-id"
	tagNodePool       = "ack.alibabacloud.com/nodepool-id"
)

// labelsOf gives the labels that an instance's node has to have. What the cloud does not tell is left out, for a label is never
// removed: the answer may be incomplete.
func labelsOf(instance *ecsv1.Instance) map[string]string {
	labels := map[string]string{
		corev1.LabelInstanceType:            instance.GetInstanceType(),
		corev1.LabelInstanceTypeStable:      instance.GetInstanceType(),
		corev1.LabelFailureDomainBetaZone:   instance.GetZoneId(),
		corev1.LabelTopologyZone:            instance.GetZoneId(),
		corev1.LabelFailureDomainBetaRegion: instance.GetRegionId(),
		corev1.LabelTopologyRegion:          instance.GetRegionId(),
		labelChargeType:                     instance.GetChargeType(),
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
