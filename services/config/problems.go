package config

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
)

// Problems collects what is wrong with a configuration, so that all of it is reported at once. The zero value is empty.
type Problems struct {
	errs []error
}

// Addf notes that the value of key is wrong; the text says how and what would be right.
func (p *Problems) Addf(key, format string, args ...any) {
	p.errs = append(p.errs, fmt.Errorf("%s: %s", key, fmt.Sprintf(format, args...)))
}

// Required notes a key without a value.
func (p *Problems) Required(key, value string) {
	if value == "" {
		p.Addf(key, "is required")
	}
}

// OneOf notes a value that is not among the allowed ones.
func (p *Problems) OneOf(key, value string, allowed ...string) {
	if !slices.Contains(allowed, value) {
		p.Addf(key, "%q is not one of %s", value, strings.Join(allowed, ", "))
	}
}

// Range notes a number outside of low to high.
func (p *Problems) Range(key string, value, low, high int) {
	if value < low || value > high {
		p.Addf(key, "%d is not in %d to %d", value, low, high)
	}
}

// Positive notes a duration that is not above zero.
func (p *Problems) Positive(key string, value Duration) {
	if value <= 0 {
		p.Addf(key, "%s is not above zero", value)
	}
}

// HostPort notes an address that is not "host:port".
func (p *Problems) HostPort(key, value string) {
	if _, _, err := net.SplitHostPort(value); err != nil {
		p.Addf(key, `%q is not of the form "host:port"`, value)
	}
}

// Err gives all problems as one error, nil if there are none.
func (p *Problems) Err() error { return errors.Join(p.errs...) }
