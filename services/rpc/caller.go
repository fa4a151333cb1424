package rpc

import (
	"context"
	"log/slog"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"alicloud-controllers.dev/services/rpcerr"
)

// Caller is who calls, e.g. "system:serviceaccount:kube-system:lbcontroller".
type Caller struct {
	Name   string
	Groups []string
}

// Authenticator tells who holds a token. Its error is the caller's answer: an *rpcerr.Error with CallerUnauthenticated if the
// token is not accepted, and another one if nobody could tell.
type Authenticator interface {
	Authenticate(ctx context.Context, token string) (Caller, error)
}

// Authorizer tells whether a caller may use a verb on a resource: nil, an *rpcerr.Error with CallerForbidden, or another error if
// nobody could tell.
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

// identify puts the method's policy and the caller into the context. It fails closed: no row, no token, no call.
func identify(policies Policies, authenticator Authenticator, log *slog.Logger) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		if exempt(info.FullMethod) {
			return next(ctx, req)
		}
		policy, ok := policies[info.FullMethod]
		if !ok {
			return nil, &rpcerr.Error{Code: codes.Unimplemented, Message: info.FullMethod + " has no policy"}
		}
		caller, err := authenticate(ctx, authenticator)
		if err != nil {
			log.Warn("caller is not known", "address", address(ctx), "method", info.FullMethod, "error", err)
			return nil, typed(err, log, info.FullMethod)
		}
		trace.SpanFromContext(ctx).SetAttributes(attribute.String("caller", caller.Name))
		return next(WithCaller(context.WithValue(ctx, policyKey{}, policy), caller), req)
	}
}

// authenticate goes by the token, and by the client certificate if the call carries none.
func authenticate(ctx context.Context, authenticator Authenticator) (Caller, error) {
	if len(metadata.ValueFromIncomingContext(ctx, authorization)) == 0 {
		if caller, ok := certified(ctx); ok {
			return caller, nil
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

// permit refuses what the caller may not do.
func permit(authorizer Authorizer, log *slog.Logger) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		policy, ok := PolicyFrom(ctx)
		if !ok {
			return next(ctx, req) // Exempt: identify lets nothing else through without a policy.
		}
		caller, _ := CallerFrom(ctx)
		if err := authorizer.Authorize(ctx, caller, policy.Resource, policy.Verb); err != nil {
			log.Warn("refused", "caller", caller.Name, "method", info.FullMethod, "resource", policy.Resource, "verb", policy.Verb, "error", err)
			return nil, typed(err, log, info.FullMethod)
		}
		return next(ctx, req)
	}
}
