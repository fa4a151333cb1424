package ecs

import (
	"net/netip"
	"slices"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/clienttoken"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// mostEntries is how many blocks a prefix list can have (CreatePrefixList).
const mostEntries = 200

const noPrefixList = "InvalidPrefixListId.NotFound"

// prefixListActions are those of the lists of blocks that rules of security groups name. VPC has lists of its own, for
// routes. The documents that were at hand list no codes; those of what can't be are our choice.
func prefixListActions() []api.Action {
	id, name := api.Required("PrefixListId"), api.Optional("PrefixListName")
	entries := func(param string) api.Param { return api.Param{Name: param, Kind: api.Structs, Max: mostEntries} }
	texts := []string{"InvalidPrefixListName.Malformed", "InvalidDescription.Malformed", "InvalidParameter"}
	return []api.Action{
		api.Write("CreatePrefixList", clienttoken.Once("ecs/CreatePrefixList", clienttoken.Show("PrefixListId"), createPrefixList),
			append(slices.Clone(texts), "IdempotentParameterMismatch"), region(), api.Required("PrefixListName"),
			api.Param{Name: "AddressFamily", Enum: []string{"IPv4", "IPv6"}, Required: true},
			api.Param{Name: "MaxEntries", Kind: api.Int, Min: 1, Max: mostEntries, Required: true}, api.Optional("Description"), entries("Entry"),
			api.Optional("ClientToken")),
		api.Read("DescribePrefixLists", describePrefixLists, api.Words("InvalidParameter"), region(),
			api.Param{Name: "PrefixListId", Kind: api.Strings, Max: 100}, name, api.OneOf("AddressFamily", "IPv4", "IPv6"),
			api.Optional("NextToken"), api.Number("MaxResults", 1, maxResults)),
		api.Read("DescribePrefixListAttributes", api.On(prefixListByID, describePrefixList), api.Words(noPrefixList), region(), id),
		api.Read("DescribePrefixListAssociations", api.On(prefixListByID, describeAssociations), api.Words("InvalidParameter "+noPrefixList),
			region(), id, api.Optional("NextToken"), api.Number("MaxResults", 1, maxResults)),
		api.Write("ModifyPrefixList", api.On(prefixListByID, modifyPrefixList), append(slices.Clone(texts), noPrefixList), region(), id, name,
			api.Optional("Description"), entries("AddEntry"), entries("RemoveEntry")),
		api.Write("DeletePrefixList", api.On(prefixListByID, deletePrefixList), api.Words(noPrefixList+" DependencyViolation"), region(), id),
	}
}

func prefixListNotFound() *api.Error {
	return api.NotFound(noPrefixList, "The specified prefix list does not exist.")
}

func prefixListByID(c *api.Context) (*state.RulePrefixList, *api.Error) {
	return api.Named(c, c.State.RulePrefixLists, "PrefixListId", prefixListNotFound)
}

func createPrefixList(c *api.Context) (string, *api.Error) {
	l := &state.RulePrefixList{Family: c.Get("AddressFamily"), MaxEntries: c.Int("MaxEntries", 0), Created: c.Now}
	if err := setPrefixList(c, l, "Entry"); err != nil {
		return "", err
	}
	l.ID = c.NewID("pl-bp1")
	c.State.RulePrefixLists[l.ID] = l
	return l.ID, nil
}

// setPrefixList sets what a call says, and adds the entries of a parameter. On an error the list, a copy, is of no more use.
func setPrefixList(c *api.Context, l *state.RulePrefixList, added string) *api.Error {
	c.SetText("PrefixListName", &l.Name)
	c.SetText("Description", &l.Description)
	switch {
	case !validName(l.Name):
		return api.BadRequest("InvalidPrefixListName.Malformed", "The specified PrefixListName is not valid.")
	case len([]rune(l.Description)) > 256 || link(l.Description):
		return api.BadRequest("InvalidDescription.Malformed", "The specified Description is not valid.")
	}
	for _, item := range c.Items(added) {
		e := state.RulePrefix{Cidr: item["cidr"], Description: item["description"]}
		prefix, err := netip.ParsePrefix(e.Cidr)
		if err != nil || prefix.Addr().Is6() != (l.Family == "IPv6") || l.Has(e.Cidr) {
			return api.Invalid(added)
		}
		l.Entries = append(l.Entries, e)
	}
	if len(l.Entries) > l.MaxEntries {
		return api.Invalid(added)
	}
	return nil
}

func modifyPrefixList(c *api.Context, l *state.RulePrefixList) (any, *api.Error) {
	changed := *l
	changed.Entries = slices.Clone(l.Entries)
	for _, item := range c.Items("RemoveEntry") {
		if !changed.Has(item["cidr"]) {
			return nil, api.Invalid("RemoveEntry")
		}
		changed.Entries = slices.DeleteFunc(changed.Entries, func(e state.RulePrefix) bool { return e.Cidr == item["cidr"] })
	}
	if err := setPrefixList(c, &changed, "AddEntry"); err != nil {
		return nil, err
	}
	*l = changed
	return nil, nil
}

// usersOf are the security groups with rules that name a prefix list.
func usersOf(c *api.Context, l *state.RulePrefixList) []*state.SecurityGroup {
	return listing.Find(c.State.SecurityGroups, func(g *state.SecurityGroup) bool {
		return slices.ContainsFunc(g.Rules, func(r state.SecurityRule) bool { return r.PrefixListID == l.ID })
	})
}

func deletePrefixList(c *api.Context, l *state.RulePrefixList) (any, *api.Error) {
	if users := usersOf(c, l); len(users) > 0 {
		return nil, forbidden("DependencyViolation", "The prefix list is still used by %s.", users[0].ID)
	}
	delete(c.State.RulePrefixLists, l.ID)
	return nil, nil
}

func newPrefixListView(l *state.RulePrefixList) api.Object {
	return api.Object{
		"PrefixListId", l.ID, "PrefixListName", l.Name, "Description", l.Description, "AddressFamily", l.Family, "MaxEntries", l.MaxEntries,
		"CreationTime", l.Created.UTC().Format(time.RFC3339),
	}
}

func describePrefixList(_ *api.Context, l *state.RulePrefixList) (any, *api.Error) {
	return append(newPrefixListView(l), "Entries", api.Object{"Entry", api.Objects(l.Entries, func(e state.RulePrefix) api.Object {
		return api.Object{"Cidr", e.Cidr, "Description", e.Description}
	})}), nil
}

func describePrefixLists(c *api.Context) (any, *api.Error) {
	matching := listing.Find(c.State.RulePrefixLists, func(l *state.RulePrefixList) bool {
		return listing.Among(c.List("PrefixListId"), l.ID) && listing.Match(c.Get("PrefixListName"), l.Name) &&
			listing.Match(c.Get("AddressFamily"), l.Family)
	})
	id := func(l *state.RulePrefixList) string { return l.ID }
	lists, next, ok := listing.After(matching, id, c.Get("NextToken"), c.Int("MaxResults", minResults))
	if !ok {
		return nil, api.Invalid("NextToken")
	}
	return api.Object{"NextToken", next, "PrefixLists", api.Object{
		"PrefixList", api.Objects(lists, func(l *state.RulePrefixList) api.Object {
			return append(newPrefixListView(l), "AssociationCount", len(usersOf(c, l)))
		}),
	}}, nil
}

func describeAssociations(c *api.Context, l *state.RulePrefixList) (any, *api.Error) {
	id := func(g *state.SecurityGroup) string { return g.ID }
	users, next, ok := listing.After(usersOf(c, l), id, c.Get("NextToken"), c.Int("MaxResults", minResults))
	if !ok {
		return nil, api.Invalid("NextToken")
	}
	return api.Object{"NextToken", next, "PrefixListAssociations", api.Object{
		"PrefixListAssociation", api.Objects(users, func(g *state.SecurityGroup) api.Object {
			return api.Object{"ResourceId", g.ID, "ResourceType", "securitygroup"}
		}),
	}}, nil
}
