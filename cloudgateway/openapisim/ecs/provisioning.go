package ecs

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/clienttoken"
)

// launchConfigurations are the parameters of RunInstances that LaunchConfiguration has under the same names.
func launchConfigurations() []string {
	return api.Words(`ImageId ImageFamily SecurityGroupId UserData KeyPairName RamRoleName InternetChargeType HostName InstanceName
		CreditSpecification Password ResourceGroupId SecurityEnhancementStrategy AutoReleaseTime DeploymentSetId IoOptimized
		InternetMaxBandwidthIn InternetMaxBandwidthOut PasswordInherit`)
}

// otherLaunchConfigurations are those that it has under other names.
func otherLaunchConfigurations() map[string]string {
	return map[string]string{
		"InstanceDescription": "Description", "SystemDiskCategory": "SystemDisk.Category", "SystemDiskSize": "SystemDisk.Size",
		"SystemDiskName": "SystemDisk.DiskName", "SystemDiskDescription": "SystemDisk.Description",
		"SystemDiskPerformanceLevel": "SystemDisk.PerformanceLevel",
	}
}

func provisioningActions() []api.Action {
	// Groups of the other types go on after the call, which nothing here does.
	kind := api.Param{Name: "AutoProvisioningGroupType", Required: true, Enum: []string{"instant"}}
	strategies := []string{"lowest-price", "prioritized"}
	params := []api.Param{
		region(), kind, api.Required("TotalTargetCapacity"), api.Optional("PayAsYouGoTargetCapacity"), api.Optional("SpotTargetCapacity"),
		api.OneOf("DefaultTargetCapacityType", "PayAsYouGo", "Spot"), api.OneOf("PayAsYouGoAllocationStrategy", strategies...),
		api.OneOf("SpotAllocationStrategy", strategies...), api.OneOf("ExcessCapacityTerminationPolicy", "no-termination", "termination"),
		api.Optional("AutoProvisioningGroupName"), api.Optional("Description"), api.Optional("LaunchTemplateId"),
		api.Optional("LaunchTemplateVersion"), api.Param{Name: "LaunchTemplateConfig", Kind: api.Structs},
		api.Param{Name: "SystemDiskConfig", Kind: api.Structs}, api.Param{Name: "LaunchConfiguration.SecurityGroupIds", Kind: api.Strings},
		api.Param{Name: "LaunchConfiguration.Tag", Kind: api.Structs}, api.Param{Name: "LaunchConfiguration.DataDisk", Kind: api.Structs},
		api.Optional("ClientToken"),
	}
	names := launchConfigurations()
	for name := range otherLaunchConfigurations() {
		names = append(names, name)
	}
	for _, name := range names {
		params = append(params, api.Optional("LaunchConfiguration."+name))
	}
	create := api.Write("CreateAutoProvisioningGroup", createProvisioningGroup, api.Words(`InvalidTargetCapacity MissingParameter
		InvalidLaunchTemplate.NotFound InvalidLaunchTemplateVersion.NotFound IdempotentParameterMismatch`), params...)
	return []api.Action{create}
}

// group is what a call of CreateAutoProvisioningGroup asks for.
type group struct {
	c       *api.Context
	common  map[string]string // parameters of RunInstances for all instances
	configs []groupConfig
	results []api.Object
	made    []string // ids of instances
}

// groupConfig is a type of instance in a vSwitch that a group can take.
type groupConfig struct {
	own      map[string]string // parameters of RunInstances
	weight   float64           // of the capacity
	priority int
	price    float64 // of a unit of capacity, in an hour
}

// createProvisioningGroup makes the instances of a group at once, and answers with them. The group itself is not kept.
func createProvisioningGroup(c *api.Context) (any, *api.Error) {
	const operation = "ecs/CreateAutoProvisioningGroup"
	if first, err := clienttoken.Recall(c, operation); err != nil || first != "" {
		return showAgain(c, strings.Fields(first)), err
	}
	byUse, spot, err := capacities(c)
	if err != nil {
		return nil, err
	}
	g := &group{c: c}
	if err := g.read(); err != nil {
		return nil, err
	}
	g.launch(byUse, "NoSpot", c.Get("PayAsYouGoAllocationStrategy"))
	g.launch(spot, "SpotAsPriceGo", c.Get("SpotAllocationStrategy"))
	id := c.NewID("apg-bp1")
	clienttoken.Remember(c, operation, strings.Join(append([]string{id}, g.made...), " "))
	return api.Object{"AutoProvisioningGroupId", id, "LaunchResults", api.Object{"LaunchResult", g.results}}, nil
}

// showAgain answers a repeated call by the id of the group and those of its instances.
func showAgain(c *api.Context, ids []string) any {
	if len(ids) == 0 {
		return nil
	}
	var results []api.Object
	for _, id := range ids[1:] {
		if i := c.State.Instances[id]; i != nil {
			results = append(results, launchResult(c, map[string]string{"SpotStrategy": i.SpotStrategy}, []string{id}, nil))
		}
	}
	return api.Object{"AutoProvisioningGroupId", ids[0], "LaunchResults", api.Object{"LaunchResult", results}}
}

