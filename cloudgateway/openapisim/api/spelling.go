package api

import (
	"maps"
	"strconv"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// How answers spell enumerated values, see [Settings.Spelling].
const (
	SpellingEcho      = "echo"      // as the client did that set them
	SpellingDocuments = "documents" // as the documents do
)

// Respell replaces a value by the same word as the documents spell it, and remembers how it was sent.
func (p *Params) Respell(name, word string) {
	if p.sent == nil {
		p.sent = map[string]string{}
	}
	p.sent[strings.ToLower(name)] = p.Get(name)
	p.Set(name, word)
}

// Keep remembers with a resource how the call spells its values. Prefix narrows it to an item, such as "Servers.1."; "" stands for all
// that is not in an item.
func (c *Context) Keep(prefix string, spelling *state.Spelling) {
	kept := maps.Clone(*spelling)
	prefix = strings.ToLower(prefix)
	maps.DeleteFunc(kept, func(member, _ string) bool { return c.sets(prefix, member) })
	if c.Settings.Spelling != SpellingDocuments {
		for name, value := range c.sent {
			if rest, ok := strings.CutPrefix(name, prefix); ok {
				if kept == nil {
					kept = state.Spelling{}
				}
				kept[memberOf(rest, value)] = value
			}
		}
	}
	if len(kept) == 0 {
		kept = nil
	}
	*spelling = kept
}

// memberOf is the member that a parameter sets. In a list each value is one.
func memberOf(name, value string) string {
	parts := strings.Split(name, ".")
	last := len(parts) - 1
	if _, err := strconv.Atoi(parts[last]); err == nil && last > 0 {
		return parts[last-1] + "." + strings.ToLower(value)
	}
	return parts[last]
}

// sets reports whether the call sends a parameter that sets a member.
func (c *Context) sets(prefix, member string) bool {
	list, _, _ := strings.Cut(member, ".")
	for name, value := range c.folded {
		if rest, ok := strings.CutPrefix(name, prefix); ok && value != "" {
			if sent := memberOf(rest, value); sent == member || strings.HasPrefix(sent, list+".") {
				return true
			}
		}
	}
	return false
}

// Spelled writes the values of an object, and of the objects in it, as clients did.
func Spelled(spelling state.Spelling, o Object) Object {
	if len(spelling) == 0 {
		return o
	}
	for i := 0; i+1 < len(o); i += 2 {
		name, _ := o[i].(string)
		switch v := o[i+1].(type) {
		case string:
			o[i+1] = spelling.Of(name, v)
		case []string:
			o[i+1] = spelling.All(name, v)
		case Object:
			o[i+1] = Spelled(spelling, v)
		}
	}
	return o
}
