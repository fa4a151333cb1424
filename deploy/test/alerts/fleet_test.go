package alerts

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"

	"alicloud-controllers.dev/deploy/test/alerts/internal/series"
)

// TestScrapedTwice: where a second job scrapes the same pods, no alert fires in a healthy cluster, and none is hidden
// that goes by the number of replicas.
func TestScrapedTwice(t *testing.T) {
	t.Parallel()
	again := func(r recording) recording {
		twice := slices.Clone(r)
		for _, line := range r {
			if strings.Contains(line, "job=") {
				twice = append(twice, strings.Replace(line, `job="`, `job="again-`, 1))
			} else if open := strings.IndexByte(line, '{'); open >= 0 {
				twice = append(twice, line[:open+1]+`job="again",`+line[open+1:])
			}
		}
		return twice
	}
	check(t, "one-cluster", func(name string, a alert) {
		silent(t, a, again(healthy()))
		switch name {
		case "AlicloudGatewayNotLeading", "AlicloudGatewayTwoLeaders", "AlicloudControllerNotLeading",
			"AlicloudStandbyMissing":
			for _, r := range situations()[name].silent {
				silent(t, a, again(r))
			}
			for _, r := range situations()[name].loud {
				loud(t, a, again(r), situations()[name].about)
			}
		}
	})
}

// TestClusterGetsItsLabel: the series of a cluster have no label of the cluster until its monitors are told to set one.
// The processes are not taken for missed because the series from before end.
func TestClusterGetsItsLabel(t *testing.T) {
	t.Parallel()
	var before, after recording
	for _, line := range healthy() {
		name, values, _ := strings.Cut(line, "} ")
		value, _, _ := strings.Cut(values, "x")
		before = append(before, name+"} "+value+"x30")
		after = append(after, in("c", recording{name + "} _x31 " + value + "x90"})...)
	}
	check(t, "clusters", func(_ string, a alert) { silent(t, a, with(after, before...)) })
}

// TestClusterIsTakenDown: the processes of a cluster that is no more are missed for the day that is remembered.
func TestClusterIsTakenDown(t *testing.T) {
	t.Parallel()
	check(t, "clusters", func(name string, a alert) {
		if name != "AlicloudGatewayNotLeading" {
			return
		}
		const day = 24 * 60
		of := func(from, more int) recording {
			lines := recording{fmt.Sprintf(`leader_election_master_status{name="cloudgateway",cluster="a"} 1x%d`, from+more)}
			leader := fmt.Sprintf(`leader_election_master_status{name="cloudgateway",instance="a"} 1x%d`, from)
			return with(lines, in("b", recording{leader})...)
		}
		loud(t, a, of(20, day/2), clustered(t, `{name="cloudgateway"}`, "b"))
		if last := lastFiring(t, a, of(20, day+60)); last < day || last > day+30 {
			t.Errorf("it fires until minute %d", last)
		}
	})
}

// TestFirstRowOfTheDashboard: the figures that say whether anything is wrong are 0 in a healthy cluster, whatever is wrong with
// other programs, and a gateway of which there are no series at all is missing.
func TestFirstRowOfTheDashboard(t *testing.T) {
	t.Parallel()
	var file struct {
		Rows []struct {
			Stats []struct{ Title, Expr string }
		}
	}
	load(t, "../../chart/files/dashboard.yaml", &file)
	figure := func(expr string, r recording) []float64 {
		recorded, end := parse(t, r)
		query, err := promql.NewEngine(promql.EngineOpts{MaxSamples: 1_000_000, Timeout: time.Minute}).NewInstantQuery(
			t.Context(), recorded, nil, series.OfOneCluster(expr), end)
		if err != nil {
			t.Fatal(err)
		}
		defer query.Close()
		result, err := query.Exec(t.Context()).Vector()
		if err != nil {
			t.Fatal(err)
		}
		var values []float64
		for _, sample := range result {
			values = append(values, sample.F)
		}
		return values
	}
	if len(file.Rows) == 0 || len(file.Rows[0].Stats) == 0 {
		t.Fatal("there are no figures")
	}
	for _, stat := range file.Rows[0].Stats {
		if got := figure(stat.Expr, with(healthy(), strangers()...)); slices.ContainsFunc(got, func(v float64) bool { return v != 0 }) {
			t.Errorf("%s in a healthy cluster: %v", stat.Title, got)
		}
		if got := figure(stat.Expr, recording{`up 1x60`}); stat.Title == "Gateways missing" && !slices.Equal(got, []float64{1}) {
			t.Errorf("%s without any series: %v, want 1", stat.Title, got)
		}
	}
}
