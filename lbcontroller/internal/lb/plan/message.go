package plan

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
)

// CopyDiff copies the fields of want that differ from have to result, all messages of one type, and reports whether
// there are any. Lists are compared as sets, and so are texts that are lists with commas, the fields in sets. What want
// leaves out is no difference.
func CopyDiff(result, want, have proto.Message, sets ...protoreflect.Name) (differ bool) {
	return copyDiff(result.ProtoReflect(), want.ProtoReflect(), have.ProtoReflect(), sets)
}

// copyDiff copies the fields of want that differ from have to result, and reports whether there are any.
func copyDiff(result, want, have protoreflect.Message, sets []protoreflect.Name) (differ bool) {
	want.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.Message() != nil:
			if copyDiff(result.Mutable(field).Message(), value.Message(), have.Get(field).Message(), sets) {
				differ = true
			} else {
				result.Clear(field)
			}
		case !sameField(field, value, have, sets):
			result.Set(field, value)
			differ = true
		}
		return true
	})
	return differ
}

func sameField(field protoreflect.FieldDescriptor, value protoreflect.Value, have protoreflect.Message,
	sets []protoreflect.Name) bool {
	switch {
	case field.IsList():
		return sameSet(texts(value.List()), texts(have.Get(field).List()))
	case !have.Has(field):
		return false
	case slices.Contains(sets, field.Name()):
		return sameList(value.String(), have.Get(field).String())
	default:
		return value.Equal(have.Get(field))
	}
}

func texts(list protoreflect.List) []string {
	items := make([]string, list.Len())
	for i := range items {
		items[i] = list.Get(i).String()
	}
	return items
}

// fieldNames lists the fields that are set, for people; nil has none.
func fieldNames(c proto.Message) []string {
	var names []string
	var walk func(prefix string, m protoreflect.Message)
	walk = func(prefix string, m protoreflect.Message) {
		fields := m.Descriptor().Fields()
		for i := range fields.Len() {
			f := fields.Get(i)
			switch {
			case !m.Has(f):
			case f.Message() != nil:
				walk(string(f.Name())+".", m.Get(f).Message())
			default:
				names = append(names, prefix+string(f.Name()))
			}
		}
	}
	if c != nil {
		walk("", c.ProtoReflect())
	}
	return names
}

// sameList compares comma lists as sets.
func sameList(a, b string) bool {
	return sameSet(strings.Split(a, ","), strings.Split(b, ","))
}

func sameSet(a, b []string) bool {
	count := map[string]int{}
	for _, s := range a {
		count[s] |= 1
	}
	for _, s := range b {
		count[s] |= 2
	}
	for _, bits := range count {
		if bits != 3 {
			return false
		}
	}
	return true
}

// withGroup returns the attributes of a listener with the id of the server group, if there is one.
func withGroup(config model.ListenerConfig, id string) model.ListenerConfig {
	if id == "" || config == nil {
		return config
	}
	result := proto.CloneOf(config)
	m := result.ProtoReflect()
	m.Set(m.Descriptor().Fields().ByName("server_group_id"), protoreflect.ValueOfString(id))
	return result
}

// merged is mergedMessage for the attributes of a listener.
func merged(config, changed model.ListenerConfig) model.ListenerConfig {
	if changed == nil {
		return config
	}
	if config == nil {
		return changed
	}
	result, _ := mergedMessage(config, changed).(model.ListenerConfig)
	return result
}

// mergedMessage returns attributes with the changed ones. A changed list replaces the one that was there, within a part, too.
func mergedMessage(config, changed proto.Message) proto.Message {
	result := proto.Clone(config)
	clearLists(result.ProtoReflect(), changed.ProtoReflect())
	proto.Merge(result, changed)
	return result
}

// clearLists empties the lists that a change has.
func clearLists(m, changed protoreflect.Message) {
	changed.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.IsList():
			m.Clear(field)
		case field.Message() != nil && m.Has(field):
			clearLists(m.Mutable(field).Message(), value.Message())
		}
		return true
	})
}
