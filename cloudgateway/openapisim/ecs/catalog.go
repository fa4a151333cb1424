package ecs

import (
	"cmp"
	"slices"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
)

// The architectures of processors. Images and instance types spell the first one differently.
const (
	x86   = "X86"
	arm   = "ARM"
	x64   = "x86_64"
	arm64 = "arm64"
)

// instanceSize is what an instance type offers. Figures of the families are those that the cloud publishes.
type instanceSize struct {
	name         string
	architecture string
	cores        int
	gibibytes    int
	interfaces   int // the primary one included
	ips          int // per interface, of each family
	bandwidth    int // kbit/s
	packets      int // per second
}

// catalog is what is on sale: four families of the seventh and eighth generation, by family and size.
func catalog() []instanceSize {
	sizes := []instanceSize{
		{"large", "", 2, 0, 3, 6, 2_048_000, 900_000},
		{"xlarge", "", 4, 0, 4, 15, 3_072_000, 1_000_000},
		{"2xlarge", "", 8, 0, 4, 15, 5_120_000, 1_600_000},
		{"4xlarge", "", 16, 0, 8, 30, 10_240_000, 3_000_000},
		{"8xlarge", "", 32, 0, 8, 30, 16_384_000, 6_000_000},
	}
	var all []instanceSize
	for _, f := range []struct {
		name, architecture string
		perCore            int
	}{{"ecs.c7", x86, 2}, {"ecs.g7", x86, 4}, {"ecs.g8y", arm, 4}, {"ecs.r7", x86, 8}} {
		for _, s := range sizes {
			s.name, s.architecture, s.gibibytes = f.name+"."+s.name, f.architecture, f.perCore*s.cores
			all = append(all, s)
		}
	}
	return append(all, older()...)
}

// older are types of earlier generations, and of entry-level families, which are sold in small sizes.
func older() []instanceSize {
	var all []instanceSize
	for _, f := range []struct {
		name    string
		perCore int
	}{{"ecs.c6", 2}, {"ecs.g6", 4}, {"ecs.r6", 8}, {"ecs.sn1ne", 2}, {"ecs.sn2ne", 4}} {
		for _, s := range []instanceSize{
			{"large", x86, 2, 0, 2, 6, 1_024_000, 300_000}, {"xlarge", x86, 4, 0, 3, 10, 1_536_000, 500_000},
			{"2xlarge", x86, 8, 0, 4, 10, 2_560_000, 800_000},
		} {
			s.name, s.gibibytes = f.name+"."+s.name, f.perCore*s.cores
			all = append(all, s)
		}
	}
	return append(all,
		instanceSize{"ecs.e-c1m1.large", x86, 2, 2, 2, 2, 204_800, 300_000},
		instanceSize{"ecs.e-c1m2.large", x86, 2, 4, 2, 2, 204_800, 300_000},
		instanceSize{"ecs.n4.small", x86, 1, 2, 2, 2, 512_000, 50_000},
		instanceSize{"ecs.n4.large", x86, 2, 4, 2, 2, 512_000, 100_000},
		instanceSize{"ecs.s6-c1m1.small", x86, 1, 1, 2, 2, 81_920, 100_000},
		instanceSize{"ecs.s6-c1m2.small", x86, 1, 2, 2, 2, 81_920, 100_000},
		instanceSize{"ecs.t5-lc1m1.small", x86, 1, 1, 2, 2, 204_800, 60_000},
		instanceSize{"ecs.t5-lc1m2.small", x86, 1, 2, 2, 2, 204_800, 60_000},
		instanceSize{"ecs.t6-c1m1.large", x86, 2, 2, 2, 2, 81_920, 40_000},
		instanceSize{"ecs.t6-c1m2.large", x86, 2, 4, 2, 2, 81_920, 40_000},
		instanceSize{"ecs.u1-c1m2.large", x86, 2, 4, 2, 6, 1_024_000, 300_000},
		instanceSize{"ecs.u1-c1m4.large", x86, 2, 8, 2, 6, 1_024_000, 300_000},
	)
}

