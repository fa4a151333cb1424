package app

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"alicloud-controllers.dev/cloudgateway/openapisim/reference"
)

// TestRolesOfThePage: the roles that docs/openapi-front.md gives to tools name what these call.
func TestRolesOfThePage(t *testing.T) {
	t.Parallel()
	page := string(must(os.ReadFile("../../../docs/openapi-front.md")))
	for name, part := range map[string][2]string{ // from where to where the page has its role
		"Terway":                    {"\n## Terway\n", "\n## "},
		"Karpenter (Alibaba Cloud)": {"\n## Karpenter\n", "\n## "},
		"CSI driver":                {"\n| csi, disks |", "\n"},
	} {
		_, role, _ := strings.Cut(page, part[0])
		role, _, _ = strings.Cut(role, part[1])
		tools := reference.Tools()
		at := slices.IndexFunc(tools, func(tool reference.Tool) bool { return tool.Name == name })
		if at < 0 || role == "" {
			t.Fatalf("%s: tool %d, and the page has %q", name, at, role)
		}
		for _, p := range tools[at].Parts {
			if p.Product == "eflo" { // The front does not serve Lingjun.
				continue
			}
			for _, action := range p.Actions {
				if !strings.Contains(role, ":"+action+"`") && !strings.Contains(role, "`"+action+"`") {
					t.Errorf("the role of %s does not name %s:%s", name, p.Product, action)
				}
			}
		}
	}
}

// TestTerraformOfThePage: the block that docs/openapi-front.md gives to Terraform's provider has the settings of the one with which the
// provider was run against openapisim. Without the kind of the account, it asks the cloud itself, which does not know the key pair.
func TestTerraformOfThePage(t *testing.T) {
	t.Parallel()
	setting := regexp.MustCompile(`(?m)^  (\w+) += `)
	settings := func(page string) (names []string) {
		_, block, _ := strings.Cut(string(must(os.ReadFile(page))), "provider \"alicloud\" {\n")
		block, _, _ = strings.Cut(block, "\n}\n")
		for _, found := range setting.FindAllStringSubmatch(block, -1) {
			names = append(names, found[1])
		}
		return names
	}
	has := settings("../../../docs/openapi-front.md")
	run := settings("../../openapisim/docs/clients.md")
	if len(run) < 4 {
		t.Fatalf("it was run with %v", run)
	}
	for _, name := range run {
		// The front has TLS, and its region is one of the cloud.
		if !slices.Contains(has, name) && name != "protocol" && name != "skip_region_validation" {
			t.Errorf("the page has %v, without %s", has, name)
		}
	}
}
