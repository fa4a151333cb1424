package cases

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const root = "../../.."

// No case is recorded that has failed or is not in the list, and the page says what is recorded.
func TestRecords(t *testing.T) {
	t.Parallel()
	all, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	known, err := Records(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range known {
		i := slices.IndexFunc(all, func(c Case) bool { return c.Suite == r.Suite && c.Name == r.Name })
		if i < 0 || !slices.Contains(all[i].Columns(), r.Column) {
			t.Errorf("%s in %s is recorded, and is none of those that run", r.Name, r.Column)
		}
		if r.Status != "passed" && (r.Status != "skipped" || r.Reason == "") {
			t.Errorf("%s in %s: %s %s", r.Name, r.Column, r.Status, r.Reason)
		}
	}
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	of, err := version(root)
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != render(of, all, known) {
		t.Errorf("%s is not what it would be; run make e2e-kubernetes RECORD=true", page)
	}
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	const others = `<testcase name="[It] another" status="skipped"><skipped message="skipped"></skipped></testcase>`
	report := func(cases ...string) []byte {
		return []byte("<testsuites><testsuite>" + others + strings.Join(cases, "") + "</testsuite></testsuites>")
	}
	chosen := func(status, inner string) string {
		return `<testcase name="[It] it" status="` + status + `">` + inner + `</testcase>`
	}
	for _, tt := range []struct {
		name, status, reason string
		text                 []byte
		wrong                bool
	}{
		{"passed", "passed", "", report(chosen("passed", "")), false},
		{"failed", "failed", "", report(chosen("failed", "<failure></failure>")), false},
		{"timed out", "failed", "", report(chosen("timedout", "")), false},
		{"skips itself", "skipped", "too few nodes",
			report(chosen("skipped", `<skipped message="skipped - too few nodes"></skipped>`)), false},
		{"none", "", "", report(), true},
		{"two", "", "", report(chosen("passed", ""), chosen("passed", "")), true},
		{"of the suite", "", "", report(`<testcase name="[BeforeSuite]" status="passed"></testcase>`), true},
		{"no report", "", "", []byte("panic"), true},
	} {
		status, reason, err := verdict(tt.text)
		if status != tt.status || reason != tt.reason || (err != nil) != tt.wrong {
			t.Errorf("%s: %q, %q, %v", tt.name, status, reason, err)
		}
	}
}
