package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestQuickSeesFilesOfOthers: make quick tests a package again when a file outside of its module changes that a test reads, and only then.
func TestQuickSeesFilesOfOthers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		before := time.Now().Add(-time.Hour) // What was written only now is not remembered.
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chtimes(path, before, before)); err != nil {
			t.Fatal(err)
		}
	}
	script, err := filepath.Abs("../quick.sh")
	if err != nil {
		t.Fatal(err)
	}
	run := func(name string, args ...string) (string, error) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "MODULES=m", "SINCE=HEAD", "RACE=", "TESTFLAGS=", "GOWORK=off")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	test := func(reads string) string {
		return "package p\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestPage(t *testing.T) {\n" +
			"\tif text, err := os.ReadFile(" + reads + "); err != nil || string(text) != \"right\" {\n\t\tt.Errorf(\"%s, %v\", text, err)\n\t}\n}\n"
	}
	write("docs/page.md", "right")
	write("m/go.mod", "module m\n\ngo 1.26\n")
	write("m/reader/p_test.go", test(`"../../docs/page.md"`))
	write("m/other/p_test.go", test(`"page.md"`))
	write("m/other/page.md", "right")
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a", "commit", "-qm", "first"}} {
		if out, err := run("git", args...); err != nil {
			t.Fatal(out, err)
		}
	}
	write("m/changed.go", "package m\n")
	for range 2 { // The second time, all come out of the cache.
		if out, err := run(script); err != nil {
			t.Fatal(out, err)
		}
	}
	out, err := run(script)
	if err != nil || strings.Count(out, "(cached)") != 2 {
		t.Errorf("nothing has changed: %v\n%s", err, out)
	}
	write("docs/page.md", "wrong")
	out, err = run(script)
	if err == nil || !strings.Contains(out, "m/reader") || !strings.Contains(out, "--- FAIL: TestPage") ||
		strings.Count(out, "(cached)") != 1 {
		t.Errorf("a page is wrong: %v\n%s", err, out)
	}
	write("m/other/page.md", "wrong")
	if out, err = run(script); err == nil || strings.Count(out, "--- FAIL: TestPage") != 2 || !strings.Contains(out, "failed in: m\n") {
		t.Errorf("two pages are wrong, and what fails first hides the other: %v\n%s", err, out)
	}
	if err := os.Remove(filepath.Join(dir, "m/changed.go")); err != nil {
		t.Fatal(err)
	}
	if out, err = run(script); err == nil || !strings.Contains(out, "--- FAIL: TestPage") {
		t.Errorf("a page is wrong, and no module has changed: %v\n%s", err, out)
	}
}
