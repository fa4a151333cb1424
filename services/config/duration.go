package config

import (
	"encoding/json"
	"time"
)

// Duration is a time.Duration written like "5s" or "1m30s".
type Duration time.Duration

// UnmarshalJSON reads a string like "5s".
func (d *Duration) UnmarshalJSON(text []byte) error {
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return err
	}
	s, ok := value.(string)
	if !ok {
		return &valueError{value: value, want: `a duration such as "30s" or "5m"`}
	}
	parsed, err := time.ParseDuration(s)
	if err != nil {
		return &valueError{value: value, want: `a duration such as "30s" or "5m"`}
	}
	*d = Duration(parsed)
	return nil
}

// MarshalJSON writes what UnmarshalJSON reads.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) }

// String writes d as time.Duration does.
func (d Duration) String() string { return time.Duration(d).String() }

// Or gives d, or otherwise if d is zero.
func (d Duration) Or(otherwise time.Duration) time.Duration {
	if d == 0 {
		return otherwise
	}
	return time.Duration(d)
}
