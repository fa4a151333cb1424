package check

import (
	"context"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	"alicloud-controllers.dev/services/gateway/method"
	"alicloud-controllers.dev/services/rpcerr"

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
		messages: map[protoreflect.FullName]*message{}, methods: map[protoreflect.FullName]method.Method{}, rules: map[protoreflect.FullName]Rule{},
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
		return &rpcerr.Error{
			Code: codes.Internal, Reason: rpcerr.Internal, Message: "no rule says what all fields of a " + string(name) + " have to be",
		}
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
