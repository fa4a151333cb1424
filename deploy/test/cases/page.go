package cases

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Record is what became of a case in a column when it was last run with all others.
type Record struct {
	Suite, Name string
	Column      Column
	Status      string
	Took        time.Duration
	Reason      string
}

// Record is what is recorded of a result.
func (c Case) Record(in Column, r Result) Record {
	return Record{Suite: c.Suite, Name: c.Name, Column: in, Status: r.Status, Took: r.Took, Reason: r.Reason}
}

const (
	records = "deploy/test/upstream/results.csv"
	page    = "docs/reference/kubernetes-tests.md"
	// Recorded are the files that Update writes.
	Recorded = records + " and " + page
)

// Records reads what is recorded in the source tree.
func Records(root string) ([]Record, error) {
	rows, err := read(filepath.Join(root, records), 6)
	if err != nil {
		return nil, err
	}
	var all []Record
	for _, row := range rows {
		seconds, err := strconv.Atoi(row[4])
		if err != nil {
			return nil, fmt.Errorf("%s: seconds of %q: %w", records, row[1], err)
		}
		all = append(all, Record{row[0], row[1], Column(row[2]), row[3], time.Duration(seconds) * time.Second, row[5]})
	}
	return all, nil
}

// Update records what was run, in place of what was recorded of the same cases in the same columns, and writes the page.
func Update(root string, ran []Record) error {
	all, err := Load(root)
	if err != nil {
		return err
	}
	known, err := Records(root)
	if err != nil {
		return err
	}
	known = slices.DeleteFunc(known, func(r Record) bool {
		listed := slices.ContainsFunc(all, func(c Case) bool { return c.Suite == r.Suite && c.Name == r.Name })
		return !listed || find(ran, r.Suite, r.Name, r.Column) != nil
	})
	known = append(known, ran...)
	slices.SortFunc(known, func(a, b Record) int {
		return cmp.Or(cmp.Compare(a.Suite, b.Suite), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Column, b.Column))
	})
	var text bytes.Buffer
	out := csv.NewWriter(&text)
	rows := [][]string{{"suite", "case", "column", "status", "seconds", "reason"}}
	for _, r := range known {
		seconds := fmt.Sprintf("%.0f", r.Took.Seconds())
		rows = append(rows, []string{r.Suite, r.Name, string(r.Column), r.Status, seconds, r.Reason})
	}
	if err := out.WriteAll(rows); err != nil {
		return fmt.Errorf("write %s: %w", records, err)
	}
	of, err := version(root)
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{records: text.Bytes(), page: []byte(render(of, all, known))} {
		if err := os.WriteFile(filepath.Join(root, name), content, 0o644); err != nil { //nolint:gosec // Files of the source tree.
			return err
		}
	}
	return nil
}

func find(all []Record, suite, name string, column Column) *Record {
	i := slices.IndexFunc(all, func(r Record) bool { return r.Suite == suite && r.Name == name && r.Column == column })
	if i < 0 {
		return nil
	}
	return &all[i]
}

const head = `# Kubernetes' own tests of load balancers

<!-- Made by make e2e-kubernetes RECORD=true; do not edit. -->

The end-to-end tests of Kubernetes %s are run unchanged, with traffic: three nodes with kubelets, kube-proxy and
containerd, our controllers from their chart, and the simulated cloud, whose load balancers really forward.
` + "`make e2e-kubernetes`" + ` repeats it, on demand. Before each change those that aren't long run: ` +
	"`deploy/test/upstream/cases.csv`" + `
lists the cases.

A column is what every Service of the tests is: a Classic Load Balancer (CLB) or a Network Load Balancer (NLB), with
nodes or with pods (` + "`backend-type: eni`" + `) as its servers. The API server writes that into them, and
` + "`health-check-type: udp`" + ` where an NLB has UDP ports only. The resolver keeps a name for a minute after its NLB has
gone, as one that caches does. A figure is how many seconds a case took when it passed, on two cores with other work.
Numbers in parentheses stand for the reasons below, and *not recorded* is what was not run to its end so far.

`

// version is that of Kubernetes whose tests they are.
func version(root string) (string, error) {
	const mod = "deploy/test/upstream/go.mod"
	text, err := os.ReadFile(filepath.Join(root, mod))
	if err != nil {
		return "", fmt.Errorf("find the version of Kubernetes: %w", err)
	}
	found := regexp.MustCompile(`(?m)k8s\.io/kubernetes v(\S+)$`).FindSubmatch(text)
	if found == nil {
		return "", fmt.Errorf("find the version of Kubernetes: %s has none", mod)
	}
	return string(found[1]), nil
}

// render shows the cases of a version of Kubernetes and what became of them.
func render(version string, all []Case, known []Record) string {
	var text strings.Builder
	fmt.Fprintf(&text, head, version)
	text.WriteString("| case | CLB, nodes | CLB, pods | NLB, nodes | NLB, pods |\n|---|---|---|---|---|\n")
	var reasons []string
	note := func(reason string) string {
		if !slices.Contains(reasons, reason) {
			reasons = append(reasons, reason)
		}
		return fmt.Sprintf("not run (%d)", slices.Index(reasons, reason)+1)
	}
	for _, c := range all {
		fmt.Fprintf(&text, "| %s: %s |", c.Suite, c.Name)
		for _, column := range Columns() {
			if c.World != Kubelets {
				column = Any
			}
			r := find(known, c.Suite, c.Name, column)
			switch {
			case !slices.Contains(c.Columns(), column):
				text.WriteString(" " + note(c.Why) + " |")
			case r == nil:
				text.WriteString(" not recorded |")
			case r.Status == "skipped":
				text.WriteString(" " + note("the case skips itself: "+r.Reason) + " |")
			case r.Status == "passed":
				fmt.Fprintf(&text, " %.0f |", r.Took.Seconds())
			default:
				text.WriteString(" " + r.Status + " |")
			}
		}
		text.WriteString("\n")
	}
	text.WriteString("\nWhy cases are not run:\n\n")
	for i, reason := range reasons {
		fmt.Fprintf(&text, "%d. %s.\n", i+1, strings.TrimSuffix(reason, "."))
	}
	return text.String()
}
