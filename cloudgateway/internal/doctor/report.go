package doctor

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// Result is how a check ended.
type Result string

// The results. Only Failed makes the doctor unhappy.
const (
	OK      Result = "ok"
	Warning Result = "warning"
	Failed  Result = "FAILED"
	Skipped Result = "skipped"
)

// Finding is what a check found.
type Finding struct {
	Check  string
	Result Result
	Detail string
	// Todo tells people what to do, unless all is well.
	Todo string
}

// Report is what all checks found.
type Report struct{ Findings []Finding }

func (r *Report) add(check string, result Result, todo, format string, args ...any) {
	r.Findings = append(r.Findings, Finding{Check: check, Result: result, Detail: fmt.Sprintf(format, args...), Todo: todo})
}

// Failed counts the checks that failed.
func (r *Report) Failed() int {
	n := 0
	for _, f := range r.Findings {
		if f.Result == Failed {
			n++
		}
	}
	return n
}

// WriteTo prints the report for people.
func (r *Report) WriteTo(w io.Writer) (int64, error) {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "CHECK\tRESULT\tDETAIL")
	var todo []string
	for _, f := range r.Findings {
		fmt.Fprintf(table, "%s\t%s\t%s\n", f.Check, f.Result, f.Detail)
		if f.Todo != "" && !slices.Contains(todo, f.Todo) {
			todo = append(todo, f.Todo)
		}
	}
	if err := table.Flush(); err != nil {
		return 0, err
	}
	if len(todo) > 0 {
		fmt.Fprintln(&text, "\nWhat to do:")
	}
	for i, t := range todo {
		fmt.Fprintf(&text, "%d. %s\n", i+1, t)
	}
	if n := r.Failed(); n > 0 {
		fmt.Fprintf(&text, "\n%d of %d checks failed.\n", n, len(r.Findings))
	} else {
		fmt.Fprintln(&text, "\nNo check failed.")
	}
	n, err := io.WriteString(w, text.String())
	return int64(n), err
}
