package nlb

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
)

// list is a read that shows some of all things of a kind in pages, the newest first.
type list[T any] struct {
	name  string        // of the list in the answer
	ids   string        // the parameter with the ids of those that are wanted; not sent: all
	all   map[string]*T // by id
	place func(*T) (number int64, id string)
	match func(*T) bool
	show  func(*T) api.Object
}

func (l list[T]) answer(c *api.Context) (any, *api.Error) {
	var found []*T
	add := func(item *T) {
		if item != nil && l.match(item) {
			found = append(found, item)
		}
	}
	if ids := c.List(l.ids); len(ids) > 0 { // reads that name ids cost no more in a large cloud
		slices.Sort(ids)
		for _, id := range slices.Compact(ids) {
			add(l.all[id])
		}
	} else {
		for _, item := range l.all {
			add(item)
		}
	}
	// A later number is a newer thing. Those of a seed have none, and come last.
	place := func(item *T) string {
		number, id := l.place(item)
		return fmt.Sprintf("%019d %s", math.MaxInt64-number, id)
	}
	slices.SortFunc(found, func(a, b *T) int { return strings.Compare(place(a), place(b)) })
	return pageOf(c, l.name, found, place, l.show)
}

// pageOf answers the page of NextToken and MaxResults out of a list that is sorted by place.
func pageOf[T any](c *api.Context, name string, items []T, place func(T) string, show func(T) api.Object) (api.Object, *api.Error) {
	size := c.Int("MaxResults", 20)
	page, next, ok := listing.After(items, place, c.Get("NextToken"), size)
	if !ok {
		return nil, fail(illegal)
	}
	return api.Object{
		"TotalCount", len(items), "MaxResults", size, "NextToken", api.NonZero(next), name, api.Objects(page, show),
	}, nil
}
