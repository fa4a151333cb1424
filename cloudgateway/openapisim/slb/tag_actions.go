package slb

import (
	"slices"
	"strconv"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// tagsPerPage is the size of a page of ListTagResources.
const tagsPerPage = 50

func tagActions() []api.Action {
	types := required("ResourceType") // its values have a code of their own
	ids := api.Param{Name: "ResourceId", Kind: api.Strings}
	wanted := mustWith(ids, "MissingParam.ResourceId")
	return []api.Action{
		{
			Name: "TagResources", Mutating: true, Handle: tagResources,
			Params: []api.Param{region(), types, wanted, mustWith(tagParam(), "MissingParam.TagKey")},
			Codes:  append(newTagCodes(), "InvalidParam.ResourceType", "QuotaLimitExceeds", "ResourceNotExist", "SizeLimitExceeded.ResourceId"),
		},
		{
			Name: "UntagResources", Mutating: true, Handle: untagResources,
			Params: []api.Param{region(), types, wanted, {Name: "TagKey", Kind: api.Strings}, api.Flag("All")},
			Codes: []string{
				"Duplicate.TagKey", "InvalidParam.ResourceType", "MissingParam.TagKey", "ResourceNotExist", "SizeLimitExceeded.ResourceId",
				"SizeLimitExceeded.TagKey",
			},
		},
		{
			Name: "ListTagResources", Handle: listTagResources,
			Params: []api.Param{region(), types, ids, tagParam(), api.Optional("NextToken")},
			Codes: []string{
				"InvalidParam.NextToken", "InvalidParam.ResourceType", "MissingParam.TagKey", "MissingParam.TagOrResourceId",
				"ResourceNotExist", "SizeLimitExceeded.ResourceId", "SizeLimitExceeded.Tag",
			},
		},
	}
}

// checkType refuses a ResourceType that there is not.
func checkType(c *api.Context) *api.Error {
	if slices.Contains([]string{"instance", "certificate", "acl", "listener", "vservergroup", "masterslaveservergroup"}, c.Get("ResourceType")) {
		return nil
	}
	return api.BadRequest("InvalidParam.ResourceType", "The specified ResourceType %s is not valid.", c.Get("ResourceType"))
}

// taggedResource returns where the tags of a resource are, or nil if there is no such resource.
func taggedResource(c *api.Context, kind, id string) *[]state.Tag {
	switch kind {
	case "instance":
		if lb := c.State.LoadBalancers[id]; lb != nil {
			return &lb.Tags
		}
	case "certificate":
		if cert := c.State.Certificates[id]; cert != nil {
			return &cert.Tags
		}
	case "acl":
		if acl := c.State.Acls[id]; acl != nil {
			return &acl.Tags
		}
	case "vservergroup":
		if g := c.State.ServerGroups[id]; g != nil {
			return &g.Tags
		}
	case "listener":
		lbID, _, _ := strings.Cut(id, "_")
		if lb := c.State.LoadBalancers[lbID]; lb != nil {
			i := slices.IndexFunc(lb.Listeners, func(l *state.Listener) bool { return listenerID(lb, l) == id })
			if i >= 0 {
				return &lb.Listeners[i].Tags
			}
		}
	}
	return nil
}

// listenerID is the id by which listeners are tagged.
func listenerID(lb *state.LoadBalancer, l *state.Listener) string {
	return lb.ID + "_" + l.Protocol + "_" + strconv.Itoa(l.Port)
}

// taggedIDs returns the ids of all resources of a kind.
func taggedIDs(c *api.Context, kind string) []string {
	var ids []string
	switch kind {
	case "instance", "listener":
		for id, lb := range c.State.LoadBalancers {
			if kind == "instance" {
				ids = append(ids, id)
				continue
			}
			for _, l := range lb.Listeners {
				ids = append(ids, listenerID(lb, l))
			}
		}
	case "certificate":
		for id := range c.State.Certificates {
			ids = append(ids, id)
		}
	case "acl":
		for id := range c.State.Acls {
			ids = append(ids, id)
		}
	case "vservergroup":
		for id := range c.State.ServerGroups {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// resources returns where the tags of the resources in ResourceId.N are.
func resources(c *api.Context) ([]*[]state.Tag, *api.Error) {
	ids := c.List("ResourceId")
	if len(ids) > tagsPerCall {
		return nil, tooManyResources()
	}
	var out []*[]state.Tag
	for _, id := range ids {
		tags := taggedResource(c, c.Get("ResourceType"), id)
		if tags == nil {
			return nil, resourceNotFound(id)
		}
		out = append(out, tags)
	}
	return out, nil
}

func resourceNotFound(id string) *api.Error {
	return api.BadRequest("ResourceNotExist", "The resource %s does not exist.", id)
}

func tooManyResources() *api.Error {
	return api.BadRequest("SizeLimitExceeded.ResourceId", "The number of ResourceId exceeds %d.", tagsPerCall)
}

func tagResources(c *api.Context) (any, *api.Error) {
	if err := checkType(c); err != nil {
		return nil, err
	}
	tags, err := newTags(c.Items("Tag"), tagsPerCall)
	if err != nil {
		return nil, err
	}
	all, err := resources(c)
	if err != nil {
		return nil, err
	}
	limit := c.Settings.Quotas.Tags
	for _, old := range all {
		if len(merge(*old, tags)) > limit {
			return nil, api.BadRequest("QuotaLimitExceeds", "The number of tags of a resource exceeds the quota of %d.", limit)
		}
	}
	for i, old := range all {
		retag(c, i, old, merge(*old, tags))
	}
	return nil, nil
}

func untagResources(c *api.Context) (any, *api.Error) {
	if err := checkType(c); err != nil {
		return nil, err
	}
	keys, everything := c.List("TagKey"), c.True("All")
	switch {
	case len(slices.Compact(slices.Sorted(slices.Values(keys)))) < len(keys):
		return nil, api.BadRequest("Duplicate.TagKey", "A tag key is duplicated.")
	case len(keys) > tagsPerCall:
		return nil, api.BadRequest("SizeLimitExceeded.TagKey", "The number of TagKey exceeds %d.", tagsPerCall)
	case len(keys) == 0 && !everything:
		return nil, api.BadRequest("MissingParam.TagKey", "The tag key is missing.")
	}
	all, err := resources(c)
	if err != nil {
		return nil, err
	}
	for i, tags := range all {
		retag(c, i, tags, slices.DeleteFunc(slices.Clone(*tags), func(t state.Tag) bool {
			return slices.Contains(keys, t.Key) || (len(keys) == 0 && everything)
		}))
	}
	return nil, nil
}

// retag changes the tags of the i-th resource of ResourceId.N, which are at old.
func retag(c *api.Context, i int, old *[]state.Tag, tags []state.Tag) {
	if lb := c.State.LoadBalancers[c.List("ResourceId")[i]]; lb != nil && c.Get("ResourceType") == "instance" {
		setTags(c, lb, tags)
		return
	}
	*old = tags
}

type listedTags struct {
	NextToken    string `json:"NextToken"`
	TagResources struct {
		TagResource []taggedView `json:"TagResource"`
	} `json:"TagResources"`
}

type taggedView struct {
	ResourceType string `json:"ResourceType"`
	ResourceID   string `json:"ResourceId"`
	TagKey       string `json:"TagKey"`
	TagValue     string `json:"TagValue"`
}

func listTagResources(c *api.Context) (any, *api.Error) {
	if err := checkType(c); err != nil {
		return nil, err
	}
	filter, err := tagConditions(c)
	if err != nil {
		return nil, err
	}
	ids, kind := c.List("ResourceId"), c.Get("ResourceType")
	switch {
	case len(ids) == 0 && len(filter) == 0:
		return nil, api.BadRequest("MissingParam.TagOrResourceId", "Either Tag or ResourceId is required.")
	case len(ids) > tagsPerCall:
		return nil, tooManyResources()
	case len(ids) == 0:
		ids = taggedIDs(c, kind)
	}
	var all []taggedView
	for _, id := range ids {
		tags := taggedResource(c, kind, id)
		switch {
		case tags == nil:
			return nil, resourceNotFound(id)
		case !matchTags(*tags, filter):
			continue
		}
		for _, t := range *tags {
			all = append(all, taggedView{ResourceType: kind, ResourceID: id, TagKey: t.Key, TagValue: t.Value})
		}
	}
	from := 0
	if c.Has("NextToken") {
		n, err := strconv.Atoi(c.Get("NextToken"))
		if err != nil || n < 0 || n > len(all) {
			return nil, api.BadRequest("InvalidParam.NextToken", "The specified NextToken is not valid.")
		}
		from = n
	}
	var out listedTags
	to := min(from+tagsPerPage, len(all))
	out.TagResources.TagResource = append([]taggedView{}, all[from:to]...)
	if to < len(all) {
		out.NextToken = strconv.Itoa(to)
	}
	return out, nil
}
