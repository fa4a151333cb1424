package alerts

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"sigs.k8s.io/yaml"

	"alicloud-controllers.dev/deploy/test/alerts/internal/series"
)

// interval is how often series have a sample and alerts are evaluated.
const interval = time.Minute

// alert is one of the chart's.
type alert struct {
	Alert, Expr, For, Severity, Summary string
}

// recording is a set of series in the notation of promtool: a+bxn are n+1 samples, one a minute.
type recording []string

// situations are what each alert must be silent about, and what it must fire for, with which labels.
func situations() map[string]struct {
	silent []recording
	loud   []recording
	about  string // the labels of the alert in each loud situation
} {
	return map[string]struct {
		silent []recording
		loud   []recording
		about  string
	}{
		"AlicloudGatewayNotLeading": {
			silent: []recording{
				{`leader_election_master_status{name="cloudgateway",pod="a"} 1x60`, `leader_election_master_status{name="cloudgateway",pod="b"} 0x60`},
				// A takeover.
				{`leader_election_master_status{name="cloudgateway",pod="a"} 1x20 0x40`,
					`leader_election_master_status{name="cloudgateway",pod="b"} 0x21 1x39`},
			},
			loud: []recording{{`leader_election_master_status{name="cloudgateway",pod="a"} 0x60`,
				`leader_election_master_status{name="cloudgateway",pod="b"} 0x60`}, {`up 1x60`}},
			about: `{}`,
		},
		"AlicloudGatewayTwoLeaders": {
			silent: []recording{{`leader_election_master_status{name="cloudgateway",pod="a"} 1x20 0x40`,
				`leader_election_master_status{name="cloudgateway",pod="b"} 0x19 1x41`}},
			loud: []recording{{`leader_election_master_status{name="cloudgateway",pod="a"} 1x60`,
				`leader_election_master_status{name="cloudgateway",pod="b"} 1x60`}},
			about: `{}`,
		},
		"AlicloudNotReady": {
			silent: []recording{{`readiness_check{job="lb",check="gateway",pod="a"} 1x60`,
				`readiness_check{job="lb",check="gateway",pod="b"} 0x60`}},
			loud: []recording{{ // Another process has a condition of the same name, which holds.
				`readiness_check{job="lb",check="gateway",pod="a"} 0x60`, `readiness_check{job="lb",check="gateway",pod="b"} 0x60`,
				`readiness_check{job="node",check="gateway",pod="c"} 1x60`, `readiness_check{job="lb",check="caches",pod="a"} 1x60`,
			}},
			about: `{check="gateway", job="lb"}`,
		},
		"AlicloudCloudUnanswered": {
			silent: []recording{{`cloudgateway_openapi_unanswered{product="slb"} 2x60`},
				{`cloudgateway_openapi_unanswered{product="slb"} 9x3 0x57`}},
			loud: []recording{{`cloudgateway_openapi_unanswered{product="slb",pod="a"} 0+1x60`,
				`cloudgateway_openapi_unanswered{product="vpc",pod="a"} 0x60`}},
			about: `{product="slb"}`,
		},
		"AlicloudCredentialsEnding": {
			silent: []recording{
				{`cloudgateway_credentials_expiry_timestamp_seconds 0x60`}, // An AccessKey has no end.
				{`cloudgateway_credentials_expiry_timestamp_seconds 3600x40 7200x20`},
			},
			loud:  []recording{{`cloudgateway_credentials_expiry_timestamp_seconds{pod="a"} 3600x60`}},
			about: `{pod="a"}`,
		},
		"AlicloudGatewayConnectionsRefused": {
			silent: []recording{
				{`cloudgateway_closed_connections_total{reason="too often",pod="a"} 0+3x120`},
				{`cloudgateway_closed_connections_total{reason="crowded out",pod="a"} 0+60x4 240x116`}, // All callers came at once.
				{`cloudgateway_closed_connections_total{reason="no call",pod="a"} 0+60x120`},           // Port checks.
			},
			loud: []recording{{
				`cloudgateway_closed_connections_total{reason="too often",pod="a"} 0+30x120`,
				`cloudgateway_closed_connections_total{reason="full",pod="a"} 0x120`,
			}},
			about: `{reason="too often"}`,
		},
		"AlicloudThrottled": {
			silent: []recording{{`cloudgateway_budget_throttled_total{product="slb",action="X"} 0+1x120`},
				{`cloudgateway_budget_throttled_total{product="slb",action="X"} 0+60x10 600x110`}},
			loud:  []recording{{`cloudgateway_budget_throttled_total{product="slb",action="X",pod="a"} 0+6x120`}},
			about: `{action="X", product="slb"}`,
		},
		"AlicloudQueueOld": {
			silent: []recording{{`reconcile_queue_oldest_seconds{controller="service"} 200x60`},
				{`reconcile_queue_oldest_seconds{controller="service"} 0+60x9 0x50`}},
			loud: []recording{{`reconcile_queue_oldest_seconds{controller="service",pod="a"} 0+60x60`,
				`reconcile_queue_oldest_seconds{controller="node"} 0x60`}},
			about: `{controller="service"}`,
		},
		"AlicloudReconcileFailing": {
			silent: []recording{
				{`reconcile_total{controller="service",outcome="success"} 0+600x120`, `reconcile_total{controller="service",outcome="error"} 0x120`},
				{`reconcile_total{controller="service",outcome="error"} 0+30x20 600x100`}, // An outage of twenty minutes.
				{`reconcile_total{controller="service",outcome="terminal"} 0+30x120`},     // Annotations that are wrong.
			},
			loud: []recording{
				{`reconcile_total{controller="service",outcome="error"} 0+12x120`},
				{`reconcile_total{controller="service",outcome="error"} ` + every(6, 20)}, // One object.
				{`reconcile_total{controller="service",outcome="panic"} ` + every(6, 20)},
			},
			about: `{controller="service"}`,
		},
		"AlicloudControllerNotLeading": {
			silent: []recording{
				{`leader_election_master_status{name="routecontroller",pod="a"} 1x60`,
					`leader_election_master_status{name="routecontroller",pod="b"} 0x60`},
				{ // A takeover.
					`leader_election_master_status{name="routecontroller",pod="a"} 1x20 0x40`,
					`leader_election_master_status{name="routecontroller",pod="b"} 0x22 1x38`,
				},
				{`leader_election_master_status{name="cloudgateway",pod="a"} 1x20 0x40`}, // It has alerts of its own.
				{`leader_election_master_status{name="lbcontroller",pod="a"} 0x60`},      // It has never led: it is not ready then.
			},
			loud: []recording{
				{`leader_election_master_status{name="routecontroller",pod="a"} 1x20 0x40`},
				{`leader_election_master_status{name="routecontroller",pod="a"} 1x20 _x40`, `up 1x60`}, // It is gone.
				{`leader_election_master_status{name="routecontroller",pod="a"} 1x60`,
					`leader_election_master_status{name="routecontroller",pod="b"} 1x60`},
			},
			about: `{name="routecontroller"}`,
		},
		"AlicloudServicesNotSynced": {
			silent: []recording{{`lbcontroller_services{state="Synced"} 9x60`, `lbcontroller_services{state="Failed"} 0x60`,
				`lbcontroller_services{state="Pending"} 1x60`},
				{`lbcontroller_services{state="Failed"} 3x20 0x40`}},
			loud:  []recording{{`lbcontroller_services{state="Invalid",pod="a"} 1x60`, `lbcontroller_services{state="Synced",pod="a"} 9x60`}},
			about: `{state="Invalid"}`,
		},
		"AlicloudServicesPending": {
			silent: []recording{{`lbcontroller_services{state="Pending"} 5x10 0x50`}},
			loud:   []recording{{`lbcontroller_services{state="Pending",pod="a"} 1x60`, `lbcontroller_services{state="Pending",pod="b"} 0x60`}},
			about:  `{}`,
		},
		"AlicloudCertificateEnding": {
			silent: []recording{{`lbcontroller_certificate_end_timestamp_seconds{certificate="c"} 2000000x120`}},
			loud:   []recording{{`lbcontroller_certificate_end_timestamp_seconds{certificate="c",pod="a"} 1200000x120`}},
			about:  `{certificate="c"}`,
		},
		"AlicloudOrphanedLoadBalancers": {
			silent: []recording{{`lbcontroller_orphans 0x120`}, {`lbcontroller_orphans 2x40 0x80`}},
			loud:   []recording{{`lbcontroller_orphans{pod="a"} 1x120`}},
			about:  `{}`,
		},
		"AlicloudNodesUninitialized": {
			silent: []recording{{`nodecontroller_nodes{state="uninitialized"} 50x10 0x50`, `nodecontroller_nodes{state="forwarding"} 50x60`}},
			loud: []recording{{`nodecontroller_nodes{state="uninitialized",pod="a"} 1x60`,
				`nodecontroller_nodes{state="uninitialized",pod="b"} 0x60`}},
			about: `{}`,
		},
		"AlicloudNodesOfOtherMachines": {
			silent: []recording{{`nodecontroller_nodes{state="ghost"} 0x60`, `nodecontroller_nodes{state="silent"} 5x60`}},
			loud:   []recording{{`nodecontroller_nodes{state="ghost",pod="a"} 1x60`}},
			about:  `{}`,
		},
		"AlicloudNodeDeletionsHeld": {
			silent: []recording{{`nodecontroller_held_deletions{cause="budget"} 5x60`, `nodecontroller_held_deletions{cause="record"} 5x60`},
				{`nodecontroller_held_deletions{cause="unanswered"} 5x10 0x50`}},
			loud: []recording{{`nodecontroller_held_deletions{cause="witness",pod="a"} 1x60`,
				`nodecontroller_held_deletions{cause="unanswered",pod="a"} 0x60`}},
			about: `{cause="witness"}`,
		},
		"AlicloudRoutesMissing": {
			silent: []recording{{`routecontroller_routes{route_table="vtb-1",state="missing"} 40x5 0x55`,
				`routecontroller_routes{route_table="vtb-1",state="available"} 9x60`}},
			loud: []recording{
				{`routecontroller_routes{route_table="vtb-1",state="missing",pod="a"} 1x60`},
				{`routecontroller_routes{route_table="vtb-1",state="pending",pod="a"} 1x60`},
				{`routecontroller_routes{route_table="vtb-1",state="unusable",pod="a"} 1x60`},
			},
			about: `{route_table="vtb-1"}`,
		},
		"AlicloudNoNodeClaimsRoutes": {
			silent: []recording{{`routecontroller_no_node_claims{route_table="vtb-1"} 0x60`}},
			loud:   []recording{{`routecontroller_no_node_claims{route_table="vtb-1",pod="a"} 1x60`}},
			about:  `{route_table="vtb-1"}`,
		},
		"AlicloudRouteTableUnread": {
			silent: []recording{{`routecontroller_table_unread{route_table="vtb-1",cause="throttled"} 1x10 0x50`}},
			loud: []recording{{
				`routecontroller_table_unread{route_table="vtb-1",cause="credentials",pod="a"} 1x60`,
				`routecontroller_table_unread{route_table="vtb-1",cause="other",pod="a"} 0x60`,
			}},
			about: `{cause="credentials", route_table="vtb-1"}`,
		},
		"AlicloudRouteDeletionsHeld": {
			silent: []recording{{`routecontroller_held_deletions{route_table="vtb-1"} 6x20 0x100`}},
			loud:   []recording{{`routecontroller_held_deletions{route_table="vtb-1",pod="a"} 6x120`}},
			about:  `{route_table="vtb-1"}`,
		},
		"AlicloudRoutesUnconfirmed": {
			silent: []recording{{`routecontroller_unconfirmed_routes{route_table="vtb-1",cause="throttled"} 6x20 0x100`}},
			loud:   []recording{{`routecontroller_unconfirmed_routes{route_table="vtb-1",cause="region",pod="a"} 6x120`}},
			about:  `{cause="region", route_table="vtb-1"}`,
		},
		"AlicloudLastServersKept": {
			silent: []recording{{`lbcontroller_last_servers 0x60`}, {`lbcontroller_last_servers 30x10 0x50`}},
			loud:   []recording{{`lbcontroller_last_servers{pod="a"} 2x60`, `lbcontroller_last_servers{pod="b"} 0x60`}},
			about:  `{}`,
		},
		"AlicloudServicesWithoutBackends": {
			silent: []recording{{`lbcontroller_services_without_backends 0x60`}, {`lbcontroller_services_without_backends 3x20 0x40`}}, // A rollout.
			loud:   []recording{{`lbcontroller_services_without_backends{pod="a"} 1x60`, `lbcontroller_services_without_backends{pod="b"} 0x60`}},
			about:  `{}`,
		},
		"AlicloudNoInstanceFound": {
			silent: []recording{{`nodecontroller_no_instance_found 0x60`}, {`nodecontroller_no_instance_found 1x5 0x55`}},
			loud:   []recording{{`nodecontroller_no_instance_found{pod="a"} 1x60`, `nodecontroller_no_instance_found{pod="b"} 0x60`}},
			about:  `{}`,
		},
		"AlicloudNodeDeletionsDeferred": {
			silent: []recording{{`nodecontroller_deferred_deletions 0x60`}, {`nodecontroller_deferred_deletions 30-2x15 0x45`}},
			loud:   []recording{{`nodecontroller_deferred_deletions 7x60`}},
			about:  `{}`,
		},
		"AlicloudRecordUnusable": {
			silent: []recording{
				{`routecontroller_record_unusable 0x60`, `nodecontroller_held_deletions{cause="budget"} 5x60`},
				{`routecontroller_record_unusable 1x10 0x50`},
			},
			loud:  []recording{{`routecontroller_record_unusable{pod="a"} 1x60`}, {`nodecontroller_held_deletions{cause="record",pod="a"} 2x60`}},
			about: `{}`,
		},
		"AlicloudRoutesRefused": {
			silent: []recording{{`routecontroller_refused_routes{route_table="vtb-1"} 0x60`}},
			loud: []recording{{`routecontroller_refused_routes{route_table="vtb-1",pod="a"} 1x60`,
				`routecontroller_refused_routes{route_table="vtb-2"} 0x60`}},
			about: `{route_table="vtb-1"}`,
		},
		"AlicloudRouteTableFull": {
			silent: []recording{
				{`routecontroller_route_entries{route_table="vtb-1"} 100x60`, `routecontroller_route_quota 200x60`},
				{`routecontroller_route_entries{route_table="vtb-1"} 190x60`, `routecontroller_route_quota 0x60`}, // It is not known.
			},
			loud: []recording{{
				`routecontroller_route_entries{route_table="vtb-1",pod="a"} 190x60`, `routecontroller_route_entries{route_table="vtb-2",pod="a"} 3x60`,
				`routecontroller_route_quota{pod="a"} 200x60`,
			}},
			about: `{route_table="vtb-1"}`,
		},
	}
}

