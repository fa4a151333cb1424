package server

import (
	"context"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"alicloud-controllers.dev/proto/method"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/scope"
)

// part is a field of requests that names a part of something, and the field with what it is a part of, which callers may leave out.
type part struct {
	field, owner protoreflect.Name
	find         func(ctx context.Context, id string) (owner string, err error)
}

// completed fills in of what a request changes a part, unless it says so. Done is the answer to the deletion of what does not exist.
func (s *Services) completed(ctx context.Context, m method.Method, request protoreflect.Message) (done proto.Message, err error) {
	owners := m.Options.GetOwners()
	if len(owners) == 0 || owners[0].GetField() == "" { // It reads, or makes something.
		return nil, nil //nolint:nilnil // There is nothing to complete.
	}
	fields := request.Descriptor().Fields()
	for _, p := range s.parts {
		owner, id := fields.ByName(p.owner), idIn(request, p.field)
		if owner == nil || id == "" || request.Has(owner) {
			continue
		}
		of, err := p.find(ctx, id)
		if rpcerr.IsNotFound(err) && m.Verb() == "delete" {
			if done, err := scope.Gone(m); done != nil || err != nil {
				return done, err
			}
		}
		if err != nil {
			return nil, err
		}
		request.Set(owner, protoreflect.ValueOfString(of))
		break
	}
	return nil, nil //nolint:nilnil // The request goes on.
}

// idIn is the id in a field of a request, or in that of the first item of its list of route entries.
func idIn(request protoreflect.Message, name protoreflect.Name) string {
	fields := request.Descriptor().Fields()
	if field := fields.ByName(name); field != nil {
		return request.Get(field).String()
	}
	if list := fields.ByName("route_entries"); list != nil && request.Get(list).List().Len() > 0 {
		if item := request.Get(list).List().Get(0).Message(); item.Descriptor().Fields().ByName(name) != nil {
			return idIn(item, name)
		}
	}
	return ""
}
