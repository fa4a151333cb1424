package ecs

import (
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
)

// page cuts a list that is sorted by id into the page that a call asks for: by NextToken and MaxResults, of which size is the value in
// force, or by the older PageNumber and PageSize. A call with neither gets the first page with a token, since clients that follow
// tokens begin so; what the older way counts is there as well. Items are found by the id that the token holds. The answer begins with
// what is said about the page. It reports whether the token is one of ours.
func page[T any](c *api.Context, items []T, id func(T) string, size int) (cut []T, answer api.Object, ok bool) {
	tokens := c.Has("NextToken") || c.Has("MaxResults")
	if !tokens && (c.Has("PageNumber") || c.Has("PageSize")) {
		cut, numbers := listing.Numbered(c, items)
		return cut, append(numbers.Object(), "NextToken", ""), true
	}
	cut, next, ok := listing.After(items, id, c.Get("NextToken"), size)
	numbers := listing.Page{PageNumber: 1, PageSize: size, TotalCount: len(items)}
	if tokens {
		numbers.TotalCount = 0 // it is not counted with tokens
	}
	return cut, append(numbers.Object(), "NextToken", next), ok
}
