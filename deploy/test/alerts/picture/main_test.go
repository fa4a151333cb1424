package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestPicture: the page has the figures of the processes, as Grafana would show them.
func TestPicture(t *testing.T) {
	t.Parallel()
	var reads atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := reads.Add(1)
		_, _ = fmt.Fprintf(w,
			"# HELP waiting Calls.\n# TYPE waiting gauge\nwaiting{caller=\"a\\\"b\"} %d\nwaiting{caller=\"c\"} 2.5e+01\nmissing 0\n", n)
	}))
	defer server.Close()
	dir := t.TempDir()
	file, out := filepath.Join(dir, "dashboard.yaml"), filepath.Join(dir, "page.html")
	if err := os.WriteFile(file, []byte(`
rows:
  - title: First
    stats:
      - {title: Missing, expr: sum by (LABELS) (missing)}
      - {title: Many, expr: sum(waiting)}
      - {title: Unknown, expr: sum(unknown)}
      - {title: None, expr: sum(unknown) or ZERO}
    panels:
      - title: Waiting
        unit: s
        axis: time
        queries: [{expr: 'sum by (LABELS, job, caller) (waiting)', legend: "{{job}} {{caller}}"}]
      - title: Nothing
        unit: short
        queries: [{expr: unknown, legend: none}]
  - title: Not installed
    panels: [{title: Nor this, queries: [{expr: unknown, legend: none}]}]
`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), 200*time.Millisecond, 20*time.Millisecond, file, out, []string{"gateway=" + server.URL}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`Missing<b>0</b>`, `Many<b class="bad">[0-9]+</b>`, `Unknown<b>no data</b>`, `None<b>0</b>`,
		`Waiting <span class="most">0 to 25s, time</span>`,
		`<h2>First</h2>`,
		`<polyline [^>]*points="[0-9.]+,[0-9.]+ [0-9. ,]+"/>`, `gateway a&#34;b</span>`, `gateway c</span>`,
		`Nothing <span class="most">no data</span>`,
	} {
		if !regexp.MustCompile(want).Match(text) {
			t.Errorf("the page has no %s:\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "Not installed") {
		t.Error("a row without anything is shown")
	}
	if n := strings.Count(string(text), "<polyline"); n != 2 {
		t.Errorf("%d lines, want 2", n)
	}
}
