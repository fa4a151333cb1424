package annotation

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Pair is an item of a Pairs value.
type Pair struct{ Key, Value string }

// Origin is where the value of a key comes from. A later one counts only where the earlier ones say nothing.
type Origin int

// The origins.
const (
	// Unset: nothing is asked for.
	Unset Origin = iota
	// Written: an annotation says it.
	Written
	// InSpec: a field of the Service says it.
	InSpec
	// Reset: an annotation or a field that was applied is gone, and the value that the table has for that takes its place.
	Reset
)

// Field is a field of the Service that asks for what a key of the table stands for. A value that isn't allowed is a
// problem, as of an annotation.
type Field struct {
	Key, Name, Value string
	// Chosen says that an annotation or the configuration asks for it, and no field: it counts whether or not fields of Services do.
	Chosen bool
}

// setting is the value of a key.
type setting struct {
	origin Origin
	value  string // canonical
	name   string // of the annotation or field
	raw    string // as the user wrote it
	// port is the one that the value is for; 0 for all.
	port int32
	// ports are the values for one port.
	ports map[int32]setting
}

// Values are the valid settings of one Service in canonical spelling. The zero value holds none.
type Values struct {
	settings map[string]setting
	kept     []string
}

// Noun names for people what asks for the key: an annotation, or a field of the Service.
func (v Values) Noun(key string) string {
	if v.Origin(key) == InSpec {
		return v.settings[key].name
	}
	return "annotation " + v.Name(key)
}

// ForPort are the values for one port of the Service: those that it has of its own, and for the rest those for all.
func (v Values) ForPort(port int32) Values {
	var settings map[string]setting
	for key, s := range v.settings {
		if own, has := s.ports[port]; has {
			if settings == nil {
				settings = maps.Clone(v.settings)
			}
			own.ports = s.ports
			settings[key] = own
		}
	}
	if settings == nil {
		return v
	}
	return Values{settings: settings, kept: v.kept}
}

// Ports are those for which an annotation has a value of their own, in order. That of a value for all is not among them.
func (v Values) Ports(key string) []int32 {
	var ports []int32
	for port, s := range v.settings[key].ports {
		if s.origin == Written {
			ports = append(ports, port)
		}
	}
	slices.Sort(ports)
	return ports
}

// ByPort reports whether anything is asked for one port.
func (v Values) ByPort() bool {
	for _, s := range v.settings {
		if len(s.ports) > 0 {
			return true
		}
	}
	return false
}

// IsOwn reports that a value is for one port alone.
func (v Values) IsOwn(key string) bool { return v.settings[key].port != 0 }

// Same reports that a key asks the same of two ports.
func (v Values) Same(key string, one, other int32) bool {
	a, b := v.ForPort(one), v.ForPort(other)
	return a.Has(key) == b.Has(key) && a.Text(key) == b.Text(key)
}

// Written reports that an annotation asks for something, for all ports or for one.
func (v Values) Written(key string) bool { return v.Origin(key) == Written || len(v.Ports(key)) > 0 }

// Fields are the names of the fields of the Service that ask for something, by key.
func (v Values) Fields() map[string]string {
	var names map[string]string
	for key, s := range v.settings {
		if s.origin == InSpec {
			if names == nil {
				names = map[string]string{}
			}
			names[key] = s.name
		}
	}
	return names
}

// Name returns the name under which the key is set, or its current name, and the port if the value is for one.
func (v Values) Name(key string) string {
	if s := v.settings[key]; s.name != "" {
		return s.name + forPort(s.port)
	}
	return Prefix + key
}

// Problem reports that the value of key doesn't fit for a reason that only shows in context.
func (v Values) Problem(key, want string) Problem {
	s := v.settings[key]
	name := s.name
	if name == "" {
		name = Prefix + key
	}
	return Problem{Key: key, Name: name, Port: s.port, Value: s.raw, Want: want, InSpec: s.origin == InSpec}
}

// Has reports whether anything is asked for by the key, be it that it was reset.
func (v Values) Has(key string) bool { return v.Origin(key) != Unset }

// Origin says where the value comes from.
func (v Values) Origin(key string) Origin { return v.settings[key].origin }

// Kept are the names of annotations that were applied and are gone though the cloud keeps what they asked for.
func (v Values) Kept() []string { return v.kept }

// Text returns the value of a Text, Choice or Choices, or "".
func (v Values) Text(key string) string { return v.settings[key].value }

// On returns the value of a Switch, or false.
func (v Values) On(key string) bool { return v.settings[key].value == "on" }

// Number returns the value of a Number.
func (v Values) Number(key string) (int32, bool) {
	n, err := strconv.ParseInt(v.settings[key].value, 10, 32)
	return int32(n), err == nil
}

// List returns the items of a List.
func (v Values) List(key string) []string { return splitList(v.settings[key].value) }

// Pairs returns the items of a Pairs in the order of the value.
func (v Values) Pairs(key string) []Pair {
	var pairs []Pair
	for _, item := range splitList(v.settings[key].value) {
		k, value, _ := strings.Cut(item, "\x00")
		pairs = append(pairs, Pair{k, value})
	}
	return pairs
}
