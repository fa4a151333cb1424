package attribute

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"alicloud-controllers.dev/cloudgateway/internal/check"
	"alicloud-controllers.dev/cloudgateway/internal/slb"
)

// Problem says what is wrong with a value, "" if nothing is.
func (a Row) Problem(value protoreflect.Value, creating bool) string {
	switch a.Kind {
	case Number:
		if n := int32(value.Int()); !a.inRange(n) {
			return fmt.Sprintf("%d is out of range, must be %s", n, a.rangeText())
		}
	case Text:
		s := value.String()
		switch length := utf8.RuneCountInString(s); {
		case s == "" && creating:
			// The cloud knows no empty values: at creation that is the same as absent.
		case s == "":
			return "can't be set to nothing, the cloud has no call for it"
		case len(a.Allowed) > 0:
			if !slices.Contains(a.Allowed, s) {
				return fmt.Sprintf("%q is not one of %s", check.Shorten(s), strings.Join(a.Allowed, ", "))
			}
		case length > int(a.Max):
			return fmt.Sprintf("is %d characters long, at most %d are allowed", length, a.Max)
		}
	case CommaList:
		const longestID = 128
		list := value.List()
		for i := range list.Len() {
			if id := list.Get(i).String(); len(id) > longestID || id == "" || strings.Contains(id, ",") {
				return fmt.Sprintf("%q is not an id", check.Shorten(id))
			}
		}
	case OnOff, TrueFalse, Enable:
	}
	return ""
}

func (a Row) rangeText() string {
	parts := []string{fmt.Sprintf("%d to %d", a.Min, a.Max)}
	for _, n := range a.Special {
		parts = append(parts, strconv.Itoa(int(n)))
	}
	return strings.Join(parts, " or ")
}

// Encode writes a value as the cloud reads it.
func (a Row) Encode(value protoreflect.Value) string {
	switch a.Kind {
	case Number:
		return strconv.FormatInt(value.Int(), 10)
	case OnOff, TrueFalse, Enable:
		yes, no := a.Kind.words()
		if value.Bool() {
			return yes
		}
		return no
	case CommaList:
		list := value.List()
		ids := make([]string, list.Len())
		for i := range ids {
			ids[i] = list.Get(i).String()
		}
		return strings.Join(ids, ",")
	case Text:
	}
	return value.String()
}

// Decode sets the field from an answer and reports whether there was anything to set. A zero outside the range is how the
// cloud reports "does not apply".
func (a Row) Decode(cfg proto.Message, raw json.RawMessage) bool {
	if a.Kind == CommaList {
		ids := slb.LooseList(raw)
		m, field := find(cfg, a.Field, protoreflect.Message.Mutable)
		list := m.Mutable(field).List()
		for _, id := range ids {
			list.Append(protoreflect.ValueOfString(id))
		}
		return len(ids) > 0
	}
	s := slb.LooseText(raw)
	if s == "" {
		return false
	}
	var value protoreflect.Value
	switch a.Kind {
	case Number:
		n, err := strconv.ParseInt(s, 10, 32)
		if err != nil || n == 0 && !a.inRange(0) {
			return false
		}
		value = protoreflect.ValueOfInt32(int32(n))
	case OnOff, TrueFalse, Enable:
		value = protoreflect.ValueOfBool(s == "on" || s == "true" || s == "enable")
	case Text, CommaList:
		value = protoreflect.ValueOfString(s)
	}
	m, field := find(cfg, a.Field, protoreflect.Message.Mutable)
	m.Set(field, value)
	return true
}

// Lookup reads a field by its path.
func Lookup(cfg proto.Message, path string) (protoreflect.Value, bool) {
	m, field := find(cfg, path, protoreflect.Message.Get)
	return m.Get(field), m.Has(field)
}

// find gives the message that holds the field of a path, and the field. Within is how a message within is come by.
func find(
	cfg proto.Message, path string, within func(protoreflect.Message, protoreflect.FieldDescriptor) protoreflect.Value,
) (protoreflect.Message, protoreflect.FieldDescriptor) {
	m := cfg.ProtoReflect()
	named := func(name string) protoreflect.FieldDescriptor {
		return m.Descriptor().Fields().ByName(protoreflect.Name(name))
	}
	if parent, child, nested := strings.Cut(path, "."); nested {
		m, path = within(m, named(parent)).Message(), child
	}
	return m, named(path)
}
