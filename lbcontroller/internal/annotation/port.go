package annotation

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// part is what a value says for one port, or for all.
type part struct {
	// port is 0 for all.
	port int32
	raw  string
	// wrong says what to write in place of a part that can't be.
	wrong string
}

// maxPort is the highest port there is.
const maxPort = 65535

// split takes a value apart into what it says for all ports and for one. "9090,443:10443" says 10443 for port 443, and 9090 for the others;
// each item of a list stands for itself, as in "http_2xx,443:http_2xx,443:http_3xx". A value in which no item is for a port is one part,
// as it stands: commas and colons that it has of its own keep their meaning.
func (s Spec) split(raw string) []part {
	items := strings.Split(raw, ",")
	if !s.ByPort() || !slices.ContainsFunc(items, func(item string) bool { _, _, is := s.ofPort(item); return is }) {
		return []part{{raw: raw}}
	}
	var parts []part
	for _, item := range items {
		number, value, isOfPort := s.ofPort(item)
		one := part{raw: strings.TrimSpace(item)}
		if isOfPort {
			port, err := strconv.ParseUint(number, 10, 16)
			if err != nil || port == 0 {
				one.wrong = fmt.Sprintf("PORT:VALUE with a port from 1 to %d: %s is none", maxPort, number)
			}
			one.port, one.raw = int32(port), value
		}
		if !isOfPort && one.raw == "" {
			continue
		}
		parts = s.with(parts, one)
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(a.port, b.port) })
	return parts
}

// ofPort takes an item that is for a port apart. A text without a form of its own that has another colon is none, nor is a number that is
// the key of a pair.
func (s Spec) ofPort(item string) (port, value string, isOfPort bool) {
	port, value, isOfPort = strings.Cut(item, ":")
	port, value = strings.TrimSpace(port), strings.TrimSpace(value)
	switch {
	case !isOfPort || port == "" || strings.Trim(port, "0123456789") != "":
		return "", "", false
	case s.Kind == Text && s.Pattern == AnyText && strings.Contains(value, ":"):
		return "", "", false
	case s.Kind == Pairs && !strings.Contains(value, s.Separator):
		return "", "", false
	}
	return port, value, true
}

// isList reports that a value may have several items.
func (s Spec) isList() bool { return s.Kind == List || s.Kind == Choices || s.Kind == Pairs }

// with adds a part, to the one for the same port if there is one. Where one value is allowed the same may stand twice.
func (s Spec) with(parts []part, one part) []part {
	at := slices.IndexFunc(parts, func(p part) bool { return p.port == one.port && p.wrong == "" })
	switch {
	case at < 0 || one.wrong != "":
		return append(parts, one)
	case s.isList():
		parts[at].raw += "," + one.raw
	case parts[at].raw != one.raw:
		where := "all ports, beside those for one port, which are PORT:VALUE"
		if one.port != 0 {
			where = fmt.Sprintf("port %d", one.port)
		}
		parts[at].raw, parts[at].wrong = parts[at].raw+","+one.raw, "one value for "+where
	}
	return parts
}

// ForPort writes a value for one port, as a user would; one for all ports with port 0.
func (s Spec) ForPort(port int32, value string) string {
	if port == 0 {
		return value
	}
	mark := strconv.Itoa(int(port)) + ":"
	if s.isList() {
		value = strings.ReplaceAll(value, ",", ","+mark)
	}
	return mark + value
}

// forSomePort stands before the number of the port in texts.
const forSomePort = " for port "

// forPort says for people which port something is about, if it is about one.
func forPort(port int32) string {
	if port == 0 {
		return ""
	}
	return forSomePort + strconv.Itoa(int(port))
}

// add puts in what is asked for all ports, or for one.
func (s *setting) add(one setting) {
	if one.port == 0 {
		ports := s.ports
		*s = one
		s.ports = ports
		return
	}
	if s.ports == nil {
		s.ports = map[int32]setting{}
	}
	s.ports[one.port] = one
}

// parseNotes reads Applied: the ports for which each key was applied, 0 for all.
func parseNotes(text string) map[string][]int32 {
	var noted map[string][]int32
	for _, note := range splitList(text) {
		key, number, _ := strings.Cut(note, ":")
		port, err := strconv.ParseUint(number, 10, 16)
		if err != nil && number != "" {
			continue
		}
		if noted == nil {
			noted = map[string][]int32{}
		}
		noted[key] = append(noted[key], int32(port))
	}
	return noted
}

// notes are what Applied says of a value, and of a field that asks for the ports that the value isn't for.
func (s Spec) notes(raw string, inSpec bool) []string {
	parts := s.split(raw)
	if inSpec && parts[0].port != 0 {
		parts = slices.Insert(parts, 0, part{})
	}
	notes := make([]string, len(parts))
	for i, part := range parts {
		notes[i] = s.Key
		if part.port != 0 {
			notes[i] += ":" + strconv.Itoa(int(part.port))
		}
	}
	return notes
}

// revert puts the default in place of what was applied for these ports, 0 for all, and is asked for no more. A port whose value is gone has
// the one for all, if there is one.
func (v *Values) revert(spec Spec, ports []int32) {
	slices.Sort(ports)
	for _, port := range ports {
		s := v.settings[spec.Key]
		if _, isAsked := s.ports[port]; isAsked || s.origin != Unset || port != 0 && ports[0] == 0 { // The first is about all.
			continue
		}
		switch {
		case spec.Reset != "":
			s.add(setting{origin: Reset, value: spec.Reset, name: Prefix + spec.Key, raw: spec.Reset, port: port})
			v.settings[spec.Key] = s
		case spec.Removal == Keeps:
			v.kept = append(v.kept, spec.removed()+forPort(port))
		}
	}
}
