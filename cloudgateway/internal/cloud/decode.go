package cloud

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Fields says where the members of an object in an answer go, by their names: to the variable that a pointer leads to, to the Fields of an
// object within, or to a Decoder. The others are skipped. As with encoding/json, capitals and small letters are the
// same in names. The cloud is not strict about types: the same field is 5 in one region and "5" in another, and an empty
// list may be "". What does not fit its variable is brought into its form as far as that goes.
type Fields map[string]any

// Decode reads an object. An error is about one member, the others are read.
func Decode(object []byte, fields Fields) error {
	switch {
	case nothing(object):
		object = []byte("{}")
	case object[0] != '{':
		return json.Unmarshal(object, &map[string]any{}) // It says what is wrong.
	}
	var wrong error
	for name, value := range members(object) {
		if err := decode(value, fields.named(name)); err != nil {
			wrong = fmt.Errorf("%s: %w", name, err)
		}
	}
	for name, into := range fields {
		if r, ok := into.(*required); ok && !r.there {
			wrong = fmt.Errorf("%s is missing", name)
		}
	}
	return wrong
}

// nothing reports whether there is no value.
func nothing(value []byte) bool {
	return len(value) <= len("null") && slices.Contains([]string{"", "null", `""`}, string(value)) // Long ones are not copied for it.
}

// decode reads a value. Most are plain texts and 32-bit numbers, which need no decoder of encoding/json.
func decode(value []byte, into any) error {
	switch into := into.(type) {
	case nil:
		return nil
	case json.Unmarshaler:
		return into.UnmarshalJSON(value)
	case *string:
		if len(value) > 1 && value[0] == '"' && bytes.IndexByte(value, '\\') < 0 && utf8.Valid(value) {
			*into = string(value[1 : len(value)-1])
			return nil
		}
	case *int32: // The value is valid JSON, so what ParseInt reads is a number.
		if number, err := strconv.ParseInt(string(value), 10, 32); err == nil {
			*into = int32(number)
			return nil
		}
	case *[]string:
		return Each(into, func(item []byte) (text string, err error) {
			err = decode(item, &text)
			return text, err
		}).decode(value)
	}
	if json.Unmarshal(value, into) == nil {
		return nil
	}
	return json.Unmarshal(fit(value, reflect.TypeOf(into)), into)
}

// fit brings a text, a number or a truth into the form that a type decodes. What it can't bring there it leaves for the decoder to refuse.
func fit(value []byte, into reflect.Type) []byte {
	for into.Kind() == reflect.Pointer {
		into = into.Elem()
	}
	text := string(value)
	if err := json.Unmarshal(value, &text); err == nil && text == "" {
		return []byte("null") // It is as if it were not there.
	}
	number, truth := json.Valid([]byte(text)) && strings.Trim(text, "0123456789+-.eE") == "", strings.ToLower(text)
	switch kind := into.Kind(); {
	case kind == reflect.String && (number || truth == "true" || truth == "false"):
		return []byte(`"` + text + `"`)
	case kind == reflect.Bool && (truth == "true" || truth == "on" || number && text != "0"):
		return []byte("true")
	case kind == reflect.Bool && (truth == "false" || truth == "off" || number):
		return []byte("false")
	case kind >= reflect.Int && kind <= reflect.Float64 && number:
		return []byte(text)
	case kind >= reflect.Int && kind <= reflect.Float64 && truth == "true":
		return []byte("1")
	case kind >= reflect.Int && kind <= reflect.Float64 && truth == "false":
		return []byte("0")
	}
	return value
}

func (f Fields) named(name []byte) any {
	if bytes.IndexByte(name, '\\') >= 0 {
		var text string
		if json.Unmarshal(slices.Concat([]byte{'"'}, name, []byte{'"'}), &text) == nil {
			name = []byte(text)
		}
	}
	if into, ok := f[string(name)]; ok {
		return into
	}
	for other, into := range f {
		if len(other) == len(name) && strings.EqualFold(other, string(name)) {
			return into
		}
	}
	return nil
}

// Members are the values of an object in an answer by their names, for where the names are data.
func Members(object []byte) (all map[string]json.RawMessage, err error) {
	if nothing(object) {
		return nil, nil //nolint:nilnil // There are none.
	}
	err = json.Unmarshal(object, &all)
	return all, err
}

// UnmarshalJSON makes Decode of what gets an answer.
func (f Fields) UnmarshalJSON(object []byte) error { return Decode(object, f) }

// Required is for a member without which an object must not be believed.
func Required(into any) json.Unmarshaler { return &required{into: into} }

type required struct {
	into  any
	there bool
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *required) UnmarshalJSON(value []byte) error {
	r.there = !nothing(value)
	return decode(value, r.into)
}

// Decoder decodes a value in a way of its own. It can be one of Fields, and get an answer.
type Decoder struct{ decode func(value []byte) error }

