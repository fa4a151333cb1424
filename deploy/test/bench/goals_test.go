package main

import (
	"testing"
	"time"

	"alicloud-controllers.dev/deploy/tools/local/world"
)

// TestGoals: each goal can be missed, and a run that says nothing of a goal neither meets nor misses it.
func TestGoals(t *testing.T) {
	t.Parallel()
	usage := func(name string, cpu, mib float64) map[string]Usage {
		return map[string]Usage{name: {CPUSeconds: cpu, PeakMiB: mib}}
	}
	atTwenty := time.Date(2026, 11, 23, 12, 0, 20, 0, time.UTC)
	for name, tt := range map[string]struct {
		report Report
		missed int
		goals  int
	}{
		"nothing was measured": {Report{}, 0, 0},
		"waiting side by side": {Report{Rows: []Row{{Name: created, Seconds: 11.2},
			{Name: createdAtOnce, Seconds: 5.6}}}, 0, 1},
		"waiting for each other": {Report{Rows: []Row{{Name: created, Seconds: 11.4},
			{Name: createdAtOnce, Seconds: 5.6}}}, 1, 1},
		"only with waiting times": {Report{Rows: []Row{{Name: created, Seconds: 11.4}}}, 0, 0},
		"only without":            {Report{Rows: []Row{{Name: createdAtOnce, Seconds: 5.6}}}, 0, 0},
		"1 000 in 16 minutes from a minute's 20th second": {Report{Limits: true, Services: 1000,
			Rows: []Row{{Name: created, Started: atTwenty, Seconds: 940 * 1.09}}}, 0, 1},
		"and slower": {Report{Limits: true, Services: 1000,
			Rows: []Row{{Name: created, Started: atTwenty, Seconds: 940 * 1.11}}}, 1, 1},
		"too few to compare": {Report{Limits: true, Services: 100,
			Rows: []Row{{Name: created, Started: atTwenty, Seconds: 600}}}, 0, 0},
		"1 of 100 refused": {Report{Limits: true,
			Rows: []Row{{Name: created, Writes: 99, Reads: 1, Refused: map[string]int{"Throttling": 1}}}}, 0, 1},
		"2 of 100 refused": {Report{Limits: true,
			Rows: []Row{{Name: created, Writes: 99, Reads: 1, Refused: map[string]int{"Throttling": 1, "Busy": 1}}}}, 1, 1},
		"a node serves within 10 s": {Report{Rows: []Row{{Name: nodeJoins, Written: 10},
			{Name: nodeLeaves, Written: 10}}}, 0, 2},
		"a node serves later": {Report{Rows: []Row{{Name: nodeJoins, Written: 10.1},
			{Name: nodeLeaves, Written: 10.1}}}, 2, 2},
		"a node, and limits": {Report{Limits: true, Rows: []Row{{Name: nodeJoins, Written: 90}}}, 0, 0},
		"restarts": {Report{Rows: []Row{{Name: world.LB + restarts, Fresh: 5},
			{Name: "cloudgateway" + restarts, Fresh: 5.1}}}, 1, 2},
		"restarts with NLBs": {Report{Kind: "nlb", Rows: []Row{{Name: world.LB + restarts, Fresh: 11},
			{Name: "cloudgateway" + restarts, Fresh: 11.1}}}, 1, 2},
		"jobs that are looked at together": {Report{Kind: "nlb",
			Rows: []Row{{Name: created, Writes: 400, Calls: map[string]int{"nlb/ListAsynJobs": 80}}}}, 0, 1},
		"and more often": {Report{Kind: "nlb",
			Rows: []Row{{Name: created, Writes: 400, Calls: map[string]int{"nlb/ListAsynJobs": 81}}}}, 1, 1},
		"and of few": {Report{Kind: "nlb",
			Rows: []Row{{Name: created, Writes: 399, Calls: map[string]int{"nlb/ListAsynJobs": 399}}}}, 0, 0},
		"1 000 NLBs": {Report{Kind: "nlb", Limits: true, Services: 1000,
			Rows: []Row{{Name: created, Started: atTwenty, Seconds: 220 * 1.09}}}, 0, 1},
		"memory of the gateway": {Report{Rows: []Row{{Processes: usage("cloudgateway", 0, 150)},
			{Processes: usage("cloudgateway", 0, 151)}}}, 1, 1},
		"memory of lbcontroller": {Report{Rows: []Row{{Processes: usage(world.LB, 0, 301)},
			{Processes: usage(world.LB, 0, 300)}}}, 1, 1},
		"memory of another": {Report{Rows: []Row{{Processes: usage(world.Node, 0, 120.5)},
			{Processes: usage(world.Route, 0, 120)}}}, 1, 2},
		"memory of the simulated cloud": {Report{Rows: []Row{{Processes: usage("openapisim", 0, 500)}}}, 0, 0},
		"memory of a larger cluster":    {Report{Nodes: 1001, Rows: []Row{{Processes: usage(world.LB, 0, 301)}}}, 0, 0},
		"CPU of a creation": {Report{Services: 1000,
			Rows: []Row{{Name: created, Processes: usage(world.LB, 10.1, 1)}}}, 1, 2},
		"CPU of a node": {Report{Services: 2000,
			Rows: []Row{{Name: nodeLeaves, Processes: usage(world.LB, 2.1, 1)}}}, 1, 3},
		"CPU of a few Services": {Report{Services: 999,
			Rows: []Row{{Name: created, Processes: usage(world.LB, 100, 1)}}}, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.report.Goals = tt.report.goals()
			missed := 0
			for _, g := range tt.report.Goals {
				if !g.met() {
					missed++
				}
			}
			if missed != tt.missed || len(tt.report.Goals) != tt.goals {
				t.Errorf("got %v, of which %d are missed; want %d, %d", tt.report.Goals, missed, tt.goals, tt.missed)
			}
			if err := tt.report.check(); (err != nil) != (tt.missed > 0) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestBest: the first window has only what is left of it, but the whole limit.
func TestBest(t *testing.T) {
	t.Parallel()
	minute := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		after time.Duration
		n     int
		want  time.Duration
	}{{0, 60, 0}, {59 * time.Second, 60, 0}, {0, 61, time.Minute}, {50 * time.Second, 61, 10 * time.Second},
		{20 * time.Second, 1000, 940 * time.Second}} {
		if got := best(minute.Add(tt.after), tt.n, clb.createsInWindow()); got != tt.want {
			t.Errorf("%+v: got %s", tt, got)
		}
	}
}
