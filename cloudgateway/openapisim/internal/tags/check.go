package tags

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// Codes are the error codes of a product.
type Codes struct {
	Type, ID, Key, Value, IDs, Tags, Duplicate, Quota, Neither, Token string

	Missing  map[string]string // for required parameters that were not sent, by parameter
	Statuses map[string]int    // of codes other than 400
}

func (k Codes) err(code, format string, args ...any) *api.Error {
	e := api.BadRequest(code, format, args...)
	e.Status = cmp.Or(k.Statuses[code], http.StatusBadRequest)
	return e
}

func (k Codes) missing(param string) *api.Error {
	return k.err(k.Missing[param], "The parameter %s is mandatory for this action.", param)
}

// maxTags is the number of tags in one call.
const maxTags = 20

// checkCall checks the tags, the keys or the filter of a call.
func (k Codes) checkCall(tags []state.Tag) *api.Error {
	if len(tags) > maxTags {
		return k.err(k.Tags, "The number of tags exceeds %d.", maxTags)
	}
	return k.CheckNew(tags)
}

// CheckNew checks the tags of something new.
func (k Codes) CheckNew(tags []state.Tag) *api.Error {
	if err := k.checkWords(tags); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, t := range tags {
		if seen[t.Key] {
			return k.err(k.Duplicate, "The tag key %q is duplicated.", t.Key)
		}
		seen[t.Key] = true
	}
	return nil
}

func (k Codes) checkWords(tags []state.Tag) *api.Error {
	for _, t := range tags {
		key := strings.ToLower(t.Key)
		switch {
		case key == "" || utf8.RuneCountInString(key) > 128 || strings.HasPrefix(key, "aliyun") || strings.HasPrefix(key, "acs:"), link(key):
			return k.err(k.Key, "The specified tag key %q is not valid.", t.Key)
		case utf8.RuneCountInString(t.Value) > 128 || link(t.Value):
			return k.err(k.Value, "The specified tag value %q is not valid.", t.Value)
		}
	}
	return nil
}

func link(s string) bool { return strings.Contains(s, "http://") || strings.Contains(s, "https://") }

// Filter is the parameter Tag.N: all tags must match, those without a value by key.
type Filter []state.Tag

// FilterOf reads Tag.N.
func FilterOf(c *api.Context) Filter { return Filter(given(c)) }

// FilterOf reads Tag.N where keys and values are checked.
func (k Codes) FilterOf(c *api.Context) (Filter, *api.Error) {
	filter := FilterOf(c)
	return filter, k.checkWords(filter)
}

// Match tells whether tags pass the filter.
func (f Filter) Match(tags []state.Tag) bool {
	for _, want := range f {
		if !slices.ContainsFunc(tags, func(t state.Tag) bool { return t.Key == want.Key && listing.Match(want.Value, t.Value) }) {
			return false
		}
	}
	return true
}