// sizeOf is the size of an instance type. A seed can name one that is not on sale; it has that of ecs.g7.xlarge.
func sizeOf(instanceType string) instanceSize {
	if s, ok := onSale(instanceType); ok {
		return s
	}
	s, _ := onSale("ecs.g7.xlarge")
	return s
}

func onSale(instanceType string) (instanceSize, bool) {
	all := catalog()
	at := slices.IndexFunc(all, func(s instanceSize) bool { return s.name == instanceType })
	if at < 0 {
		return instanceSize{}, false
	}
	return all[at], true
}

// diskCategories are those that every zone has, for system disks and for others.
func diskCategories() []string {
	return []string{"cloud_auto", "cloud_efficiency", "cloud_essd", "cloud_essd_entry", "cloud_ssd"}
}

// image is a public image.
type image struct{ id, family, name, platform, architecture, created string }

// images are all images; the first one is that of instances whose seed names none.
func images() []image {
	return []image{
		{"aliyun_3_x64_20G_alibase_20260101.vhd", "acs:alibaba_cloud_linux_3_2104_lts_x64", "Alibaba Cloud Linux 3.2104 LTS", "Aliyun", x64,
			"2026-01-04T00:00:00Z"},
		{"aliyun_3_arm64_20G_alibase_20260101.vhd", "acs:alibaba_cloud_linux_3_2104_lts_arm64",
			"Alibaba Cloud Linux 3.2104 LTS for ARM", "Aliyun", arm64, "2026-01-02T00:00:00Z"},
		{"ubuntu_24_04_x64_20G_alibase_20260101.vhd", "acs:ubuntu_24_04_x64", "Ubuntu 24.04 64 bit", "Ubuntu", x64, "2026-01-03T00:00:00Z"},
		{"ubuntu_24_04_arm64_20G_alibase_20260101.vhd", "acs:ubuntu_24_04_arm64", "Ubuntu 24.04 64 bit for ARM", "Ubuntu", arm64,
			"2026-01-01T00:00:00Z"},
	}
}

// PublicImage is what others need to know of an image of the cloud.
type PublicImage struct{ ID, Name, Platform, Architecture string }

// PublicImages are the images of the cloud.
func PublicImages() []PublicImage {
	var out []PublicImage
	for _, i := range images() {
		out = append(out, PublicImage{ID: i.id, Name: i.name, Platform: i.platform, Architecture: i.architecture})
	}
	return out
}

// runsOn reports whether an image is for the processors of an instance type.
func (i image) runsOn(s instanceSize) bool {
	return (i.architecture == arm64) == (s.architecture == arm)
}

func catalogActions() []api.Action {
	return []api.Action{
		api.Read("DescribeInstanceTypes", describeInstanceTypes, api.Words("InvalidParameter"), append(typeFilters(),
			region(), api.Optional("NextToken"), api.Number("MaxResults", 1, maxTypes))...),
		api.Read("DescribeImageSupportInstanceTypes", describeImageTypes, api.Words("InvalidImageId.NotFound"), region(),
			api.Optional("ImageId"), api.OneOf("ActionType", "CreateEcs", "ChangeOS")),
		api.Read("DescribeImages", describeImages, api.Words("DryRunOperation"), append(listing.Params(maxResults),
			region(), api.Optional("ImageId"), api.Optional("ImageName"), api.Optional("ImageFamily"),
			api.OneOf("ImageOwnerAlias", "system", "self", "others", "marketplace"), api.Optional("ImageOwnerId"),
			api.OneOf("Architecture", "i386", x64, arm64), api.OneOf("OSType", "linux", "windows"),
			api.Optional("Status"), api.Optional("InstanceType"), api.Flag("IsSupportCloudinit"),
			api.Flag("IsSupportIoOptimized"), api.Flag("DryRun"), api.Flag("IsPublic"), api.OneOf("Usage", "instance", "none"),
			api.OneOf("ActionType", "CreateEcs", "ChangeOS"), api.Flag("ShowExpired"), // each image is for both, and none expires
			api.Optional("SnapshotId"), api.Optional("ResourceGroupId"), tags.Uncounted())...),
	}
}

