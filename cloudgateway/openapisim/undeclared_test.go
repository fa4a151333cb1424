package openapisim_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"alicloud-controllers.dev/cloudgateway/openapisim"
)

// readsParam is where a handler reads a parameter by its name.
var readsParam = regexp.MustCompile(
	`\bc\.(?:Get|Has|True|Int|List|Items|Names|Prefixes|Lookup|SetText|SetInt|SetFlag|MatchFlag)\("([A-Za-z][\w.]*)"[,)]`)

// TestWhatIsReadIsListed: each parameter that a handler reads is among those of an action of its product. One that is not has no form that
// is checked and stands on no page, and a cloud that is strict refuses it as not simulated.
func TestWhatIsReadIsListed(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, p := range openapisim.Products() {
		listed := map[string]bool{"regionid": true}
		for _, a := range p.Actions {
			for _, param := range a.Params {
				listed[strings.ToLower(param.Name)] = true
			}
		}
		files, err := filepath.Glob(filepath.Join(p.Name, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, found := range readsParam.FindAllStringSubmatch(string(text), -1) {
				seen++
				if !listed[strings.ToLower(found[1])] {
					t.Errorf("%s: %s is read, and no action of %s lists it", file, found[1], p.Name)
				}
			}
		}
	}
	if seen < 500 {
		t.Errorf("%d parameters are read", seen)
	}
}
