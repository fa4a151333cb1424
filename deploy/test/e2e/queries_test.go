package e2e

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// checkQueries compares what the dashboard and the alerts ask for with what the processes show at work: labels, and the
// values that are left out because they are usual. That all metrics are there, also those of trouble, is compared with
// the code in deploy/chart.
func (w testWorld) checkQueries(t *testing.T) {
	t.Helper()
	series := w.series(t)
	var asked struct {
		Alerts []struct{ Expr string }
		Rows   []struct {
			Stats  []struct{ Expr string }
			Panels []struct{ Queries []struct{ Expr string } }
		}
	}
	var queries []string
	for _, file := range []string{"alerts", "dashboard"} {
		text, err := os.ReadFile("../../chart/files/" + file + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(text, &asked); err != nil {
			t.Fatal(err)
		}
	}
	for _, alert := range asked.Alerts {
		// LABELS stands for those that tell clusters apart, of which this world has one.
		queries = append(queries, strings.ReplaceAll(alert.Expr, "(LABELS, ", "("))
	}
	ofOneCluster := strings.NewReplacer("(LABELS, ", "(", "by (LABELS) ", "", "or ZERO", "")
	for _, row := range asked.Rows {
		for _, stat := range row.Stats {
			queries = append(queries, ofOneCluster.Replace(stat.Expr))
		}
		for _, panel := range row.Panels {
			for _, query := range panel.Queries {
				queries = append(queries, ofOneCluster.Replace(query.Expr))
			}
		}
	}
	const name = `((?:cloudgateway|reconcile|readiness|lbcontroller|nodecontroller|routecontroller)_[a-z_]+)`
	metric, matcher := regexp.MustCompile(`\b`+name+`(?:\{([^}]*)\})?`), regexp.MustCompile(`([a-z_]+)(=~|!~|!=|=)"([^"]*)"`)
	group := regexp.MustCompile(`by \(([a-z_, ]+)\) \((?:rate\(|increase\()?` + name)
	seen := map[string]bool{}
	for _, query := range queries {
		for _, m := range metric.FindAllStringSubmatch(query, -1) {
			shown, ok := series[m[1]]
			if !ok {
				continue // Of trouble that this world has not.
			}
			seen[m[1]] = true
			for _, label := range matcher.FindAllStringSubmatch(m[2], -1) {
				if _, ok := shown[label[1]]; !ok {
					t.Errorf("%s: %s has the labels %v", query, m[1], shown)
				} else if label[2] == "!=" && !slices.Contains(shown[label[1]], label[3]) {
					t.Errorf("%s: the usual %s of %s is one of %q", query, label[1], m[1], shown[label[1]])
				}
			}
		}
		for _, by := range group.FindAllStringSubmatch(query, -1) {
			for label := range strings.SplitSeq(by[1], ", ") {
				if _, ok := series[by[2]][label]; !ok && seen[by[2]] && label != "job" { // Prometheus adds the job.
					t.Errorf("%s: %s has the labels %v", query, by[2], series[by[2]])
				}
			}
		}
	}
	if len(seen) < 25 {
		t.Errorf("only %d metrics of %d queries are there: %v", len(seen), len(queries), seen)
	}
}

// series are the values of each label of each metric that the processes show.
func (w testWorld) series(t *testing.T) map[string]map[string][]string {
	t.Helper()
	found := map[string]map[string][]string{}
	line, label := regexp.MustCompile(`(?m)^([a-z_]+)(?:\{(.*)\})? \S+$`), regexp.MustCompile(`([a-z_]+)="([^"]*)"`)
	for _, name := range w.Ours() {
		if name == "openapisim" {
			continue
		}
		page, err := fetch(t.Context(), w.AdminURL(name)+"/metrics")
		if err != nil {
			t.Fatal(err)
		}
		for _, sample := range line.FindAllStringSubmatch(page, -1) {
			if found[sample[1]] == nil {
				found[sample[1]] = map[string][]string{}
			}
			for _, pair := range label.FindAllStringSubmatch(sample[2], -1) {
				found[sample[1]][pair[1]] = append(found[sample[1]][pair[1]], pair[2])
			}
		}
	}
	return found
}