// every is a counter that grows by one every so many minutes, so often.
func every(minutes, times int) string {
	var values []string
	for i := range times {
		values = append(values, fmt.Sprintf("%dx%d", i, minutes-1))
	}
	return strings.Join(values, " ")
}

// TestAlerts evaluates every alert as Prometheus does: it fires about the right thing once its trouble has lasted, and is silent otherwise.
func TestAlerts(t *testing.T) {
	t.Parallel()
	all := map[string]alert{}
	var file struct{ Alerts []alert }
	load(t, "../../chart/files/alerts.yaml", &file)
	for _, a := range file.Alerts {
		all[a.Alert] = a
	}
	tests := situations()
	if a, b := slices.Sorted(maps.Keys(all)), slices.Sorted(maps.Keys(tests)); !slices.Equal(a, b) {
		t.Fatalf("the chart has the alerts %q, there are situations for %q", a, b)
	}
	placeholder := regexp.MustCompile(`\{\{ \$labels\.([a-z_]+) \}\}`)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := all[name]
			for _, r := range tt.silent {
				if got := firing(t, a, r); len(got) > 0 {
					t.Errorf("it fires with %q: %q", r, got)
				}
			}
			for _, r := range tt.loud {
				if got := firing(t, a, r); !slices.Equal(got, []string{tt.about}) {
					t.Errorf("with %q it fires about %q, want %q", r, got, tt.about)
				}
			}
			for _, label := range placeholder.FindAllStringSubmatch(a.Summary, -1) {
				if !strings.Contains(tt.about, label[1]+"=") {
					t.Errorf("the summary speaks of the label %s, which the alert has not: %s", label[1], a.Summary)
				}
			}
		})
	}
}

