package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Duration is a time.Duration that reads and writes as "1.5s" in JSON documents.
type Duration time.Duration

// MarshalText writes the duration as time.Duration prints it.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads what time.ParseDuration reads, but nothing negative.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil || v < 0 {
		return fmt.Errorf("%q is no duration; write for example 1.5s", text)
	}
	*d = Duration(v)
	return nil
}

// fields are all settings by their names in JSON.
func (s *Settings) fields() map[string]any {
	fields := map[string]any{}
	for field, value := range reflect.ValueOf(s).Elem().Fields() {
		at := value.Addr().Interface()
		if window, ok := at.(*time.Duration); ok {
			at = (*Duration)(window)
		}
		fields[field.Tag.Get("json")] = at
	}
	return fields
}

// check refuses numbers that stand for nothing.
func (s *Settings) check() error {
	var problems []error
	check := func(name string, n, least int) {
		if n < least {
			problems = append(problems, fmt.Errorf("setting %s: %d is less than %d", name, n, least))
		}
	}
	fields := s.fields()
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if n, ok := fields[name].(*int); ok {
			check(name, *n, 1)
		}
	}
	if s.Spelling != SpellingEcho && s.Spelling != SpellingDocuments {
		problems = append(problems, fmt.Errorf("setting spelling: %q is neither %s nor %s", s.Spelling, SpellingEcho, SpellingDocuments))
	}
	for field, value := range reflect.ValueOf(s.Quotas).Fields() {
		check("quotas."+field.Tag.Get("json"), int(value.Int()), 0)
	}
	return errors.Join(problems...)
}

// MarshalJSON writes durations as text.
func (s Settings) MarshalJSON() ([]byte, error) { return json.Marshal(s.fields()) }

// UnmarshalJSON changes the settings that the document names and leaves the others.
func (s *Settings) UnmarshalJSON(data []byte) error {
	var document map[string]json.RawMessage
	if err := json.Unmarshal(data, &document); err != nil {
		return err
	}
	changed := *s
	fields := changed.fields()
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(document)) {
		field, ok := fields[name]
		if !ok {
			known := strings.Join(slices.Sorted(maps.Keys(fields)), ", ")
			problems = append(problems, fmt.Errorf("unknown setting %q; known are %s", name, known))
			continue
		}
		decoder := json.NewDecoder(bytes.NewReader(document[name]))
		decoder.DisallowUnknownFields() // in quotas
		if err := decoder.Decode(field); err != nil {
			problems = append(problems, fmt.Errorf("setting %s: %w", name, err))
		}
	}
	if err := errors.Join(append(problems, changed.check())...); err != nil {
		return err
	}
	*s = changed
	return nil
}
