package nlb

import (
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// tagging describes TagResources, UntagResources and ListTagResources.
func tagging() tags.Service {
	typed := func(t tags.Type, unknown string) tags.Type {
		t.Unknown = unknown
		return t
	}
	return tags.Service{
		MaxIDs: maxResources, Any: true, Codes: tagCodes(),
		Types: map[string]tags.Type{
			kindBalancer: typed(tags.Of(func(c *state.Cloud) map[string]*state.NLB { return c.NLBs },
				func(lb *state.NLB) *[]state.Tag { return &lb.Tags }), noBalancer),
			kindListener: typed(tags.Of(func(c *state.Cloud) map[string]*state.NLBListener { return c.NLBListeners },
				func(l *state.NLBListener) *[]state.Tag { return &l.Tags }), noListener),
			kindGroup: typed(tags.Of(func(c *state.Cloud) map[string]*state.NLBServerGroup { return c.NLBServerGroups },
				func(g *state.NLBServerGroup) *[]state.Tag { return &g.Tags }), noGroup),
			kindPolicy: typed(tags.Of(func(c *state.Cloud) map[string]*state.NLBSecurityPolicy { return c.NLBSecurityPolicies },
				func(p *state.NLBSecurityPolicy) *[]state.Tag { return &p.Tags }), noPolicy),
		},
	}
}

func tagCodes() tags.Codes {
	return tags.Codes{Key: illegal, Value: illegal, Duplicate: illegal, Tags: illegal, IDs: illegal, Quota: quota, MaxKey: 64, Error: fail}
}

// validTags reports whether a resource can have tags.
func validTags(t []state.Tag) bool { return tagCodes().CheckNew(t) == nil }

// retag checks a change of tags, which has no job.
func retag(check func(*api.Context) (func(), *api.Error)) func(*api.Context) (*change, *api.Error) {
	return func(c *api.Context) (*change, *api.Error) {
		apply, err := check(c)
		return &change{apply: apply}, err
	}
}

func tagActions() []api.Action {
	kind := required(api.OneOf("ResourceType", kindBalancer, kindListener, kindGroup, kindPolicy))
	ids := required(texts("ResourceId", maxResources))
	missing := []string{noBalancer, noListener, noGroup, noPolicy}
	s := tagging()
	return []api.Action{
		write("TagResources", retag(s.Tag), append([]string{illegal, quota}, missing...), kind, ids, required(structs("Tag", maxTags))),
		write("UntagResources", retag(s.Remove), append([]string{illegal}, missing...), kind, ids, texts("TagKey", maxTags), api.Flag("All")),
		read("ListTagResources", listTags, []string{illegal}, append(paging(), kind, texts("ResourceId", maxResources),
			structs("Tag", maxTags))...),
	}
}

func listTags(c *api.Context) (any, *api.Error) {
	found, err := tagging().Find(c)
	if err != nil {
		return nil, err
	}
	return pageOf(c, "TagResources", found, tags.Tagged.Place, func(t tags.Tagged) api.Object {
		return api.Object{
			"ResourceType", t.ResourceType, "ResourceId", t.ResourceID, "TagKey", t.TagKey, "TagValue", t.TagValue, "RegionNo", c.Region,
			"AliUid", account(c),
		}
	})
}