// TestDashboard: Prometheus understands every query of the dashboard.
func TestDashboard(t *testing.T) {
	t.Parallel()
	type query struct{ Title, Expr string }
	var file struct {
		Stats  []query
		Panels []struct {
			Title   string
			Queries []query
		}
	}
	load(t, "../../chart/files/dashboard.yaml", &file)
	if len(file.Panels) == 0 || len(file.Stats) == 0 {
		t.Fatal("there are no panels")
	}
	for _, stat := range file.Stats {
		if _, err := promql.NewEngine(promql.EngineOpts{MaxSamples: 1, Timeout: time.Minute}).NewInstantQuery(
			t.Context(), &series.Memory{}, nil, stat.Expr, time.Unix(0, 0)); err != nil {
			t.Errorf("%s: %v", stat.Title, err)
		}
	}
	for _, panel := range file.Panels {
		for _, query := range panel.Queries {
			if _, err := promql.NewEngine(promql.EngineOpts{MaxSamples: 1, Timeout: time.Minute}).NewInstantQuery(
				t.Context(), &series.Memory{}, nil, query.Expr, time.Unix(0, 0)); err != nil {
				t.Errorf("%s: %v", panel.Title, err)
			}
		}
	}
}

func load(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// firing evaluates an alert once a minute over a recording, and returns the labels of all that ever fired, sorted.
func firing(t *testing.T, a alert, r recording) []string {
	t.Helper()
	patience, err := model.ParseDuration(a.For)
	if err != nil {
		t.Fatal(err)
	}
	recorded, end := parse(t, r)
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1_000_000, Timeout: time.Minute})
	fired, since := map[string]bool{}, map[string]time.Time{}
	for at := time.Unix(0, 0); !at.After(end); at = at.Add(interval) {
		query, err := engine.NewInstantQuery(t.Context(), recorded, nil, a.Expr, at)
		if err != nil {
			t.Fatal(err)
		}
		result, err := query.Exec(t.Context()).Vector()
		if err != nil {
			t.Fatal(err)
		}
		pending := map[string]time.Time{}
		for _, sample := range result {
			key := sample.Metric.DropReserved(func(name string) bool { return name == model.MetricNameLabel }).String()
			began, before := since[key]
			if !before {
				began = at
			}
			if pending[key] = began; at.Sub(began) >= time.Duration(patience) {
				fired[key] = true
			}
		}
		since = pending
		query.Close()
	}
	return slices.Sorted(maps.Keys(fired))
}

// parse reads a recording, and returns when it ends.
func parse(t *testing.T, r recording) (*series.Memory, time.Time) {
	t.Helper()
	m, end := &series.Memory{}, time.Time{}
	for _, line := range r {
		name, values, err := parser.NewParser(parser.Options{}).ParseSeriesDesc(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		var samples []chunks.Sample
		for i, value := range values {
			at := time.Unix(0, 0).Add(time.Duration(i) * interval)
			samples = append(samples, series.Sample(at, value.Value))
			if at.After(end) {
				end = at
			}
		}
		m.Series = append(m.Series, storage.NewListSeries(name, samples))
	}
	return m, end
}
