package ecs

import (
	"cmp"
	"strconv"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/wire"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// The numbers of launch templates in a region and of versions of one that the documents of CreateLaunchTemplate name.
const maxTemplates, maxTemplateVersions = 30, 30

func launchTemplateActions() []api.Action {
	id, name := api.Optional("LaunchTemplateId"), api.Optional("LaunchTemplateName")
	missing := "InvalidLaunchTemplate.NotFound"
	tag := func(name string) api.Param { return api.Param{Name: name, Kind: api.Structs, Max: 20} }
	return []api.Action{
		api.Write("CreateLaunchTemplate", createLaunchTemplate, api.Words(`InvalidLaunchTemplateName.Malformed LaunchTemplateName.Duplicated
			LaunchTemplateLimitExceed InvalidDescription.Malformed InvalidTagKey.Malformed InvalidTagValue.Malformed Duplicate.TagKey
			QuotaExceed.Tags`), append(templateParams(), region(), api.Required("LaunchTemplateName"), api.Optional("VersionDescription"),
			api.Optional("TemplateResourceGroupId"), tag("TemplateTag"))...),
		api.Write("CreateLaunchTemplateVersion", api.On(templateOf, createTemplateVersion),
			api.Words("MissingParameter InvalidDescription.Malformed LaunchTemplateVersionLimitExceed "+missing),
			append(templateParams(), region(), id, name, api.Optional("VersionDescription"))...),
		api.Read("DescribeLaunchTemplates", describeLaunchTemplates, nil, append(listing.Params(50), region(),
			api.Param{Name: "LaunchTemplateId", Kind: api.Strings}, api.Param{Name: "LaunchTemplateName", Kind: api.Strings},
			api.Optional("TemplateResourceGroupId"), tag("TemplateTag"))...),
		api.Read("DescribeLaunchTemplateVersions", api.On(templateOf, describeTemplateVersions), api.Words("MissingParameter "+missing),
			append(listing.Params(50), region(), id, name, api.Param{Name: "LaunchTemplateVersion", Kind: api.Strings},
				api.Number("MinVersion", 0, 1<<31), api.Number("MaxVersion", 0, 1<<31), api.Flag("DefaultVersion"), api.Flag("DetailFlag"))...),
		api.Write("DeleteLaunchTemplate", api.On(templateOf, deleteLaunchTemplate), api.Words("MissingParameter "+missing), region(), id, name),
	}
}

// templateParams are the parameters of RunInstances that a template can hold. Their values are checked when instances are made of it, as
// the documents say.
func templateParams() []api.Param {
	var all []api.Param
	for _, name := range api.Words(`ImageId ImageOwnerAlias InstanceType SecurityGroupId NetworkType VpcId VSwitchId InstanceName
		Description HostName UserData KeyPairName RamRoleName AutoReleaseTime SpotPriceLimit PrivateIpAddress ZoneId DeploymentSetId
		ResourceGroupId SystemDisk.Category SystemDisk.DiskName SystemDisk.Description SystemDisk.PerformanceLevel
		SystemDisk.AutoSnapshotPolicyId SystemDisk.Encrypted InstanceChargeType InternetChargeType SpotStrategy IoOptimized
		CreditSpecification SecurityEnhancementStrategy HttpEndpoint HttpTokens PeriodUnit`) {
		all = append(all, api.Optional(name))
	}
	for _, name := range api.Words(`SystemDisk.Size SystemDisk.Iops SystemDisk.ProvisionedIops InternetMaxBandwidthIn
		InternetMaxBandwidthOut Period SpotDuration AutoRenewPeriod Ipv6AddressCount HttpPutResponseHopLimit`) {
		all = append(all, api.Param{Name: name, Kind: api.Int})
	}
	for _, name := range api.Words(`PasswordInherit EnableVmOsConfig DeletionProtection AutoRenew SystemDisk.DeleteWithInstance
		SystemDisk.BurstingEnabled`) {
		all = append(all, api.Flag(name))
	}
	return append(all, api.Param{Name: "SecurityGroupIds", Kind: api.Strings}, api.Param{Name: "DataDisk", Kind: api.Structs, Max: 16},
		api.Param{Name: "NetworkInterface", Kind: api.Structs, Max: 2}, tags.Uncounted())
}

// templateData is what of a call a template holds, by the names of the parameters as they are documented.
func templateData(c *api.Context) map[string]string {
	data := map[string]string{}
	for _, p := range templateParams() {
		for name, value := range c.All() {
			if rest, ok := partOf(name, p.Name); ok && value != "" && (rest == "" || p.Kind == api.Strings || p.Kind == api.Structs) {
				data[p.Name+rest] = value
			}
		}
	}
	return data
}

// partOf reports whether a name is that of a parameter or of a part of it, and what comes behind.
func partOf(name, param string) (rest string, ok bool) {
	if len(name) < len(param) || !strings.EqualFold(name[:len(param)], param) {
		return "", false
	}
	rest = name[len(param):]
	return rest, rest == "" || rest[0] == '.'
}

func templateNotFound(c *api.Context) *api.Error {
	return api.NotFound("InvalidLaunchTemplate.NotFound", "The specified LaunchTemplateId %q LaunchTemplateName %q is not found.",
		c.Get("LaunchTemplateId"), c.Get("LaunchTemplateName"))
}

// templateOf returns the template that a call names by its id or its name.
func templateOf(c *api.Context) (*state.LaunchTemplate, *api.Error) {
	if !c.Has("LaunchTemplateId") && !c.Has("LaunchTemplateName") {
		return nil, api.Missing("LaunchTemplateId")
	}
	found := listing.Find(c.State.LaunchTemplates, func(t *state.LaunchTemplate) bool {
		return listing.Match(c.Get("LaunchTemplateId"), t.ID) && listing.Match(c.Get("LaunchTemplateName"), t.Name)
	})
	if len(found) == 0 {
		return nil, templateNotFound(c)
	}
	return found[0], nil
}

func templateTags(c *api.Context) []state.Tag {
	var out []state.Tag
	for _, item := range c.Items("TemplateTag") {
		out = append(out, state.Tag{Key: item["key"], Value: item["value"]})
	}
	return out
}

func newTemplateVersion(c *api.Context) (*state.LaunchTemplateVersion, *api.Error) {
	if err := checkDiskTexts("", c.Get("VersionDescription"), ""); err != nil {
		return nil, err
	}
	return &state.LaunchTemplateVersion{Description: c.Get("VersionDescription"), Created: c.Now, Data: templateData(c)}, nil
}

func createLaunchTemplate(c *api.Context) (any, *api.Error) {
	name, tagged := c.Get("LaunchTemplateName"), templateTags(c)
	same := func(t *state.LaunchTemplate) bool { return t.Name == name }
	switch {
	case !validName(name):
		return nil, api.BadRequest("InvalidLaunchTemplateName.Malformed", "The specified LaunchTemplateName is not valid.")
	case len(listing.Find(c.State.LaunchTemplates, same)) > 0:
		return nil, api.BadRequest("LaunchTemplateName.Duplicated", "The launch template %s exists already.", name)
	case len(c.State.LaunchTemplates) >= maxTemplates:
		return nil, forbidden("LaunchTemplateLimitExceed", "There can be %d launch templates in a region.", maxTemplates)
	}
	if err := checkNewTags(c, tagged); err != nil {
		return nil, err
	}
	version, err := newTemplateVersion(c)
	if err != nil {
		return nil, err
	}
	t := &state.LaunchTemplate{
		ID: c.NewID("lt-bp1"), Name: name, ResourceGroupID: c.Get("TemplateResourceGroupId"), Tags: tagged, Created: c.Now, Modified: c.Now,
		Versions: []*state.LaunchTemplateVersion{version},
	}
	c.State.LaunchTemplates[t.ID] = t
	return api.Object{"LaunchTemplateId", t.ID, "LaunchTemplateVersionNumber", 1}, nil
}

func createTemplateVersion(c *api.Context, t *state.LaunchTemplate) (any, *api.Error) {
	if len(t.Versions) >= maxTemplateVersions {
		return nil, forbidden("LaunchTemplateVersionLimitExceed", "A launch template can have %d versions.", maxTemplateVersions)
	}
	version, err := newTemplateVersion(c)
	if err != nil {
		return nil, err
	}
	t.Versions, t.Modified = append(t.Versions, version), c.Now
	return api.Object{"LaunchTemplateId", t.ID, "LaunchTemplateVersionNumber", len(t.Versions)}, nil
}

func deleteLaunchTemplate(c *api.Context, t *state.LaunchTemplate) (any, *api.Error) {
	delete(c.State.LaunchTemplates, t.ID)
	var numbers []int
	for n := range t.Versions {
		numbers = append(numbers, n+1)
	}
	return api.Object{"LaunchTemplateId", t.ID, "LaunchTemplateVersionNumbers", api.Object{"versionNumbers", numbers}}, nil
}

func describeLaunchTemplates(c *api.Context) (any, *api.Error) {
	wanted := tags.Filter(templateTags(c))
	matching := listing.Find(c.State.LaunchTemplates, func(t *state.LaunchTemplate) bool {
		return listing.Among(c.List("LaunchTemplateId"), t.ID) && listing.Among(c.List("LaunchTemplateName"), t.Name) &&
			listing.Match(c.Get("TemplateResourceGroupId"), cmp.Or(t.ResourceGroupID, state.DefaultResourceGroup)) && wanted.Match(t.Tags)
	})
	return listing.Answer(c, matching, "LaunchTemplateSets", "LaunchTemplateSet", func(t *state.LaunchTemplate) api.Object {
		return api.Object{
			"LaunchTemplateId", t.ID, "LaunchTemplateName", t.Name, "DefaultVersionNumber", 1, "LatestVersionNumber", len(t.Versions),
			"CreateTime", timeText(t.Created), "ModifiedTime", timeText(t.Modified), "CreatedBy", c.Account,
			"ResourceGroupId", cmp.Or(t.ResourceGroupID, state.DefaultResourceGroup), "Tags", tags.Longs(t.Tags),
		}
	})
}

func describeTemplateVersions(c *api.Context, t *state.LaunchTemplate) (any, *api.Error) {
	var numbers []int
	for n := 1; n <= len(t.Versions); n++ {
		if listing.Among(c.List("LaunchTemplateVersion"), strconv.Itoa(n)) && n >= c.Int("MinVersion", 1) &&
			n <= c.Int("MaxVersion", len(t.Versions)) && (!c.True("DefaultVersion") || n == 1) {
			numbers = append(numbers, n)
		}
	}
	return listing.Answer(c, numbers, "LaunchTemplateVersionSets", "LaunchTemplateVersionSet", func(n int) api.Object {
		v := t.Versions[n-1]
		return api.Object{
			"LaunchTemplateId", t.ID, "LaunchTemplateName", t.Name, "VersionNumber", n, "DefaultVersion", n == 1,
			"VersionDescription", v.Description, "CreateTime", timeText(v.Created), "ModifiedTime", timeText(v.Created), "CreatedBy", c.Account,
			"LaunchTemplateData", newTemplateDataView(v.Data),
		}
	})
}

// newTemplateDataView shows what a template holds: single values as they were sent, and all lists.
func newTemplateDataView(data map[string]string) api.Object {
	params := api.NewParams(data)
	var view api.Object
	for _, p := range templateParams() {
		switch value := params.Get(p.Name); {
		case value == "" || p.Kind == api.Strings || p.Kind == api.Structs:
		case p.Kind == api.Int:
			view = append(view, p.Name, params.Int(p.Name, 0))
		case p.Kind == api.Bool:
			view = append(view, p.Name, params.True(p.Name))
		case p.Name == "SpotPriceLimit":
			limit, _ := strconv.ParseFloat(value, 64)
			view = append(view, p.Name, limit)
		default:
			view = append(view, p.Name, value)
		}
	}
	return append(view,
		"SecurityGroupIds", newSecurityGroupIDs(params.List("SecurityGroupIds")),
		"DataDisks", api.Object{"DataDisk", api.Objects(params.Prefixes("DataDisk"), func(prefix string) api.Object {
			return api.Object{
				"Size", params.Int(prefix+"Size", 0), "Category", params.Get(prefix + "Category"), "SnapshotId", params.Get(prefix + "SnapshotId"),
				"DiskName", params.Get(prefix + "DiskName"), "Description", params.Get(prefix + "Description"),
				"Device", params.Get(prefix + "Device"), "DeleteWithInstance", params.Get(prefix+"DeleteWithInstance") != "false",
				"Encrypted", params.Get(prefix + "Encrypted"), "PerformanceLevel", params.Get(prefix + "PerformanceLevel"),
			}
		})},
		"NetworkInterfaces", api.Object{"NetworkInterface", api.Objects(params.Prefixes("NetworkInterface"), func(prefix string) api.Object {
			return api.Object{
				"VSwitchId", params.Get(prefix + "VSwitchId"), "SecurityGroupId", params.Get(prefix + "SecurityGroupId"),
				"SecurityGroupIds", newSecurityGroupIDs(params.List(prefix + "SecurityGroupIds")),
				"PrimaryIpAddress", params.Get(prefix + "PrimaryIpAddress"), "InstanceType", params.Get(prefix + "InstanceType"),
				"NetworkInterfaceName", params.Get(prefix + "NetworkInterfaceName"), "Description", params.Get(prefix + "Description"),
			}
		})},
		"Tags", api.Object{"InstanceTag", api.Objects(params.Prefixes("Tag"), func(prefix string) api.Object {
			return api.Object{"Key", params.Get(prefix + "Key"), "Value", params.Get(prefix + "Value")}
		})})
}

func templateVersionNotFound(c *api.Context, t *state.LaunchTemplate) *api.Error {
	return api.NotFound("InvalidLaunchTemplateVersion.NotFound", "The launch template %s has no version %s.", t.ID,
		c.Get("LaunchTemplateVersion"))
}

// withTemplate returns the call with what the launch template that it names has and the call itself has not, checked as if the call had it.
func withTemplate(c *api.Context) (*api.Context, *api.Error) {
	if !c.Has("LaunchTemplateId") && !c.Has("LaunchTemplateName") {
		if c.Has("LaunchTemplateVersion") {
			return nil, api.Missing("LaunchTemplateId")
		}
		return c, nil
	}
	t, err := templateOf(c)
	if err != nil {
		return nil, err
	}
	number := c.Int("LaunchTemplateVersion", 1)
	if number < 1 || number > len(t.Versions) {
		return nil, templateVersionNotFound(c, t)
	}
	return launchContext(c, c.All(), t.Versions[number-1].Data)
}

// launchContext is a call of RunInstances with parameters of its own, and others for those that they lack.
func launchContext(c *api.Context, own, others map[string]string) (*api.Context, *api.Error) {
	params := map[string]string{}
	has := func(stem string) bool {
		for name, value := range own {
			if _, ok := partOf(name, stem); ok && value != "" {
				return true
			}
		}
		return false
	}
	for name, value := range others {
		stem := name
		if first, _, list := strings.Cut(name, "."); list && first != "SystemDisk" {
			stem = first
		}
		one := stem == "SecurityGroupId" && has("SecurityGroupIds") || stem == "SecurityGroupIds" && has("SecurityGroupId")
		if !has(stem) && !one {
			params[name] = value
		}
	}
	for name, value := range own {
		if value != "" {
			params[name] = value
		}
	}
	read := api.NewParams(params)
	if err := wire.CheckParams("", runParams(), &read, c.Settings); err != nil {
		return nil, err
	}
	made := *c
	made.Params = read
	return &made, nil
}
