package cs

import (
	"maps"
	"slices"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/ecs"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
)

// The versions that new clusters can have, and the container runtime of nodes. Which of them the cloud has changes every few months.
const (
	newest         = "1.34.1-aliyun.1"
	older          = "1.33.3-aliyun.1"
	runtimeName    = "containerd"
	runtimeVersion = "2.1.5"
)

// describeVersions lists the versions that can be made, and with the mode "supported" also those of the clusters that there are. A version
// that is named is found in either.
func describeVersions(c *api.Context) (any, *api.Error) {
	if c.Get("Region") != c.Region {
		return nil, api.NotFound("InvalidRegionId.NotFound", "The specified RegionId does not exist.")
	}
	creatable := []string{newest, older}
	all := map[string]bool{newest: true, older: true}
	if c.Has("KubernetesVersion") || strings.EqualFold(c.Get("Mode"), "supported") {
		for _, k := range c.State.Clusters {
			all[k.Version] = true
		}
	}
	out := []api.Object{}
	for _, version := range slices.Backward(slices.Sorted(maps.Keys(all))) {
		if listing.Match(c.Get("KubernetesVersion"), version) {
			out = append(out, api.Object{
				"version", version, "creatable", slices.Contains(creatable, version), "release_date", "", "expiration_date", "",
				"images", images(c.Get("runtime")), "runtimes", []api.Object{{"name", runtimeName, "version", runtimeVersion}},
				"capabilities", api.Object{}, "meta_data", api.Object{},
			})
		}
	}
	return out, nil
}

// images are those public ones that ACK makes nodes of, with a runtime or, if none is named, any.
func images(runtime string) []api.Object {
	var out []api.Object
	for _, i := range ecs.PublicImages() {
		if i.Platform != "Aliyun" || !listing.Match(runtime, runtimeName) {
			continue
		}
		kind := "AliyunLinux3"
		if i.Architecture == "arm64" {
			kind = "AliyunLinux3Arm64"
		}
		out = append(out, api.Object{
			"image_id", i.ID, "image_name", i.Name, "image_type", kind, "platform", "AliyunLinux", "os_type", "Linux", "os_version", "3",
			"image_category", "system", "architecture", i.Architecture,
		})
	}
	return out
}
