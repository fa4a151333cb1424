package nlb

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	shared "alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// tag shows a tag of a resource.
type tag struct {
	Key   string `json:"Key"`
	Value string `json:"Value"`
}

func showTags(tags []state.Tag) []tag {
	out := make([]tag, 0, len(tags))
	for _, t := range tags {
		out = append(out, tag(t))
	}
	return out
}

// givenTags reads the parameter Tag.
func givenTags(c *api.Context) []state.Tag { return shared.FilterOf(c) }

// matchTags reports whether tags have one of the wanted ones. Several are alternatives in this product; a wanted tag without a
// value matches by key.
func matchTags(wanted, tags []state.Tag) bool {
	return len(wanted) == 0 || slices.ContainsFunc(wanted, func(w state.Tag) bool {
		return slices.ContainsFunc(tags, func(t state.Tag) bool { return t.Key == w.Key && listing.Match(w.Value, t.Value) })
	})
}

// validTags reports whether a resource can have tags: keys up to 64 characters, values up to 128, no key twice.
func validTags(tags []state.Tag) bool {
	seen := map[string]bool{}
	for _, t := range tags {
		key := strings.ToLower(t.Key)
		if key == "" || utf8.RuneCountInString(key) > 64 || utf8.RuneCountInString(t.Value) > 128 || seen[t.Key] ||
			strings.HasPrefix(key, "aliyun") || strings.HasPrefix(key, "acs:") || strings.Contains(key+t.Value, "http://") ||
			strings.Contains(key+t.Value, "https://") {
			return false
		}
		seen[t.Key] = true
	}
	return true
}

func tagActions() []api.Action {
	kind := required(api.OneOf("ResourceType", kindBalancer, kindListener, kindGroup, kindPolicy))
	ids := required(list("ResourceId", maxResources))
	missing := []string{noBalancer, noListener, noGroup, "ResourceNotFound.securitypolicy"}
	return []api.Action{
		write("TagResources", tagResources, append([]string{illegal, quota}, missing...), kind, ids, required(structs("Tag", maxTags))),
		write("UntagResources", untagResources, missing, kind, ids, list("TagKey", maxTags), api.Flag("All")),
		read("ListTagResources", listTags, nil, append(paging(), kind, list("ResourceId", maxResources), structs("Tag", maxTags))...),
	}
}

// notFound is the error for a resource that does not exist.
func notFound(kind string) *api.Error {
	return fail(map[string]string{
		kindBalancer: noBalancer, kindListener: noListener, kindGroup: noGroup, kindPolicy: "ResourceNotFound.securitypolicy",
	}[kind])
}

// tagsOf returns the tags of a resource, or nil if it does not exist.
func tagsOf(c *state.Cloud, kind, id string) *[]state.Tag {
	switch kind {
	case kindBalancer:
		if lb := c.NLBs[id]; lb != nil {
			return &lb.Tags
		}
	case kindListener:
		if l := c.NLBListeners[id]; l != nil {
			return &l.Tags
		}
	case kindGroup:
		if g := c.NLBServerGroups[id]; g != nil {
			return &g.Tags
		}
	case kindPolicy:
		if p := c.NLBSecurityPolicies[id]; p != nil {
			return &p.Tags
		}
	}
	return nil
}

func taggedIDs(c *state.Cloud, kind string) []string {
	switch kind {
	case kindBalancer:
		return slices.Collect(maps.Keys(c.NLBs))
	case kindListener:
		return slices.Collect(maps.Keys(c.NLBListeners))
	case kindGroup:
		return slices.Collect(maps.Keys(c.NLBServerGroups))
	default:
		return slices.Collect(maps.Keys(c.NLBSecurityPolicies))
	}
}

// retag is the change of the tags of the resources of a call.
func retag(c *api.Context, how func(old []state.Tag) []state.Tag) (*change, *api.Error) {
	kind := c.Get("ResourceType")
	var places []*[]state.Tag
	for _, id := range c.List("ResourceId") {
		place := tagsOf(c.State, kind, id)
		switch {
		case place == nil:
			return nil, notFound(kind)
		case len(how(*place)) > c.Settings.Quotas.Tags:
			return nil, fail(quota)
		}
		places = append(places, place)
	}
	return &change{apply: func() {
		for _, place := range places {
			*place = how(*place)
		}
	}}, nil
}

func tagResources(c *api.Context) (*change, *api.Error) {
	added := givenTags(c)
	if !validTags(added) {
		return nil, fail(illegal)
	}
	return retag(c, func(old []state.Tag) []state.Tag { return shared.Merge(old, added) })
}

func untagResources(c *api.Context) (*change, *api.Error) {
	keys := c.List("TagKey")
	all := len(keys) == 0 && c.True("All")
	return retag(c, func(old []state.Tag) []state.Tag {
		left := slices.DeleteFunc(slices.Clone(old), func(t state.Tag) bool { return all || slices.Contains(keys, t.Key) })
		if len(left) == 0 {
			return nil
		}
		return left
	})
}

type taggedView struct {
	ResourceID   string `json:"ResourceId"`
	ResourceType string `json:"ResourceType"`
	TagKey       string `json:"TagKey"`
	TagValue     string `json:"TagValue"`
}

func listTags(c *api.Context) (any, *api.Error) {
	kind, wanted, ids := c.Get("ResourceType"), givenTags(c), c.List("ResourceId")
	if len(ids) == 0 {
		ids = taggedIDs(c.State, kind)
	}
	slices.Sort(ids)
	ids = slices.DeleteFunc(slices.Compact(ids), func(id string) bool {
		tags := tagsOf(c.State, kind, id)
		return tags == nil || !matchTags(wanted, *tags)
	})
	page, ids, err := pageOf(c, ids, func(id string) string { return id })
	if err != nil {
		return nil, err
	}
	out := struct {
		pageView
		TagResources []taggedView `json:"TagResources"`
	}{page, []taggedView{}}
	for _, id := range ids {
		for _, t := range *tagsOf(c.State, kind, id) {
			out.TagResources = append(out.TagResources, taggedView{id, kind, t.Key, t.Value})
		}
	}
	return out, nil
}
