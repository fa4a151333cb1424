package alerts

import (
	"fmt"
	"slices"
	"strings"
	"testing"
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
