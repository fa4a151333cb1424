package rpc

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"alicloud-controllers.dev/proto/method"
	"alicloud-controllers.dev/proto/rpcerr"
)

// TestAuditOfEveryMethod: whatever is created, its line has the id, and the name if the request gives one. Whatever a
// change sets is in its line, be it the only thing or one of all, and be it empty.
func TestAuditOfEveryMethod(t *testing.T) {
	t.Parallel()
	for _, m := range method.All() {
		switch {
		case m.Reads():
		case m.Verb() == "create":
			auditOfCreation(t, m)
		case m.Verb() == "update":
			auditOfUpdate(t, m)
		}
	}
}

func auditOfCreation(t *testing.T, m method.Method) {
	t.Helper()
	in, out := m.Descriptor.Input(), m.Descriptor.Output()
	asked := flat(identifiers(filled(in, 0)))
	for range 20 { // Fields come in any order.
		made := flat(madeBy(filled(out, 0)))
		if id := idOf(out); !slices.Contains(append(made, asked...), id) {
			t.Errorf("%s: the line has no %s: %q, and of the request %q", m.FullName(), id, made, asked)
		}
	}
	if in.Fields().ByName("name") != nil && !slices.Contains(asked, "name=v") {
		t.Errorf("%s: the line has no name: %q", m.FullName(), asked)
	}
}

// idOf is what the line has of what an answer names.
func idOf(out protoreflect.MessageDescriptor) string {
	switch out.FullName() {
	case "cloudgateway.slb.v1.CreateListenerResponse":
		return "port=1" // It has no id; the request says which.
	case "cloudgateway.vpc.v1.BatchCreateRouteEntriesResponse":
		return "route_entries.first=[v v v v]"
	}
	switch first := out.Fields().Get(0); {
	case first.IsList():
		return "results.first=[v]"
	case first.Message() != nil:
		return idOf(first.Message())
	default:
		return string(first.Name()) + "=v"
	}
}

func auditOfUpdate(t *testing.T, m method.Method) {
	t.Helper()
	in := m.Descriptor.Input()
	all := fieldsOf(filled(in, 0), "")
	for i := range in.Fields().Len() {
		field := in.Fields().Get(i)
		if field.Name() == "request_id" {
			continue
		}
		request := dynamicpb.NewMessage(in)
		fill(request, field, 0)
		alone := fieldsOf(request, "")
		if len(flat(identifiers(request)))+len(alone) == 0 {
			t.Errorf("%s: %s is not in the line", m.FullName(), field.Name())
		}
		for _, name := range alone {
			if !slices.Contains(all, name) {
				t.Errorf("%s: %s is not in the line if everything is set", m.FullName(), name)
			}
		}
		if field.Message() == nil || field.IsList() || field.IsMap() || field.Name() == "key" {
			continue
		}
		for i := range field.Message().Fields().Len() {
			part := dynamicpb.NewMessage(field.Message())
			inner := field.Message().Fields().Get(i)
			fill(part, inner, 1)
			request.Set(field, protoreflect.ValueOfMessage(part))
			name := string(field.Name()) + "." + string(inner.Name())
			if field.Message().FullName().Parent() == "google.protobuf" {
				name = string(field.Name())
			}
			if got := fieldsOf(request, ""); !slices.ContainsFunc(got, func(f string) bool { return strings.HasPrefix(f, name) }) {
				t.Errorf("%s: %s is not in the line: %q", m.FullName(), name, got)
			}
		}
		request.Set(field, protoreflect.ValueOfMessage(dynamicpb.NewMessage(field.Message())))
		if got := fieldsOf(request, ""); !slices.Contains(got, string(field.Name())) {
			t.Errorf("%s: an empty %s is not in the line: %q", m.FullName(), field.Name(), got)
		}
	}
}

// flat are attributes with those in groups, as texts.
func flat(attrs []slog.Attr) (texts []string) {
	for _, a := range attrs {
		if a.Value.Kind() != slog.KindGroup {
			texts = append(texts, a.String())
			continue
		}
		for _, text := range flat(a.Value.Group()) {
			texts = append(texts, a.Key+"."+text)
		}
	}
	return texts
}

