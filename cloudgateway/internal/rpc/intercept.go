package rpc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/recovery"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/tracing"
)

const (
	// shave is taken off the caller's deadline, so that the one who knows what took so long reports it.
	shave = 50 * time.Millisecond
	// minimum is the time a handler needs to do anything at all.
	minimum = 50 * time.Millisecond
)

// recovering turns a panic into INTERNAL.
func recovering(log *slog.Logger) grpc.UnaryServerInterceptor {
	return recovery.UnaryServerInterceptor(recovery.WithRecoveryHandlerContext(func(ctx context.Context, value any) error {
		method, _ := grpc.Method(ctx)
		log.Error("handler panicked", "method", method, "panic", fmt.Sprint(value), "stack", string(debug.Stack()))
		return &rpcerr.Error{Code: codes.Internal, Reason: rpcerr.Internal, Message: "the gateway has a defect; its log says more"}
	}))
}

// audit logs every change that was sent to the cloud, once it is decided. What was refused before, or had nothing to
// change, costs its caller nothing, so it leaves as many lines as unsent lets it.
func audit(log *slog.Logger, unsent *Peers) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		policy, ok := PolicyFrom(ctx)
		if !ok || !policy.Mutating {
			return next(ctx, req)
		}
		caller, _ := CallerFrom(ctx)
		start, done := time.Now(), &trail{}
		response, err := next(context.WithValue(ctx, trailKey{}, []*trail{done}), req)
		err = done.correct(err)
		if !done.sent() && !unsent.Take(caller.Name) {
			return response, err
		}
		attrs := []any{"caller", caller.Name, "address", address(ctx), "method", info.FullMethod, "duration",
			time.Since(start), "outcome", outcome(err)}
		if message, ok := req.(proto.Message); ok {
			attrs = append(attrs, slog.GroupAttrs("resource", identifiers(message.ProtoReflect())...))
			if policy.Verb == "update" {
				attrs = append(attrs, "fields", fieldsOf(message.ProtoReflect(), ""))
			}
		}
		if made, ok := response.(proto.Message); ok && err == nil && policy.Verb == "create" {
			attrs = append(attrs, slog.GroupAttrs("created", madeBy(made.ProtoReflect())...))
		}
		if id := requestID(req); id != "" {
			attrs = append(attrs, "requestId", id)
			trace.SpanFromContext(ctx).SetAttributes(attribute.String("request_id", id))
		}
		attrs = append(attrs, done.attrs()...)
		if e, ok := rpcerr.From(err); ok {
			attrs = append(attrs, "error", e.Message, "api", e.API, "cloudCode", e.CloudCode, "cloudRequestId", e.CloudRequestID)
		}
		tracing.Log(ctx, log).Info("audit", attrs...)
		return response, err
	}
}

// requestID is the id that a caller gave to its request, if it did.
func requestID(req any) string {
	r, ok := req.(interface{ GetRequestId() string })
	if !ok {
		return ""
	}
	return bounded(r.GetRequestId())
}

// bounded keeps a caller from filling the log: requests are logged before their form is checked.
func bounded(id string) string {
	const longest = 128
	return id[:min(longest, len(id))]
}

// outcome is the reason of an error, or its code, OK for none.
func outcome(err error) string {
	return cmp.Or(string(rpcerr.ReasonOf(err)), status.Code(err).String())
}

// fieldsOf are the names of the fields that a request sets, also inside of its messages: what it changes, without the
// values. An empty message has its own name: it may switch something off, or take all of something away.
func fieldsOf(m protoreflect.Message, at string) []string {
	var set []string
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		name := at + string(field.Name())
		switch {
		case name == "key" || name == "request_id" || at == "" && strings.HasSuffix(name, "_id") && !field.HasPresence():
			// It names what is changed.
		case field.Message() != nil && !field.IsList() && !field.IsMap() && field.Message().FullName().Parent() != "google.protobuf":
			inside := fieldsOf(value.Message(), name+".")
			if len(inside) == 0 {
				inside = []string{name}
			}
			set = append(set, inside...)
		default:
			set = append(set, name)
		}
		return true
	})
	slices.Sort(set)
	return set
}

