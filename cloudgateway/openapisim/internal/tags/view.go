package tags

import (
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// Longs shows tags as ECS and SLB do.
func Longs(tags []state.Tag) api.Object { return wrapped(tags, "TagKey", "TagValue") }

// Shorts shows tags as VPC does. NLB wraps no lists.
func Shorts(tags []state.Tag) api.Object { return wrapped(tags, "Key", "Value") }

func wrapped(tags []state.Tag, key, value string) api.Object {
	return api.Object{"Tag", api.Objects(tags, func(t state.Tag) api.Object { return api.Object{key, t.Key, value, t.Value} })}
}
