package wire

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
)

// Structured returns the parameters of a call in the form in which handlers read them, whatever form the client has sent them in. The
// SDKs for Go send the members of structures one by one (HealthCheckConfig.HealthCheckType, ZoneMappings.1.ZoneId); the official CLI
// sends the whole structure as JSON, and other clients the items of a list (ZoneMappings.1={…}). What is documented as JSON is taken
// member by member as well. The map is changed only as a copy. What is no JSON stays as it is, for the checks that follow.
func Structured(table []api.Param, sent map[string]string) map[string]string {
	s := structures{sent: sent}
	for i := range table {
		switch p := &table[i]; p.Kind {
		case api.Strings, api.Structs:
			s.spread(p.Name, true)
		case api.JSON:
			s.gather(p.Name)
		case api.String, api.Int, api.Bool:
			if parent, _, ok := strings.Cut(p.Name, "."); ok {
				s.spread(parent, false)
			}
		}
	}
	if s.out == nil {
		return sent
	}
	return s.out
}

type structures struct {
	sent, out map[string]string // out is nil as long as it would be the same
}

func (s *structures) change() map[string]string {
	if s.out == nil {
		s.out = maps.Clone(s.sent)
	}
	return s.out
}

// spread replaces JSON by its members, of a parameter or of the items of a list.
func (s *structures) spread(name string, list bool) {
	for key, value := range s.sent {
		rest, ok := cutPrefixFold(key, name)
		if !ok || value == "" || value[0] != '{' && value[0] != '[' {
			continue
		}
		_, notNumber := strconv.Atoi(strings.TrimPrefix(rest, "."))
		item := list && rest != "" && notNumber == nil
		if rest != "" && !item {
			continue
		}
		document, ok := parseJSON(value)
		_, object := document.(map[string]any)
		switch {
		case !list && !object:
			continue
		case list && !item && object:
			document = []any{document} // of one item
		}
		if ok {
			out := s.change()
			delete(out, key)
			flatten(out, key, document)
		}
	}
}

func cutPrefixFold(s, prefix string) (rest string, ok bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return "", false
	}
	return s[len(prefix):], true
}

func parseJSON(text string) (document any, ok bool) {
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.UseNumber()
	return document, decoder.Decode(&document) == nil && !decoder.More()
}

// flatten writes a document as parameters. Items count from 1.
func flatten(out map[string]string, name string, document any) {
	switch value := document.(type) {
	case map[string]any:
		for member, of := range value {
			flatten(out, name+"."+member, of)
		}
	case []any:
		for i, of := range value {
			flatten(out, name+"."+strconv.Itoa(i+1), of)
		}
	case string:
		out[name] = value
	case json.Number:
		out[name] = value.String()
	case bool:
		out[name] = strconv.FormatBool(value)
	}
}

// gather makes JSON of a list that was sent member by member.
func (s *structures) gather(name string) {
	items := map[int]any{}
	for key, value := range s.sent {
		rest, ok := cutPrefixFold(key, name+".")
		if !ok {
			continue
		}
		number, member, structured := strings.Cut(rest, ".")
		n, err := strconv.Atoi(number)
		if err != nil || n < 0 {
			continue
		}
		if !structured {
			items[n] = value
			continue
		}
		item, ok := items[n].(map[string]string)
		if !ok {
			item = map[string]string{}
			items[n] = item
		}
		item[member] = value
	}
	if len(items) == 0 {
		return
	}
	list := make([]any, 0, len(items))
	for _, n := range slices.Sorted(maps.Keys(items)) {
		list = append(list, items[n])
	}
	if text, err := json.Marshal(list); err == nil {
		s.change()[name] = string(text)
	}
}
