package vpc

import (
	"math"
	"net/netip"
	"slices"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/clienttoken"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// Codes of prefix lists, from the error tables of CreateVpcPrefixList, ModifyVpcPrefixList and DeleteVpcPrefixList (help pages, changed
// last in December 2025).
const (
	noPrefixList    = "ResourceNotFound.PrefixList"
	wrongPrefixList = "IncorrectStatus.PrefixList"
	tooManyPrefixes = "OperationFailed.CidrCountExceedMaxCount"
	tooManyRemoved  = "OperationDenied.RemoveCountExceedExistCount"
	wrongPrefix     = "IllegalParam.CidrBlock"
	wrongPrefixText = "IllegalParam.CidrName"
	samePrefix      = "DuplicatedParam.CidrBlock"
	prefixListUsed  = "DependencyViolation.PrefixListRelation"
	wrongPage       = "IllegalParam.NextToken"
	// noPrefixListHops is one of CreateRouteEntry, as noPrefixList is.
	noPrefixListHops = "UnsupportedFeature.CreatePrefixListEcmpRouteEntry"
	// noAssociation is unproven.
	noAssociation = "ResourceNotFound.PrefixListAssociation"
)

// prefixListPrefix is how ids of prefix lists begin.
const prefixListPrefix = "pl-"

// vpcRouteTable is the type of route tables among the associations of prefix lists; those of transit routers are another product.
const vpcRouteTable = "vpcRouteTable"

// The sizes of a list and of its pages, unless a call says otherwise.
const (
	prefixListSize = 50
	prefixListPage = 20
)

// prefixListActions have the parameters and members of the types of github.com/alibabacloud-go/vpc-20160428 v6.12.8 (July 2025).
func prefixListActions() []api.Action {
	id, token, dryRun := api.Required("PrefixListId"), api.Optional("ClientToken"), api.Flag("DryRun")
	name, text := api.Optional("PrefixListName"), api.Optional("PrefixListDescription")
	size := api.Number("MaxEntries", 1, math.MaxInt32)
	list := func(name string) api.Param { return api.Param{Name: name, Kind: api.Structs} }
	entryCodes := []string{wrongPrefix, wrongPrefixText, samePrefix, tooManyPrefixes, "InvalidParameter", "DryRunOperation",
		"IdempotentParameterMismatch"}
	return []api.Action{
		api.Write("CreateVpcPrefixList", clienttoken.Once("vpc/CreateVpcPrefixList", showPrefixList, createPrefixList),
			newTagCodes(entryCodes...), region(), name, text, size, api.OneOf("IpVersion", "IPv4", "IPv6"), list("PrefixListEntries"),
			api.Optional("ResourceGroupId"), dryRun, token, tags.Param()),
		api.Read("ListPrefixLists", listPrefixLists, tagFilterCodes(wrongPage), append(tokenPage(), region(), name,
			api.Param{Name: "PrefixListIds", Kind: api.Strings, Max: 100}, api.Optional("ResourceGroupId"), tags.ListParam())...),
		api.Read("GetVpcPrefixListEntries", api.On(prefixListByID, getPrefixListEntries), []string{noPrefixList, wrongPage},
			append(tokenPage(), region(), id)...),
		api.Read("GetVpcPrefixListAssociations", api.On(prefixListByID, getPrefixListAssociations), []string{noPrefixList, wrongPage},
			append(tokenPage(), region(), id)...),
		api.Write("RetryVpcPrefixListAssociation", clienttoken.Once("vpc/RetryVpcPrefixListAssociation", nil,
			api.On(settledPrefixList, retryPrefixListAssociation)), []string{noPrefixList, wrongPrefixList, noAssociation, "DryRunOperation",
			"IdempotentParameterMismatch"}, region(), id, api.Required("ResourceId"),
			must(api.OneOf("ResourceType", vpcRouteTable, "trRouteTable")), dryRun, token),
		api.Write("ModifyVpcPrefixList", clienttoken.Once("vpc/ModifyVpcPrefixList", clienttoken.Show("PrefixListId"),
			api.On(settledPrefixList, modifyPrefixList)), append([]string{noPrefixList, wrongPrefixList, tooManyRemoved}, entryCodes...),
			region(), id, name, text, size, list("AddPrefixListEntry"), list("RemovePrefixListEntry"), dryRun, token),
		api.Write("DeleteVpcPrefixList", clienttoken.Once("vpc/DeleteVpcPrefixList", nil, api.On(settledPrefixList, deletePrefixList)),
			[]string{noPrefixList, wrongPrefixList, prefixListUsed, "DryRunOperation", "IdempotentParameterMismatch"}, region(), id, dryRun,
			token),
	}
}

// tokenPage are the parameters of a list that is read on by a token.
func tokenPage() []api.Param {
	return []api.Param{api.Number("MaxResults", 1, 100), api.Optional("NextToken")}
}

// pageAfter is the page of a list that a call wants, and the token of the next one.
func pageAfter[T any](c *api.Context, all []T, id func(T) string, size int) ([]T, string, *api.Error) {
	page, next, ok := listing.After(all, id, c.Get("NextToken"), c.Int("MaxResults", size))
	if !ok {
		return nil, "", api.BadRequest(wrongPage, "The param of NextToken is illegal.")
	}
	return page, next, nil
}

// flatTags shows tags where the cloud wraps them in nothing.
func flatTags(all []state.Tag) []api.Object {
	return api.Objects(all, func(t state.Tag) api.Object { return api.Object{"Key", t.Key, "Value", t.Value} })
}

func prefixListByID(c *api.Context) (*state.PrefixList, *api.Error) {
	return api.Named(c, c.State.PrefixLists, "PrefixListId", prefixListNotFound)
}

func prefixListNotFound() *api.Error {
	return api.BadRequest(noPrefixList, "The specified resource of prefixList is not found.")
}

// settledPrefixList is prefixListByID for what a list refuses while it is changed.
func settledPrefixList(c *api.Context) (*state.PrefixList, *api.Error) {
	l, err := prefixListByID(c)
	if err == nil && !ready(&l.Stage) {
		err = api.BadRequest(wrongPrefixList, "The status of prefixList is incorrect.")
	}
	return l, err
}

// prefixEntries reads the blocks that a call names, each of which has to be one of the version of the list.
func prefixEntries(c *api.Context, name string, ipv6 bool) ([]state.PrefixEntry, *api.Error) {
	var out []state.PrefixEntry
	for _, item := range c.Items(name) {
		prefix, err := netip.ParsePrefix(item["cidr"])
		text := prefix.String()
		switch {
		case err != nil || prefix != prefix.Masked() || prefix.Addr().Is4() == ipv6:
			return nil, api.BadRequest(wrongPrefix, "The param of cidrBlock %q is illegal.", item["cidr"])
		case !validDescription(item["description"]):
			return nil, api.BadRequest(wrongPrefixText, "The param of cidrName is illegal.")
		case prefixIndex(out, text) >= 0:
			return nil, api.BadRequest(samePrefix, "The param of cidrBlock %s is duplicated.", text)
		}
		out = append(out, state.PrefixEntry{Cidr: text, Description: item["description"]})
	}
	return out, nil
}

func prefixIndex(all []state.PrefixEntry, cidr string) int {
	return slices.IndexFunc(all, func(e state.PrefixEntry) bool { return e.Cidr == cidr })
}

// checkPrefixes is what a change of a list ends with, before it is made.
func checkPrefixes(c *api.Context, entries []state.PrefixEntry, most int) *api.Error {
	switch {
	case len(entries) > most:
		return api.BadRequest(tooManyPrefixes, "The list would have %d blocks, and can have %d.", len(entries), most)
	case c.True("DryRun"):
		return api.DryRun()
	}
	return nil
}

func createPrefixList(c *api.Context) (string, *api.Error) {
	if err := checkTexts(c, "PrefixListName", "PrefixListDescription"); err != nil {
		return "", err
	}
	labels, err := newTags(c)
	if err != nil {
		return "", err
	}
	l := &state.PrefixList{
		Name: c.Get("PrefixListName"), Description: c.Get("PrefixListDescription"), IPv6: c.Get("IpVersion") == "IPv6",
		MaxEntries: c.Int("MaxEntries", prefixListSize), ResourceGroupID: c.Get("ResourceGroupId"), Tags: labels, Created: c.Now,
		Stage: state.Stage{Status: created},
	}
	if l.Entries, err = prefixEntries(c, "PrefixListEntries", l.IPv6); err == nil {
		err = checkPrefixes(c, l.Entries, l.MaxEntries)
	}
	if err != nil {
		return "", err
	}
	l.ID = c.NewID(prefixListPrefix + "bp1")
	c.State.PrefixLists[l.ID] = l
	return l.ID, nil
}

func showPrefixList(c *api.Context, id string) any {
	group := memberOf(c.State.PrefixLists, id, func(l *state.PrefixList) string { return l.ResourceGroupID })
	return api.Object{"PrefixListId", id, "ResourceGroupId", resourceGroup(group)}
}

func newPrefixListView(c *api.Context, l *state.PrefixList) api.Object {
	var blocks []string
	for _, e := range l.Entries {
		blocks = append(blocks, e.Cidr)
	}
	version := "IPV4" // in capitals, unlike the parameter
	if l.IPv6 {
		version = "IPV6"
	}
	return api.Object{
		"PrefixListId", l.ID, "PrefixListName", l.Name, "PrefixListDescription", l.Description, "IpVersion", version,
		"MaxEntries", l.MaxEntries, "CidrBlocks", blocks, "Status", l.Stage.Status, "PrefixListStatus", l.Stage.Status,
		"PrefixListType", "Custom", "ShareType", "", "OwnerId", c.Account, "RegionId", c.Region, "CreationTime", creationTime(l.Created),
		"ResourceGroupId", resourceGroup(l.ResourceGroupID), "Tags", flatTags(l.Tags),
	}
}

func listPrefixLists(c *api.Context) (any, *api.Error) {
	filter, err := tagCodes().FilterAs(c, tags.ListName)
	if err != nil {
		return nil, err
	}
	matching := listing.Find(c.State.PrefixLists, func(l *state.PrefixList) bool {
		return listing.Among(c.List("PrefixListIds"), l.ID) && listing.Match(c.Get("PrefixListName"), l.Name) &&
			listing.Match(c.Get("ResourceGroupId"), resourceGroup(l.ResourceGroupID)) && filter.Match(l.Tags)
	})
	page, next, err := pageAfter(c, matching, func(l *state.PrefixList) string { return l.ID }, prefixListPage)
	if err != nil {
		return nil, err
	}
	return api.Object{
		"NextToken", next, "TotalCount", len(matching), "MaxResults", c.Int("MaxResults", prefixListPage),
		"PrefixLists", api.Objects(page, func(l *state.PrefixList) api.Object { return newPrefixListView(c, l) }),
	}, nil
}

func getPrefixListEntries(c *api.Context, l *state.PrefixList) (any, *api.Error) {
	all := slices.SortedFunc(slices.Values(l.Entries), func(a, b state.PrefixEntry) int { return strings.Compare(a.Cidr, b.Cidr) })
	page, next, err := pageAfter(c, all, func(e state.PrefixEntry) string { return e.Cidr }, prefixListPage)
	if err != nil {
		return nil, err
	}
	return api.Object{
		"NextToken", next, "TotalCount", len(all), "Count", len(page),
		"PrefixListEntry", api.Objects(page, func(e state.PrefixEntry) api.Object {
			return api.Object{"PrefixListId", l.ID, "Cidr", e.Cidr, "Description", e.Description, "RegionId", c.Region}
		}),
	}, nil
}

// tablesWith are the route tables with an entry that leads to a prefix list.
func tablesWith(c *state.Cloud, listID string) []*state.RouteTable {
	return listing.Find(c.RouteTables, func(table *state.RouteTable) bool {
		return slices.ContainsFunc(table.Entries, func(e *state.RouteEntry) bool { return e.Cidr == listID })
	})
}

func getPrefixListAssociations(c *api.Context, l *state.PrefixList) (any, *api.Error) {
	all := tablesWith(c.State, l.ID)
	page, next, err := pageAfter(c, all, func(table *state.RouteTable) string { return table.ID }, prefixListPage)
	if err != nil {
		return nil, err
	}
	return api.Object{
		"NextToken", next, "TotalCount", len(all), "Count", len(page),
		"PrefixListAssociation", api.Objects(page, func(table *state.RouteTable) api.Object {
			return api.Object{
				"PrefixListId", l.ID, "ResourceId", table.ID, "ResourceType", vpcRouteTable, "Status", l.Stage.Status, "Reason", "",
				"OwnerId", c.Account, "ResourceUid", c.Account, "RegionId", c.Region,
			}
		}),
	}, nil
}

// retryPrefixListAssociation applies a list to a route table once more. None fails here, so the table has the blocks already.
func retryPrefixListAssociation(c *api.Context, l *state.PrefixList) (string, *api.Error) {
	id := c.Get("ResourceId")
	switch {
	case !slices.ContainsFunc(tablesWith(c.State, l.ID), func(table *state.RouteTable) bool { return table.ID == id }):
		return "", api.BadRequest(noAssociation, "The prefix list is not associated with %s.", id)
	case c.True("DryRun"):
		return "", api.DryRun()
	}
	return l.ID, nil
}

// modifyPrefixList removes first: a tool that changes the description of a block names it in both lists.
func modifyPrefixList(c *api.Context, l *state.PrefixList) (string, *api.Error) {
	if err := checkTexts(c, "PrefixListName", "PrefixListDescription"); err != nil {
		return "", err
	}
	removed, err := prefixEntries(c, "RemovePrefixListEntry", l.IPv6)
	if err != nil {
		return "", err
	}
	added, err := prefixEntries(c, "AddPrefixListEntry", l.IPv6)
	switch {
	case err != nil:
		return "", err
	case len(removed) > len(l.Entries):
		return "", api.BadRequest(tooManyRemoved, "The list has %d blocks, of which %d can't be removed.", len(l.Entries), len(removed))
	}
	entries := slices.Clone(l.Entries)
	for _, e := range removed {
		at := prefixIndex(entries, e.Cidr)
		if at < 0 {
			return "", api.BadRequest(wrongPrefix, "The list does not have the block %s.", e.Cidr)
		}
		entries = slices.Delete(entries, at, at+1)
	}
	for _, e := range added {
		if at := prefixIndex(entries, e.Cidr); at >= 0 {
			entries[at] = e
			continue
		}
		entries = append(entries, e)
	}
	most := c.Int("MaxEntries", l.MaxEntries)
	if err := checkPrefixes(c, entries, most); err != nil {
		return "", err
	}
	l.Entries, l.MaxEntries = entries, most
	c.SetText("PrefixListName", &l.Name)
	c.SetText("PrefixListDescription", &l.Description)
	begin(c, &l.Stage, modifying)
	return l.ID, nil
}

func deletePrefixList(c *api.Context, l *state.PrefixList) (string, *api.Error) {
	switch {
	case len(tablesWith(c.State, l.ID)) > 0:
		return "", api.BadRequest(prefixListUsed, "The specified resource of prefixList depends on prefixList relation.")
	case c.True("DryRun"):
		return "", api.DryRun()
	}
	delete(c.State.PrefixLists, l.ID)
	return l.ID, nil
}
