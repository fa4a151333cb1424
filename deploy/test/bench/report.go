package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/journal"
)

// Report is what a run measured, and what one must know to compare it with another one.
type Report struct {
	Version  string    `json:"version"`
	Time     time.Time `json:"time"`
	CPUs     int       `json:"cpus"`
	Nodes    int       `json:"nodes"`
	Services int       `json:"services"`
	Pods     int       `json:"pods"`
	Limits   bool      `json:"limits"`
	Kind     string    `json:"kind,omitempty"` // of load balancers; empty, in reports of before there were others: clb
	Rows     []Row     `json:"situations"`
	Goals    []Goal    `json:"goals"`
	// Unfinished is the situation that failed or was interrupted, after which nothing was measured.
	Unfinished string `json:"unfinished,omitempty"`
}

// Row is what one situation cost.
type Row struct {
	Name    string    `json:"name"`
	Started time.Time `json:"started"`
	// Calls to the cloud by product/action, those that were refused included.
	Calls map[string]int `json:"calls"`
	// Refused calls by code.
	Refused map[string]int `json:"refused,omitempty"`
	Reads   int            `json:"reads"`
	Writes  int            `json:"writes"`
	// Seconds until users had what they asked for, until the last write and the last call of any kind to the cloud, and until the situation
	// counted as over, during which Processes were measured.
	Seconds  float64 `json:"seconds"`
	Written  float64 `json:"written_seconds"`
	Quiet    float64 `json:"quiet_seconds"`
	Measured float64 `json:"measured_seconds"`
	// Fresh is how long a new Service waited for its address: after a restart, and beside another tenant's.
	Fresh float64 `json:"fresh_seconds,omitempty"`
	// Note is a further figure of the situation.
	Note string `json:"note,omitempty"`
	// Processes have what each of ours used.
	Processes map[string]Usage `json:"processes"`
}

// Usage is what a process used during a situation.
type Usage struct {
	CPUSeconds float64 `json:"cpu_seconds"`
	PeakMiB    float64 `json:"peak_mib"`
}

// count sums up the calls since start.
func (r *Row) count(start time.Time, calls []journal.Call) {
	r.Calls, r.Refused = map[string]int{}, map[string]int{}
	for _, call := range calls {
		after := max(0, call.Time.Sub(start).Seconds())
		r.Quiet = max(r.Quiet, after)
		r.Calls[call.Product+"/"+call.Action]++
		if call.Code != "" {
			r.Refused[call.Code]++
		}
		if call.Mutating {
			r.Writes++
			r.Written = max(r.Written, after)
		} else {
			r.Reads++
		}
	}
}

// most sorts names by their count, the largest first.
func most(counts map[string]int) []string {
	return slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
}

func list(counts map[string]int) string {
	parts := make([]string, 0, len(counts))
	for _, name := range most(counts) {
		parts = append(parts, fmt.Sprintf("%s %d", name, counts[name]))
	}
	return strings.Join(parts, ", ")
}

func sum(counts map[string]int) int {
	n := 0
	for _, count := range counts {
		n += count
	}
	return n
}

// processes are the names of all that were measured.
func (r Report) processes() []string {
	all := map[string]bool{}
	for _, row := range r.Rows {
		for name := range row.Processes {
			all[name] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// Write prints the figures as tables.
func (r Report) Write(out io.Writer) error {
	limits := "no rate limits"
	if r.Limits {
		limits = "the published rate limits"
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(w, "\n%d nodes, %d Services (%s), %d pods with an ENI, %s; %s on %d CPUs, %s\n\n",
		r.Nodes, r.Services, cmp.Or(r.Kind, string(clb)), r.Pods, limits, r.Version, r.CPUs, r.Time.Format(time.DateTime))
	_, _ = fmt.Fprintln(w, "situation\treads\twrites\trefused\tdone after\tlast write after\tlast call after\t")
	for _, row := range r.Rows {
		_, _ = fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%.1f s\t%.1f s\t%.1f s\t%s\n",
			row.Name, row.Reads, row.Writes, sum(row.Refused), row.Seconds, row.Written, row.Quiet, row.Note)
	}
	processes := r.processes()
	_, _ = fmt.Fprintf(w, "\nCPU seconds and peak memory\t%s\n", strings.Join(processes, "\t"))
	for _, row := range r.Rows {
		_, _ = fmt.Fprint(w, row.Name)
		for _, name := range processes {
			usage := row.Processes[name]
			_, _ = fmt.Fprintf(w, "\t%.2f s, %.0f MiB", usage.CPUSeconds, usage.PeakMiB)
		}
		_, _ = fmt.Fprintln(w)
	}
	_, _ = fmt.Fprintln(w, "\ngoal\tmeasured\tat most\t\t")
	for _, g := range r.Goals {
		verdict := "met"
		if !g.met() {
			verdict = "MISSED"
		}
		_, _ = fmt.Fprintf(w, "%s\t%.2f\t%g\t%s\t%s\n", g.Name, g.Measured, g.Most, g.Unit, verdict)
	}
	_, _ = fmt.Fprintln(w, "\nsituation\tcalls")
	for _, row := range r.Rows {
		_, _ = fmt.Fprintf(w, "%s\t%s\n", row.Name, list(row.Calls))
		if len(row.Refused) > 0 {
			_, _ = fmt.Fprintf(w, "\trefused: %s\n", list(row.Refused))
		}
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print figures: %w", err)
	}
	return nil
}

// save writes the figures as JSON.
func (r Report) save(name string, out io.Writer) error {
	if name == "" {
		return nil
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode figures: %w", err)
	}
	if err := os.WriteFile(name, append(data, '\n'), 0o644); err != nil { //nolint:gosec // All users may read the figures.
		return fmt.Errorf("write figures: %w", err)
	}
	_, _ = fmt.Fprintf(out, "\nThe same as JSON: %s\n", name)
	return nil
}
