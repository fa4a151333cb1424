package annotation

import (
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

// Name returns the name under which the key is set, or its current name.
func (v Values) Name(key string) string {
	if s, ok := v.settings[key]; ok {
		return s.name
	}
	return Prefix + key
}

// Problem reports that the value of key doesn't fit for a reason that only shows in context.
func (v Values) Problem(key, want string) Problem {
	return Problem{Key: key, Name: v.Name(key), Value: v.settings[key].raw, Want: want, InSpec: v.settings[key].origin == InSpec}
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
