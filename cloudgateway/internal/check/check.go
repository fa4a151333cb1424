// Package check says what is wrong with requests, before anything is done for them.
package check

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	"alicloud-controllers.dev/proto/method"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/page"
)

// Rule is what one type of request has to fulfil beyond what the protocol says of its fields.
type Rule struct {
	name  protoreflect.FullName
	apply func(*Request, proto.Message)
}

// Of makes a rule of the requests of type M. It is not asked about a request with a list that is too long.
func Of[M proto.Message](apply func(*Request, M)) Rule {
	var none M
	return Rule{
		name: none.ProtoReflect().Descriptor().FullName(),
		apply: func(c *Request, m proto.Message) {
			apply(c, m.(M)) //nolint:forcetypeassert // The name is that of the type.
		},
	}
}

// Table has the rules of all requests.
type Table struct {
	messages map[protoreflect.FullName]*message // also those within requests
	methods  map[protoreflect.FullName]method.Method
	rules    map[protoreflect.FullName]Rule
}

// NewTable makes a Table of the protocol's rules and of others. The last rule of a type of request is in force.
func NewTable(rules ...[]Rule) Table {
	table := Table{
		messages: map[protoreflect.FullName]*message{}, methods: map[protoreflect.FullName]method.Method{},
		rules: map[protoreflect.FullName]Rule{},
	}
	for _, m := range method.All() {
		table.methods[m.Descriptor.Input().FullName()] = m
		compile(m.Descriptor.Input(), table.messages)
	}
	for _, r := range slices.Concat(rules...) {
		table.rules[r.name] = r
	}
	return table
}

// Check gives INVALID_ARGUMENT with everything that is wrong with a request, or nil. A request with a field that nothing is said about
// is refused.
func (t Table) Check(request proto.Message) error {
	name := request.ProtoReflect().Descriptor().FullName()
	m, called := t.messages[name], t.methods[name]
	rule, ruled := t.rules[name]
	if called.Options == nil || !ruled && len(m.open) > 0 {
		return rpcerr.Errorf(rpcerr.Internal, "no rule says what all fields of a %s have to be", name)
	}
	var c Request
	if r, ok := request.(interface{ GetRequestId() string }); ok {
		c.requestID(r.GetRequestId(), called.Options.GetIdempotency() == commonv1.Idempotency_IDEMPOTENCY_REQUEST_ID)
	}
	if short := m.check(&c, nil, request.ProtoReflect()); short && ruled && !c.more {
		rule.apply(&c, request)
	}
	if r, ok := request.(interface{ GetTags() []*commonv1.Tag }); ok {
		c.tags("tags", r.GetTags())
	}
	if r, ok := request.(tagChanges); ok {
		c.tagChanges(r.GetSetTags(), r.GetRemoveTagKeys())
	}
	if r, ok := request.(interface{ GetMaxAge() *durationpb.Duration }); ok {
		c.maxAge(r.GetMaxAge())
	}
	if r, ok := request.(page.Request); ok {
		c.paging(r)
	}
	return c.Err()
}

type tagChanges interface {
	GetSetTags() []*commonv1.Tag
	GetRemoveTagKeys() []string
}

// paging checks which part of a list is asked for.
func (c *Request) paging(r page.Request) {
	const most = 20_000
	if size := r.GetPageSize(); size < 0 || size > most {
		c.Addf("page_size", "%d: must be 0, for all, to %d", size, most)
	}
	if err := page.Check(r); err != nil {
		c.Addf("page_token", "%s", err)
	}
}

// Before lets next see only requests that are right. It looks at the gateway's own API and at nothing else, e.g. health checks.
func (t Table) Before(next grpc.UnaryServerInterceptor) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		if message, ok := request.(proto.Message); ok && strings.HasPrefix(info.FullMethod, "/cloudgateway.") {
			if err := t.Check(message); err != nil {
				return nil, err
			}
		}
		return next(ctx, request, info, handler)
	}
}

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