// category is what a family is for, by its letter and the memory of each core.
func category(family string) string {
	switch letters := strings.TrimPrefix(family, "ecs."); {
	case strings.HasPrefix(letters, "c"), strings.HasPrefix(letters, "sn1"):
		return "Compute-optimized"
	case strings.HasPrefix(letters, "r"):
		return "Memory-optimized"
	case strings.HasPrefix(letters, "t"):
		return "Burstable"
	case strings.HasPrefix(letters, "e"), strings.HasPrefix(letters, "s6"), strings.HasPrefix(letters, "n4"):
		return "Shared"
	}
	return "General-purpose"
}

// generation is the number in the name of a family, ecs-7 of ecs.g7.
func generation(family string) string {
	if at := strings.IndexAny(family, "123456789"); at >= 0 {
		return "ecs-" + family[at:at+1]
	}
	return "ecs-1"
}

// describeImageTypes lists the types that an image runs on.
func describeImageTypes(c *api.Context) (any, *api.Error) {
	all := images()
	at := slices.IndexFunc(all, func(i image) bool { return i.id == cmp.Or(c.Get("ImageId"), all[0].id) })
	if at < 0 {
		return nil, api.NotFound("InvalidImageId.NotFound", "The specified ImageId does not exist.")
	}
	types := slices.DeleteFunc(catalog(), func(s instanceSize) bool {
		return !all[at].runsOn(s)
	})
	return api.Object{
		"RegionId", c.Region, "ImageId", all[at].id, "InstanceTypes", api.Object{
			"InstanceType", api.Objects(types, func(s instanceSize) api.Object {
				return api.Object{
					"InstanceTypeId", s.name, "InstanceTypeFamily", family(s.name), "CpuCoreCount", s.cores, "MemorySize", float64(s.gibibytes),
				}
			}),
		},
	}, nil
}

func newImageView(i image) api.Object {
	return api.Object{
		"ImageId", i.id, "ImageName", i.id, "ImageFamily", i.family, "ImageOwnerAlias", "system",
		"ImageVersion", "v2026.1.1", "OSName", i.name, "OSNameEn", i.name, "OSType", "linux", "Platform", i.platform,
		"Architecture", i.architecture, "Status", "Available", "Progress", "100%", "Usage", "instance", "Size", 20,
		"CreationTime", i.created, "Description", "", "IsPublic", true, "IsSelfShared", "",
		"IsSupportCloudinit", true, "IsSupportIoOptimized", true,
		"DiskDeviceMappings", map[string]any{"DiskDeviceMapping": []any{}}, "Tags", map[string]any{"Tag": []any{}},
	}
}

func describeImages(c *api.Context) (any, *api.Error) {
	if c.True("DryRun") {
		return nil, api.DryRun()
	}
	ids, statuses := listing.CommaList(c.Get("ImageId")), listing.CommaList(cmp.Or(c.Get("Status"), "Available"))
	supported := func(name string) bool { return !c.Has(name) || c.True(name) }
	var matching []image
	for _, i := range images() {
		// Public images are of nobody's account, so that they have no group and no tags, and of no snapshot that anybody sees.
		if c.Has("ImageOwnerId") || c.Has("SnapshotId") || c.Has("ResourceGroupId") || !supported("IsPublic") || len(c.Items("Tag")) > 0 {
			break
		}
		fits := !c.Has("InstanceType")
		if s, ok := onSale(c.Get("InstanceType")); ok {
			fits = i.runsOn(s)
		}
		if fits && listing.Among(ids, i.id) && wildcard(c.Get("ImageName"), i.id) && listing.Match(c.Get("ImageFamily"), i.family) &&
			listing.Match(c.Get("ImageOwnerAlias"), "system") && listing.Match(c.Get("Architecture"), i.architecture) &&
			listing.Match(c.Get("OSType"), "linux") && listing.Match(c.Get("Usage"), "instance") && slices.Contains(statuses, "Available") &&
			supported("IsSupportCloudinit") && supported("IsSupportIoOptimized") {
			matching = append(matching, i)
		}
	}
	return listing.Answer(c, matching, "Images", "Image", newImageView, "RegionId", c.Region)
}
