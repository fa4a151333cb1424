// Package cases chooses among Kubernetes' own end-to-end tests, runs them, and shows what became of them.
package cases

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/xml"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// The worlds in which cases run.
const (
	Dev      = "dev"      // a local world, whose nodes are fake
	Kubelets = "kubelets" // real nodes
)

// Column is a kind of load balancer with a kind of servers. Each case runs in each column, unless a reason says why not.
type Column string

// Any is the column of the cases that are run once, since it is nothing to them what load balancers are.
const Any Column = "any"

// Columns are all of them but Any.
func Columns() []Column { return []Column{"clb-nodes", "clb-pods", "nlb-nodes", "nlb-pods"} }

// NLB reports whether load balancers are Network Load Balancers.
func (c Column) NLB() bool { return strings.HasPrefix(string(c), "nlb-") }

// Pods reports whether pods are the servers.
func (c Column) Pods() bool { return strings.HasSuffix(string(c), "-pods") }

// Case is one of Kubernetes' own tests.
type Case struct {
	Suite, Name string
	World       string
	// Long ones take over a minute, and go test -short leaves them out.
	Long bool
	// NotIn are the columns in which it isn't run, and Why is the reason.
	NotIn []Column
	Why   string
}

// Columns are those in which the case is run.
func (c Case) Columns() []Column {
	all := Columns()
	if c.World != Kubelets {
		all = []Column{Any}
	}
	return slices.DeleteFunc(all, func(in Column) bool { return slices.Contains(c.NotIn, in) })
}

// file is the list, from the top of the source tree.
const file = "deploy/test/upstream/cases.csv"

// Load reads the list in the source tree.
func Load(root string) ([]Case, error) {
	rows, err := read(filepath.Join(root, file), 6)
	if err != nil {
		return nil, err
	}
	var all []Case
	for _, row := range rows {
		c := Case{Suite: row[0], Name: row[1], World: row[2], Long: row[3] == "long", Why: row[5]}
		for name := range strings.FieldsSeq(row[4]) {
			switch {
			case name == "all":
				c.NotIn = Columns()
			case slices.Contains(Columns(), Column(name)):
				c.NotIn = append(c.NotIn, Column(name))
			default:
				return nil, fmt.Errorf("%s: %q is not in %q, which is none of %q", file, c.Name, name, Columns())
			}
		}
		if row[3] != "" && !c.Long {
			return nil, fmt.Errorf("%s: %q is %q, which is neither long nor empty", file, c.Name, row[3])
		}
		if (c.Why == "") != (len(c.NotIn) == 0) || !slices.Contains([]string{Dev, Kubelets}, c.World) {
			return nil, fmt.Errorf("%s: %q of world %q: a case that is not run somewhere needs a reason, and others none",
				file, c.Name, c.World)
		}
		all = append(all, c)
	}
	return all, nil
}

// read returns the rows of a file after the first one.
func read(path string, columns int) ([][]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", filepath.Base(path), err)
	}
	in := csv.NewReader(bytes.NewReader(text))
	in.FieldsPerRecord = columns
	rows, err := in.ReadAll()
	if err != nil || len(rows) == 0 {
		return nil, fmt.Errorf("read %s: %d rows, %w", filepath.Base(path), len(rows), err)
	}
	return rows[1:], nil
}

// focus is the expression by which Ginkgo finds the case. Between suite and name there may be features, after it labels.
func (c Case) focus() string {
	return regexp.QuoteMeta(c.Suite) + " .*" + regexp.QuoteMeta(c.Name)
}

// Result is what became of a case.
type Result struct {
	Status string // passed, failed or skipped, as Ginkgo says
	Reason string // why it skipped itself
	Took   time.Duration
	Output string
}

// Run runs a case by the program with the tests, whose report goes to a file.
func (c Case) Run(ctx context.Context, program, report string, args ...string) (Result, error) {
	args = append(args, "--ginkgo.focus="+c.focus(), "--ginkgo.junit-report="+report, "--ginkgo.no-color",
		"--disable-log-dump")
	cmd := exec.CommandContext(ctx, program, args...) //nolint:gosec // The program is ours.
	begin := time.Now()
	out, failure := cmd.CombinedOutput()
	r := Result{Took: time.Since(begin), Output: string(out)}
	text, err := os.ReadFile(report)
	if err != nil {
		return r, fmt.Errorf("run %s: %w: %w", c.Name, failure, err)
	}
	if r.Status, r.Reason, err = verdict(text); err != nil {
		return r, fmt.Errorf("run %s: %w", c.Name, err)
	}
	if failure != nil && r.Status != "failed" {
		return r, fmt.Errorf("run %s: it has %s, but: %w", c.Name, r.Status, failure)
	}
	return r, nil
}

// verdict finds the one case in a report that was chosen.
func verdict(text []byte) (status, reason string, err error) {
	var report struct {
		Suites []struct {
			Cases []struct {
				Name    string `xml:"name,attr"`
				Status  string `xml:"status,attr"`
				Skipped *struct {
					Message string `xml:"message,attr"`
				} `xml:"skipped"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(text, &report); err != nil {
		return "", "", fmt.Errorf("read the report: %w", err)
	}
	var found []string
	for _, suite := range report.Suites {
		for _, c := range suite.Cases {
			// What was not chosen is skipped without a message of its own.
			chosen := c.Status != "skipped" || c.Skipped != nil && strings.HasPrefix(c.Skipped.Message, "skipped - ")
			if !strings.HasPrefix(c.Name, "[It] ") || !chosen {
				continue
			}
			found, status = append(found, c.Name), c.Status
			if c.Skipped != nil {
				reason = strings.TrimPrefix(c.Skipped.Message, "skipped - ")
			}
		}
	}
	if len(found) != 1 {
		return "", "", fmt.Errorf("it is to be one case, and is %q", found)
	}
	if status != "passed" && status != "skipped" {
		status = "failed" // It may have timed out, panicked or been interrupted.
	}
	return status, reason, nil
}
