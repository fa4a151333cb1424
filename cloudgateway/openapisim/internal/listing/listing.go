// Package listing cuts lists into pages, in the two ways of the OpenAPI: numbered pages, and tokens.
package listing

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
)

// Page is what an answer says about a numbered page.
type Page struct {
	PageNumber int `json:"PageNumber"`
	PageSize   int `json:"PageSize"`
	TotalCount int `json:"TotalCount"`
}

// defaultSize is the size of a page when the client doesn't say.
const defaultSize = 10

// maxNumber is the greatest number of a page.
const maxNumber = 1<<31 - 1

// Params are the parameters of numbered pages.
func Params(maxSize int64) []api.Param {
	return []api.Param{
		api.Number("PageNumber", 1, maxNumber),
		api.Number("PageSize", 1, maxSize),
	}
}

// Numbered returns the page that PageNumber and PageSize name.
func Numbered[T any](c *api.Context, items []T) ([]T, Page) { return Sized(c, items, defaultSize) }

// Sized is Numbered where clients that don't say get pages of another size.
func Sized[T any](c *api.Context, items []T, size int) ([]T, Page) {
	return Cut(items, c.Int("PageNumber", 1), c.Int("PageSize", size))
}

// Cut returns the page of a number, from 1. Pages beyond the end are empty.
func Cut[T any](items []T, number, size int) ([]T, Page) {
	from := min(min(number-1, len(items))*size, len(items))
	return items[from:min(from+size, len(items))], Page{PageNumber: number, PageSize: size, TotalCount: len(items)}
}

// Answer answers the page of a call out of a list: its numbers, the list wrapped in two names, and what else there is.
func Answer[T any](c *api.Context, items []T, outer, inner string, show func(T) api.Object, more ...any) (any, *api.Error) {
	page, numbers := Numbered(c, items)
	return append(numbers.Object(), append(more, outer, api.Object{inner, api.Objects(page, show)})...), nil
}

// Object shows the numbers.
func (p Page) Object() api.Object {
	return api.Object{"PageNumber", p.PageNumber, "PageSize", p.PageSize, "TotalCount", p.TotalCount}
}

// Find returns the values of a map that match, in the order of their keys.
func Find[T any](all map[string]*T, match func(*T) bool) []*T {
	var found []*T
	for _, id := range slices.Sorted(maps.Keys(all)) {
		if match(all[id]) {
			found = append(found, all[id])
		}
	}
	return found
}

// After returns at most size items behind the one that the token names, and the token of the next page, "" if there is
// none. Items are sorted by id. A token stays good while items come and go. It reports whether the token is one of ours.
func After[T any](items []T, id func(T) string, token string, size int) (page []T, next string, ok bool) {
	from := 0
	if token != "" {
		decoded, err := base64.RawURLEncoding.DecodeString(token)
		last, ours := strings.CutPrefix(string(decoded), tokenPrefix)
		if err != nil || !ours {
			return nil, "", false
		}
		from, ok = slices.BinarySearchFunc(items, last, func(item T, last string) int { return strings.Compare(id(item), last) })
		if ok {
			from++
		}
	}
	page = items[from:min(from+size, len(items))]
	if from+size < len(items) {
		next = base64.RawURLEncoding.EncodeToString([]byte(tokenPrefix + id(page[len(page)-1])))
	}
	return page, next, true
}

const tokenPrefix = "after:"

// Match reports whether a filter is not set, or equal to the value.
func Match(filter, value string) bool { return filter == "" || filter == value }

// Among reports whether a filter is empty, or one of its values is among those of the item.
func Among(filter []string, values ...string) bool {
	return len(filter) == 0 || slices.ContainsFunc(values, func(v string) bool { return slices.Contains(filter, v) })
}

// CommaList splits "a,b,c".
func CommaList(s string) []string {
	var out []string
	for item := range strings.SplitSeq(s, ",") {
		if item = strings.TrimSpace(item); item != "" {
			out = append(out, item)
		}
	}
	return out
}
