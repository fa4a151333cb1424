package openapisim_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
)

// The page about the simulator describes everything that the admin API takes, and of the address of every endpoint.
func TestDocumentIsComplete(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("docs/openapisim.md")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, kind := range []reflect.Type{
		reflect.TypeFor[api.Quotas](), reflect.TypeFor[fault.Rule](), reflect.TypeFor[fault.Error](),
		reflect.TypeFor[openapisim.LimitsDocument](),
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
			t.Errorf("docs/openapisim.md does not mention %s", name)
		}
	}
}

// The defaults are those of the page, which repeats what the cloud documents.
func TestDocumentedDefaults(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("docs/openapisim.md")
	if err != nil {
		t.Fatal(err)
	}
	settings := api.DefaultSettings()
	text, err := json.Marshal(settings)
	if err != nil {
		t.Fatal(err)
	}
	defaults := map[string]any{}
	if err := json.Unmarshal(text, &defaults); err != nil {
		t.Fatal(err)
	}
	maps.Copy(defaults, defaults["quotas"].(map[string]any))
	delete(defaults, "quotas")
	name, value := regexp.MustCompile("`([a-zA-Z]+)`"), regexp.MustCompile(`true|false|echo|\d+[a-z]*`)
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 {
			continue
		}
		values := value.FindAllString(cells[2], -1)
		for i, match := range name.FindAllStringSubmatch(cells[1], -1) { // a line may describe several
			if want, ok := defaults[match[1]]; ok {
				if i >= len(values) || values[i] != fmt.Sprint(want) {
					t.Errorf("default of %s: the page says %q, it is %v", match[1], values, want)
				}
				delete(defaults, match[1])
			}
		}
	}
	if len(defaults) > 0 {
		t.Errorf("the page has no defaults of %v", defaults)
	}
}
