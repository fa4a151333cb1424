package annotation

import (
	"fmt"
	"slices"
	"strings"
)

// Problem is an annotation that can't be honoured.
type Problem struct {
	// Key is that of the table.
	Key string
	// Name is the full name the user wrote.
	Name string
	// Port is the one that the value is for; 0 for all.
	Port int32
	// Value is the value the user wrote.
	Value string
	// Want says what is allowed; empty if nothing is, because the annotation is not supported.
	Want string
	// Scope is what the annotation configures.
	Scope Scope
	// InSpec says that Name is a field of the Service, not an annotation.
	InSpec bool
}

// shownValue bounds the bad value in a text.
const shownValue = 200

// String names the annotation, the bad value and what to write instead.
func (p Problem) String() string {
	if p.Want == "" {
		return fmt.Sprintf("annotation %s: value %q is refused: this version does not support the annotation; remove it", p.Name, p.Value)
	}
	kind, value := "annotation ", p.Value
	if p.InSpec {
		kind = ""
	}
	if len(value) > shownValue {
		value = strings.ToValidUTF8(value[:shownValue], "") + "…"
	}
	return fmt.Sprintf("%s%s%s: value %q is not allowed, use %s", kind, p.Name, forPort(p.Port), value, p.Want)
}

// Parser reads annotations by the table of a kind. The zero value has that of CLBs.
type Parser struct {
	kind  LoadBalancer
	specs []Spec
}

// NewParser makes a parser for Services of a kind.
func NewParser(kind LoadBalancer) Parser {
	return Parser{kind: kind, specs: TableFor(kind)}
}

// Table returns the rows that the parser reads by.
func (p Parser) Table() []Spec { return p.table() }

func (p Parser) table() []Spec {
	if p.specs == nil {
		return Table()
	}
	return p.specs
}

// Parse reads the annotations of one Service.
func Parse(annotations map[string]string) (Values, []Problem) { return Parser{}.Parse(annotations) }

// Parse reads what the annotations of the table and the fields of a Service ask for, and what was asked for before and
// is gone. It reports every problem at once. Annotations it doesn't know are not its business.
func (p Parser) Parse(annotations map[string]string, fields ...Field) (Values, []Problem) {
	v := Values{settings: map[string]setting{}}
	var problems []Problem
	noted := parseNotes(annotations[Applied])
	for _, spec := range p.table() {
		if name, raw, ok := lookup(annotations, spec.Key); ok {
			if wrong := v.set(spec, setting{origin: Written, name: name, raw: raw}); len(wrong) > 0 {
				problems = append(problems, wrong...)
				continue
			}
		}
		if ports, was := noted[spec.Key]; was {
			v.revert(spec, ports)
		}
	}
	return v, append(problems, p.Amend(&v, annotations, fields...)...)
}

// Amend adds what fields of the Service ask for to what its annotations say, which counts more. Fields for which the table
// has no row ask for nothing. One that has an annotation for some ports asks for the others.
func (p Parser) Amend(v *Values, annotations map[string]string, fields ...Field) []Problem {
	if len(fields) == 0 {
		return nil
	}
	var problems []Problem
	for _, spec := range p.table() {
		for _, f := range fields {
			onlySome := v.Origin(f.Key) != Written && len(v.Ports(f.Key)) > 0
			if f.Key != spec.Key || v.Origin(f.Key) == InSpec || IsSet(annotations, f.Key) && !onlySome {
				continue
			}
			v.kept = slices.DeleteFunc(v.kept, func(name string) bool {
				name, _, _ = strings.Cut(name, forSomePort)
				return name == spec.removed()
			})
			problems = append(problems, v.set(spec, setting{origin: InSpec, name: f.Name, raw: f.Value})...)
		}
	}
	return problems
}

// set is the value of a key from now on, for all ports or for those that it is for, unless something of it isn't allowed.
func (v Values) set(spec Spec, asked setting) []Problem {
	parts := []part{{raw: asked.raw}}
	if asked.origin == Written {
		parts = spec.split(asked.raw)
	}
	var problems []Problem
	result := setting{name: asked.name}
	for _, part := range parts {
		one := asked
		one.port, one.raw = part.port, part.raw
		canonical, want := spec.parse(part.raw)
		if part.wrong != "" {
			want = part.wrong
		}
		if spec.Refused || want != "" {
			problems = append(problems, spec.problem(one, want))
			continue
		}
		one.value = canonical
		result.add(one)
	}
	if len(problems) > 0 {
		delete(v.settings, spec.Key)
		return problems
	}
	for _, own := range v.settings[spec.Key].ports { // A field asks for all ports but those of an annotation.
		if asked.origin == InSpec && own.origin == Written {
			result.add(own)
		}
	}
	v.settings[spec.Key] = result
	return nil
}

// removed names what was removed where the cloud keeps what it asked for.
func (s Spec) removed() string {
	if s.Field != "" {
		return Prefix + s.Key + " or " + s.Field
	}
	return Prefix + s.Key
}

func (s Spec) problem(asked setting, want string) Problem {
	if s.Refused {
		want = ""
	}
	return Problem{Key: s.Key, Name: asked.name, Port: asked.port, Value: asked.raw, Want: want, Scope: s.Scope,
		InSpec: asked.origin == InSpec}
}

