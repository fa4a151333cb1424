package openapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"reflect"
	"strconv"
	"strings"
)

// Decode reads an answer, or a part of one. The cloud is not strict about types: the same field is 5 in one region and
// "5" in another, and an empty list may be "". What does not fit at once is brought into the form that out asks for, as
// Alibaba's own SDK does.
func Decode(body []byte, out any) error {
	err := json.Unmarshal(body, out)
	_, mismatch := errors.AsType[*json.UnmarshalTypeError](err)
	if _, itself := out.(json.Unmarshaler); !mismatch || itself {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber() // numbers keep all their digits
	var document any
	if err := decoder.Decode(&document); err != nil {
		return err
	}
	fitted, err := json.Marshal(fit(document, reflect.TypeOf(out)))
	if err != nil {
		return err
	}
	return json.Unmarshal(fitted, out)
}

// fit brings a JSON value into the form that the type decodes. What it can't bring there it leaves for the decoder to refuse.
func fit(v any, t reflect.Type) any {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if v == nil || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return v
	}
	switch t.Kind() {
	case reflect.String:
		return fitString(v)
	case reflect.Bool:
		return fitBool(v)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64:
		return fitNumber(v)
	case reflect.Struct:
		return fitObject(v, func(name string) (reflect.Type, bool) { return fieldType(t, name) })
	case reflect.Map:
		return fitObject(v, func(string) (reflect.Type, bool) { return t.Elem(), true })
	case reflect.Slice, reflect.Array:
		return fitList(v, t.Elem())
	default:
		return v
	}
}

func fitString(v any) any {
	switch v := v.(type) {
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	default:
		return v
	}
}

func fitBool(v any) any {
	switch v := v.(type) {
	case string:
		switch strings.ToLower(v) {
		case "true", "on", "1":
			return true
		case "false", "off", "0", "":
			return false
		}
	case json.Number:
		return v.String() != "0"
	}
	return v
}

func fitNumber(v any) any {
	switch v := v.(type) {
	case string:
		if v == "" {
			return nil // the zero value
		}
		if json.Valid([]byte(v)) {
			return json.RawMessage(v)
		}
	case bool:
		if v {
			return 1
		}
		return 0
	}
	return v
}

func fitObject(v any, typeOf func(name string) (reflect.Type, bool)) any {
	if v == "" {
		return nil
	}
	object, ok := v.(map[string]any)
	if !ok {
		return v
	}
	for name, value := range object {
		if t, known := typeOf(name); known {
			object[name] = fit(value, t)
		}
	}
	return object
}

func fitList(v any, item reflect.Type) any {
	if v == "" {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		return v
	}
	for i := range list {
		list[i] = fit(list[i], item)
	}
	return list
}

// fieldType finds the field that encoding/json decodes a name into, in the struct itself or in one embedded in it.
func fieldType(t reflect.Type, name string) (reflect.Type, bool) {
	for _, field := range reflect.VisibleFields(t) {
		tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.IsExported() && strings.EqualFold(cmp.Or(tag, field.Name), name) {
			return field.Type, true
		}
	}
	return nil, false
}
