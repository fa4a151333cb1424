// Package check says what is wrong with requests, before anything is done for them.
package check

import (
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/durationpb"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	"alicloud-controllers.dev/services/rpcerr"
)

// Request collects what is wrong with a request, so that the caller learns all of it at once.
type Request struct {
	violations []rpcerr.FieldViolation
	more       int // violations that were only counted
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
		c.more++
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
	if c.more > 0 {
		last := &c.violations[maxViolations-1]
		last.Description += fmt.Sprintf("; and %d more problems", c.more)
	}
	return rpcerr.Invalid(c.violations...)
}

// Items reports whether a list is short enough to be looked at.
func (c *Request) Items(field string, n, most int) bool {
	if n > most {
		c.Addf(field, "has %d items, at most %d are allowed", n, most)
	}
	return n <= most
}

// ID checks a required cloud id. Ids end up in comma lists, so their characters matter.
func (c *Request) ID(field, value string) {
	if value == "" {
		c.Addf(field, "is required")
		return
	}
	c.OptionalID(field, value)
}

var idForm = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// OptionalID checks a cloud id that may be left out.
func (c *Request) OptionalID(field, value string) {
	const longest = 128
	if value != "" && (len(value) > longest || !idForm.MatchString(value)) {
		c.Addf(field, "%q is not an id of the cloud", Shorten(value))
	}
}

// IDs checks a list of cloud ids.
func (c *Request) IDs(field string, values []string) {
	if !c.Items(field, len(values), MaxItems) {
		return
	}
	for i, v := range values {
		c.ID(fmt.Sprintf("%s[%d]", field, i), v)
	}
}

// RequestID checks an idempotency key.
func (c *Request) RequestID(value string) {
	const longest = 64
	printable := !strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r > '~' })
	if value == "" || len(value) > longest || !printable {
		c.Addf("request_id", "must be 1 to %d printable ASCII characters", longest)
	}
}

// OptionalRequestID is RequestID for writes that need none.
func (c *Request) OptionalRequestID(value string) {
	if value != "" {
		c.RequestID(value)
	}
}

// Text checks the length of a text in characters.
func (c *Request) Text(field, value string, shortest, longest int) {
	if n := utf8.RuneCountInString(value); n < shortest || n > longest {
		c.Addf(field, "is %d characters long, must be %d to %d", n, shortest, longest)
	}
}

// OneOf checks a word that may be left out.
func (c *Request) OneOf(field, value string, allowed ...string) {
	if value != "" && !slices.Contains(allowed, value) {
		c.Addf(field, "%q is not one of %s", Shorten(value), strings.Join(allowed, ", "))
	}
}

// Name checks the field name of a resource of VPC or ECS.
func (c *Request) Name(value string, shortest int) {
	const longest = 128
	c.Text("name", value, shortest, longest)
	c.noLink("name", value)
}

// Description checks the field description of a resource of VPC or ECS.
func (c *Request) Description(value string, shortest int) {
	const longest = 256
	c.Text("description", value, shortest, longest)
	c.noLink("description", value)
}

// noLink refuses what looks like a link.
func (c *Request) noLink(field, value string) {
	if strings.HasPrefix(value, "http://") || strings.HasPrefix(value, "https://") {
		c.Addf(field, "must not begin with http:// or https://")
	}
}

// Number checks that a number is in a range.
func (c *Request) Number(field string, value, low, high int32) {
	if value < low || value > high {
		c.Addf(field, "%d is out of range, must be %d to %d", value, low, high)
	}
}

// Address checks an IP address.
func (c *Request) Address(field, value string) {
	if _, err := netip.ParseAddr(value); err != nil {
		c.Addf(field, "%q is not an IP address", Shorten(value))
	}
}

// OptionalAddress checks an IP address that may be left out.
func (c *Request) OptionalAddress(field, value string) {
	if value != "" {
		c.Address(field, value)
	}
}

// MaxAge checks how old an answer may be.
func (c *Request) MaxAge(d *durationpb.Duration) {
	if d != nil && (!d.IsValid() || d.AsDuration() < 0) {
		c.Addf("max_age", "must be a duration of zero or more")
	}
}

// Enum checks a number that may come from a newer client.
func Enum[E ~int32](c *Request, field string, value E, names map[int32]string, required bool) {
	switch _, known := names[int32(value)]; {
	case !known:
		c.Addf(field, "%d is not known to this gateway", value)
	case required && value == 0:
		c.Addf(field, "is required")
	}
}

// Tags checks tags to be set or searched for.
func (c *Request) Tags(field string, tags []*commonv1.Tag) {
	const most, longestKey, longestValue = 20, 64, 128
	if !c.Items(field, len(tags), most) {
		return
	}
	var seen []string
	for i, t := range tags {
		at := fmt.Sprintf("%s[%d]", field, i)
		c.Text(at+".key", t.GetKey(), 1, longestKey)
		c.Text(at+".value", t.GetValue(), 0, longestValue)
		if slices.Contains(seen, t.GetKey()) {
			c.Addf(at+".key", "%q is there twice", t.GetKey())
		}
		seen = append(seen, t.GetKey())
	}
}

// TagChanges checks the fields set_tags and remove_tag_keys.
func (c *Request) TagChanges(set []*commonv1.Tag, keys []string) {
	const most, longest = 20, 64
	c.Tags("set_tags", set)
	if !c.Items("remove_tag_keys", len(keys), most) {
		return
	}
	for _, key := range keys {
		c.Text("remove_tag_keys", key, 1, longest)
	}
	for _, t := range set[:min(most, len(set))] {
		if slices.Contains(keys, t.GetKey()) {
			c.Addf("remove_tag_keys", "%q is also in set_tags", t.GetKey())
		}
	}
}

// Filters checks ids to filter by, which are keyed by their field, and reports whether there is any.
func (c *Request) Filters(filters map[string]string) (given bool) {
	for _, field := range slices.Sorted(maps.Keys(filters)) {
		c.OptionalID(field, filters[field])
		given = given || filters[field] != ""
	}
	return given
}

// Addresses checks a list of IP addresses.
func (c *Request) Addresses(field string, values []string) {
	if !c.Items(field, len(values), MaxItems) {
		return
	}
	for i, v := range values {
		c.Address(fmt.Sprintf("%s[%d]", field, i), v)
	}
}

// Network checks an IP network. It must have the form that the cloud reports, so that networks can be compared as text.
func (c *Request) Network(field, value string) {
	prefix, err := netip.ParsePrefix(value)
	switch {
	case err != nil:
		c.Addf(field, `%q is not of the form "10.1.2.0/24"`, Shorten(value))
	case prefix != prefix.Masked():
		c.Addf(field, "%q has bits outside of its mask, write %q", value, prefix.Masked())
	case prefix.String() != value:
		c.Addf(field, "%q is not the usual form, write %q", value, prefix)
	}
}

// Port checks a required port.
func (c *Request) Port(field string, port int32) {
	const highest = 65535
	c.Number(field, port, 1, highest)
}

var domainForm = regexp.MustCompile(`^[A-Za-z0-9*-]+(\.[A-Za-z0-9*-]+)+$`)

// Domain checks a host name, in which an asterisk stands for anything. The cloud decides about the details.
func (c *Request) Domain(field, value string) {
	const longest = 253
	if len(value) > longest || !domainForm.MatchString(value) {
		c.Addf(field, `%q is not of the form "www.example.com" or "*.example.com", with at most %d characters`, Shorten(value), longest)
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
