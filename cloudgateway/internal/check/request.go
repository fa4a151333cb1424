// Package check says what is wrong with requests, before anything is done for them.
package check

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	"alicloud-controllers.dev/services/rpcerr"
)

// Request collects what is wrong with a request, so that the caller learns all of it at once.
type Request struct {
	violations []rpcerr.FieldViolation
	more       bool // there are others, and nothing else need be looked at
}

const (
	// maxViolations bounds the answer to a request with thousands of wrong items.
	maxViolations = 20
	// MaxItems bounds the work that one request makes: more than the nodes of any cluster.
	MaxItems = 20_000
)

// Addf reports a violation. The same violation is reported once.
func (c *Request) Addf(field, format string, args ...any) {
	if len(c.violations) == maxViolations {
		c.more = true
		return
	}
	v := rpcerr.FieldViolation{Field: field, Description: fmt.Sprintf(format, args...)}
	if !slices.Contains(c.violations, v) {
		c.violations = append(c.violations, v)
	}
}

// Err gives INVALID_ARGUMENT with all violations, or nil.
func (c *Request) Err() error {
	if len(c.violations) == 0 {
		return nil
	}
	if c.more {
		c.violations[maxViolations-1].Description += "; and there are more problems"
	}
	return rpcerr.Invalid(c.violations...)
}

// ID checks a required cloud id.
func (c *Request) ID(field, value string) {
	if value == "" {
		c.Addf(field, "is required")
	}
	c.OptionalID(field, value)
}

// OptionalID checks a cloud id that may be left out.
func (c *Request) OptionalID(field, value string) {
	if value != "" {
		c.form(field, value, commonv1.Form_FORM_ID)
	}
}

// Network checks an IP network.
func (c *Request) Network(field, value string) { c.form(field, value, commonv1.Form_FORM_NETWORK) }

func (c *Request) form(field, value string, want commonv1.Form) {
	if problem := form(want, value); problem != "" {
		c.Addf(field, "%s", problem)
	}
}

// Text checks the length of a text in characters.
func (c *Request) Text(field, value string, shortest, longest int) {
	if n := utf8.RuneCountInString(value); n < shortest || n > longest {
		c.Addf(field, "is %d characters long, must be %d to %d", n, shortest, longest)
	}
}

// Number checks that a number is in a range.
func (c *Request) Number(field string, value, low, high int32) {
	if value < low || value > high {
		c.Addf(field, "%d is out of range, must be %d to %d", value, low, high)
	}
}

// requestID checks an idempotency key.
func (c *Request) requestID(value string, required bool) {
	const longest = 64
	printable := !strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r > '~' })
	if value == "" && required || len(value) > longest || !printable {
		c.Addf("request_id", "must be 1 to %d printable ASCII characters", longest)
	}
}

// maxAge checks how old an answer may be.
func (c *Request) maxAge(d *durationpb.Duration) {
	if d != nil && (!d.IsValid() || d.AsDuration() < 0) {
		c.Addf("max_age", "must be a duration of zero or more")
	}
}

// items reports whether a list is short enough to be looked at.
func (c *Request) items(field string, n, most int) bool {
	if n > most {
		c.Addf(field, "has %d items, at most %d are allowed", n, most)
	}
	return n <= most
}

// tags checks tags to be set or searched for.
func (c *Request) tags(field string, tags []*commonv1.Tag) {
	const most, longestKey, longestValue = 20, 64, 128
	if !c.items(field, len(tags), most) {
		return
	}
	var seen []string
	for i, t := range tags {
		at := fmt.Sprintf("%s[%d]", field, i)
		(&place{name: protoreflect.Name(at), index: -1}).known(c, t.ProtoReflect())
		c.Text(at+".key", t.GetKey(), 1, longestKey)
		c.Text(at+".value", t.GetValue(), 0, longestValue)
		if slices.Contains(seen, t.GetKey()) {
			c.Addf(at+".key", "%q is there twice", Shorten(t.GetKey()))
		}
		seen = append(seen, t.GetKey())
	}
}

// tagChanges checks the fields set_tags and remove_tag_keys.
func (c *Request) tagChanges(set []*commonv1.Tag, keys []string) {
	const most, longest = 20, 64
	c.tags("set_tags", set)
	if !c.items("remove_tag_keys", len(keys), most) {
		return
	}
	for _, key := range keys {
		c.Text("remove_tag_keys", key, 1, longest)
	}
	for _, t := range set[:min(most, len(set))] {
		if slices.Contains(keys, t.GetKey()) {
			c.Addf("remove_tag_keys", "%q is also in set_tags", Shorten(t.GetKey()))
		}
	}
}

// Shorten makes a value fit into a violation.
func Shorten(s string) string {
	const longest = 40
	if len(s) <= longest {
		return s
	}
	return strings.ToValidUTF8(s[:longest], "") + "…"
}
