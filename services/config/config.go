// Package config reads a process's configuration: one strict YAML file into a struct that holds the defaults, and all that is
// wrong with it in one error that names the keys.
package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	strictjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"alicloud-controllers.dev/services/version"
)

// Load reads the YAML file at path over into, which holds the defaults. A key that into does not know, a key given twice and a
// value of a wrong type are errors.
func Load(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the configuration: %w", err)
	}
	if err := Parse(text, into); err != nil {
		return fmt.Errorf("configuration %s: %w", path, err)
	}
	return nil
}

// Parse is Load for a text.
func Parse(text []byte, into any) error {
	doc, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return fmt.Errorf("not valid YAML: %w", err)
	}
	strict, err := strictjson.UnmarshalStrict(doc, into)
	if err != nil {
		return describe(doc, err)
	}
	if len(strict) > 0 {
		return fmt.Errorf("%w\nthis is version %s: correct the key, or, if a newer version knows it, run that one",
			errors.Join(strict...), version.String())
	}
	return nil
}

// Fill gives an empty value another one.
func Fill[T comparable](value *T, otherwise T) {
	var empty T
	if *value == empty {
		*value = otherwise
	}
}

// describe says which key holds the wrong value.
func describe(doc []byte, err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		key := wrong.Field
		if key == "" {
			key = "the file"
		}
		return fmt.Errorf("%s: got a %s, want a %s", key, wrong.Value, wrong.Type)
	}
	if wrong, ok := errors.AsType[*valueError](err); ok {
		var tree any
		if json.Unmarshal(doc, &tree) == nil {
			if keys := keysOf(tree, wrong.value, ""); len(keys) > 0 {
				return fmt.Errorf("%s: %w", strings.Join(keys, ", "), wrong)
			}
		}
	}
	return err
}

// valueError is a value that its own type refuses. The decoder does not pass the key to such a type, so describe looks for it.
type valueError struct {
	value any
	want  string
}

func (e *valueError) Error() string { return fmt.Sprintf("%v is not %s", quoted(e.value), e.want) }

func quoted(v any) any {
	if s, ok := v.(string); ok {
		return fmt.Sprintf("%q", s)
	}
	return v
}

// keysOf lists the keys of tree that hold value.
func keysOf(tree, value any, key string) []string {
	var keys []string
	switch node := tree.(type) {
	case map[string]any:
		for name, child := range node {
			if key != "" {
				name = key + "." + name
			}
			keys = append(keys, keysOf(child, value, name)...)
		}
	case []any:
		for i, child := range node {
			keys = append(keys, keysOf(child, value, fmt.Sprintf("%s[%d]", key, i))...)
		}
	default:
		if node == value {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}
