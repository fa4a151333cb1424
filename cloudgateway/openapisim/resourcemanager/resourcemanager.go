// Package resourcemanager is the product ResourceManager 2020-03-31 of the simulator: the list of the resource groups, which
// exist as soon as something is in them.
package resourcemanager

import (
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// Product returns the product with all its actions. The cloud has one endpoint of it for all regions.
func Product() api.Product {
	return api.Product{
		Name: "resourcemanager", Code: "ResourceManager", Version: "2020-03-31",
		Actions: []api.Action{{
			Name: "ListResourceGroups", Handle: listResourceGroups,
			Params: append(listing.Params(100),
				api.Optional("ResourceGroupId"), api.Param{Name: "ResourceGroupIds", Kind: api.Strings, Max: 100}, api.Optional("Name"),
				api.Optional("DisplayName"), api.OneOf("Status", "Creating", "OK", "PendingDelete")),
		}},
	}
}

type listedGroups struct {
	listing.Page
	ResourceGroups struct {
		ResourceGroup []groupView `json:"ResourceGroup"`
	} `json:"ResourceGroups"`
}

type groupView struct {
	ID             string         `json:"Id"`
	Name           string         `json:"Name"`
	DisplayName    string         `json:"DisplayName"`
	AccountID      string         `json:"AccountId"`
	CreateDate     string         `json:"CreateDate"`
	Status         string         `json:"Status"`
	RegionStatuses regionStatuses `json:"RegionStatuses"`
}

type regionStatuses struct {
	RegionStatus []regionStatus `json:"RegionStatus"`
}

type regionStatus struct {
	RegionID string `json:"RegionId"`
	Status   string `json:"Status"`
}

// ready is the status of every group.
const ready = "OK"

func listResourceGroups(c *api.Context) (any, *api.Error) {
	ids := c.List("ResourceGroupIds")
	var groups []groupView
	for _, id := range c.State.ResourceGroups() {
		v := groupView{
			ID: id, Name: id, DisplayName: id, AccountID: c.Account, CreateDate: "2026-01-01T00:00:00Z", Status: ready,
			RegionStatuses: regionStatuses{[]regionStatus{{RegionID: c.Region, Status: ready}}},
		}
		if id == state.DefaultResourceGroup {
			v.Name, v.DisplayName = "default", "default resource group"
		}
		if listing.Match(c.Get("ResourceGroupId"), id) && listing.Among(ids, id) && listing.Match(c.Get("Name"), v.Name) &&
			listing.Match(c.Get("DisplayName"), v.DisplayName) && listing.Match(c.Get("Status"), ready) {
			groups = append(groups, v)
		}
	}
	var out listedGroups
	groups, out.Page = listing.Numbered(c, groups)
	out.ResourceGroups.ResourceGroup = append([]groupView{}, groups...)
	return out, nil
}
