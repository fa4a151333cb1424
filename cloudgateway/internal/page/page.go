// Package page gives long lists in parts (google.aip.dev/158). A list is ordered, and its next part begins after the last item of the one
// before, so that items which come and go meanwhile neither repeat nor hide others.
package page

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"

	"alicloud-controllers.dev/cloudgateway/internal/batch"
)

// remembered is how long a list is kept for the requests for its other parts. Without it, each would read the whole list.
const remembered = 5 * time.Minute

// Most is how many items a part has at most: some megabytes of instances with all their tags.
const Most = 1000

// Request is a request for a part of a list.
type Request interface {
	proto.Message
	GetPageSize() int32
	GetPageToken() string
	GetMaxAge() *durationpb.Duration
}

// token is what a page_token holds.
type token struct {
	After   string    `json:"after"`   // the identity of the last item that was given
	AsOf    time.Time `json:"asOf"`    // of the list
	Request []byte    `json:"request"` // what was asked for
}

// Check says what is wrong with a page_token, if anything is.
func Check(r Request) error {
	_, err := parse(r)
	return err
}

func parse(r Request) (t token, err error) {
	if r.GetPageToken() == "" {
		return t, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(r.GetPageToken())
	if err == nil {
		err = json.Unmarshal(text, &t)
	}
	if err != nil || t.After == "" {
		return t, errors.New("is not the next_page_token of an answer")
	}
	if string(t.Request) != string(digest(whole(r))) {
		return t, errors.New("is the next_page_token of another request; begin without one")
	}
	return t, nil
}

// whole is the request for the whole list.
func whole(r Request) Request {
	clone := proto.CloneOf(r)
	m := clone.ProtoReflect()
	for _, name := range []protoreflect.Name{"page_size", "page_token"} {
		m.Clear(m.Descriptor().Fields().ByName(name))
	}
	return clone
}

// digest recognises a request for a whole list, however old it may be.
func digest(whole Request) []byte {
	clone := proto.CloneOf(whole)
	m := clone.ProtoReflect()
	m.Clear(m.Descriptor().Fields().ByName("max_age"))
	content, _ := proto.MarshalOptions{Deterministic: true}.Marshal(clone) // What came from the wire has a form on the wire.
	sum := sha256.Sum256(content)
	const enough = 8
	return sum[:enough]
}

// Intercept is a grpc.UnaryServerInterceptor that lets handlers see requests for whole lists only. It comes after Check.
func Intercept(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	r, ok := request.(Request)
	if !ok || r.GetPageSize() == 0 && r.GetPageToken() == "" {
		return next(ctx, request)
	}
	t, err := parse(r)
	if err != nil {
		return nil, err
	}
	list := whole(r)
	if !t.AsOf.IsZero() {
		m := list.ProtoReflect()
		const late = time.Second // The age is looked at a little later.
		age := durationpb.New(max(time.Since(t.AsOf)+late, list.GetMaxAge().AsDuration()))
		m.Set(m.Descriptor().Fields().ByName("max_age"), protoreflect.ValueOfMessage(age.ProtoReflect()))
	}
	response, err := next(batch.WithRetention(ctx, remembered), list)
	if err != nil {
		return nil, err
	}
	//nolint:forcetypeassert // gRPC sends nothing else.
	cut(response.(proto.Message).ProtoReflect(), t.After, size(r), digest(list))
	return response, nil
}

// size is how many items a request gets at most.
func size(r Request) int {
	if asked := int(r.GetPageSize()); asked > 0 {
		return min(asked, Most)
	}
	return Most
}

// cut leaves in an answer the items after one of them, size at most.
func cut(answer protoreflect.Message, after string, size int, request []byte) {
	field := items(answer.Descriptor())
	identity := identity(field.Message())
	all := answer.Get(field).List()
	at := func(i int) string { return key(all.Get(i).Message(), identity) }
	begin := 0
	if after != "" {
		begin = sort.Search(all.Len(), func(i int) bool { return at(i) > after })
	}
	end := min(all.Len(), begin+size)
	if end < all.Len() {
		asOf, _ := answer.Get(answer.Descriptor().Fields().ByName("as_of")).Message().Interface().(*timestamppb.Timestamp)
		text, _ := json.Marshal(token{After: at(end - 1), AsOf: asOf.AsTime(), Request: request}) // Texts and times always have a JSON form.
		answer.Set(answer.Descriptor().Fields().ByName("next_page_token"), protoreflect.ValueOfString(base64.RawURLEncoding.EncodeToString(text)))
	}
	part := answer.NewField(field) // The list itself may be remembered and is not to be changed.
	for i := begin; i < end; i++ {
		part.List().Append(all.Get(i))
	}
	answer.Set(field, part)
}

// identity is the field by which the items of a list are ordered.
func identity(item protoreflect.MessageDescriptor) protoreflect.FieldDescriptor {
	rules, _ := proto.GetExtension(item.Options(), commonv1.E_Message).(*commonv1.MessageRules)
	if field := item.Fields().ByName(protoreflect.Name(rules.GetIdentity())); field != nil {
		return field
	}
	return item.Fields().ByNumber(1)
}

// key is what an item is ordered by: numbers as texts of one length, and a message by its fields.
func key(m protoreflect.Message, field protoreflect.FieldDescriptor) string {
	value := m.Get(field)
	switch field.Kind() {
	case protoreflect.MessageKind:
		var whole strings.Builder
		for i := range field.Message().Fields().Len() {
			whole.WriteString(key(value.Message(), field.Message().Fields().Get(i)) + "\x00")
		}
		return whole.String()
	case protoreflect.Int32Kind:
		return fmt.Sprintf("%010d", value.Int())
	case protoreflect.EnumKind:
		return fmt.Sprintf("%010d", value.Enum())
	default:
		return value.String()
	}
}

// items is the list in an answer.
func items(answer protoreflect.MessageDescriptor) protoreflect.FieldDescriptor {
	for i := range answer.Fields().Len() {
		if f := answer.Fields().Get(i); f.IsList() {
			return f
		}
	}
	return nil // Never: a test looks at all answers with a next_page_token.
}
