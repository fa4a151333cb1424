package wire

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
)

// The official CLI sends structures as JSON, since its metadata calls them so; the SDKs send members, and so does who writes requests by
// hand. All mean the same.
func TestStructured(t *testing.T) {
	t.Parallel()
	table := []api.Param{
		{Name: "Zones", Kind: api.Structs}, {Name: "Ids", Kind: api.Strings}, {Name: "Servers", Kind: api.JSON}, {Name: "Names",
			Kind: api.JSON},
		api.Optional("Check.Type"), {Name: "Check.Codes", Kind: api.Strings}, api.Optional("Description"),
	}
	for name, tt := range map[string]struct{ sent, want map[string]string }{
		"members": {
			map[string]string{"Zones.1.Id": "z", "Ids.1": "a", "Check.Type": "TCP"},
			map[string]string{"Zones.1.Id": "z", "Ids.1": "a", "Check.Type": "TCP"},
		},
		"JSON": {
			map[string]string{"Zones": `[{"Id":"z","Weight":5,"On":true,"None":null},{"Id":"y"}]`, "Ids": `["a","b"]`,
				"check": `{"Type":"TCP","Codes":["x","y"]}`},
			map[string]string{"Zones.1.Id": "z", "Zones.1.Weight": "5", "Zones.1.On": "true", "Zones.2.Id": "y", "Ids.1": "a", "Ids.2": "b",
				"check.Type": "TCP", "check.Codes.1": "x", "check.Codes.2": "y"},
		},
		"one structure is a list of one": {map[string]string{"Zones": `{"Id":"z"}`}, map[string]string{"Zones.1.Id": "z"}},
		"JSON of items": {
			map[string]string{"Zones.2": `{"Id":"z"}`, "Zones.1.Id": "y"}, map[string]string{"Zones.2.Id": "z", "Zones.1.Id": "y"},
		},
		"a list in a structure": {map[string]string{"Check.Codes": `["x"]`}, map[string]string{"Check.Codes.1": "x"}},
		"members of what is documented as JSON": {
			map[string]string{"Servers.1.ServerId": "i-1", "Servers.1.Port": "80", "Servers.3.ServerId": "i-2", "Names.1": "a", "Names.2": "b"},
			map[string]string{"Servers.1.ServerId": "i-1", "Servers.1.Port": "80", "Servers.3.ServerId": "i-2", "Names.1": "a", "Names.2": "b",
				"Servers": `[{"Port":"80","ServerId":"i-1"},{"ServerId":"i-2"}]`, "Names": `["a","b"]`},
		},
		"no JSON, or of another kind": {
			map[string]string{"Zones": "[z", "Check": `["TCP"]`, "Description": `{"Id":"z"}`, "Ids": "a"},
			map[string]string{"Zones": "[z", "Check": `["TCP"]`, "Description": `{"Id":"z"}`, "Ids": "a"},
		},
		"an empty list": {map[string]string{"Zones": "[]"}, map[string]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sent := maps.Clone(tt.sent)
			if diff := cmp.Diff(tt.want, Structured(table, sent)); diff != "" {
				t.Errorf("parameters (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.sent, sent); diff != "" {
				t.Errorf("what was sent changed (-want +got):\n%s", diff)
			}
		})
	}
}

// A structure that can't be read is refused: a call that is carried out without it does something else than was asked.
func TestUnreadableStructure(t *testing.T) {
	t.Parallel()
	table := []api.Param{{Name: "Zones", Kind: api.Structs}, api.Optional("Check.Type")}
	for name, value := range map[string]string{"Zones": "[z", "Check": `["TCP"]`} {
		sent := Structured(table, map[string]string{name: value})
		checkError(t, check("Illegal", table, sent, &api.Settings{}), "Illegal "+name)
	}
}
