package client

import (
	"context"
	"iter"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// pageSize is how many items of a list are asked for at a time. Any list fits into gRPC's default limit then.
const pageSize = 500

// Page is the answer of a list.
type Page interface {
	proto.Message
	GetNextPageToken() string
}

// All gives the items of a list, one after the other, and ends with the first error. It asks for the next part when the
// items of the one before are used up:
//
//	for instance, err := range client.All(ctx, c.Instances.ListInstances, request, (*ecsv1.ListInstancesResponse).GetInstances) {
//
// The list is the one that there was for the first part. The request stays as it is.
func All[Request proto.Message, Answer Page, Item any](ctx context.Context, list func(context.Context, Request,
	...grpc.CallOption) (Answer, error),
	request Request, items func(Answer) []Item,
) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		part := proto.CloneOf(request)
		fields, m := part.ProtoReflect().Descriptor().Fields(), part.ProtoReflect()
		if size := fields.ByName("page_size"); m.Get(size).Int() == 0 {
			m.Set(size, protoreflect.ValueOfInt32(pageSize))
		}
		for {
			answer, err := list(ctx, part)
			if err != nil {
				var none Item
				yield(none, err)
				return
			}
			for _, item := range items(answer) {
				if !yield(item, nil) {
					return
				}
			}
			if answer.GetNextPageToken() == "" {
				return
			}
			m.Set(fields.ByName("page_token"), protoreflect.ValueOfString(answer.GetNextPageToken()))
		}
	}
}