// capacities are those that are wanted of instances that are paid by use and of spot instances.
func capacities(c *api.Context) (byUse, spot float64, err *api.Error) {
	var read [3]float64
	for n, name := range []string{"TotalTargetCapacity", "PayAsYouGoTargetCapacity", "SpotTargetCapacity"} {
		if !c.Has(name) {
			continue
		}
		value, parseErr := strconv.ParseFloat(c.Get(name), 64)
		if parseErr != nil || value < 0 || value > 1000 || n == 0 && value <= 0 {
			return 0, 0, api.BadRequest("InvalidTargetCapacity", "The specified %s %q is not valid.", name, c.Get(name))
		}
		read[n] = value
	}
	rest := read[0] - read[1] - read[2]
	switch {
	case rest < 0:
		return 0, 0, api.BadRequest("InvalidTargetCapacity", "The capacities are %g and %g, more than %g in all.", read[1], read[2], read[0])
	case c.Get("DefaultTargetCapacityType") == "PayAsYouGo":
		return read[1] + rest, read[2], nil
	}
	return read[1], read[2] + rest, nil // what the documents have as the default
}

// read finds out what the instances can be. A launch template counts before LaunchConfiguration.
func (g *group) read() *api.Error {
	g.common = launchConfiguration(g.c)
	if g.c.Has("LaunchTemplateId") {
		t, err := templateOf(g.c)
		if err != nil {
			return err
		}
		number := g.c.Int("LaunchTemplateVersion", 1)
		if number < 1 || number > len(t.Versions) {
			return templateVersionNotFound(g.c, t)
		}
		g.common = t.Versions[number-1].Data
	}
	for _, item := range g.c.Items("LaunchTemplateConfig") {
		config := groupConfig{own: map[string]string{}, weight: 1}
		for member, param := range map[string]string{"instancetype": "InstanceType", "vswitchid": "VSwitchId", "imageid": "ImageId"} {
			if item[member] != "" {
				config.own[param] = item[member]
			}
		}
		if weight, err := strconv.ParseFloat(item["weightedcapacity"], 64); err == nil && weight > 0 {
			config.weight = weight
		}
		config.priority, _ = strconv.Atoi(item["priority"])
		config.price = priceOf(cmp.Or(config.own["InstanceType"], g.common["InstanceType"])) / config.weight
		g.configs = append(g.configs, config)
	}
	switch {
	case len(g.common) == 0:
		return api.Missing("LaunchConfiguration.ImageId")
	case len(g.configs) == 0 && g.common["InstanceType"] == "":
		return api.Missing("LaunchTemplateConfig")
	case len(g.configs) == 0:
		g.configs = []groupConfig{{weight: 1}}
	}
	return nil
}

// launchConfiguration is LaunchConfiguration as parameters of RunInstances.
func launchConfiguration(c *api.Context) map[string]string {
	names, out := otherLaunchConfigurations(), map[string]string{}
	for _, name := range append(launchConfigurations(), "SecurityGroupIds", "Tag", "DataDisk") {
		names[name] = name
	}
	for sent, value := range c.All() {
		rest, ok := partOf(sent, "LaunchConfiguration")
		if !ok || value == "" {
			continue
		}
		for member, param := range names {
			if tail, ok := partOf(strings.TrimPrefix(rest, "."), member); ok {
				out[param+tail] = value
			}
		}
	}
	if disks := c.Items("SystemDiskConfig"); len(disks) > 0 && out["SystemDisk.Category"] == "" {
		out["SystemDisk.Category"] = disks[0]["diskcategory"]
	}
	if _, several := out["SecurityGroupIds.1"]; several {
		delete(out, "SecurityGroupId")
	}
	return out
}

// launch makes instances until a capacity is reached, by the first of the configurations by which it can. Why others can't is among the
// results.
func (g *group) launch(capacity float64, spot, strategy string) {
	configs := slices.Clone(g.configs)
	slices.SortStableFunc(configs, func(a, b groupConfig) int {
		if strategy == "prioritized" {
			return cmp.Compare(a.priority, b.priority)
		}
		return cmp.Compare(a.price, b.price)
	})
	for _, config := range configs {
		if capacity <= 0 {
			return
		}
		own := map[string]string{"RegionId": g.c.Region, "SpotStrategy": spot, "Amount": strconv.Itoa(int(math.Ceil(capacity / config.weight)))}
		maps.Copy(own, config.own)
		ids, err := g.run(own)
		g.results = append(g.results, launchResult(g.c, own, ids, err))
		if err == nil {
			capacity, g.made = 0, append(g.made, ids...)
		}
	}
}

func (g *group) run(own map[string]string) (ids []string, err *api.Error) {
	made, err := launchContext(g.c, own, g.common)
	if err != nil {
		return nil, err
	}
	joined, err := runInstances(made)
	if err != nil {
		return nil, err
	}
	return strings.Split(joined, ","), nil
}

func launchResult(c *api.Context, own map[string]string, ids []string, err *api.Error) api.Object {
	zone, kind, code, message := "", own["InstanceType"], "", ""
	if vswitch := c.State.VSwitches[own["VSwitchId"]]; vswitch != nil {
		zone = vswitch.ZoneID
	}
	if err != nil {
		code, message = err.Code, err.Message
	}
	if len(ids) > 0 {
		i := c.State.Instances[ids[0]]
		zone, kind = i.ZoneID, i.InstanceType
	}
	return api.Object{
		"InstanceType", kind, "ZoneId", zone, "SpotStrategy", own["SpotStrategy"], "Amount", len(ids), "ErrorCode", code, "ErrorMsg", message,
		"InstanceIds", api.Object{"InstanceId", ids},
	}
}
