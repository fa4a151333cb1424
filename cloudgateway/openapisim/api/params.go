package api

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Params are the parameters of a request, query and form merged. Names match exactly first and then without regard to case,
// as the cloud does for healthCheckInterval and HealthCheckInterval.
type Params struct {
	values map[string]string
	folded map[string]string
	owned  bool              // values is a copy
	sent   map[string]string // enumerated values as they were sent, where they are replaced, by their names in lower case
}

// NewParams takes over the values.
func NewParams(values map[string]string) Params {
	folded := make(map[string]string, len(values))
	for name, value := range values {
		folded[strings.ToLower(name)] = value
	}
	if len(folded) < len(values) { // the last name in the alphabet counts of those that differ in case only
		for _, name := range slices.Sorted(maps.Keys(values)) {
			folded[strings.ToLower(name)] = values[name]
		}
	}
	return Params{values: values, folded: folded}
}

// Lookup returns a value and whether it was sent.
func (p Params) Lookup(name string) (string, bool) {
	if v, ok := p.values[name]; ok {
		return v, true
	}
	v, ok := p.folded[strings.ToLower(name)]
	return v, ok
}

// Set replaces a value. The map that the parameters were made of stays as it is.
func (p *Params) Set(name, value string) {
	if _, ok := p.values[name]; ok && !p.owned {
		p.values, p.owned = maps.Clone(p.values), true
	}
	if p.owned {
		p.values[name] = value
	}
	p.folded[strings.ToLower(name)] = value
}

// Get returns a value, or "" if it was not sent.
func (p Params) Get(name string) string {
	v, _ := p.Lookup(name)
	return v
}

// Has reports whether a value was sent and is not empty.
func (p Params) Has(name string) bool { return p.Get(name) != "" }

// True reports whether a boolean parameter is set.
func (p Params) True(name string) bool { return strings.EqualFold(p.Get(name), "true") }

// Int returns a number, or def if it was not sent. The server has checked its form.
func (p Params) Int(name string, def int) int {
	n, err := strconv.Atoi(p.Get(name))
	if err != nil {
		return def
	}
	return n
}

// List returns Name.1, Name.2, … in the order of their numbers; gaps are allowed. A plain Name counts as the only item.
func (p Params) List(name string) []string {
	var out []string
	for _, item := range p.Names(name) {
		out = append(out, p.Get(item))
	}
	return out
}

// Names returns the names of the items that [Params.List] returns.
func (p Params) Names(name string) []string {
	var out []string
	for _, n := range p.indexes(name) {
		if item := name + "." + strconv.Itoa(n); p.has(item) {
			out = append(out, item)
		}
	}
	if len(out) == 0 && p.Has(name) {
		out = append(out, name)
	}
	return out
}

func (p Params) has(name string) bool {
	_, ok := p.Lookup(name)
	return ok
}

// Items returns the members of Name.1.Member, Name.2.Member, … in the order of their numbers; gaps are allowed. Member names
// are in lower case.
func (p Params) Items(name string) []map[string]string {
	var out []map[string]string
	for _, n := range p.indexes(name) {
		prefix := strings.ToLower(name) + "." + strconv.Itoa(n) + "."
		item := map[string]string{}
		for k, v := range p.folded {
			if rest, ok := strings.CutPrefix(k, prefix); ok {
				item[rest] = v
			}
		}
		if len(item) > 0 {
			out = append(out, item)
		}
	}
	return out
}

// All returns every parameter as it was sent. The caller must not change it.
func (p Params) All() map[string]string { return p.values }

// SetText changes a value if its parameter was sent.
func (p Params) SetText(name string, value *string) { *value = cmp.Or(p.Get(name), *value) }

// SetInt does so with a whole number.
func (p Params) SetInt(name string, value *int) { *value = p.Int(name, *value) }

// SetFlag does so with true or false.
func (p Params) SetFlag(name string, value *bool) {
	if p.Has(name) {
		*value = p.True(name)
	}
}

// MatchFlag reports whether a filter by true or false is not set, or equal to the value.
func (p Params) MatchFlag(name string, value bool) bool { return !p.Has(name) || p.True(name) == value }

// Prefixes returns Name.1., Name.2., … for the items that [Params.Items] returns.
func (p Params) Prefixes(name string) []string {
	var out []string
	for _, n := range p.indexes(name) {
		if !p.has(name + "." + strconv.Itoa(n)) {
			out = append(out, name+"."+strconv.Itoa(n)+".")
		}
	}
	return out
}

func (p Params) indexes(name string) []int {
	prefix := strings.ToLower(name) + "."
	seen := map[int]bool{}
	for k := range p.folded {
		rest, ok := strings.CutPrefix(k, prefix)
		if !ok {
			continue
		}
		num, _, _ := strings.Cut(rest, ".")
		if n, err := strconv.Atoi(num); err == nil && n >= 0 {
			seen[n] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}
