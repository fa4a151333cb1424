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
	Type, ID, Key, Value, IDs, Tags, Duplicate, Quota, Neither, Page string

	Keys   string // for too many keys to remove; "": as Tags
	NoKey  string // for a tag without a key, and for a removal of nothing; "": as Key, and such a removal is accepted
	MaxKey int    // characters of a key; 0: 128

	Missing  map[string]string // for required parameters that were not sent, by parameter
	Statuses map[string]int    // of codes other than 400

	// Error makes the errors of a product with texts of its own. Nil: those of this package.
	Error func(code string) *api.Error
}

func (k Codes) err(code, format string, args ...any) *api.Error {
	if k.Error != nil {
		return k.Error(code)
	}
	e := api.BadRequest(code, format, args...)
	e.Status = cmp.Or(k.Statuses[code], http.StatusBadRequest)
	return e
}

func (k Codes) missing(param string) *api.Error {
	if k.Missing[param] == "" {
		return nil // the common one
	}
	return k.err(k.Missing[param], "The parameter %s is mandatory for this action.", param)
}

// maxTags is the number of tags in one call.
const maxTags = 20

// count checks the number of tags or keys in a call.
func (k Codes) count(n, most int, code string) *api.Error {
	if n > most {
		return k.err(code, "The number of tags exceeds %d.", most)
	}
	return nil
}

// New reads Tag.N as the tags of something new, which can have at most so many.
func (k Codes) New(c *api.Context, most int) ([]state.Tag, *api.Error) {
	tags := given(c)
	if err := k.count(len(tags), min(most, maxTags), k.Tags); err != nil {
		return nil, err
	}
	return tags, k.CheckNew(tags)
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
	longest := cmp.Or(k.MaxKey, 128)
	for _, t := range tags {
		key := strings.ToLower(t.Key)
		switch {
		case key == "" && k.NoKey != "":
			return k.err(k.NoKey, "The tag key is missing.")
		case key == "" || utf8.RuneCountInString(key) > longest || strings.HasPrefix(key, "aliyun") || strings.HasPrefix(key, "acs:"), link(key):
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

// FilterAs is FilterOf by another parameter.
func (k Codes) FilterAs(c *api.Context, name string) (Filter, *api.Error) {
	filter := Filter(givenAs(c, name))
	return filter, k.checkWords(filter)
}

// KeysOf reads Tag.N where there may be no more than in other calls, and none without a key.
func (k Codes) KeysOf(c *api.Context) (Filter, *api.Error) {
	filter := FilterOf(c)
	if slices.ContainsFunc(filter, func(t state.Tag) bool { return t.Key == "" }) {
		return nil, k.err(cmp.Or(k.NoKey, k.Key), "The tag key is missing.")
	}
	return filter, k.count(len(filter), maxTags, k.Tags)
}

// Match reports whether tags pass the filter.
func (f Filter) Match(tags []state.Tag) bool {
	return !slices.ContainsFunc(f, func(wanted state.Tag) bool { return !slices.ContainsFunc(tags, matches(wanted)) })
}

// MatchAny reports whether tags pass a filter of alternatives.
func (f Filter) MatchAny(tags []state.Tag) bool {
	return len(f) == 0 || slices.ContainsFunc(f, func(wanted state.Tag) bool { return slices.ContainsFunc(tags, matches(wanted)) })
}

func matches(wanted state.Tag) func(state.Tag) bool {
	return func(t state.Tag) bool { return t.Key == wanted.Key && listing.Match(wanted.Value, t.Value) }
}
