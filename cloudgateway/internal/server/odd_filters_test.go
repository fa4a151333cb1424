package server

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"alicloud-controllers.dev/proto/method"
)

// odd are texts that no id and no name of a thing should be.
var odd = []string{"", " ", "\x00", "*", "%", "a,b", `["x"]`, `"`,
	"ü", "\u202e", "i-1 i-2", "../x", "a&Action=x", strings.Repeat("l", 5000),
}

// TestOddFilters: every read withstands odd texts in each of its fields, alone, beside others and twice: it answers, or says which field is
// wrong. What stands twice gives what stands once.
func TestOddFilters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	asked := 0
	ask := func(m method.Method, request proto.Message) (proto.Message, error) {
		asked++
		answer := dynamicpb.NewMessage(m.Descriptor.Output())
		return answer, w.conn.Invoke(t.Context(), m.FullName(), request, answer)
	}
	for _, m := range method.All() {
		if !m.Reads() || strings.HasPrefix(m.Service, "common.") {
			continue
		}
		fields := m.Descriptor.Input().Fields()
		for i := range fields.Len() {
			f := fields.Get(i)
			if f.Kind() != protoreflect.StringKind {
				continue
			}
			with := func(texts ...string) proto.Message {
				request := dynamicpb.NewMessage(m.Descriptor.Input())
				for j := range fields.Len() {
					if other := fields.Get(j); required(other) || needs(m.Descriptor.Input(), f.Name(), other.Name()) {
						fill(request, other)
					}
				}
				if !f.IsList() {
					request.Set(f, protoreflect.ValueOfString(texts[0]))
					return request
				}
				list := request.NewField(f).List()
				for _, text := range texts {
					list.Append(protoreflect.ValueOfString(text))
				}
				request.Set(f, protoreflect.ValueOfList(list))
				return request
			}
			for _, text := range odd {
				for n, texts := range [][]string{{text}, {"sample", text}, {text, text, text}} {
					if n > 0 && !f.IsList() {
						continue
					}
					_, err := ask(m, with(texts...))
					switch code := status.Code(err); {
					case code == codes.Internal || code == codes.Unknown || code == codes.ResourceExhausted:
						t.Errorf("%s: %s = %.40q: %v", m.FullName(), f.Name(), texts, err)
					case code == codes.InvalidArgument && !namesField(m, err):
						t.Errorf("%s: %s = %.40q: %v does not name the field", m.FullName(), f.Name(), texts, err)
					}
				}
			}
			if f.IsList() && strings.HasPrefix(m.Name, "List") { // Other reads answer to each of their ids.
				once, _ := ask(m, with("i-1"))
				twice, err := ask(m, with("i-1", "i-1"))
				for _, answer := range []proto.Message{once, twice} {
					clearTimes(answer.ProtoReflect())
				}
				if err == nil && !proto.Equal(once, twice) {
					t.Errorf("%s: %s twice: %v, once: %v", m.FullName(), f.Name(), twice, once)
				}
			}
		}
	}
	if asked == 0 {
		t.Error("nothing was asked")
	}
}

// namesField reports whether an error says which field of a request is wrong.
func namesField(m method.Method, err error) bool {
	fields := m.Descriptor.Input().Fields()
	for i := range fields.Len() {
		if strings.Contains(err.Error(), string(fields.Get(i).Name())) {
			return true
		}
	}
	return false
}

// clearTimes takes from an answer when the cloud was asked.
func clearTimes(answer protoreflect.Message) {
	if f := answer.Descriptor().Fields().ByName("as_of"); f != nil {
		answer.Clear(f)
	}
}
