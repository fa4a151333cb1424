package annotation

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// parse returns the canonical spelling of a value, or what is allowed instead.
func (s Spec) parse(raw string) (canonical, want string) {
	value := strings.TrimSpace(raw)
	switch s.Kind {
	case Choice:
		if c, ok := choose(s.Values, value); ok {
			return c, ""
		}
		return "", s.Allowed()
	case Choices:
		return s.parseChoices(value)
	case Switch:
		on, known := parseSwitch(value)
		if !known {
			return "", s.Allowed()
		}
		if on {
			return "on", ""
		}
		return "off", ""
	case Number:
		n, err := strconv.Atoi(value)
		if err != nil || (n < s.Min || n > s.Max) && !slices.Contains(s.Also, n) {
			return "", s.Allowed()
		}
		return strconv.Itoa(n), ""
	case List:
		items := distinct(splitList(value))
		switch {
		case len(items) == 0, slices.ContainsFunc(items, func(item string) bool { return !s.Pattern.matches(item) }):
			return "", s.Allowed()
		case len(items) > 1 && slices.Contains(items, None):
			return "", s.Allowed() + ", or " + None + " alone"
		}
		return strings.Join(items, ","), ""
	case Pairs:
		return s.parsePairs(value)
	case Text:
	}
	if value == "" || s.Max > 0 && len(value) > s.Max || !s.Pattern.matches(value) {
		return "", s.Allowed()
	}
	return value, ""
}

func (s Spec) parseChoices(value string) (canonical, want string) {
	var items []string
	for _, item := range splitList(value) {
		c, ok := choose(s.Values, item)
		if !ok {
			return "", s.Allowed()
		}
		items = append(items, c)
	}
	if len(items) == 0 {
		return "", s.Allowed()
	}
	slices.Sort(items)
	return strings.Join(slices.Compact(items), ","), ""
}

// parsePairs joins key and value by NUL, which no annotation value can usefully contain, so that a value may hold the separator.
func (s Spec) parsePairs(value string) (canonical, want string) {
	var items []string
	values := map[string]string{}
	for _, item := range splitList(value) {
		k, v, found := strings.Cut(item, s.Separator)
		k, v = strings.TrimSpace(k), strings.TrimSpace(v)
		// A tag may lack its value; a port or a label may not.
		if k == "" || !s.Pattern.matches(k) || strings.Contains(item, "\x00") || s.Key != AdditionalTags &&
			(!found || s.Separator == ":" && v == "") {
			return "", s.Allowed()
		}
		if other, twice := values[k]; twice && other != v && (s.Separator == "=" || s.Key == ForwardPort) {
			return "", fmt.Sprintf("%s with each key once: it has the key %s twice", s.Allowed(), k)
		}
		values[k] = v
		items = append(items, k+"\x00"+v)
	}
	items = distinct(items)
	if len(items) == 0 {
		return "", s.Allowed()
	}
	return strings.Join(items, ","), ""
}

// Allowed says for people what the value may be.
func (s Spec) Allowed() string {
	switch s.Kind {
	case Choice:
		return "one of " + strings.Join(s.Values, ", ")
	case Choices:
		return "a comma list of " + strings.Join(s.Values, ", ")
	case Switch:
		return "on or off"
	case Number:
		var text strings.Builder
		fmt.Fprintf(&text, "a whole number from %d to %d", s.Min, s.Max)
		for _, n := range s.Also {
			fmt.Fprintf(&text, ", or %d", n)
		}
		return text.String()
	case List:
		if s.Pattern != AnyText {
			return "a comma list, each " + string(s.Pattern)
		}
		return "a comma list"
	case Pairs:
		return fmt.Sprintf("a comma list of key%svalue", s.Separator)
	case Text:
	}
	text := "a text"
	if s.Pattern != AnyText {
		text = string(s.Pattern)
	}
	if s.Max > 0 {
		text += fmt.Sprintf(", at most %d characters", s.Max)
	}
	return text
}

func (p Pattern) matches(value string) bool {
	switch p {
	case CookieText:
		return !strings.ContainsFunc(value, func(r rune) bool { return !isAlnum(r) && r != '_' && r != '-' })
	case PathText:
		return strings.HasPrefix(value, "/")
	case IPv4Text:
		a, err := netip.ParseAddr(value)
		return err == nil && a.Is4()
	case HostText: // As the API server takes it in a status.
		isName, _ := regexp.MatchString(p.expr(), value) // The expression is well formed.
		isIPv4, _ := regexp.MatchString(ipv4Form, value)
		return isName && !isIPv4
	case CertificateText:
		isName, _ := regexp.MatchString(p.expr(), value) // The expression is well formed.
		return isName
	case IDText:
		return IsID(value)
	case AnyText:
	}
	return true
}

func isAlnum(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

func choose(values []string, value string) (string, bool) {
	for _, v := range values {
		if strings.EqualFold(v, value) {
			return v, true
		}
	}
	return "", false
}

func parseSwitch(value string) (on, known bool) {
	switch strings.ToLower(strings.TrimSpace(value)) {
	case "on", "true":
		return true, true
	case "off", "false":
		return false, true
	}
	return false, false
}

// distinct leaves out what is there a second time.
func distinct(items []string) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(items, func(item string) bool {
		isSecond := seen[item]
		seen[item] = true
		return isSecond
	})
}

// splitList trims the items and drops empty ones.
func splitList(value string) []string {
	var items []string
	for item := range strings.SplitSeq(value, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}
