package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// result is what gremlins v0.6.0 writes.
const result = `{"go_module":"m","files":[{"file_name":"internal/plan/plan.go","mutations":[
	{"type":"CONDITIONALS_BOUNDARY","status":"LIVED","line":2,"column":7},
	{"type":"CONDITIONALS_NEGATION","status":"KILLED","line":2,"column":7},
	{"type":"INVERT_NEGATIVES","status":"TIMED OUT","line":3,"column":9},
	{"type":"INVERT_NEGATIVES","status":"NOT VIABLE","line":3,"column":9},
	{"type":"INVERT_NEGATIVES","status":"NOT COVERED","line":3,"column":9}]}]}`

func parsed(t *testing.T) []mutant {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "internal/plan"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "internal/plan/plan.go"), []byte("package plan\n\tif a < b {\n\treturn -1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	mutants, err := parse([]byte(result), target{module: "m", pkg: "internal/plan"}, dir)
	if err != nil {
		t.Fatal(err)
	}
	return mutants
}

func TestScore(t *testing.T) {
	s := rate(target{module: "m", pkg: "internal/plan"}, parsed(t))
	if s.mutants != 4 || s.reached != 3 || s.survived != 1 {
		t.Errorf("%+v, want 4 mutants, 3 reached, 1 survived", s)
	}
	if err := s.check(); err == nil || !strings.Contains(err.Error(), "m/internal/plan: 75.0 % covered and 66.7 % of those killed") {
		t.Errorf("error %v", err)
	}
	if err := (score{mutants: 100, reached: 95, survived: 4}).check(); err != nil {
		t.Errorf("95 and 95.8 %% are enough: %v", err)
	}
	if err := (score{}).check(); err != nil {
		t.Errorf("a package without mutants: %v", err)
	}
}

func TestReasons(t *testing.T) {
	known := reason{File: "m/internal/plan/plan.go", Type: "CONDITIONALS_BOUNDARY", Source: "if a < b {", Reason: "a and b differ"}
	survivors := []mutant{parsed(t)[0]}
	tests := map[string]struct {
		reasons            reasons
		unexplained, stale int
	}{
		"none":           {unexplained: 1},
		"known":          {reasons: reasons{known}},
		"other mutation": {reasons: reasons{{File: known.File, Type: "CONDITIONALS_NEGATION", Source: known.Source, Reason: "x"}}, unexplained: 1, stale: 1},
		"stale beside":   {reasons: reasons{known, {File: known.File, Type: known.Type, Source: "if c {", Reason: "x"}}, stale: 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			unexplained, stale := test.reasons.match(survivors)
			if len(unexplained) != test.unexplained || len(stale) != test.stale {
				t.Errorf("without a reason %v, stale %v", unexplained, stale)
			}
		})
	}
}

// The list in the tree is complete, and names files that exist.
func TestSurvivors(t *testing.T) {
	list, err := readReasons("survivors.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		data, err := os.ReadFile(filepath.Join("../..", r.File))
		if err != nil {
			t.Error(err)
		} else if !strings.Contains(string(data), r.Source) {
			t.Errorf("%s no longer has the line %q", r.File, r.Source)
		}
	}
	incomplete := filepath.Join(t.TempDir(), "reasons.yaml")
	if err := os.WriteFile(incomplete, []byte("- file: a.go\n  type: X\n  source: y\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readReasons(incomplete); err == nil || !strings.Contains(err.Error(), "entry 1: file, type, source and reason are required") {
		t.Errorf("error %v", err)
	}
}

func TestTargetsExist(t *testing.T) {
	list, err := targets("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range list {
		dir := filepath.Join("../..", target.path())
		others, err := otherFiles(dir, target.files)
		if err != nil {
			t.Errorf("%s: %v", target.path(), err)
			continue
		}
		for _, name := range target.files {
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
				t.Errorf("%s: %v", target.path(), err)
			}
		}
		if entries, _ := os.ReadDir(dir); len(entries) <= len(others) {
			t.Errorf("%s: nothing would be changed", target.path())
		}
	}
	if _, err := targets(t.TempDir()); err == nil {
		t.Error("an empty directory is taken for a checkout")
	}
}

