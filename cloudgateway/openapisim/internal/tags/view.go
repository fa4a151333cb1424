package tags

import "alicloud-controllers.dev/cloudgateway/openapisim/state"

// Long is a tag as ECS and SLB show it.
type Long struct {
	TagKey   string `json:"TagKey"`
	TagValue string `json:"TagValue"`
}

// LongList is the wrapped list of the tags of a resource of ECS and SLB.
type LongList struct {
	Tag []Long `json:"Tag"`
}

// Longs shows tags as ECS and SLB do.
func Longs(tags []state.Tag) LongList {
	list := LongList{Tag: make([]Long, 0, len(tags))}
	for _, t := range tags {
		list.Tag = append(list.Tag, Long{TagKey: t.Key, TagValue: t.Value})
	}
	return list
}

// Short is a tag as VPC and NLB show it.
type Short struct {
	Key   string `json:"Key"`
	Value string `json:"Value"`
}

// ShortList is the wrapped list of the tags of a resource of VPC. NLB wraps no lists.
type ShortList struct {
	Tag []Short `json:"Tag"`
}

// Shorts shows tags as VPC does.
func Shorts(tags []state.Tag) ShortList {
	list := ShortList{Tag: make([]Short, 0, len(tags))}
	for _, t := range tags {
		list.Tag = append(list.Tag, Short(t))
	}
	return list
}
