package api

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSettingsJSON(t *testing.T) {
	t.Parallel()
	s := DefaultSettings()
	if err := json.Unmarshal([]byte(`{"routePending":"0s","serversPerCall":20,"quotas":{"eips":1}}`), &s); err != nil {
		t.Fatal(err)
	}
	want := DefaultSettings()
	want.RoutePending, want.ServersPerCall, want.Quotas.Eips = 0, 20, 1
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var read Settings
	if err := json.Unmarshal(text, &read); err != nil || read != s {
		t.Errorf("%s became %+v, %v", text, read, err)
	}
	if !strings.Contains(string(text), `"listenerStart":"2s"`) {
		t.Errorf("durations are not text: %s", text)
	}
}

func TestWrongSettingsChangeNothing(t *testing.T) {
	t.Parallel()
	for document, want := range map[string]string{
		`{"routePending":"1s","speed":1}`:               `unknown setting "speed"; known are aclBusyAfterWrite`,
		`{"routesPerCall":1,"routePending":"soon"}`:     "routePending",
		`{"routesPerCall":1,"routePending":"-1s"}`:      "routePending",
		`{"routesPerCall":1,"quotas":{"elephants":1}}`:  "elephants",
		`{"routesPerCall":1,"serversPerCall":"twenty"}`: "serversPerCall",
		`{"routePending":"1s","serversPerCall":0}`:      "serversPerCall: 0 is less than 1",
		`{"routesPerCall":1,"quotas":{"eips":-1}}`:      "quotas.eips: -1 is less than 0",
		`["routePending"]`:                              "array",
	} {
		s := DefaultSettings()
		err := json.Unmarshal([]byte(document), &s)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", document, err, want)
		}
		if s != DefaultSettings() {
			t.Errorf("%s changed the settings", document)
		}
	}
}

// A setting that has no name in JSON could not be changed.
func TestEverySettingHasAName(t *testing.T) {
	t.Parallel()
	var s Settings
	for _, field := range s.fields() {
		switch f := field.(type) {
		case *Duration:
			*f = Duration(time.Second)
		case *int:
			*f = 1
		case *string:
			*f = "set"
		case *bool:
			*f = true
		case *Quotas:
			f.Tags = 1
		}
	}
	for i, v := 0, reflect.ValueOf(s); i < v.NumField(); i++ {
		if v.Field(i).IsZero() {
			t.Errorf("%s has no name in JSON", v.Type().Field(i).Name)
		}
	}
	if fast := FastSettings(); fast.RoutePending != 0 || fast.ServersPerCall != 40 || fast.Quotas != DefaultSettings().Quotas {
		t.Errorf("fast settings %+v", fast)
	}
}

func TestParams(t *testing.T) {
	t.Parallel()
	p := NewParams(map[string]string{
		"Name": "n", "healthCheckInterval": "5", "Tag.2.Key": "b", "Tag.10.Key": "c", "Tag.10.Value": "v", "tag.1.key": "a",
		"Id.1": "x", "Id.3": "y", "Id.z": "no", "Single": "s", "Empty": "", "Number": "7", "Text": "seven",
	})
	if p.Get("HealthCheckInterval") != "5" || p.Has("Empty") || !p.Has("name") || p.Int("Number", 1) != 7 || p.Int("Text", 1) != 1 {
		t.Error("a parameter is read wrongly")
	}
	if diff := cmp.Diff([]string{"x", "y"}, p.List("Id")); diff != "" {
		t.Errorf("Id (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"s"}, p.List("Single")); diff != "" {
		t.Errorf("Single (-want +got):\n%s", diff)
	}
	want := []map[string]string{{"key": "a"}, {"key": "b"}, {"key": "c", "value": "v"}}
	if diff := cmp.Diff(want, p.Items("Tag")); diff != "" {
		t.Errorf("Tag (-want +got):\n%s", diff)
	}
	if got := NewParams(nil).List("Id"); len(got) != 0 {
		t.Errorf("list of nothing: %v", got)
	}
}
