package server

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"alicloud-controllers.dev/cloudgateway/internal/batch"
	"alicloud-controllers.dev/cloudgateway/internal/page"
)

// Intercept makes the interceptor right before the handlers: it refuses requests that are wrong, gives lists in parts, and says in answers how
// old they are. Repeat answers repetitions.
func Intercept(repeat grpc.UnaryServerInterceptor) grpc.UnaryServerInterceptor {
	return Checks().Before(func(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		return page.Intercept(ctx, request, info, func(ctx context.Context, request any) (any, error) {
			return dated(ctx, request, func(ctx context.Context, request any) (any, error) { return repeat(ctx, request, info, handler) })
		})
	})
}

// dated sets as_of in the answers that have it.
func dated(ctx context.Context, request any, next grpc.UnaryHandler) (any, error) {
	ctx, age := batch.WithAge(ctx)
	response, err := next(ctx, request)
	if message, ok := response.(proto.Message); ok && err == nil {
		m := message.ProtoReflect()
		if field := m.Descriptor().Fields().ByName("as_of"); field != nil && !m.Has(field) {
			m.Set(field, protoreflect.ValueOfMessage(timestamppb.New(age.AsOf()).ProtoReflect()))
		}
	}
	return response, err
}
