package chart_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// rule is one of PrometheusRule.
type rule struct {
	Alert, Expr, For string
	Labels           map[string]string
	Annotations      map[string]string
}

// rules renders those of the given values of prometheusRule, and returns their document, too.
func rules(t *testing.T, prometheusRule, changes map[string]any) ([]rule, string) {
	t.Helper()
	all := map[string]any{"prometheusRule": map[string]any{"enabled": true}}
	maps.Copy(all["prometheusRule"].(map[string]any), prometheusRule)
	maps.Copy(all, changes)
	document := render(t, "kube-system", all)["PrometheusRule alicloud-controllers"]
	var object struct {
		Spec struct{ Groups []struct{ Rules []rule } }
	}
	if err := yaml.Unmarshal([]byte(document), &object); err != nil {
		t.Fatalf("%v\n%s", err, document)
	}
	return object.Spec.Groups[0].Rules, document
}

// everything is installed with these values, so that all alerts are there.
func everything() map[string]any {
	return map[string]any{"front": map[string]any{"enabled": true, "keysSecret": "tools"}}
}

// TestAlerts: every alert asks for metrics that there are, and leads to a part of the runbook. What they do is tested
// in deploy/test/alerts, with the files that are written here.
func TestAlerts(t *testing.T) {
	t.Parallel()
	all, document := rules(t, map[string]any{"labels": map[string]any{"release": "prometheus"}, "runbookURL": "https://example.com/runbook"},
		everything())
	metrics, runbook := read(t, "../../docs/reference/metrics.md"), read(t, "../../docs/runbook.md")
	for _, r := range all {
		asked := metricNames().FindAllString(r.Expr, -1)
		for _, metric := range asked {
			if !strings.Contains(metrics, "`"+metric+"`") {
				t.Errorf("%s asks for %s, which there is not", r.Alert, metric)
			}
		}
		anchor := "#" + strings.ToLower(r.Alert)
		if len(asked) == 0 || r.Annotations["runbook"] != "docs/runbook.md"+anchor || !strings.Contains(runbook, "\n## "+r.Alert+"\n") ||
			r.Annotations["runbook_url"] != "https://example.com/runbook"+anchor {
			t.Errorf("%s: metrics %q, annotations %q", r.Alert, asked, r.Annotations)
		}
		if r.For == "" || r.Labels["severity"] == "" || r.Annotations["summary"] == "" {
			t.Errorf("%s is not complete: %+v", r.Alert, r)
		}
		if left := regexp.MustCompile(`[A-Z]{4,}`).FindString(strings.ReplaceAll(r.Expr, "ClientClosedRequest", "")); left != "" {
			t.Errorf("%s: %s stands for something: %s", r.Alert, left, r.Expr)
		}
	}
	if parts := strings.Count(runbook, "\n## Alicloud"); parts != len(all) || loose[metav1.PartialObjectMetadata](t,
		document).Labels["release"] != "prometheus" {
		t.Errorf("%d alerts for %d parts of the runbook:\n%s", len(all), parts, document)
	}
	if _, unpublished := rules(t, nil, nil); strings.Contains(unpublished, "runbook_url") ||
		!strings.Contains(unpublished, "runbook: docs/runbook.md#alicloudnotready") {
		t.Errorf("where the runbook is not published, alerts link to it:\n%s", unpublished)
	}
	for name, labels := range map[string][]any{"one-cluster": {}, "clusters": {"cluster"}} {
		_, document := rules(t, map[string]any{"aggregationLabels": labels}, everything())
		_, groups, _ := strings.Cut(document, "\n  groups:\n") // The versions above change.
		golden(t, "alerts/"+name, "groups:\n"+groups)
	}
}

