package rpc

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/tracing"
)

// Caller is who calls, e.g. "system:serviceaccount:kube-system:lbcontroller".
type Caller struct {
	Name   string
	UID    string
	Groups []string
	// Extra is what else the API server knows of it, for authorizers that decide by that.
	Extra map[string][]string
}

// Authenticator identifies the holder of a token. Its error is the caller's answer: an *rpcerr.Error with CallerUnauthenticated if
// the token is not accepted, and another one if it could not be checked.
type Authenticator interface {
	Authenticate(ctx context.Context, token string) (Caller, error)
}

// Authorizer reports whether a caller may use a verb on a resource: nil, an *rpcerr.Error with CallerForbidden, or another error if
// that could not be checked.
type Authorizer interface {
	Authorize(ctx context.Context, caller Caller, resource, verb string) error
}

type callerKey struct{}

// CallerFrom gives the caller of the method being handled.
func CallerFrom(ctx context.Context) (Caller, bool) {
	c, ok := ctx.Value(callerKey{}).(Caller)
	return c, ok
}

// WithCaller is for tests of handlers and for interceptors of other kinds of identity.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// identify finds the method's policy and the caller, from the headers. It fails closed: no row, no token, no call.
func (s *Server) identify(ctx context.Context, method string) (context.Context, Caller, error) {
	policy, ok := s.cfg.Policies[method]
	if reflects(method) {
		policy, ok = s.cfg.Reflection, s.cfg.Reflection.Resource != ""
	}
	if !ok {
		return nil, Caller{}, &rpcerr.Error{Code: codes.Unimplemented, Message: method + " has no policy"}
	}
	caller, err := authenticate(ctx, s.cfg.Authenticator)
	if err != nil {
		s.metrics.refused.WithLabelValues("unknown").Inc()
		s.unknown.Warn(s.cfg.Logger, "caller is not known", "address", address(ctx), "method", method, "error", err)
		return nil, Caller{}, typed(err, s.cfg.Logger, method)
	}
	trace.SpanFromContext(ctx).SetAttributes(attribute.String("caller", caller.Name))
	if policy.Off != "" {
		s.metrics.refused.WithLabelValues("off").Inc()
		return nil, Caller{}, &rpcerr.Error{Code: codes.Unimplemented, Message: policy.Off}
	}
	policy, err = s.permit(ctx, caller, policy)
	if err != nil {
		s.metrics.refused.WithLabelValues("forbidden").Inc()
		if policy.Mutating && s.refusals.Take(caller.Name) {
			tracing.Log(ctx, s.cfg.Logger).Info("audit", "caller", caller.Name, "address", address(ctx), "method", method,
				"outcome", outcome(err), "error", err)
		}
		s.forbidden.Warn(s.cfg.Logger, "refused", "caller", caller.Name, "method", method, "resource", policy.Resource, "verb", policy.Verb,
			"error", err)
		return nil, Caller{}, typed(err, s.cfg.Logger, method)
	}
	return WithCaller(context.WithValue(ctx, policyKey{}, policy), caller), caller, nil
}

// permit asks whether the caller may use a method. The policy that it returns has a Narrow if the caller may do no
// more than that.
func (s *Server) permit(ctx context.Context, caller Caller, policy Policy) (Policy, error) {
	narrow := policy.Narrow
	policy.Narrow = Narrow{}
	err := s.cfg.Authorizer.Authorize(ctx, caller, policy.Resource, policy.Verb)
	if narrow.Resource == "" || rpcerr.ReasonOf(err) != rpcerr.CallerForbidden {
		return policy, err
	}
	switch also := s.cfg.Authorizer.Authorize(ctx, caller, narrow.Resource, policy.Verb); {
	case also == nil:
		policy.Narrow = narrow
		return policy, nil
	case rpcerr.ReasonOf(also) == rpcerr.CallerForbidden:
		return policy, err
	default:
		return policy, also
	}
}

// narrow refuses a request that sets more than its caller may. It comes first after the request was read.
func narrow(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	policy, _ := PolicyFrom(ctx)
	message, ok := request.(proto.Message)
	if policy.Narrow.Resource == "" {
		return next(ctx, request)
	}
	beyond := ""
	if ok {
		message.ProtoReflect().Range(func(field protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
			if !slices.Contains(policy.Narrow.Fields, string(field.Name())) {
				beyond = string(field.Name())
			}
			return beyond == ""
		})
	}
	if !ok || beyond != "" || len(message.ProtoReflect().GetUnknown()) > 0 {
		caller, _ := CallerFrom(ctx)
		return nil, rpcerr.Errorf(rpcerr.CallerForbidden,
			"%s may %s %s only, which does not allow to set %s; grant it %s of %s with a ClusterRole",
			caller.Name, policy.Verb, policy.Narrow.Resource, cmp.Or(beyond, "unknown fields"), policy.Verb, policy.Resource)
	}
	return next(ctx, request)
}

// authenticate goes by the token, and by the client certificate if the call carries none.
func authenticate(ctx context.Context, authenticator Authenticator) (Caller, error) {
	if len(metadata.ValueFromIncomingContext(ctx, authorization)) == 0 {
		if leaf := certificate(ctx); leaf != nil {
			return certified(leaf)
		}
	}
	token, err := bearer(ctx)
	if err != nil {
		return Caller{}, err
	}
	return authenticator.Authenticate(ctx, token)
}

// authorization is where a call carries its token.
const authorization = "authorization"

// address is where the call comes from.
func address(ctx context.Context) string {
	if p, ok := peer.FromContext(ctx); ok && p.Addr != nil {
		return p.Addr.String()
	}
	return ""
}

// bearer takes the token from the call's metadata.
func bearer(ctx context.Context) (string, error) {
	values := metadata.ValueFromIncomingContext(ctx, authorization)
	if len(values) == 1 {
		scheme, token, _ := strings.Cut(values[0], " ")
		if strings.EqualFold(scheme, "Bearer") && token != "" {
			return token, nil
		}
	}
	return "", &rpcerr.Error{
		Code: codes.Unauthenticated, Reason: rpcerr.CallerUnauthenticated,
		Message: `the call carries no token; send "authorization: Bearer <ServiceAccount token>" or show a client certificate`,
	}
}