// madeBy are the ids and the name in an answer, also in its first message: those of what was created. Of a batch it is
// how many results there are, with the ids of the first.
func madeBy(m protoreflect.Message) []slog.Attr {
	var found []slog.Attr
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		name := string(field.Name())
		switch {
		case name == "results" && field.IsList():
			found = append(found, listOf(field, value.List()))
		case field.IsList() || field.IsMap():
		case field.Kind() == protoreflect.StringKind && (strings.HasSuffix(name, "_id") || name == "name"):
			found = append(found, slog.String(name, bounded(value.String())))
		case field.Kind() == protoreflect.MessageKind && m.Descriptor().Parent() == field.Message().Parent() && len(found) == 0 &&
			strings.HasSuffix(string(m.Descriptor().Name()), "Response"):
			found = append(found, madeBy(value.Message())...)
		}
		return true
	})
	return found
}

// identifiers lists the request's fields that name something: texts called …_id, its name, a listener's port, also of
// a message named key inside of it, and how many items each list has, with the names of the first.
func identifiers(m protoreflect.Message) []slog.Attr {
	var found []slog.Attr
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		name := string(field.Name())
		switch {
		case field.IsList():
			found = append(found, listOf(field, value.List()))
		case field.Kind() == protoreflect.StringKind && (strings.HasSuffix(name, "_id") && name != "request_id" || name == "name"):
			found = append(found, slog.String(name, bounded(value.String())))
		case name == "port":
			found = append(found, slog.Int64(name, value.Int()))
		case name == "key" && field.Kind() == protoreflect.MessageKind:
			found = append(found, identifiers(value.Message())...)
		}
		return true
	})
	return found
}

// listOf is how many items a list has, with the names of the first.
func listOf(field protoreflect.FieldDescriptor, list protoreflect.List) slog.Attr {
	const most = 5
	first := []string{}
	for i := range min(most, list.Len()) {
		first = append(first, nameOf(field, list.Get(i)))
	}
	return slog.Group(string(field.Name()), "count", list.Len(), "first", first)
}

// nameOf is what names an item of a list: the item itself, or the texts in it that are ids, addresses or networks.
func nameOf(field protoreflect.FieldDescriptor, item protoreflect.Value) string {
	if field.Message() == nil {
		return bounded(item.String())
	}
	var names []string
	for i := range field.Message().Fields().Len() {
		f := field.Message().Fields().Get(i)
		name := string(f.Name())
		if f.Kind() == protoreflect.StringKind && !f.IsList() && item.Message().Has(f) &&
			(strings.HasSuffix(name, "_id") || strings.HasSuffix(name, "_ip") || strings.HasSuffix(name, "cidr") ||
				name == "domain" || name == "key") {
			names = append(names, bounded(item.Message().Get(f).String()))
		}
	}
	return strings.Join(names, " ")
}

// limit gives the handler its time, refuses what cannot be done in the time left, and makes every error one that the caller can
// decide by.
func limit(log *slog.Logger) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		policy, ok := PolicyFrom(ctx)
		if !ok {
			return next(ctx, req)
		}
		allowed := policy.Timeout
		if deadline, ok := ctx.Deadline(); ok {
			usable := time.Until(deadline) - shave
			if usable < minimum {
				return nil, &rpcerr.Error{Code: codes.DeadlineExceeded, Message: "too little time left to start"}
			}
			allowed = min(allowed, usable)
		}
		bounded, cancel := context.WithTimeout(ctx, allowed)
		defer cancel()
		response, err := next(bounded, req)
		if err != nil {
			return nil, typed(err, log, info.FullMethod)
		}
		return response, nil
	}
}

// extend gives the handler the context that Config.Context makes.
func extend(with func(context.Context) context.Context) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		if with != nil {
			ctx = with(ctx)
		}
		return next(ctx, req)
	}
}

// intercept puts Config.Interceptor into the chain, of which no part may be nil.
func intercept(with grpc.UnaryServerInterceptor) grpc.UnaryServerInterceptor {
	if with != nil {
		return with
	}
	return func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		return next(ctx, req)
	}
}

// typed gives an error with a code. One that has none is a defect, whose text is for our log and not for the caller.
func typed(err error, log *slog.Logger, method string) error {
	if e, ok := rpcerr.From(err); ok {
		return e
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return &rpcerr.Error{Code: status.FromContextError(err).Code(), Message: err.Error()}
	}
	log.Error("call failed without a reason", "method", method, "error", err)
	return &rpcerr.Error{Code: codes.Internal, Reason: rpcerr.Internal, Message: "the gateway has a defect; its log says more"}
}

// chain makes one interceptor of many, the first outermost.
func chain(interceptors ...grpc.UnaryServerInterceptor) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		for _, i := range slices.Backward(interceptors) {
			following := next
			next = func(ctx context.Context, req any) (any, error) { return i(ctx, req, info, following) }
		}
		return next(ctx, req)
	}
}