func TestMutate(t *testing.T) {
	const source = "package x\n\tcase a != b:\n\tn++\n"
	tests := map[string]struct {
		mutant mutant
		want   string // "" for none
	}{
		"negation":        {mutant{Type: "CONDITIONALS_NEGATION", Line: 2, Column: 9}, "package x\n\tcase a == b:\n\tn++\n"},
		"increment":       {mutant{Type: "INCREMENT_DECREMENT", Line: 3, Column: 3}, "package x\n\tcase a != b:\n\tn--\n"},
		"other operator":  {mutant{Type: "ARITHMETIC_BASE", Line: 2, Column: 9}, ""},
		"after the end":   {mutant{Type: "INCREMENT_DECREMENT", Line: 9, Column: 1}, ""},
		"after the line":  {mutant{Type: "INCREMENT_DECREMENT", Line: 3, Column: 9}, ""},
		"unknown type":    {mutant{Type: "X", Line: 2, Column: 9}, ""},
		"before the line": {mutant{Type: "INCREMENT_DECREMENT", Line: 3}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := mutate([]byte(source), tt.mutant)
			if string(got) != tt.want || (err != nil) != (tt.want == "") {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

// TestPackageWithoutMutants: gremlins writes no result for one, and that of the package before is not taken for it.
func TestPackageWithoutMutants(t *testing.T) {
	dir := t.TempDir()
	for name, data := range map[string]string{
		"m/full/f.go": "package full\n\nfunc f(n int) bool { return n > 1 }\n", "m/empty/f.go": "package empty\n",
		"gremlins": `#!/bin/sh
while [ $# -gt 1 ]; do
	[ "$1" = --output ] && out=$2
	shift
done
[ "$1" = ./empty ] || echo '{"files":[{"file_name":"f.go","mutations":[{"type":"CONDITIONALS_BOUNDARY","status":"KILLED","line":3,"column":33}]}]}' >"$out"
`,
	} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(data), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	tester := tester{dir: dir, program: filepath.Join(dir, "gremlins"), copied: map[string]string{"m": filepath.Join(dir, "m")}}
	for _, tt := range []struct {
		pkg  string
		want int
	}{{"full", 1}, {"empty", 0}, {"full", 1}} {
		mutants, err := tester.test(t.Context(), target{module: "m", pkg: tt.pkg})
		if err != nil || len(mutants) != tt.want {
			t.Errorf("%s: %v, %v, want %d mutants", tt.pkg, mutants, err, tt.want)
		}
	}
}

// TestCorrect: gremlins' verdicts that are known to be wrong are mended, and the file is as it was.
func TestCorrect(t *testing.T) {
	const source = `package p

const whole = 1 + 1

func text(a string) string { return "a" + a }
func double(n int) int { return n * whole }
`
	const check = `package p

import "testing"

func Test(t *testing.T) {
	if whole != 2 || text("b") != "ab" {
		t.Fatal(whole)
	}
	_ = double(1)
}
`
	module := t.TempDir()
	for name, data := range map[string]string{"go.mod": "module m\n\ngo 1.26\n", "p/p.go": source, "p/p_test.go": check} {
		if err := os.MkdirAll(filepath.Join(module, "p"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(module, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, tt := range map[string]struct {
		line, column int
		source       string
		said, want   string
	}{
		"a constant that a test looks at": {3, 17, "const whole = 1 + 1", notCovered, killed},
		"texts have no difference":        {5, 41, `return "a" + a`, killed, notViable},
		"what compiles is killed":         {6, 35, "return n * whole", killed, killed},
		"what is not covered stays so":    {6, 35, "return n * whole", notCovered, notCovered},
	} {
		t.Run(name, func(t *testing.T) {
			m := mutant{File: "m/p/p.go", Type: "ARITHMETIC_BASE", Status: tt.said, Line: tt.line, Column: tt.column, Source: tt.source}
			if err := correct(t.Context(), &m, module, target{module: "m", pkg: "p"}, nil); err != nil {
				t.Fatal(err)
			}
			if m.Status != tt.want {
				t.Errorf("status %s, want %s", m.Status, tt.want)
			}
			if now, err := os.ReadFile(filepath.Join(module, "p/p.go")); err != nil || string(now) != source {
				t.Errorf("the file is left as %q, %v", now, err)
			}
		})
	}
}

func TestOutsideOfBlocks(t *testing.T) {
	for source, want := range map[string]bool{
		"case a != b:":                 true,
		"deniedLife = 5 * time.Second": true,
		"const most = 2 * few":         true,
		"if a < b {":                   false,
		"for i := 0; i < n; i++ {":     false,
		"return a < b":                 false,
		"x := a + b":                   false,
		"if found = a < b; found {":    false,
		"got = append(got, a+b)":       true, // counted in a block: if it was not reached, its mutant survives
	} {
		if got := outsideOfBlocks(source); got != want {
			t.Errorf("%q: %t", source, got)
		}
	}
}
