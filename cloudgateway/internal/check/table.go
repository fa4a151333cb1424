package check

import (
	"context"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/page"
)

// Rule is what one type of request has to fulfil.
type Rule struct {
	name  protoreflect.FullName
	apply func(*Request, proto.Message)
}

// Of makes the rule of the requests of type M. It need not look at the fields that have the same meaning in all requests: max_age,
// request_id, page_size, page_token, tags, set_tags and remove_tag_keys are checked in any case.
func Of[M proto.Message](apply func(*Request, M)) Rule {
	var none M
	return Rule{
		name: none.ProtoReflect().Descriptor().FullName(),
		apply: func(c *Request, m proto.Message) {
			apply(c, m.(M)) //nolint:forcetypeassert // The name is that of the type.
		},
	}
}

// Table has the rules by the names of the requests.
type Table map[protoreflect.FullName]Rule

// NewTable makes a Table. The last rule of a type of request is in force.
func NewTable(rules ...[]Rule) Table {
	table := Table{}
	for _, list := range rules {
		for _, r := range list {
			table[r.name] = r
		}
	}
	return table
}

// Check gives INVALID_ARGUMENT with everything that is wrong with a request, or nil. A request without a rule is refused.
func (t Table) Check(request proto.Message) error {
	rule, ok := t[request.ProtoReflect().Descriptor().FullName()]
	if !ok {
		return &rpcerr.Error{
			Code: codes.Internal, Reason: rpcerr.Internal,
			Message: "no rule says what a " + string(request.ProtoReflect().Descriptor().FullName()) + " has to be",
		}
	}
	var c Request
	c.known("", request.ProtoReflect())
	if r, ok := request.(interface{ GetRequestId() string }); ok {
		c.OptionalRequestID(r.GetRequestId())
	}
	rule.apply(&c, request)
	if r, ok := request.(interface{ GetTags() []*commonv1.Tag }); ok {
		c.Tags("tags", r.GetTags())
	}
	if r, ok := request.(tagChanges); ok {
		c.TagChanges(r.GetSetTags(), r.GetRemoveTagKeys())
	}
	if r, ok := request.(interface{ GetMaxAge() *durationpb.Duration }); ok {
		c.MaxAge(r.GetMaxAge())
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
