package reference

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/documented"
)

// Every action of a table and every documented one is on the page once.
func TestPageIsComplete(t *testing.T) {
	t.Parallel()
	page := Markdown()
	for _, p := range openapisim.Products() {
		section := page[strings.Index(page, "\n## "+p.Code+" "):]
		for _, a := range p.Actions {
			if n := strings.Count(section, "\n### "+a.Name+"\n"); n < 1 {
				t.Errorf("%s %s is not on the page", p.Name, a.Name)
			}
		}
		for _, d := range of(p, Missing()) {
			if !strings.Contains(section, "- `"+d.Name+"`\n") {
				t.Errorf("the gap %s %s is not on the page", p.Name, d.Name)
			}
		}
	}
}

func TestDocumentedActions(t *testing.T) {
	t.Parallel()
	actions := documented.Described()
	at := slices.IndexFunc(actions, func(d documented.Action) bool { return d.Product == "slb" && d.Name == "TagResources" })
	if at < 0 {
		t.Fatal("slb TagResources is not documented")
	}
	want := documented.Action{Product: "slb", Name: "TagResources", Params: []string{"RegionId", "ResourceId", "ResourceType", "Tag"}}
	if diff := cmp.Diff(want, actions[at]); diff != "" {
		t.Errorf("TagResources (-want +got):\n%s", diff)
	}
	seen := map[string]bool{}
	for _, d := range actions {
		if key := d.Product + "/" + d.Name; seen[key] {
			t.Errorf("%s is documented twice", key)
		} else {
			seen[key] = true
		}
	}
}

// Every simulated action is a documented one, so that the parts add up, and what is not simulated is named.
func TestCoverage(t *testing.T) {
	t.Parallel()
	page := Coverage()
	for _, p := range openapisim.Products() {
		all := documented.Actions(p.Name)
		for _, a := range p.Actions {
			if !slices.Contains(all, a.Name) {
				t.Errorf("%s %s is not documented", p.Name, a.Name)
			}
			if documentedParams(p.Name, a.Name) == 0 && len(a.Params) > 0 {
				t.Errorf("%s %s: no documented parameters", p.Name, a.Name)
			}
		}
	}
	for _, want := range []string{"| [Nlb](#nlb-2022-04-30) | 2022-04-30 | 51 | 51 | 100 % |",
		"| [CreateServerGroup](actions.md#createservergroup) |", "CreateSnapshot"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
}
