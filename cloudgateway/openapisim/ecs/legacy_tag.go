package ecs

import (
	"slices"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// legacyTagActions are the older names of tagging, for one resource at a time. Their codes are taken to be those of the newer ones.
func legacyTagActions() []api.Action {
	kind, id := api.Required("ResourceType"), api.Required("ResourceId")
	tag := api.Param{Name: "Tag", Kind: api.Structs, Required: true}
	service := tagging()
	codes := api.Words("InvalidResourceType.NotFound InvalidResourceId.NotFound")
	return []api.Action{
		api.Write("AddTags", func(c *api.Context) (any, *api.Error) { return done(service.Tag(c)) },
			append(api.Words(`InvalidTagKey.Malformed InvalidTagValue.Malformed Duplicate.TagKey NumberExceed.Tags QuotaExceed.Tags`),
				codes...), region(), kind, id, tag),
		api.Write("RemoveTags", func(c *api.Context) (any, *api.Error) { return done(service.RemoveMatching(c)) },
			append(api.Words("NumberExceed.Tags"), codes...), region(), kind, id, tag),
		api.Read("DescribeTags", describeTags, api.Words("InvalidResourceType.NotFound"), append(listing.Params(maxResults), region(),
			api.Optional("ResourceType"), api.Optional("ResourceId"), tags.Param())...),
	}
}

func done(apply func(), err *api.Error) (any, *api.Error) {
	if err == nil {
		apply()
	}
	return nil, err
}

// describeTags lists each tag once.
func describeTags(c *api.Context) (any, *api.Error) {
	all, err := tagging().All(c, c.Get("ResourceType"), c.Get("ResourceId"))
	if err != nil {
		return nil, err
	}
	filter := tags.FilterOf(c)
	all = slices.DeleteFunc(all, func(t state.Tag) bool {
		return len(filter) > 0 && !filter.MatchAny([]state.Tag{t})
	})
	return listing.Answer(c, all, "Tags", "Tag", func(t state.Tag) api.Object {
		return api.Object{"TagKey", t.Key, "TagValue", t.Value}
	})
}
