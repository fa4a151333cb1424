package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestFaults: each lasting fault is found by its symptom, its events are events of ours, and what hides it is an alert
// that nothing hides in turn because of it.
func TestFaults(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(top, "deploy/chart/files/alerts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Alerts []lastingFault }
	if err := yaml.Unmarshal(text, &list); err != nil || len(list.Alerts) == 0 {
		t.Fatal(len(list.Alerts), err)
	}
	all := pages(t)
	byName := map[string]lastingFault{}
	for _, f := range list.Alerts {
		byName[f.Alert] = f
	}
	for _, f := range list.Alerts {
		if len(f.sections(all["docs/troubleshooting.md"])) == 0 {
			t.Errorf("%s: no row of docs/troubleshooting.md leads to it, by its name or by one of its events", f.Alert)
		}
		if len(f.metrics()) == 0 {
			t.Errorf("%s: no metric of ours is in %s", f.Alert, f.Expr)
		}
		for _, event := range f.Events {
			if !strings.Contains(all["docs/reference/events.md"], "\n| `"+event+"` | Warning") {
				t.Errorf("%s: %s is no warning of docs/reference/events.md", f.Alert, event)
			}
		}
		for _, name := range f.HiddenBy {
			if cause, ok := byName[name]; !ok || cause.Severity != "critical" || slices.Contains(cause.HiddenBy, f.Alert) {
				t.Errorf("%s: %s is no critical alert that it may be hidden by", f.Alert, name)
			}
		}
	}
}
