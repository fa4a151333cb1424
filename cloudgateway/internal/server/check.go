package server

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/durationpb"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	"alicloud-controllers.dev/services/rpcerr"
)

// check collects what is wrong with a request, so that the caller learns all of it at once.
type check struct {
	violations []rpcerr.FieldViolation
	more       int // of which nothing but the number is told
}

const (
	// maxViolations bounds the answer to a request with thousands of wrong items.
	maxViolations = 20
	// maxItems bounds the work that one request makes: more than the nodes of any cluster.
	maxItems = 20_000
)

func (c *check) addf(field, format string, args ...any) {
	if len(c.violations) == maxViolations {
		c.more++
		return
	}
	v := rpcerr.FieldViolation{Field: field, Description: fmt.Sprintf(format, args...)}
	if !slices.Contains(c.violations, v) {
		c.violations = append(c.violations, v)
	}
}

// err gives INVALID_ARGUMENT with all violations, or nil.
func (c *check) err() error {
	if len(c.violations) == 0 {
		return nil
	}
	if c.more > 0 {
		last := &c.violations[maxViolations-1]
		last.Description += fmt.Sprintf("; and %d more problems", c.more)
	}
	return rpcerr.Invalid(c.violations...)
}

// items tells whether a list is short enough to be looked at.
func (c *check) items(field string, n, most int) bool {
	if n > most {
		c.addf(field, "has %d items, at most %d are allowed", n, most)
	}
	return n <= most
}

// id checks a required cloud id. Ids end up in comma lists, so their characters matter.
func (c *check) id(field, value string) {
	if value == "" {
		c.addf(field, "is required")
		return
	}
	c.optionalID(field, value)
}

var idForm = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

func (c *check) optionalID(field, value string) {
	const longest = 128
	if value != "" && (len(value) > longest || !idForm.MatchString(value)) {
		c.addf(field, "%q is not an id of the cloud", shorten(value))
	}
}

func (c *check) ids(field string, values []string) {
	if !c.items(field, len(values), maxItems) {
		return
	}
	for i, v := range values {
		c.id(fmt.Sprintf("%s[%d]", field, i), v)
	}
}

// requestID checks an idempotency key.
func (c *check) requestID(value string) {
	const longest = 64
	printable := !strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r > '~' })
	if value == "" || len(value) > longest || !printable {
		c.addf("request_id", "must be 1 to %d printable ASCII characters", longest)
	}
}

// optionalRequestID is requestID for writes that need none.
func (c *check) optionalRequestID(value string) {
	if value != "" {
		c.requestID(value)
	}
}

// text checks the length of a text in characters.
func (c *check) text(field, value string, shortest, longest int) {
	if n := utf8.RuneCountInString(value); n < shortest || n > longest {
		c.addf(field, "is %d characters long, must be %d to %d", n, shortest, longest)
	}
}

// oneOf checks a word that may be left out.
func (c *check) oneOf(field, value string, allowed ...string) {
	if value != "" && !slices.Contains(allowed, value) {
		c.addf(field, "%q is not one of %s", shorten(value), strings.Join(allowed, ", "))
	}
}

// name checks the field name of a resource of VPC or ECS.
func (c *check) name(value string, shortest int) {
	const longest = 128
	c.text("name", value, shortest, longest)
	c.noLink("name", value)
}

// description checks the field description of a resource of VPC or ECS.
func (c *check) description(value string, shortest int) {
	const longest = 256
	c.text("description", value, shortest, longest)
	c.noLink("description", value)
}

// noLink: what looks like a link is no name.
func (c *check) noLink(field, value string) {
	if strings.HasPrefix(value, "http://") || strings.HasPrefix(value, "https://") {
		c.addf(field, "must not begin with http:// or https://")
	}
}

func (c *check) number(field string, value, low, high int32) {
	if value < low || value > high {
		c.addf(field, "%d is out of range, must be %d to %d", value, low, high)
	}
}

func (c *check) address(field, value string) {
	if _, err := netip.ParseAddr(value); err != nil {
		c.addf(field, "%q is not an IP address", shorten(value))
	}
}

func (c *check) optionalAddress(field, value string) {
	if value != "" {
		c.address(field, value)
	}
}

func (c *check) maxAge(d *durationpb.Duration) {
	if d != nil && (!d.IsValid() || d.AsDuration() < 0) {
		c.addf("max_age", "must be a duration of zero or more")
	}
}

// enum checks a number that may come from a newer client.
func enum[E ~int32](c *check, field string, value E, names map[int32]string, required bool) {
	switch _, known := names[int32(value)]; {
	case !known:
		c.addf(field, "%d is not known to this gateway", value)
	case required && value == 0:
		c.addf(field, "is required")
	}
}

// tags checks tags to be set or searched for.
func (c *check) tags(field string, tags []*commonv1.Tag) {
	const most, longestKey, longestValue = 20, 64, 128
	if !c.items(field, len(tags), most) {
		return
	}
	var seen []string
	for i, t := range tags {
		at := fmt.Sprintf("%s[%d]", field, i)
		c.text(at+".key", t.GetKey(), 1, longestKey)
		c.text(at+".value", t.GetValue(), 0, longestValue)
		if slices.Contains(seen, t.GetKey()) {
			c.addf(at+".key", "%q is there twice", t.GetKey())
		}
		seen = append(seen, t.GetKey())
	}
}

func shorten(s string) string {
	const longest = 40
	if len(s) <= longest {
		return s
	}
	return strings.ToValidUTF8(s[:longest], "") + "…"
}
