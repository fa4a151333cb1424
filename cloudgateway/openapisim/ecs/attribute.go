package ecs

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// keptAttributes are the parameters of RunInstances that only come back when the instance is described.
func keptAttributes() []string {
	return []string{
		"UserData", "RamRoleName", "SpotPriceLimit", "SpotDuration", "SpotInterruptionBehavior", "AutoReleaseTime", "CreditSpecification",
		"HttpEndpoint", "HttpTokens", "HttpPutResponseHopLimit", "InternetMaxBandwidthIn", "SecurityEnhancementStrategy",
		"ImageOptions.LoginAsNonRoot", "NetworkOptions.EnableJumboFrame", "Period", "PeriodUnit", "AutoRenew", "AutoRenewPeriod",
	}
}

// sentAttributes are those that a call sets.
func sentAttributes(c *api.Context) map[string]string {
	out := map[string]string{}
	for _, name := range keptAttributes() {
		if c.Has(name) {
			out[name] = c.Get(name)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// setAttributes changes attributes of an instance by pairs of a parameter that may have been sent and the attribute that it sets.
func setAttributes(c *api.Context, i *state.Instance, pairs ...string) {
	for pair := range slices.Chunk(pairs, 2) {
		if c.Has(pair[0]) {
			setAttribute(i, pair[1], c.Get(pair[0]))
		}
	}
}

func setAttribute(i *state.Instance, name, value string) {
	if i.Attributes == nil {
		i.Attributes = map[string]string{}
	}
	i.Attributes[name] = value
}

// spotPrice is the limit of the price of an hour.
func spotPrice(i *state.Instance) float64 {
	price, _ := strconv.ParseFloat(i.Attributes["SpotPriceLimit"], 64)
	return price
}

func osName(i *state.Instance) string {
	for _, known := range images() {
		if known.id == imageOf(i) {
			return known.name
		}
	}
	return ""
}

func attributeActions() []api.Action {
	instance := api.Required("InstanceId")
	missing := api.Words("InvalidInstanceId.NotFound")
	return []api.Action{
		api.Read("DescribeUserData", api.On(instanceByID, describeUserData), missing, region(), instance),
		api.Read("DescribeInstanceRamRole", api.On(instancesByIDs, describeRoles), api.Words("InvalidInstanceId.NotFound InvalidParameter"),
			append(listing.Params(50), region(), api.Param{Name: "InstanceIds", Kind: api.JSON}, api.Optional("RamRoleName"))...),
		api.Read("DescribeInstanceAutoRenewAttribute", describeRenewal, missing, append(listing.Params(maxResults), region(),
			api.Optional("InstanceId"), api.OneOf("RenewalStatus", "AutoRenewal", "Normal", "NotRenewal"))...),
		api.Read("DescribeInstanceMaintenanceAttributes", describeMaintenance, nil,
			append(listing.Params(maxResults), region(), api.Param{Name: "InstanceId", Kind: api.Strings, Max: maxResults})...),
		api.Read("DescribeInstanceAttribute", api.On(instanceByID, describeInstanceAttribute), missing, instance),
		api.Read("DescribeDedicatedHosts", describeNone("DedicatedHosts", "DedicatedHost"), nil,
			append(listing.Params(maxResults), region(), api.Optional("DedicatedHostIds"), api.Optional("DedicatedHostName"),
				api.Optional("DedicatedHostType"), api.Optional("ZoneId"), api.Optional("Status"))...),
		api.Read("DescribeElasticityAssurances", describeNone("ElasticityAssuranceSet", "ElasticityAssuranceItem"), nil,
			region(), api.Optional("ZoneId"), api.Optional("Status"), api.Optional("InstanceType")),
	}
}

// describeNone lists what nobody can make here.
func describeNone(outer, inner string) api.Handler {
	return func(c *api.Context) (any, *api.Error) {
		return listing.Answer(c, nil, outer, inner, func(none api.Object) api.Object { return none }, "NextToken", "", "MaxResults", minResults)
	}
}

func describeUserData(c *api.Context, i *state.Instance) (any, *api.Error) {
	return api.Object{"InstanceId", i.ID, "RegionId", c.Region, "UserData", i.Attributes["UserData"]}, nil
}

// instancesByIDs returns the instances of the parameter InstanceIds, all of them if it is not sent.
func instancesByIDs(c *api.Context) ([]*state.Instance, *api.Error) {
	if !c.Has("InstanceIds") {
		return listing.Find(c.State.Instances, func(*state.Instance) bool { return true }), nil
	}
	var ids []string
	if json.Unmarshal([]byte(c.Get("InstanceIds")), &ids) != nil || len(ids) > c.Settings.IDsPerCall {
		return nil, api.Invalid("InstanceIds")
	}
	var found []*state.Instance
	for _, id := range ids {
		i := c.State.Instances[id]
		if i == nil {
			return nil, instanceNotFound()
		}
		found = append(found, i)
	}
	return found, nil
}

func describeRoles(c *api.Context, instances []*state.Instance) (any, *api.Error) {
	if !c.Has("InstanceIds") {
		instances = slices.DeleteFunc(instances, func(i *state.Instance) bool { return i.Attributes["RamRoleName"] == "" })
	}
	instances = slices.DeleteFunc(instances, func(i *state.Instance) bool {
		return !listing.Match(c.Get("RamRoleName"), i.Attributes["RamRoleName"])
	})
	return listing.Answer(c, instances, "InstanceRamRoleSets", "InstanceRamRoleSet", func(i *state.Instance) api.Object {
		return api.Object{"InstanceId", i.ID, "RamRoleName", i.Attributes["RamRoleName"]}
	}, "RegionId", c.Region)
}

// renewal says whether an instance that is paid in advance is renewed by itself.
func renewal(i *state.Instance) string {
	switch {
	case i.Attributes["RenewalStatus"] != "":
		return i.Attributes["RenewalStatus"]
	case i.Attributes["AutoRenew"] == "true":
		return "AutoRenewal"
	}
	return "Normal"
}

func describeRenewal(c *api.Context) (any, *api.Error) {
	ids := listing.CommaList(c.Get("InstanceId"))
	for _, id := range ids {
		if c.State.Instances[id] == nil {
			return nil, instanceNotFound()
		}
	}
	matching := listing.Find(c.State.Instances, func(i *state.Instance) bool {
		return i.ChargeType == "PrePaid" && listing.Among(ids, i.ID) && listing.Match(c.Get("RenewalStatus"), renewal(i))
	})
	return listing.Answer(c, matching, "InstanceRenewAttributes", "InstanceRenewAttribute", func(i *state.Instance) api.Object {
		auto, duration, unit := renewal(i) == "AutoRenewal", 0, ""
		if auto {
			duration, unit = max(i.Number("AutoRenewPeriod"), 1), "Month"
			if i.Attributes["PeriodUnit"] != "" {
				unit = i.Attributes["PeriodUnit"]
			}
		}
		return api.Object{
			"InstanceId", i.ID, "RenewalStatus", renewal(i), "AutoRenewEnabled", auto, "Duration", duration, "PeriodUnit", unit,
			"EnableExpectedRenewDay", false,
		}
	})
}

// maintenanceActions are what can happen to an instance in maintenance; the first one does if nothing is chosen.
func maintenanceActions() []string { return []string{"AutoRecover", "Stop", "AutoRedeploy"} }

func describeMaintenance(c *api.Context) (any, *api.Error) {
	ids := c.List("InstanceId")
	matching := listing.Find(c.State.Instances, func(i *state.Instance) bool { return listing.Among(ids, i.ID) })
	return listing.Answer(c, matching, "MaintenanceAttributes", "MaintenanceAttribute", func(i *state.Instance) api.Object {
		action := i.Attributes["ActionOnMaintenance"]
		if action == "" {
			action = maintenanceActions()[0]
		}
		var windows []api.Object
		for _, window := range listing.CommaList(i.Attributes["MaintenanceWindow"]) {
			start, end, _ := strings.Cut(window, "/")
			windows = append(windows, api.Object{"StartTime", start, "EndTime", end})
		}
		return api.Object{
			"InstanceId", i.ID, "NotifyOnMaintenance", i.Attributes["NotifyOnMaintenance"] == "true", "ActionOnMaintenance", api.Object{
				"Value", action, "DefaultValue", maintenanceActions()[0],
				"SupportedValues", api.Object{"SupportedValue", maintenanceActions()},
			},
			"MaintenanceWindows", api.Object{"MaintenanceWindow", windows},
		}
	})
}

// describeInstanceAttribute is the older way to describe one instance. Some of what it shows has other names than in lists.
func describeInstanceAttribute(c *api.Context, i *state.Instance) (any, *api.Error) {
	view := newInstanceView(c, i, interfacesOf(c.State, []*state.Instance{i})[i.ID])
	return append(view, "EnableJumboFrame", i.Attributes["NetworkOptions.EnableJumboFrame"] == "true",
		"EnableNetworkEncryption", false), nil
}

// maxUserData is the size of user data before it is encoded, in bytes.
const maxUserData = 32 << 10

func checkUserData(c *api.Context, _ *launch) *api.Error { return userData(c) }

func userData(c *api.Context) *api.Error {
	raw, err := base64.StdEncoding.DecodeString(c.Get("UserData"))
	switch {
	case err != nil:
		return api.BadRequest("InvalidUserData.Base64FormatInvalid", "The specified parameter \"UserData\" is not encoded in Base64.")
	case len(raw) > maxUserData:
		return api.BadRequest("InvalidUserData.SizeExceeded", "The specified parameter \"UserData\" exceeds %d bytes.", maxUserData)
	}
	return nil
}
