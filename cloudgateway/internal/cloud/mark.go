package cloud

import (
	"strings"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"

	"alicloud-controllers.dev/cloudgateway/internal/config"
)

// MarkOf gives the tags that a name stands for, where the cloud shows no tags: "k8s-", the id of the cluster, and a
// hyphen with anything but hyphens behind it says whose the resource is.
func MarkOf(name string) []*commonv1.Tag {
	rest, ours := strings.CutPrefix(name, "k8s-")
	end := strings.LastIndex(rest, "-")
	if !ours || end <= 0 || end == len(rest)-1 {
		return nil
	}
	return []*commonv1.Tag{{Key: config.ClusterTag, Value: rest[:end]}}
}
