package app

import (
	"os"
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
