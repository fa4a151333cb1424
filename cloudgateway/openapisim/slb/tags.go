package slb

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// tagging describes TagResources, UntagResources and ListTagResources.
func tagging() tags.Service {
	return tags.Service{
		Untag: "UntagResources", MaxIDs: 20, Strict: true, Codes: tagCodes(),
		Types: map[string]tags.Type{
			typeInstance: tags.Of(func(c *state.Cloud) map[string]*state.LoadBalancer { return c.LoadBalancers },
				func(lb *state.LoadBalancer) *[]state.Tag { return &lb.Tags }),
			"certificate": tags.Of(func(c *state.Cloud) map[string]*state.Certificate { return c.Certificates },
				func(cert *state.Certificate) *[]state.Tag { return &cert.Tags }),
			"acl": tags.Of(func(c *state.Cloud) map[string]*state.Acl { return c.Acls },
				func(acl *state.Acl) *[]state.Tag { return &acl.Tags }),
			"vservergroup":           groupTags(false),
			"masterslaveservergroup": groupTags(true),
			"listener":               {Find: listenerTags, IDs: listenerIDs},
		},
		Before: func(c *api.Context, resourceType, id string) {
			if resourceType == typeInstance {
				keepIndexed(c, c.State.LoadBalancers[id])
			}
		},
	}
}

const typeInstance = "instance"

func tagCodes() tags.Codes {
	return tags.Codes{
		Type: "InvalidParam.ResourceType", ID: "ResourceNotExist", Key: "InvalidParam.TagKey", NoKey: "MissingParam.TagKey", MaxKey: 64,
		Value: "InvalidParam.TagValue", IDs: "SizeLimitExceeded.ResourceId", Tags: "SizeLimitExceeded.Tag",
		Keys: "SizeLimitExceeded.TagKey", Duplicate: "Duplicate.TagKey", Quota: "QuotaLimitExceeds",
		Neither: "MissingParam.TagOrResourceId", Page: "InvalidParam.NextToken",
		Missing: map[string]string{"ResourceId": "MissingParam.ResourceId", "Tag": "MissingParam.TagKey"},
	}
}

// newTagCodes are the codes of actions that tag what they create.
func newTagCodes() []string {
	k := tagCodes()
	return []string{k.Duplicate, k.Key, k.Value, k.NoKey, k.Tags}
}

// newTags reads the tags of a new resource.
func newTags(c *api.Context) ([]state.Tag, *api.Error) {
	return tagCodes().New(c, c.Settings.Quotas.Tags)
}

// listenerID is the id by which listeners are tagged.
func listenerID(lb *state.LoadBalancer, l *state.Listener) string {
	return lb.ID + "_" + l.Protocol + "_" + strconv.Itoa(l.Port)
}

// groupTags are the tags of vServer groups, or of master-slave groups.
func groupTags(masterSlave bool) tags.Type {
	return tags.Of(func(c *state.Cloud) map[string]*state.ServerGroup {
		groups := maps.Clone(c.ServerGroups)
		maps.DeleteFunc(groups, func(_ string, g *state.ServerGroup) bool { return g.MasterSlave != masterSlave })
		return groups
	}, func(g *state.ServerGroup) *[]state.Tag { return &g.Tags })
}

func listenerTags(c *state.Cloud, id string) *[]state.Tag {
	lbID, _, _ := strings.Cut(id, "_")
	if lb := c.LoadBalancers[lbID]; lb != nil {
		i := slices.IndexFunc(lb.Listeners, func(l *state.Listener) bool { return listenerID(lb, l) == id })
		if i >= 0 {
			return &lb.Listeners[i].Tags
		}
	}
	return nil
}

func listenerIDs(c *state.Cloud) []string {
	var ids []string
	for _, lb := range c.LoadBalancers {
		for _, l := range lb.Listeners {
			ids = append(ids, listenerID(lb, l))
		}
	}
	return ids
}

// indexedTags are the tags of a load balancer that filters see.
func indexedTags(c *api.Context, lb *state.LoadBalancer) []state.Tag {
	if c.Now.Before(lb.IndexedAt) {
		return lb.IndexedTags
	}
	return lb.Tags
}

// keepIndexed is called before the tags of a load balancer change: the index learns of it a little later.
func keepIndexed(c *api.Context, lb *state.LoadBalancer) {
	if lag := c.Settings.TagIndexLag; lag > 0 {
		lb.IndexedTags, lb.IndexedAt = indexedTags(c, lb), c.Now.Add(lag)
	}
}

// balancerFilter reads the conditions of Tag.N and of the older parameter Tags, JSON text.
func balancerFilter(c *api.Context) (tags.Filter, *api.Error) {
	filter, err := tagCodes().KeysOf(c)
	if err != nil {
		return nil, api.BadRequest("InvalidTag", "%s", err.Message)
	}
	older, ok := legacyTags(c.Get("Tags"))
	if !ok || len(older) > legacyTagsPerFilter {
		return nil, api.BadRequest("InvalidTag", "The specified parameter Tags is not valid.")
	}
	return append(filter, older...), nil
}

// legacyTags reads [{"TagKey":"k","TagValue":"v"}].
func legacyTags(text string) (tags.Filter, bool) {
	items, ok := parseObjects(text)
	if !ok {
		return nil, false
	}
	var filter tags.Filter
	for _, item := range items {
		key := cmp.Or(item["tagkey"], item["key"])
		if key == "" {
			return nil, false
		}
		filter = append(filter, state.Tag{Key: key, Value: cmp.Or(item["tagvalue"], item["value"])})
	}
	return filter, true
}
