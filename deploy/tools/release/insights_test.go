package release

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestInsights: what the schema of Security Insights requires is there, of the form that it has, and each page that an
// address names is one of the source. The schema's own validator is not on the module proxy.
func TestInsights(t *testing.T) {
	t.Parallel()
	o, version := collected(t, false)
	if _, err := os.Stat(filepath.Join(o.Out, "SECURITY-INSIGHTS.yml")); err == nil {
		t.Error("without the address of the source there is one")
	}
	for _, source := range []string{"https://git.example.com/team/r/blob", "https://git.example.com/team/r/-/blob/"} {
		o.Source = source
		if err := Collect(t.Context(), o, io.Discard); err != nil {
			t.Fatal(err)
		}
		text := read(t, o.Out, "SECURITY-INSIGHTS.yml")
		var all any
		if err := yaml.Unmarshal(text, &all); err != nil {
			t.Fatal(err)
		}
		url, date := regexp.MustCompile(`^https?://\S+$`), regexp.MustCompile(`^\d{4}-\d\d-\d\d$`)
		word, truth := regexp.MustCompile(`\w`), regexp.MustCompile(`^(true|false)$`)
		for path, form := range map[string]*regexp.Regexp{
			"header/schema-version": regexp.MustCompile(`^2\.\d+\.\d+$`), "header/last-updated": date,
			"header/last-reviewed": date, "header/url": url,
			"project/name": word, "project/administrators/0/name": word, "project/administrators/0/primary": truth,
			"project/repositories/0/name": word, "project/repositories/0/url": url, "project/repositories/0/comment": word,
			"project/vulnerability-reporting/reports-accepted":     truth,
			"project/vulnerability-reporting/bug-bounty-available": truth,
			"repository/url": regexp.MustCompile(`^https://git\.example\.com/team/r$`), "repository/status": regexp.MustCompile(`^active$`),
			"repository/accepts-change-request": truth, "repository/accepts-automated-change-request": truth,
			"repository/core-team/0/name": word, "repository/core-team/0/primary": truth,
			"repository/license/url": url, "repository/license/expression": regexp.MustCompile(`^Apache-2\.0$`),
			"repository/security/assessments/self/comment": word,
			"repository/release/automated-pipeline":        truth, "repository/release/distribution-points/0/uri": url,
			"repository/release/distribution-points/0/comment": word, "repository/release/attestations/0/location": url,
			"repository/release/attestations/0/predicate-uri": url,
		} {
			if got := at(all, path); !form.MatchString(got) {
				t.Errorf("%s is %q, want %s", path, got, form)
			}
		}
		below := regexp.QuoteMeta(strings.TrimSuffix(source, "/") + "/v" + version + "/")
		pages := regexp.MustCompile(below+`(\S+)`).FindAllStringSubmatch(string(text), -1)
		if len(pages) < 10 {
			t.Errorf("%d pages are named:\n%s", len(pages), text)
		}
		for _, page := range pages {
			file, heading, _ := strings.Cut(page[1], "#")
			there, err := os.ReadFile(filepath.Join(root, file))
			if err != nil || heading != "" && !regexp.MustCompile(`(?mi)^#+ `+strings.ReplaceAll(heading, "-", " ")+"$").Match(there) {
				t.Errorf("%s leads nowhere: %v", page[0], err)
			}
		}
	}
}

// at is the value at a path in what YAML has, as text; it is empty if there is none.
func at(of any, path string) string {
	for key := range strings.SplitSeq(path, "/") {
		switch in := of.(type) {
		case map[string]any:
			of = in[key]
		case []any:
			of = nil
			if len(in) > 0 && key == "0" {
				of = in[0]
			}
		default:
			return ""
		}
	}
	return fmt.Sprint(of)
}
