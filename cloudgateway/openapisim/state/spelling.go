package state

import (
	"maps"
	"strings"
)

// Spelling is how clients wrote the enumerated values of a resource that they did not write as the documents do: by the last part of
// the parameter's name, in lower case, the value as it was sent. It is never changed, only replaced.
type Spelling map[string]string

// Of returns a value of a member as the client wrote it. A value that changed since in another way is returned as it is.
func (s Spelling) Of(member, value string) string {
	if len(s) == 0 {
		return value
	}
	if sent, ok := s[strings.ToLower(member)]; ok && strings.EqualFold(sent, value) {
		return sent
	}
	return value
}

// All returns the values of a list as the client wrote them.
func (s Spelling) All(member string, values []string) []string {
	if len(s) == 0 {
		return values
	}
	out := make([]string, len(values))
	for i, value := range values {
		out[i] = value
		if sent, ok := s[strings.ToLower(member+"."+value)]; ok {
			out[i] = sent
		}
	}
	return out
}

// Renamed returns the spelling with what was sent of one member as that of another one.
func (s Spelling) Renamed(from, to string) Spelling {
	from, to = strings.ToLower(from), strings.ToLower(to)
	renamed := maps.Clone(s)
	delete(renamed, to)
	if sent, ok := renamed[from]; ok {
		delete(renamed, from)
		renamed[to] = sent
	}
	return renamed
}
