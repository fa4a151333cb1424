// Package strictjson reads documents that people write: nothing in them is ignored, and everything that is wrong is reported at
// once, with the place where it is.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Validator checks what was read. The error names members below the value.
type Validator interface{ Validate() error }

// Unmarshal reads a document into a value, and leaves what the document does not name. It refuses names that it does not know,
// values of another form, and what a [Validator] refuses; the error joins all of them.
func Unmarshal(document []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(document))
	var raw json.RawMessage
	if err := decoder.Decode(&raw); err != nil {
		return fmt.Errorf("decode the document: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("decode the document: there is more behind its end")
	}
	return errors.Join(read("", raw, reflect.ValueOf(into).Elem())...)
}

func read(path string, raw json.RawMessage, v reflect.Value) []error {
	problems := readParts(path, raw, v)
	if validator, ok := v.Addr().Interface().(Validator); ok && len(problems) == 0 {
		problems = append(problems, flatten(path, validator.Validate())...)
	}
	return problems
}

func readParts(path string, raw json.RawMessage, v reflect.Value) []error {
	switch v.Addr().Interface().(type) {
	case json.Unmarshaler, interface{ UnmarshalText(text []byte) error }:
		return flatten(path, json.Unmarshal(raw, v.Addr().Interface()))
	}
	if string(raw) == "null" {
		v.SetZero()
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		return read(path, raw, v.Elem())
	case reflect.Struct:
		return readStruct(path, raw, v)
	case reflect.Map:
		return readMap(path, raw, v)
	case reflect.Slice:
		return readSlice(path, raw, v)
	default:
		return flatten(path, json.Unmarshal(raw, v.Addr().Interface()))
	}
}

func readStruct(path string, raw json.RawMessage, v reflect.Value) (problems []error) {
	fields := map[string]reflect.Value{}
	for field, value := range v.Fields() {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && name != "-" {
			fields[name] = value
		}
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return flatten(path, err)
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		at := strings.TrimPrefix(path+"."+name, ".")
		if field, ok := fields[name]; ok {
			problems = append(problems, read(at, members[name], field)...)
		} else {
			problems = append(problems, fmt.Errorf("%s: there is no such key; known are %s", at,
				strings.Join(slices.Sorted(maps.Keys(fields)), ", ")))
		}
	}
	return problems
}

func readMap(path string, raw json.RawMessage, v reflect.Value) (problems []error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return flatten(path, err)
	}
	if v.IsNil() {
		v.Set(reflect.MakeMap(v.Type()))
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		item := reflect.New(v.Type().Elem()).Elem()
		problems = append(problems, read(path+"["+strconv.Quote(name)+"]", members[name], item)...)
		v.SetMapIndex(reflect.ValueOf(name).Convert(v.Type().Key()), item)
	}
	return problems
}

func readSlice(path string, raw json.RawMessage, v reflect.Value) (problems []error) {
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return flatten(path, err)
	}
	v.Set(reflect.MakeSlice(v.Type(), len(items), len(items)))
	for i, item := range items {
		problems = append(problems, read(path+"["+strconv.Itoa(i)+"]", item, v.Index(i))...)
	}
	return problems
}

// flatten puts the place before each of the errors that one joins.
func flatten(path string, err error) []error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var problems []error
		for _, part := range joined.Unwrap() {
			problems = append(problems, flatten(path, part)...)
		}
		return problems
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		err = fmt.Errorf("is of the wrong form: %s instead of %s", wrong.Value, wrong.Type)
	}
	if path == "" {
		return []error{err}
	}
	return []error{fmt.Errorf("%s: %w", path, err)}
}
