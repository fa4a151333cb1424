package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
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

func TestWrite(t *testing.T) {
	t.Parallel()
	report := Report{Nodes: 10, Services: 2, Limits: true, Goals: []Goal{{"memory", 40, 40, "MiB"}, {"time", 1.25, 1.1, "s"}}, Rows: []Row{{
		Name: "nodes join", Reads: 3, Writes: 1, Seconds: 1.25, Written: 1.75, Quiet: 2, Note: "well",
		Calls: map[string]int{"a": 1, "b": 3}, Refused: map[string]int{"Throttling": 2},
		Processes: map[string]Usage{"lbcontroller": {CPUSeconds: 1.5, PeakMiB: 40}},
	}}}
	var out bytes.Buffer
	if err := report.Write(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"10 nodes, 2 Services (clb)", "published rate limits", "1.2 s  ", "1.8 s  ", "2.0 s  ", "well",
		"b 3, a 1", "refused: Throttling 2", "1.50 s, 40 MiB", "40       MiB  met", "1.1      s    MISSED"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, out.String())
		}
	}
}

// TestFiguresOutliveFailures: what was measured is printed and written, also when a later situation fails or a goal is missed.
func TestFiguresOutliveFailures(t *testing.T) {
	t.Parallel()
	failed := errors.New("the cloud fell down")
	for name, tt := range map[string]struct {
		measure func(context.Context, situation) (Row, error)
		want    Report
		says    string // part of the error
	}{
		"a situation fails": {
			func(_ context.Context, s situation) (Row, error) {
				if s.name == created {
					return Row{}, failed
				}
				return Row{Name: s.name}, nil
			},
			Report{Version: "v1", Nodes: 10, Unfinished: created, Rows: []Row{{Name: "nodes join"}}}, failed.Error(),
		},
		"a goal is missed": {
			func(_ context.Context, s situation) (Row, error) {
				return Row{Name: s.name, Seconds: map[string]float64{created: 3}[s.name] + 1}, nil
			},
			Report{
				Version: "v1", Nodes: 10, Rows: []Row{{Name: "nodes join", Seconds: 1}, {Name: created, Seconds: 4}, {Name: createdAtOnce, Seconds: 1}},
				Goals: []Goal{{"all addresses: the time with the cloud's waiting times", 4, 2, "times the time without"}},
			},
			"goal missed: all addresses: the time with the cloud's waiting times is 4.00 times the time without, it must be " +
				"at most 2 times the time without",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "new", "figures.json")
			if err := checkWritable(file); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			o := options{nodes: 10, version: "v1", json: file, only: map[string]bool{"nodes join": true, created: true, createdAtOnce: true}}
			if err := measureAll(t.Context(), o, &out, tt.measure); err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want %q", err, tt.says)
			}
			if text := out.String(); strings.Count(text, "\nnodes join") < 2 || !strings.Contains(text, file) {
				t.Errorf("printed:\n%s", text)
			}
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var got Report
			if err := json.Unmarshal(data, &got); err != nil {
				t.Fatal(err)
			}
			if got.Time.IsZero() || got.CPUs < 1 {
				t.Errorf("%s does not say when and where", data)
			}
			got.Time, got.CPUs = time.Time{}, 0
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestCheckWritable: a run whose figures can't be written does not begin, and one that fails early leaves neither an
// empty file nor less than there was.
func TestCheckWritable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old := filepath.Join(dir, "old.json")
	if err := os.WriteFile(old, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]bool{"": false, old: false, filepath.Join(dir, "new.json"): false, dir: true,
		filepath.Join(old, "new.json"): true} {
		if err := checkWritable(name); (err != nil) != bad || bad && !strings.Contains(err.Error(), "-json") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if data, err := os.ReadFile(old); string(data) != "{}" {
		t.Errorf("the file that was there: %q, %v", data, err)
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
		{[]string{"-services=2264"}, "-services is 2264, it must be 1 to 2263: a cluster has 2768 node ports"},
		{[]string{"-pods=-1"}, "-pods is -1"},
		{[]string{"-pods=8001"}, "-pods is 8001, it must be 0 to 8000"},
		{[]string{"-nodes=10000", "-pods=8000", "-limits=false"}, ""},
		{[]string{"-services=2263"}, ""},
		{[]string{"-nodes=2000", "-services=2000"}, "to create them takes 106000 calls, and the simulated cloud can count 100000"},
		{[]string{"-limits=maybe"}, "-limits: it must be true or false"},
		{[]string{"-only=rain"}, `no situation "rain"`},
		{[]string{"now"}, "arguments besides flags"},
	} {
		_, err := parse(tt.args, &bytes.Buffer{})
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%q: got %v, want %q", tt.args, err, tt.want)
		}
	}
}
