package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"alicloud-controllers.dev/deploy/chart"
)

// TestDockerfile carries out the stage of the Dockerfile that builds, without a container: what it copies has to be all that the program is
// made of. Base images are not to be had here.
func TestDockerfile(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it builds all processes")
	}
	text, err := os.ReadFile("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	stages := strings.Split(strings.ReplaceAll(string(text), "\\\n", " "), "\nFROM ")
	if len(stages) < 3 { // before the first, and a second one
		t.Fatalf("the Dockerfile has %d stages", len(stages)-1)
	}
	for _, process := range chart.Components() {
		t.Run(process, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			env := append(os.Environ(), "SERVICE="+process, "VERSION=v9.9.9", "TARGETOS=", "TARGETARCH=")
			for line := range strings.Lines(stages[1]) {
				instruction, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
				rest = strings.ReplaceAll(rest, "${SERVICE}", process)
				switch {
				case instruction == "ENV":
					env = append(env, strings.Fields(rest)...)
				case instruction == "COPY":
					copied(t, strings.Fields(rest), dir)
				case instruction == "RUN" && !strings.Contains(rest, "go mod download"): // It only fills a cache.
					run := exec.CommandContext(t.Context(), "sh", "-ec", strings.ReplaceAll(rest, " /program/", " "+dir+"/program/"))
					run.Dir, run.Env = dir, env
					if out, err := run.CombinedOutput(); err != nil {
						t.Fatalf("%s: %v\n%s", rest, err, out)
					}
				}
			}
			out, err := exec.CommandContext(t.Context(), filepath.Join(dir, "program", process), "--version").Output()
			if err != nil || !regexp.MustCompile(`^`+process+` v9\.9\.9`).Match(out) {
				t.Errorf("the program says %q, %v", out, err)
			}
		})
	}
}

// copied copies from the top of the source tree into dir.
func copied(t *testing.T, paths []string, dir string) {
	t.Helper()
	last := len(paths) - 1
	target := filepath.Join(dir, paths[last])
	for _, path := range paths[:last] {
		source := filepath.Join("..", "..", path)
		info, err := os.Stat(source)
		if err != nil {
			t.Fatal(err)
		}
		if info.IsDir() {
			err = os.RemoveAll(target) // What an earlier COPY put there is in it, too.
			if err == nil {
				err = os.CopyFS(target, os.DirFS(source))
			}
		} else if err = os.MkdirAll(target, 0o700); err == nil {
			var data []byte
			if data, err = os.ReadFile(source); err == nil {
				err = os.WriteFile(filepath.Join(target, filepath.Base(path)), data, 0o600)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
