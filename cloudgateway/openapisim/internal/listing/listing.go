// Package listing cuts lists into pages, in the two ways of the OpenAPI: numbered pages, and tokens.
package listing

import (
	"encoding/base64"
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

// maxNumber bounds page numbers, so that their product with a size is a number.
const maxNumber = 1 << 20

// Params are the parameters of numbered pages.
func Params(maxSize int64) []api.Param {
	return []api.Param{
		{Name: "PageNumber", Kind: api.Int, Min: 1, Max: maxNumber},
		{Name: "PageSize", Kind: api.Int, Min: 1, Max: maxSize},
	}
}

// Numbered returns the page that PageNumber and PageSize name.
func Numbered[T any](c *api.Context, items []T) ([]T, Page) {
	page := Page{PageNumber: c.Int("PageNumber", 1), PageSize: c.Int("PageSize", defaultSize), TotalCount: len(items)}
	from := min((page.PageNumber-1)*page.PageSize, len(items))
	return items[from:min(from+page.PageSize, len(items))], page
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

// Match tells whether a filter is not set, or equal to the value.
func Match(filter, value string) bool { return filter == "" || filter == value }

// Among tells whether a filter is empty, or one of its values is among those of the item.
func Among(filter []string, values ...string) bool {
	return len(filter) == 0 || slices.ContainsFunc(values, func(v string) bool { return slices.Contains(filter, v) })
}

// CommaList splits "a,b,c".
func CommaList(s string) []string {
	return slices.DeleteFunc(strings.Split(s, ","), func(item string) bool { return item == "" })
}
