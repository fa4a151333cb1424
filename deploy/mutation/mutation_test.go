package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if args := os.Args[1:]; len(args) > 0 && args[0] == isolateCommand {
		fmt.Fprintln(os.Stderr, isolated(args[1:]))
		os.Exit(failedIsolation)
	}
	os.Exit(m.Run())
}

// newTester gives a tester of a module that consists of these files.
func newTester(t *testing.T, files map[string]string) tester {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	needIsolation(t, self)
	t.Setenv("GOWORK", "off")
	root := t.TempDir()
	for name, text := range files {
		name = filepath.Join(root, "m", name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return tester{root: root, dir: t.TempDir(), self: self, jobs: 2, cpu: mostTime, time: mostTime}
}

// needIsolation skips a test where the system does not let this user isolate a process. Some systems let him make namespaces, but allow nothing in
// them.
func needIsolation(t *testing.T, self string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("mutants are tested in namespaces of Linux")
	}
	nothing, err := exec.LookPath("true")
	if err != nil {
		t.Fatal(err)
	}
	probe := exec.CommandContext(t.Context(), self, isolateCommand, "10", t.TempDir(), nothing)
	probe.SysProcAttr = namespaces()
	out, err := probe.CombinedOutput()
	if err == nil {
		return
	}
	// Too many namespaces, of which none may be allowed, are reported as a lack of space.
	for _, forbidden := range []error{syscall.EPERM, syscall.EACCES, syscall.ENOSYS, syscall.ENOSPC} {
		if errors.Is(err, forbidden) || strings.Contains(string(out), forbidden.Error()) {
			t.Skipf("a process can't be isolated here: %v %s", err, out)
		}
	}
	t.Fatalf("isolate a process that does nothing: %v %s", err, out)
}

// TestVerdicts changes a package in which each line is there for one of the verdicts, or to be something that has no mutant. The file
// comes first in its table, so that the numbers of the lines are those below.
func TestVerdicts(t *testing.T) {
	tester := newTester(t, map[string]string{
		"go.mod": "module m\n\ngo 1.26.0\n",
		"p/p.go": `// Package p has a comment before its name.
package p

import clock "time"

const least = 2 * 3

type answer bool

func text(a string) string { return "a" + a }
func known(a, b int) answer { return a == b }
func wait(n clock.Duration) clock.Duration { return least*n - -1 }
func most(ns ...int) (n int) {
	for i := 0; i != len(ns); i++ {
		if ns[i] > n {
			n = ns[i]
		}
	}
	return n
}
func unknown(a int) [least + 1]bool { return [least + 1]bool{a < 1} }
func loose(a int) bool {
	switch {
	case a%2 == 1 && a > 5:
		return true
	}
	return false
}
`,
		"p/p_test.go": `package p

import "testing"

func Test(t *testing.T) {
	if text("b") != "ab" || !known(1, 1) || wait(2) != 13 || most(2, 3, 1) != 3 {
		t.Fatal("wrong")
	}
	loose(2)
}
`,
		"p/other.go": "package p\n\nfunc other(a int) bool { return a > 1 }\n",
	})
	mutants, err := tester.test(t.Context(), target{module: "m", pkg: "p", files: []string{"p.go"}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range mutants {
		got = append(got, fmt.Sprintf("%d:%d %s %s", m.Line, m.Column, m.Type, m.Status))
	}
	want := []string{
		"11:40 CONDITIONALS_NEGATION killed",
		"12:58 ARITHMETIC_BASE killed",
		"12:61 ARITHMETIC_BASE killed",
		"12:63 INVERT_NEGATIVES killed",
		"14:16 CONDITIONALS_NEGATION killed",
		"14:29 INCREMENT_DECREMENT killed",
		"15:12 CONDITIONALS_BOUNDARY survived",
		"15:12 CONDITIONALS_NEGATION killed",
		"21:64 CONDITIONALS_BOUNDARY not covered",
		"21:64 CONDITIONALS_NEGATION not covered",
		"24:8 ARITHMETIC_BASE survived",
		"24:11 CONDITIONALS_NEGATION survived",
		"24:16 INVERT_LOGICAL survived",
		"24:21 CONDITIONALS_BOUNDARY not covered",
		"24:21 CONDITIONALS_NEGATION not covered",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if m := mutants[0]; m.File != "m/p/p.go" || m.Source != "func known(a, b int) answer { return a == b }" {
		t.Errorf("the first is %+v", m)
	}
}

// TestMutantIsolated: tests pass only if they can do no harm.
func TestMutantIsolated(t *testing.T) {
	t.Setenv("KUBECONFIG", "/somewhere")
	tester := newTester(t, map[string]string{
		"go.mod": "module m\n\ngo 1.26.0\n",
		"p/p.go": "package p\n\nfunc one(n int) bool { return n == 1 }\n",
		"p/p_test.go": `package p

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func Test(t *testing.T) {
	if err := os.WriteFile("p.go", nil, 0o600); !errors.Is(err, syscall.EROFS) {
		t.Errorf("write to the checkout: %v", err)
	}
	if err := os.WriteFile(filepath.Join(t.TempDir(), "file"), nil, 0o600); err != nil {
		t.Errorf("write to a temporary directory: %v", err)
	}
	if _, err := net.Dial("tcp", "192.0.2.1:80"); !errors.Is(err, syscall.ENETUNREACH) {
		t.Errorf("dial beyond loopback: %v", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := net.Dial("tcp", l.Addr().String()); err != nil {
		t.Error(err)
	}
	if env := os.Getenv("KUBECONFIG"); env != "" {
		t.Errorf("environment: %s", env)
	}
	if !one(1) {
		t.Error("changed")
	}
}
`,
	})
	mutants, err := tester.test(t.Context(), target{module: "m", pkg: "p"})
	if err != nil {
		t.Fatal(err)
	}
	if len(mutants) != 1 || mutants[0].Status != killed {
		t.Errorf("%+v, want one that is killed", mutants)
	}
	left, err := os.ReadDir(tester.dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestEndlessMutant: one that computes forever is stopped when it has used its processor time, however long that takes on a busy machine, and
// one that waits forever when its time is up. Neither limit would stop the other.
func TestEndlessMutant(t *testing.T) {
	for name, tt := range map[string]struct {
		endless string
		limit   func(*tester)
	}{
		"computes": {"for {\n\t\t}", func(t *tester) { t.cpu = time.Second }},
		"waits":    {"<-time.After(time.Hour)", func(t *tester) { t.time = time.Second }},
	} {
		t.Run(name, func(t *testing.T) {
			tester := newTester(t, map[string]string{
				"go.mod":      "module m\n\ngo 1.26.0\n",
				"p/p.go":      "package p\n\nfunc one(n int) bool { return n == 1 }\n",
				"p/p_test.go": "package p\n\nimport (\n\t\"testing\"\n\t\"time\"\n)\n\nvar _ time.Time\n\nfunc Test(t *testing.T) {\n\tif !one(1) {\n\t\t" + tt.endless + "\n\t}\n}\n",
			})
			tt.limit(&tester)
			mutants, err := tester.test(t.Context(), target{module: "m", pkg: "p"})
			if err != nil {
				t.Fatal(err)
			}
			if len(mutants) != 1 || mutants[0].Status != timedOut {
				t.Errorf("%+v, want one that timed out", mutants)
			}
		})
	}
}

// TestNoVerdict: what isn't a verdict on a mutant is an error.
func TestNoVerdict(t *testing.T) {
	for name, tt := range map[string]struct{ check, want string }{
		"tests that fail anyway":    {`t.Fatal("always")`, "the tests fail without a mutant"},
		"tests that do not compile": {`undefined()`, "undefined: undefined"},
		"tests that are killed":     {`p, _ := os.FindProcess(os.Getpid()); p.Kill(); select {}`, "the tests fail without a mutant"},
	} {
		t.Run(name, func(t *testing.T) {
			tester := newTester(t, map[string]string{
				"go.mod":      "module m\n\ngo 1.26.0\n",
				"p/p.go":      "package p\n",
				"p/p_test.go": "package p\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nvar _ = os.Args\n\nfunc Test(t *testing.T) { " + tt.check + " }\n",
			})
			if _, err := tester.test(t.Context(), target{module: "m", pkg: "p"}); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestScore(t *testing.T) {
	s := rate(target{module: "m", pkg: "p"}, []mutant{{Status: lived}, {Status: killed}, {Status: timedOut}, {Status: notCovered}})
	if s.mutants != 4 || s.reached != 3 || s.survived != 1 {
		t.Errorf("%+v, want 4 mutants, 3 reached, 1 survived", s)
	}
	if err := s.check(); err == nil || !strings.Contains(err.Error(), "m/p: 75.0 % covered and 66.7 % of those killed") {
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
	known := reason{File: "m/p/p.go", Type: "CONDITIONALS_BOUNDARY", Source: "if a < b {", Reason: "a and b differ"}
	survivor := mutant{File: known.File, Type: known.Type, Source: known.Source, Line: 2}
	tests := map[string]struct {
		reasons                       reasons
		survivors, unexplained, stale int
	}{
		"none":           {survivors: 1, unexplained: 1},
		"known":          {reasons: reasons{known}, survivors: 1},
		"two, one known": {reasons: reasons{known}, survivors: 2, unexplained: 1},
		"other mutation": {reasons: reasons{{File: known.File, Type: "CONDITIONALS_NEGATION", Source: known.Source, Reason: "x"}}, survivors: 1, unexplained: 1, stale: 1},
		"stale beside":   {reasons: reasons{known, {File: known.File, Type: known.Type, Source: "if c {", Reason: "x"}}, survivors: 1, stale: 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			unexplained, stale := test.reasons.match(slices.Repeat([]mutant{survivor}, test.survivors))
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
		files := target.files
		if len(files) == 0 {
			files = []string{"*_test.go"}
		}
		for _, name := range files {
			if found, err := filepath.Glob(filepath.Join("../..", target.path(), name)); err != nil || len(found) == 0 {
				t.Errorf("%s: no %s, %v", target.path(), name, err)
			}
		}
	}
}

// TestOnlyOthers: a part of no path is a slip, and not a package without survivors.
func TestOnlyOthers(t *testing.T) {
	err := run(t.Context(), []string{"-root", "../..", "-only", "lbcontroler"})
	if err == nil || !strings.Contains(err.Error(), `"lbcontroler"`) || !strings.Contains(err.Error(), "lbcontroller/internal/lb/plan") {
		t.Errorf("error %v, want one with what was asked for and what there is", err)
	}
}

// TestInterrupted: the verdict is that there is none.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := run(ctx, []string{"-root", "../.."})
	if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "survive") || strings.Count(err.Error(), "\n") > 0 {
		t.Errorf("error %v, want one that says that it was interrupted and nothing else", err)
	}
}

// TestOutputEnds: a command that is interrupted ends with those that it has started, and what it has written is in the given directory.
func TestOutputEnds(t *testing.T) {
	temp := t.TempDir()
	pid := filepath.Join(temp, "pid")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			if data, err := os.ReadFile(pid); err == nil && len(data) > 0 {
				cancel()
			}
			<-tick.C
		}
	}()
	if _, err := output(ctx, "/", temp, "/bin/sh", "-c", `sleep 600 & echo $! >"$TMPDIR/pid"; wait`); err == nil {
		t.Error("no error")
	}
	data, err := os.ReadFile(pid)
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	tick, deadline := time.NewTicker(time.Millisecond), time.Now().Add(10*time.Second)
	defer tick.Stop()
	for { // It has let go of its files before it is gone.
		state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", child))
		if err != nil || strings.Contains(string(state), ") Z ") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the child runs: %s", state)
		}
		<-tick.C
	}
}
