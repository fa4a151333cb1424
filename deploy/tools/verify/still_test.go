package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// TestStill: a command that is silent gets lines that say it still runs, none once it has ended, and its own exit code.
func TestStill(t *testing.T) {
	t.Parallel()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	// The command ends when the lines are there.
	command := exec.CommandContext(t.Context(), "../still.sh", "building buf", "sh", "-c",
		`until [ "$(grep -c "  still building buf, [0-9]* s" "$0")" -ge 2 ]; do :; done; echo built; exit 3`, out.Name())
	command.Env, command.Stdout, command.Stderr = append(os.Environ(), "STILL_EVERY=0.05"), out, out
	err = command.Run() // It waits for the one that says so, too.
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 3 {
		t.Errorf("got %v, want exit code 3", err)
	}
	text, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	// On a busy machine a line may still come between the command's last word and its end.
	if others := regexp.MustCompile(`(?m)^  still building buf, [0-9]+ s\n`).ReplaceAllString(string(text), ""); others != "built\n" {
		t.Errorf("%s", text)
	}
}