// TestAggregations: every aggregation and every match of series keeps the labels by which clusters are told apart.
func TestAggregations(t *testing.T) {
	t.Parallel()
	all, _ := rules(t, map[string]any{"aggregationLabels": []any{"cluster", "region"}}, everything())
	for _, r := range all {
		for _, group := range regexp.MustCompile(`\b(by|on) \(([^)]*)\)`).FindAllStringSubmatch(r.Expr, -1) {
			if !strings.HasPrefix(group[2], "cluster, region") {
				t.Errorf("%s: %s", r.Alert, group[0])
			}
		}
		if found := regexp.MustCompile(`\b(sum|max|min|count|avg|group) ?\(`).FindString(r.Expr); found != "" {
			t.Errorf("%s: %s is over all clusters: %s", r.Alert, found, r.Expr)
		}
	}
}

// TestOwnAlerts: each alert can be switched off, and have a time, a threshold, a severity and labels of its own. What can't be is refused.
func TestOwnAlerts(t *testing.T) {
	t.Parallel()
	usual, _ := rules(t, nil, everything())
	switched := map[string]any{}
	for _, r := range usual {
		switched[r.Alert] = map[string]any{"enabled": false}
	}
	switched["AlicloudRoutesMissing"] = map[string]any{
		"for": "1h30m", "threshold": 5, "severity": "critical", "labels": map[string]any{"team": "net"},
	}
	got, _ := rules(t, map[string]any{"alerts": switched}, everything())
	if len(got) != 1 || got[0].For != "1h30m" || !maps.Equal(got[0].Labels, map[string]string{"severity": "critical", "team": "net"}) ||
		!strings.HasSuffix(got[0].Expr, "> 5") {
		t.Errorf("%+v", got)
	}
	for want, alerts := range map[string]map[string]any{
		"there is no alert AlicloudNotredy, only AlicloudGatewayNotLeading, ": {"AlicloudNotredy": map[string]any{"enabled": false}},
		"prometheusRule.alerts.AlicloudNotReady.threshold: ":                  {"AlicloudNotReady": map[string]any{"threshold": 2}},
		"prometheusRule.alerts.AlicloudNotReady.for":                          {"AlicloudNotReady": map[string]any{"for": "soon"}},
	} {
		changed := map[string]any{"prometheusRule": map[string]any{"enabled": true, "alerts": alerts}}
		_, err := tryRender(t, "kube-system", values(changed), cluster(t))
		if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), "/", "."), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// TestAlertsOfWhatIsInstalled: nothing is missed that is not there on purpose.
func TestAlertsOfWhatIsInstalled(t *testing.T) {
	t.Parallel()
	named := func(rules []rule) []string {
		var names []string
		for _, r := range rules {
			names = append(names, r.Alert)
		}
		return names
	}
	one := map[string]any{"replicas": 1}
	for name, tt := range map[string]struct {
		changes    map[string]any
		not        []string // parts of names of alerts that are not there
		notInExprs string
	}{
		"no routes": {map[string]any{"network": map[string]any{"mode": "terway"}}, []string{"Route", "NoNodeClaims"},
			`name=~?"[^"]*routecontroller`},
		"no front":    {nil, []string{"Front"}, "cloudgateway_front"},
		"only a plan": {map[string]any{"plan": true}, []string{"Route", "Node", "Service", "Controller", "Queue"}, `name=~?"[^"]*controller`},
		"no replica": {map[string]any{"components": map[string]any{"nodecontroller": map[string]any{"replicas": 0}}},
			[]string{"Node"}, `name=~?"[^"]*nodecontroller`},
		"one replica of each": {map[string]any{"components": map[string]any{
			"cloudgateway": one, "lbcontroller": one, "nodecontroller": one, "routecontroller": one}}, []string{"Standby"}, "count"},
	} {
		got, _ := rules(t, nil, tt.changes)
		if !slices.Contains(named(got), "AlicloudGatewayNotLeading") {
			t.Errorf("%s: there are only %q", name, named(got))
		}
		for _, r := range got {
			if slices.ContainsFunc(tt.not, func(part string) bool { return strings.HasPrefix(r.Alert, "Alicloud"+part) }) ||
				regexp.MustCompile(tt.notInExprs).MatchString(r.Expr) {
				t.Errorf("%s: %s: %s", name, r.Alert, r.Expr)
			}
		}
	}
}