// filled is a message in which everything is set.
func filled(of protoreflect.MessageDescriptor, depth int) protoreflect.Message {
	m := dynamicpb.NewMessage(of)
	for i := range of.Fields().Len() {
		fill(m, of.Fields().Get(i), depth)
	}
	return m
}

func fill(m *dynamicpb.Message, field protoreflect.FieldDescriptor, depth int) {
	const deepest = 4
	var value protoreflect.Value
	switch {
	case field.IsMap():
		return
	case field.Message() != nil && depth > deepest:
		return
	case field.Message() != nil:
		value = protoreflect.ValueOfMessage(filled(field.Message(), depth+1))
	case field.Kind() == protoreflect.StringKind:
		value = protoreflect.ValueOfString("v")
	case field.Kind() == protoreflect.BytesKind:
		value = protoreflect.ValueOfBytes([]byte("v"))
	case field.Kind() == protoreflect.EnumKind:
		value = protoreflect.ValueOfEnum(1)
	case field.Kind() == protoreflect.BoolKind:
		value = protoreflect.ValueOfBool(true)
	case field.Kind() == protoreflect.Int32Kind:
		value = protoreflect.ValueOfInt32(1)
	case field.Kind() == protoreflect.Int64Kind:
		value = protoreflect.ValueOfInt64(1)
	default:
		panic(field.FullName())
	}
	if field.IsList() {
		m.Mutable(field).List().Append(value)
		return
	}
	m.Set(field, value)
}

// TestAuditLinesOfWhatWasNotSent: who repeats what changes nothing does not wash the lines of others out of the log. What was
// sent to the cloud leaves its line, refused or not.
func TestAuditLinesOfWhatWasNotSent(t *testing.T) {
	t.Parallel()
	refusal := &rpcerr.Error{Code: codes.InvalidArgument, Reason: rpcerr.InvalidField, Message: strings.Repeat("wrong ", 100)}
	for name, tt := range map[string]struct {
		sent bool
		err  error
		few  bool
	}{
		"refused before":       {err: refusal, few: true},
		"nothing to change":    {few: true},
		"sent":                 {sent: true},
		"sent, and refused so": {sent: true, err: refusal},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			w.handler.remove = func(ctx context.Context) error {
				if tt.sent {
					NoteCloudChange(ctx)
				}
				return tt.err
			}
			const calls = 100
			conn := w.dial(tokenEditor)
			begun := time.Now()
			for range calls {
				if err := w.remove(conn); (err == nil) != (tt.err == nil) {
					t.Fatal(err)
				}
			}
			w.stop()
			most, lines := 12+int(time.Since(begun).Seconds()), strings.Count(w.log.String(), "msg=audit")
			if !tt.few && lines != calls || tt.few && (lines < 10 || lines > most) {
				t.Errorf("%d lines of %d calls", lines, calls)
			}
		})
	}
}

// TestHandoverInTheMiddle: a method of which a part was sent does not say that this replica has sent nothing: who repeats
// it on the next one would do that part twice.
func TestHandoverInTheMiddle(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	conn := w.dial(tokenEditor)
	for changed, want := range map[bool]rpcerr.Error{
		false: {Code: codes.Unavailable, Reason: rpcerr.NotActive, Message: "release lb-1: on standby", RetryAfter: time.Second, Unsent: true},
		true:  {Code: codes.Unknown, Reason: rpcerr.OutcomeUnknown, Message: "a part of the change was made: release lb-1: on standby"},
	} {
		w.handler.remove = func(ctx context.Context) error {
			if changed {
				NoteCloudChange(ctx)
			}
			return fmt.Errorf("release lb-1: %w", &rpcerr.Error{Code: codes.Unavailable, Reason: rpcerr.NotActive, Message: "on standby",
				RetryAfter: time.Second, Unsent: true})
		}
		got, _ := rpcerr.From(w.remove(conn))
		if diff := cmp.Diff(&want, got); diff != "" {
			t.Errorf("changed %t (-want +got):\n%s", changed, diff)
		}
	}
}
