package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/journal"
)

func TestCount(t *testing.T) {
	t.Parallel()
	row := Row{Name: "x"}
	start := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	row.count(start, []journal.Call{
		{Product: "slb", Action: "CreateLoadBalancer", Mutating: true, Time: start.Add(-time.Second)},
		{Product: "slb", Action: "CreateLoadBalancer", Mutating: true, Time: start.Add(2 * time.Second), Code: "Throttling"},
		{Product: "ecs", Action: "DescribeInstances", Time: start.Add(3 * time.Second)},
	})
	want := Row{
		Name: "x", Reads: 1, Writes: 2, Written: 2, Quiet: 3, Refused: map[string]int{"Throttling": 1},
		Calls: map[string]int{"slb/CreateLoadBalancer": 2, "ecs/DescribeInstances": 1},
	}
	if diff := cmp.Diff(want, row); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestCheck: waiting for the cloud must not make Services wait for each other. A run without one of the situations says nothing about that.
func TestCheck(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		with, without float64
		fails         bool
	}{{5.7, 5.6, false}, {11.2, 5.6, false}, {11.4, 5.6, true}, {11.4, 0, false}, {0, 5.6, false}} {
		err := Report{Rows: []Row{{Name: created, Seconds: tt.with}, {Name: createdAtOnce, Seconds: tt.without}}}.check()
		if (err != nil) != tt.fails {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}

func TestWrite(t *testing.T) {
	t.Parallel()
	report := Report{Nodes: 10, Services: 2, Limits: true, Rows: []Row{{
		Name: "nodes join", Reads: 3, Writes: 1, Seconds: 1.25, Written: 1.75, Quiet: 2, Note: "well",
		Calls: map[string]int{"a": 1, "b": 3}, Refused: map[string]int{"Throttling": 2},
		Processes: map[string]Usage{"lbcontroller": {CPUSeconds: 1.5, PeakMiB: 40}},
	}}}
	var out bytes.Buffer
	if err := report.Write(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"10 nodes, 2 Services", "published rate limits", "1.2 s  ", "1.8 s  ", "2.0 s  ", "well", "b 3, a 1", "refused: Throttling 2", "1.50 s, 40 MiB"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, out.String())
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args []string
		want string // part of the error; empty: none
	}{
		{nil, ""},
		{[]string{"-nodes=1000", "-services=2000", "-limits", "-only=nodes join, one node joins"}, ""},
		{[]string{"-nodes=9"}, "-nodes is 9"},
		{[]string{"-services=0"}, "-services is 0"},
		{[]string{"-pods=-1"}, "-pods is -1"},
		{[]string{"-only=rain"}, `no situation "rain"`},
		{[]string{"now"}, "arguments besides flags"},
	} {
		_, err := parse(tt.args, &bytes.Buffer{})
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%q: got %v, want %q", tt.args, err, tt.want)
		}
	}
}
