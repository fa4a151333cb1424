package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
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
	byName, known, used := map[string]lastingFault{}, conditions(t), map[string]bool{}
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
		for _, name := range f.Conditions {
			if !known[name] {
				t.Errorf("%s: %s is no condition that our objects have", f.Alert, name)
			}
			used[name] = true
		}
		for _, name := range f.HiddenBy {
			if cause, ok := byName[name]; !ok || cause.Severity != "critical" || slices.Contains(cause.HiddenBy, f.Alert) {
				t.Errorf("%s: %s is no critical alert that it may be hidden by", f.Alert, name)
			}
		}
	}
	for name := range known {
		if !used[name] && name != "DrainInProgress" && name != "MaintenanceInProgress" { // Others set these; they are no faults.
			t.Errorf("no lasting fault shows by the condition %s", name)
		}
	}
}

// conditions are those that our code sets or reads by a constant of its own, and that of Kubernetes which routecontroller sets.
func conditions(t *testing.T) map[string]bool {
	t.Helper()
	known := map[string]bool{string(corev1.NodeNetworkUnavailable): true}
	for _, file := range []string{"lbcontroller/internal/controller/condition.go", "lbcontroller/internal/groupbinding/binding.go",
		"services/nodes/nodes.go"} {
		text, err := os.ReadFile(filepath.Join(top, file))
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(`(?m)^\s*[Cc]ondition\w+(?:\s+\S+)?\s+= "(\w+)"`).FindAllStringSubmatch(string(text), -1)
		if len(found) == 0 {
			t.Errorf("%s names no condition", file)
		}
		for _, match := range found {
			known[match[1]] = true
		}
	}
	return known
}