// UnmarshalJSON implements json.Unmarshaler.
func (d *Decoder) UnmarshalJSON(value []byte) error { return d.decode(value) }

// Via decodes what the cloud has in another form than the variable.
func Via[F, T any](into *T, ours func(theirs F) T) *Decoder {
	return &Decoder{func(value []byte) error {
		var theirs F
		if err := decode(value, &theirs); err != nil {
			return err
		}
		*into = ours(theirs)
		return nil
	}}
}

// One is a Decoder that sets a variable to what a function reads.
func One[T any](into *T, decode func(value []byte) (T, error)) *Decoder {
	return &Decoder{func(value []byte) (err error) {
		*into, err = decode(value)
		return err
	}}
}

// Each decodes a list, item by item.
func Each[T any](into *[]T, decode func(item []byte) (T, error)) *Decoder {
	return &Decoder{func(list []byte) error {
		switch {
		case nothing(list):
			return nil
		case list[0] != '[':
			return json.Unmarshal(list, &[]any{}) // It says what is wrong.
		}
		for item := range items(list) {
			t, err := decode(item)
			if err != nil {
				return err
			}
			*into = append(*into, t)
		}
		return nil
	}}
}

// Texts decodes a list of objects, of which one member counts.
func Texts(into *[]string, member string) *Decoder {
	return Each(into, func(item []byte) (text string, err error) {
		err = Decode(item, Fields{member: &text})
		return text, err
	})
}

// Text is a text, a number or a truth as text; empty for anything else.
func Text(value []byte) (text string) {
	if len(value) > 0 {
		_ = decode(value, &text) // What is neither is as if it were not there.
	}
	return text
}

// members gives the names and values of an object in valid JSON. A map of them would cost more than all else in reading an answer.
func members(object []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		for name, rest := next(object[1:]); len(name) > 1; name, rest = next(rest) {
			var value []byte
			if value, rest = next(rest); !yield(name[1:len(name)-1], value) {
				return
			}
		}
	}
}

// items gives those of a list in valid JSON.
func items(list []byte) iter.Seq[[]byte] {
	return func(yield func(item []byte) bool) {
		for item, rest := next(list[1:]); len(item) > 0 && yield(item); item, rest = next(rest) {
		}
	}
}

// next gives the first value within an object or a list, or of what is left of it; empty: there is none.
func next(within []byte) (value, rest []byte) {
	within = bytes.TrimLeft(within, " \t\r\n,:")
	depth := 0
	for i := 0; i < len(within); i++ {
		switch within[i] {
		case '"':
			for i++; i < len(within) && within[i] != '"'; i++ {
				if within[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ' ', '\t', '\r', '\n', ',', ':':
			if depth == 0 {
				return within[:i], within[i:]
			}
			continue
		default: // within a number, true, false or null
			continue
		}
		switch {
		case depth < 0:
			return within[:i], nil
		case depth == 0:
			end := min(i+1, len(within))
			return within[:end], within[end:]
		}
	}
	return within, nil
}

// Enum is an enumeration of the API whose values have the cloud's words for names: CHARGE_TYPE_POST_PAID is PostPaid.
type Enum interface {
	~int32
	protoreflect.Enum
}

// Word gives the word for a value. The one that says nothing has none.
func Word[E Enum](value E) string { return wordOf(value.Descriptor(), value.Number()) }

func wordOf(of protoreflect.EnumDescriptor, value protoreflect.EnumNumber) string {
	var word strings.Builder
	for part := range strings.SplitSeq(nameOf(of.Values(), value), "_") {
		first := min(1, len(part))
		word.WriteString(part[:first] + strings.ToLower(part[first:]))
	}
	return word.String()
}

// Named finds the value of a word, in capitals or not. One that is not known has the zero value.
func Named[E Enum](word string) (value E) {
	for i := range value.Descriptor().Values().Len() {
		named := E(value.Descriptor().Values().Get(i).Number())
		if name := nameOf(value.Descriptor().Values(), named.Number()); name != "" && strings.EqualFold(strings.ReplaceAll(name, "_", ""), word) {
			return named
		}
	}
	return value
}

// nameOf is the name of a value without that of the enumeration, e.g. POST_PAID.
func nameOf(values protoreflect.EnumValueDescriptors, value protoreflect.EnumNumber) string {
	named := values.ByNumber(value)
	if value == 0 || named == nil {
		return ""
	}
	return strings.TrimPrefix(string(named.Name()), strings.TrimSuffix(string(values.ByNumber(0).Name()), "UNSPECIFIED"))
}

// Time reads a time of ECS or VPC, with seconds or without. No decision depends on it, so one that can't be read is left out.
func Time(text string) *timestamppb.Timestamp {
	for _, layout := range []string{"2006-01-02T15:04Z", time.RFC3339} {
		if t, err := time.Parse(layout, text); err == nil {
			return timestamppb.New(t)
		}
	}
	return nil
}
