package release

import (
	"fmt"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"sigs.k8s.io/yaml"

	"alicloud-controllers.dev/deploy/tools/release/attest"
)

// insightsFile has the name by which OpenSSF's Security Insights is found in the root of a repository.
const insightsFile = "SECURITY-INSIGHTS.yml"

// insights is what programs read of a project's security (OpenSSF Security Insights, schema 2.2.0): who maintains it,
// where reports go, and what proves where a release is from. Nothing in it is known but from the chart, the address of
// the source and that of the files.
func insights(m *chart.Metadata, o Options, created time.Time) ([]byte, error) {
	source, files := strings.TrimSuffix(o.Source, "/"), strings.TrimSuffix(o.Downloads, "/")
	at, published := source+"/v"+m.Version, files+"/v"+m.Version
	// Some platforms have files below /blob, others below /-/blob.
	repository := strings.TrimSuffix(strings.TrimSuffix(source, "/blob"), "/-")
	date := created.UTC().Format(time.DateOnly)
	type contact struct {
		Name    string `json:"name"`
		Email   string `json:"email,omitempty"`
		Primary bool   `json:"primary"`
	}
	var maintainers []contact
	for _, who := range m.Maintainers {
		maintainers = append(maintainers, contact{who.Name, who.Email, len(maintainers) == 0})
	}
	type object = map[string]any
	text, err := yaml.Marshal(object{
		"header": object{
			"schema-version": "2.2.0", "last-updated": date, "last-reviewed": date, "url": published + "/" + insightsFile,
		},
		"project": object{
			"name": "Alibaba Cloud Controllers for Kubernetes", "homepage": repository, "administrators": maintainers,
			"repositories": []object{{"name": m.Name, "url": repository, "comment": m.Description}},
			"vulnerability-reporting": object{
				"reports-accepted": true, "bug-bounty-available": false, "policy": at + "/SECURITY.md",
				"comment": "In private, by the platform from which you have the source; see the policy.",
			},
			"documentation": object{
				"detailed-guide": at + "/docs/README.md", "quickstart-guide": at + "/README.md", "design": at + "/docs/architecture.md",
				"release-process": at + "/docs/architecture.md#a-release", "support-policy": at + "/SECURITY.md#supported-versions",
				"signature-verification": at + "/docs/install.md#verify-a-release",
			},
		},
		"repository": object{
			"url": repository, "status": "active", "accepts-change-request": true, "accepts-automated-change-request": true,
			"core-team":     maintainers,
			"license":       object{"url": at + "/LICENSE", "expression": m.Annotations["artifacthub.io/license"]},
			"documentation": object{"contributing-guide": at + "/CONTRIBUTING.md", "security-policy": at + "/SECURITY.md"},
			"release": object{
				"automated-pipeline": true, "changelog": at + "/CHANGELOG.md",
				"distribution-points": []object{{"uri": published, "comment": "Images, chart, plugin of kubectl, bills of materials"}},
				"attestations": []object{{
					"name": "provenance", "location": published + "/" + provenanceFile, "predicate-uri": attest.Provenance,
				}},
			},
			"security": object{"assessments": object{"self": object{
				"name": "docs/security.md", "evidence": at + "/docs/security.md", "date": date,
				"comment": "Who may do what, what is not trusted, and the bounds of what a caller can use up.",
			}}},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", insightsFile, err)
	}
	return text, nil
}
