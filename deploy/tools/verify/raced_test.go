package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// writeProgram writes a file that is run at once. No process that a test beside this one starts may begin meanwhile: it
// has the open file until it is another program, and the kernel runs none that somebody may write ("text file busy").
func writeProgram(name, text string) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(name, []byte(text), 0o700)
}

// TestRaced: packages in which the race detector has died are tested once more, and no others. What fails otherwise
// fails.
func TestRaced(t *testing.T) {
	t.Parallel()
	const died = "TestChaos: CHAOS_SEED=1\nThreadSanitizer: CHECK failed: tsan_rtl.cpp:346 (tid=1)\nFAIL\ta/lb\t441.8s\n"
	for name, tt := range map[string]struct {
		first, second string // what go test prints; it fails if FAIL is in it
		fails         bool
		runs          string
	}{
		"all pass":          {"ok  \ta/nlb\t1s\nok  \ta/lb\t1s\n", "", false, "a/nlb a/lb\n"},
		"it has died":       {"ok  \ta/nlb\t1s\n" + died + "FAIL\n", "ok  \ta/lb\t1s\n", false, "a/nlb a/lb\na/lb\n"},
		"it dies again":     {died, died, true, "a/nlb a/lb\na/lb\n"},
		"a test fails":      {"--- FAIL: TestA (0.1s)\nFAIL\nFAIL\ta/nlb\t1s\nok  \ta/lb\t1s\nFAIL\n", "", true, "a/nlb a/lb\n"},
		"both":              {died + "--- FAIL: TestA (0.1s)\nFAIL\nFAIL\ta/nlb\t1s\n", "", true, "a/nlb a/lb\n"},
		"both, other order": {"FAIL\ta/nlb [build failed]\n" + died, "", true, "a/nlb a/lb\n"},
		"a race":            {"WARNING: DATA RACE\nFAIL\ta/lb\t1s\n", "", true, "a/nlb a/lb\n"},
		"no package":        {"FAIL\n", "", true, "a/nlb a/lb\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for file, text := range map[string]string{"1": tt.first, "2": tt.second, "go": "#!/bin/sh\n" +
				`shift; echo "$@" >>"$0.runs"; out=${0%go}$(wc -l <"$0.runs" | tr -d " "); cat "$out"` + "\n" +
				`! grep -q ^FAIL "$out"` + "\n"} {
				if err := writeProgram(filepath.Join(dir, file), text); err != nil {
					t.Fatal(err)
				}
			}
			command := exec.CommandContext(t.Context(), "../raced.sh", filepath.Join(dir, "go")+" test", "a/nlb", "a/lb")
			out, err := command.CombinedOutput()
			if (err != nil) != tt.fails {
				t.Errorf("%v\n%s", err, out)
			}
			if runs, err := os.ReadFile(filepath.Join(dir, "go.runs")); err != nil || string(runs) != tt.runs {
				t.Errorf("ran %q, want %q; %v", runs, tt.runs, err)
			}
			// make test fails where it sees such a line.
			shown := strings.Contains("\n"+string(out), "\nFAIL\ta/")
			if shown != tt.fails && name != "no package" {
				t.Errorf("printed\n%s", out)
			}
		})
	}
}
