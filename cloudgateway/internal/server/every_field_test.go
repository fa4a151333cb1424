package server

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/durationpb"

	"alicloud-controllers.dev/proto/method"

	"alicloud-controllers.dev/cloudgateway/internal/check"
)

// TestEveryFieldIsChecked fills every field of every request with what can't be meant, one at a time: the answer names the field, and
// the cloud is not asked, and what is wrong is not quoted in full. The rest of the request is empty, since all errors are reported at once.
func TestEveryFieldIsChecked(t *testing.T) {
	w := newWorld(t)
	w.forget()
	for _, m := range method.All() {
		name, method := m.FullName(), m.Descriptor
		for _, c := range wrong(method.Input(), "") {
			if slices.Contains(ignored(), string(method.Name())+" "+c.field) {
				continue
			}
			t.Run(fmt.Sprintf("%s/%s", method.FullName(), c.field+c.how), func(t *testing.T) {
				request := dynamicpb.NewMessage(method.Input())
				c.spoil(request)
				err := w.conn.Invoke(t.Context(), name, request, dynamicpb.NewMessage(method.Output()))
				if status.Code(err) != codes.InvalidArgument || !names(err, c.field) {
					t.Errorf("got %v, want INVALID_ARGUMENT that names %s", err, c.field)
				}
				if text := err.Error(); len(text) > len(garbage)/2 {
					t.Errorf("the answer has %d bytes and begins with %.300s", len(text), text)
				}
			})
		}
	}
	if calls := w.calls(true); len(calls) > 0 {
		t.Errorf("the cloud was asked %d times, first %s", len(calls), calls[0].Action)
	}
}

// ignored lists the fields that a request may have anything in. A caller that creates or deletes what a list has returned may pass it
// on as it is: these fields are only in answers, or say nothing about which entry it is.
func ignored() []string {
	const entry = "route_entries[0]."
	return []string{
		"BatchCreateRouteEntries " + entry + "route_entry_id",
		"BatchCreateRouteEntries " + entry + "type",
		"BatchCreateRouteEntries " + entry + "status",
		"BatchDeleteRouteEntries " + entry + "type",
		"BatchDeleteRouteEntries " + entry + "status",
		"BatchDeleteRouteEntries " + entry + "name",
		"BatchDeleteRouteEntries " + entry + "description",
		"BatchDeleteRouteEntries " + entry + "next_hop_type",
		"BatchDeleteRouteEntries " + entry + "next_hops",
		"BatchDeleteRouteEntries " + entry + "next_hops[0].next_hop_id",
		"BatchDeleteRouteEntries " + entry + "next_hops[0].next_hop_type",
		"BatchDeleteRouteEntries " + entry + "next_hops[0].weight",
	}
}

func methodNamed(t *testing.T, name string) protoreflect.MethodDescriptor {
	t.Helper()
	full := strings.ReplaceAll(strings.TrimPrefix(name, "/"), "/", ".")
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(full))
	if err != nil {
		t.Fatal(err)
	}
	return found.(protoreflect.MethodDescriptor)
}

// names reports whether an error complains about a field, or a part of it.
func names(err error, field string) bool {
	for _, detail := range status.Convert(err).Details() {
		bad, ok := detail.(*errdetails.BadRequest)
		if !ok {
			continue
		}
		for _, v := range bad.GetFieldViolations() {
			if v.GetField() == field || strings.HasPrefix(v.GetField(), field+".") || strings.HasPrefix(v.GetField(), field+"[") {
				return true
			}
		}
	}
	return false
}

// mistake is a wrong value of a field.
type mistake struct {
	field, how string
	spoil      func(protoreflect.Message)
}

// wrong lists the mistakes that a message offers.
func wrong(m protoreflect.MessageDescriptor, prefix string) []mistake {
	var all []mistake
	for i := range m.Fields().Len() {
		field := m.Fields().Get(i)
		at := prefix + string(field.Name())
		add := func(how string, value func(protoreflect.Message) protoreflect.Value) {
			all = append(all, mistake{field: at, how: how, spoil: func(m protoreflect.Message) { m.Set(field, value(m)) }})
		}
		scalar := func(how string, value protoreflect.Value) {
			add(how, func(protoreflect.Message) protoreflect.Value { return value })
		}
		switch {
		case field.IsList():
			all = append(all, wrongList(field, at)...)
		case field.Kind() == protoreflect.StringKind:
			scalar("=garbage", protoreflect.ValueOfString(garbage))
		case field.Kind() == protoreflect.Int32Kind:
			scalar("=-7", protoreflect.ValueOfInt32(-7))
			scalar("=max", protoreflect.ValueOfInt32(1<<31-1))
		case field.Kind() == protoreflect.EnumKind:
			scalar("=unknown", protoreflect.ValueOfEnum(9999))
		case field.Kind() == protoreflect.MessageKind && field.Message().FullName() == "google.protobuf.Duration":
			add("=-1s", func(m protoreflect.Message) protoreflect.Value {
				return converted(m, field, durationpb.New(-time.Second))
			})
			add("=invalid", func(m protoreflect.Message) protoreflect.Value {
				return converted(m, field, &durationpb.Duration{Seconds: 1, Nanos: -1})
			})
		case field.Kind() == protoreflect.MessageKind:
			for _, inner := range wrong(field.Message(), at+".") {
				all = append(all, mistake{inner.field, inner.how, func(m protoreflect.Message) { inner.spoil(m.Mutable(field).Message()) }})
			}
		}
	}
	return all
}

func converted(m protoreflect.Message, field protoreflect.FieldDescriptor, value proto.Message) protoreflect.Value {
	made := m.NewField(field)
	wire, err := proto.Marshal(value)
	if err == nil {
		err = proto.Unmarshal(wire, made.Message().Interface())
	}
	if err != nil {
		panic(err)
	}
	return made
}

func wrongList(field protoreflect.FieldDescriptor, at string) []mistake {
	fill := func(n int) func(protoreflect.Message) {
		return func(m protoreflect.Message) {
			list := m.Mutable(field).List()
			for range n {
				if field.Message() != nil {
					list.AppendMutable()
				} else {
					list.Append(protoreflect.ValueOfString("a"))
				}
			}
		}
	}
	all := []mistake{{field: at, how: "*20001", spoil: fill(check.MaxItems + 1)}}
	if field.Message() == nil {
		return append(all, mistake{field: at, how: "[0]=garbage", spoil: func(m protoreflect.Message) {
			m.Mutable(field).List().Append(protoreflect.ValueOfString(garbage))
		}})
	}
	for _, inner := range wrong(field.Message(), at+"[0].") {
		all = append(all, mistake{inner.field, inner.how, func(m protoreflect.Message) {
			inner.spoil(m.Mutable(field).List().AppendMutable().Message())
		}})
	}
	return all
}

// garbage is too long for every text, and no id.
var garbage = "http://" + strings.Repeat("a,\x01 *", 2000)
