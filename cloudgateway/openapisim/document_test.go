package openapisim_test

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
)

// The page about the simulator tells of everything that the admin API takes, and of the address of every endpoint.
func TestDocumentIsComplete(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/openapisim.md")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, kind := range []reflect.Type{
		reflect.TypeFor[api.Quotas](), reflect.TypeFor[fault.Rule](), reflect.TypeFor[fault.Error](), reflect.TypeFor[openapisim.LimitsDocument](),
	} {
		for field := range kind.Fields() {
			if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
				names = append(names, name)
			}
		}
	}
	text, err := json.Marshal(api.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	var settings map[string]any
	if err := json.Unmarshal(text, &settings); err != nil {
		t.Fatal(err)
	}
	for name := range settings {
		names = append(names, name)
	}
	for product := range versions() {
		names = append(names, "--"+product)
	}
	for _, name := range names {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/openapisim.md does not tell of %s", name)
		}
	}
}
