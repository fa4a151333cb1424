// Package ecs is the product ECS 2014-05-26 of the simulator: instances, network interfaces, security groups and their
// tags, with the catalog of what instances can be made of.
package ecs

import (
	"net/http"
	"slices"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/regions"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func idsPerCall(s *api.Settings) int { return s.IDsPerCall }

// Product returns the product with all its actions.
func Product() api.Product {
	actions := slices.Concat(
		instanceActions(), eventActions(), runActions(), lifecycleActions(), catalogActions(), availableActions(), interfaceActions(),
		interfaceWriteActions(), interfaceAddressActions(), diskActions(), diskWriteActions(), snapshotActions(),
		attributeActions(), instanceModifyActions(), batchActions(), roleActions(), launchTemplateActions(), provisioningActions(),
		priceActions(), snapshotGroupActions(), prefixListActions(), taskActions(), permissionActions(), legacyTagActions(),
		keyPairActions(), deploymentSetActions(), groupActions(),
		ruleActions(), modifyRuleActions(), memberActions(),
		tagging().Actions(),
		[]api.Action{regions.Describe("ecs", "available")},
	)
	return api.Product{
		Name: "ecs", Code: "Ecs", Version: "2014-05-26",
		Actions: actions, Settle: settle, Complete: complete,
	}
}

func region() api.Param { return api.Required("RegionId") }

// groupRegion is the region of most actions on security groups, which have a code of their own for its lack.
func groupRegion() api.Param {
	r := region()
	r.Missing = api.BadRequest("MissingParameter.RegionId",
		"The input parameter \"RegionId\" that is mandatory for this action is not supplied.")
	return r
}

func tagging() tags.Service {
	return tags.Service{
		Untag:  "UntagResources",
		MaxIDs: 50,
		Types: map[string]tags.Type{
			"instance": tags.Of(func(c *state.Cloud) map[string]*state.Instance { return c.Instances },
				func(i *state.Instance) *[]state.Tag { return &i.Tags }),
			"securitygroup": tags.Of(func(c *state.Cloud) map[string]*state.SecurityGroup { return c.SecurityGroups },
				func(g *state.SecurityGroup) *[]state.Tag { return &g.Tags }),
			"eni": tags.Of(func(c *state.Cloud) map[string]*state.NetworkInterface { return c.Interfaces },
				func(e *state.NetworkInterface) *[]state.Tag { return &e.Tags }),
			"disk": tags.Of(func(c *state.Cloud) map[string]*state.Disk { return c.Disks },
				func(d *state.Disk) *[]state.Tag { return &d.Tags }),
			"keypair": tags.Of(func(c *state.Cloud) map[string]*state.KeyPair { return c.KeyPairs },
				func(k *state.KeyPair) *[]state.Tag { return &k.Tags }),
			"snapshot": tags.Of(func(c *state.Cloud) map[string]*state.Snapshot { return c.Snapshots },
				func(s *state.Snapshot) *[]state.Tag { return &s.Tags }),
			"snapshotgroup": tags.Of(func(c *state.Cloud) map[string]*state.SnapshotGroup { return c.SnapshotGroups },
				func(g *state.SnapshotGroup) *[]state.Tag { return &g.Tags }),
			"launchtemplate": tags.Of(func(c *state.Cloud) map[string]*state.LaunchTemplate { return c.LaunchTemplates },
				func(t *state.LaunchTemplate) *[]state.Tag { return &t.Tags }),
		},
		Codes: tagCodes(),
	}
}

func tagCodes() tags.Codes {
	return tags.Codes{
		Type: "InvalidResourceType.NotFound", ID: "InvalidResourceId.NotFound", Key: "InvalidTagKey.Malformed",
		Value: "InvalidTagValue.Malformed", IDs: "NumberExceed.ResourceIds", Tags: "NumberExceed.Tags",
		Duplicate: "Duplicate.TagKey", Quota: "QuotaExceed.Tags", Neither: "BothEmpty.TagsAndResources", Page: "Invalid.NextToken",
		Missing: map[string]string{
			"RegionId": "MissingParameter.RegionId", "ResourceType": "MissingParameter.ResourceType",
			"ResourceId": "MissingParameter.ResourceIds", "Tag": "MissingParameter.Tags",
		},
		Statuses: map[string]int{
			"InvalidResourceType.NotFound": http.StatusNotFound, "InvalidResourceId.NotFound": http.StatusNotFound,
			"MissingParameter.RegionId": http.StatusNotFound, "MissingParameter.ResourceType": http.StatusNotFound,
			"MissingParameter.ResourceIds": http.StatusNotFound, "MissingParameter.Tags": http.StatusNotFound,
			"QuotaExceed.Tags": http.StatusForbidden, "BothEmpty.TagsAndResources": http.StatusForbidden,
			"Invalid.NextToken": http.StatusForbidden,
		},
	}
}

func forbidden(code, format string, args ...any) *api.Error {
	e := api.BadRequest(code, format, args...)
	e.Status = http.StatusForbidden
	return e
}

func instanceNotFound() *api.Error {
	return api.NotFound("InvalidInstanceId.NotFound", "The specified InstanceId does not exist.")
}
