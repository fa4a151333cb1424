package state

import (
	"maps"
	"slices"
)

// DefaultResourceGroup is the resource group of the account, in which is what names no other.
const DefaultResourceGroup = "rg-acfmdefault"

// ResourceGroups returns the ids of the resource groups that resources are in, sorted, and that of the account.
func (c *Cloud) ResourceGroups() []string {
	ids := map[string]bool{DefaultResourceGroup: true}
	for kind := range c.kinds() {
		for _, resource := range kind.Seq2() {
			if group := resource.Elem().FieldByName("ResourceGroupID"); group.IsValid() && group.String() != "" {
				ids[group.String()] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(ids))
}