// IsSet reports whether an annotation has a value, good or bad.
func IsSet(annotations map[string]string, key string) bool {
	_, _, ok := lookup(annotations, key)
	return ok
}

// AppliedNote is what Applied says once all that a Service asks for is applied: the keys whose removal means something.
func (p Parser) AppliedNote(annotations map[string]string, fields ...Field) string {
	var keys []string
	for _, spec := range p.table() {
		_, raw, isWritten := lookup(annotations, spec.Key)
		inSpec := slices.ContainsFunc(fields, func(f Field) bool { return f.Key == spec.Key })
		switch {
		case spec.Key == ACLStatus:
			if on, _ := parseSwitch(raw); on || !isWritten && !inSpec && restricted(annotations) {
				keys = append(keys, spec.Key)
			}
		case spec.Reset == "" && spec.Removal != Keeps, !isWritten && !inSpec:
		case !isWritten:
			keys = append(keys, spec.Key)
		default:
			keys = append(keys, spec.notes(raw, inSpec)...)
		}
	}
	return strings.Join(keys, ",")
}

// restricted reports that ACLStatus has put access control in force. That is noted until the annotation says otherwise:
// its absence opens nothing.
func restricted(annotations map[string]string) bool {
	return slices.Contains(splitList(annotations[Applied]), ACLStatus)
}

// AccessUnsaid says, as text for users, that access control was put in force and that nothing says any more whether it
// is to be; empty if something does.
func AccessUnsaid(annotations map[string]string) string {
	if !restricted(annotations) || IsSet(annotations, ACLStatus) {
		return ""
	}
	return "annotation acl-status is gone, by which the access was restricted; set it to on, with acl-id and acl-type, " +
		"or to off"
}

// lookup finds a key under either prefix. An empty value under the current prefix hides the legacy key and counts as
// not set. Most keys of the table aren't set: their names are put together where they need no allocation.
func lookup(annotations map[string]string, key string) (name, value string, ok bool) {
	var room [96]byte
	for _, prefix := range []string{Prefix, LegacyPrefix} {
		full := append(append(room[:0], prefix...), key...)
		if value, ok := annotations[string(full)]; ok {
			return string(full), value, value != ""
		}
	}
	return "", "", false
}

// Preserved reports whether the CLB shall outlive the Service. It is read at deletion, when a bad value must neither block the
// deletion nor cost the user a CLB that was meant to stay: only a clear no is a no.
func Preserved(annotations map[string]string) bool {
	_, value, ok := lookup(annotations, PreserveOnDelete)
	if !ok {
		return false
	}
	on, known := parseSwitch(value)
	return on || !known
}

// HealthChecksAllowed reports whether a Service asks that its health checks be let in. A value that can't be read doesn't take that back.
func HealthChecksAllowed(annotations map[string]string) bool {
	_, value, ok := lookup(annotations, AllowHealthChecks)
	on, known := parseSwitch(value)
	return ok && (on || !known)
}

// Reused names the existing CLB that the Service asks for, or "", whatever else is wrong with the Service.
func Reused(annotations map[string]string) string {
	_, value, _ := lookup(annotations, ID)
	return strings.TrimSpace(value)
}

// Known returns the keys in any of the maps that are meant for the controller, in any order.
func Known(annotations ...map[string]string) []string {
	var keys []string
	for _, m := range annotations {
		for key := range m {
			if strings.HasPrefix(key, Prefix) || strings.HasPrefix(key, LegacyPrefix) || key == Class || key == BackendType {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// ParseOwnTags reads the note OwnTags.
func ParseOwnTags(annotations map[string]string) []string { return splitList(annotations[OwnTags]) }

// ParseBound reads the note Bound.
func ParseBound(annotations map[string]string) []string { return splitList(annotations[Bound]) }

// Unknown returns the names under either prefix that the table doesn't have, sorted, each with the key of the table that is most like it,
// or "" if none is.
func (p Parser) Unknown(annotations map[string]string) []Pair {
	var keys []string // Most Services have no annotation of the prefix.
	var unknown []Pair
	for name := range annotations {
		key, ours := strings.CutPrefix(name, Prefix)
		if !ours {
			if key, ours = strings.CutPrefix(name, LegacyPrefix); !ours {
				continue
			}
		}
		if keys == nil {
			keys = p.keys()
		}
		if !slices.Contains(keys, key) {
			unknown = append(unknown, Pair{Key: name, Value: nearest(key, keys)})
		}
	}
	slices.SortFunc(unknown, func(a, b Pair) int { return strings.Compare(a.Key, b.Key) })
	return unknown
}

// keys are those that mean something under the current prefix.
func (p Parser) keys() []string {
	table := p.table()
	keys := make([]string, 0, len(table)+2)
	keys = append(keys, strings.TrimPrefix(LoadBalancerType, Prefix), strings.TrimPrefix(TunnelType, Prefix))
	for i := range table {
		keys = append(keys, table[i].Key)
	}
	return keys
}

// nearest returns the key that a misspelt one is most like, or "" if no key is near.
func nearest(misspelt string, keys []string) string {
	best, least := "", 3 // More mistakes than two in a key are another word.
	for _, key := range keys {
		if d := distance(misspelt, key); d < least {
			best, least = key, d
		}
	}
	return best
}

// distance is the number of characters to insert, delete or replace to get from one text to the other.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
