package slb

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseObjects(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       []map[string]string
		ok         bool
	}{
		{"nothing", "", []map[string]string{}, true},
		{"empty", "[]", []map[string]string{}, true},
		{"documented", `[{"ServerId":"i-1","Port":"80"}]`, []map[string]string{{"serverid": "i-1", "port": "80"}}, true},
		{"numbers and unknown members", `[{"serverId":"i-1","port":80,"x":{"y":[1]},"z":null,"b":true}]`,
			[]map[string]string{{"serverid": "i-1", "port": "80", "b": "true"}}, true},
		{"single quotes", `[{'ServerId':'i-1','Port':'80'}]`, []map[string]string{{"serverid": "i-1", "port": "80"}}, true},
		{"a double quote in single ones", `[{'Description':'say "hi"'}]`, []map[string]string{{"description": `say "hi"`}}, true},
		{"an escaped single quote", `[{'Description':'it\'s'}]`, []map[string]string{{"description": `it's`}}, true},
		{"a single quote in double ones", `[{"Description":"it's"}]`, []map[string]string{{"description": `it's`}}, true},
		{"an object", `{"ServerId":"i-1"}`, nil, false},
		{"an array of strings", `["i-1"]`, nil, false},
		{"two values", `[] []`, nil, false},
		{"no JSON", `[{`, nil, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, ok := parseObjects(tt.text)
			if diff := cmp.Diff(tt.want, got); ok != tt.ok || diff != "" {
				t.Errorf("parseObjects(%s): ok is %t, want %t (-want +got):\n%s", tt.text, ok, tt.ok, diff)
			}
		})
	}
}

// Whatever is JSON means the same with single quotes.
func FuzzParseObjects(f *testing.F) {
	for _, text := range []string{`[{"ServerId":"i-1","Port":80}]`, `[{'a':'b'}]`, `[{'a':'\'"'}]`, `[]`, `[{`, `'`, `\`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parseObjects(text)
		parseStrings(text)
		want := []map[string]string{{"key": text}}
		raw, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var clean string // invalid UTF-8 does not survive JSON
		if err := json.Unmarshal(raw[len(`[{"key":`):len(raw)-len(`}]`)], &clean); err != nil {
			t.Fatal(err)
		}
		got, ok := parseObjects(string(raw))
		if !ok || got[0]["key"] != clean {
			t.Errorf("%s is read as %v", raw, got)
		}
	})
}
