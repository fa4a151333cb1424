package slb

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// parseObjects reads a JSON array of flat objects the way the cloud does, whatever a client makes of it: member names in any
// case, values as strings, numbers or booleans, single quotes instead of double ones. Members with other values are left out.
// Member names of the result are in lower case.
func parseObjects(text string) ([]map[string]string, bool) {
	var raw []map[string]any
	if !decodeLenient(text, &raw) {
		return nil, false
	}
	out := make([]map[string]string, 0, len(raw))
	for _, object := range raw {
		item := make(map[string]string, len(object))
		for name, value := range object {
			switch v := value.(type) {
			case string:
				item[strings.ToLower(name)] = v
			case json.Number:
				item[strings.ToLower(name)] = v.String()
			case bool:
				item[strings.ToLower(name)] = strconv.FormatBool(v)
			}
		}
		out = append(out, item)
	}
	return out, true
}

// parseStrings reads a JSON array of strings.
func parseStrings(text string) ([]string, bool) {
	var out []string
	return out, decodeLenient(text, &out)
}

func decodeLenient(text string, into any) bool {
	if strings.TrimSpace(text) == "" {
		return true
	}
	return decode(text, into) || decode(doubleQuoted(text), into)
}

func decode(text string, into any) bool {
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.UseNumber()
	return d.Decode(into) == nil && !d.More()
}

// doubleQuoted turns single-quoted strings into JSON strings.
func doubleQuoted(text string) string {
	var b strings.Builder
	var quote rune // of the string that is open, or 0
	escaped := false
	for _, r := range text {
		switch {
		case escaped:
			if r != '\'' { // JSON knows no escaped single quote
				b.WriteRune('\\')
			}
			b.WriteRune(r)
			escaped = false
		case r == '\\':
			escaped = true
		case quote == 0 && (r == '\'' || r == '"'):
			quote = r
			b.WriteByte('"')
		case r == quote:
			quote = 0
			b.WriteByte('"')
		case quote == '\'' && r == '"':
			b.WriteString(`\"`)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
