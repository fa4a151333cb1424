package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func TestCheckLinked(t *testing.T) {
	t.Parallel()
	for packages, fits := range map[string]bool{
		"fmt\nalicloud-controllers.dev/cloudgateway/internal/app\n":     true,
		"fmt\nalicloud-controllers.dev/cloudgateway/openapisim/state\n": false,
		"alicloud-controllers.dev/cloudgateway/openapisim\n":            false,
	} {
		if err := checkLinked(packages); (err == nil) != fits {
			t.Errorf("%q: %v", packages, err)
		}
	}
}

func TestCheckVersions(t *testing.T) {
	t.Parallel()
	modules := []module{
		{Dir: "a", Go: "1.26.0", Require: []requirement{{"google.golang.org/grpc", "v1.85.0"}, {"golang.org/x/net", "v0.1.0"}}},
		{Dir: "b", Go: "1.26.0", Require: []requirement{{"google.golang.org/grpc", "v1.84.0"}, {"golang.org/x/net", "v0.2.0"}}},
		{Dir: "c", Go: "1.25.0"},
	}
	want := []string{
		"b has google.golang.org/grpc v1.84.0, a has v1.85.0: run make tidy",
		"c has go 1.25.0, a has 1.26.0: run make tidy",
	}
	var got []string
	for _, problem := range checkVersions(modules) {
		got = append(got, problem.Error())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

// TestWorkflows: what runs on GitHub's machines has no permission that it does not name, takes actions by their digest,
// and does nothing but call what runs everywhere.
func TestWorkflows(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../.github/workflows/*.yml")
	if err != nil || len(files) != 2 {
		t.Fatalf("%q, %v; want ci and release", files, err)
	}
	pinned := regexp.MustCompile(`^[a-z-]+/[a-z-]+@[0-9a-f]{40}$`)
	commands := map[string]bool{"make release": true, `sudo env "PATH=$PATH" .ci/run`: true}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var workflow struct {
			Permissions *map[string]string
			Jobs        map[string]struct {
				Permissions map[string]string
				Steps       []struct{ Uses, Run string }
			}
		}
		if err := yaml.Unmarshal(text, &workflow); err != nil {
			t.Fatal(err)
		}
		if workflow.Permissions == nil || len(*workflow.Permissions) > 0 {
			t.Errorf("%s gives all jobs permissions", file)
		}
		for name, job := range workflow.Jobs {
			if diff := cmp.Diff(map[string]string{"contents": "read"}, job.Permissions); diff != "" {
				t.Errorf("%s, %s: permissions (-want +got):\n%s", file, name, diff)
			}
			for _, step := range job.Steps {
				if (step.Uses == "") == (step.Run == "") || step.Uses != "" && !pinned.MatchString(step.Uses) ||
					step.Run != "" && !commands[strings.TrimSpace(step.Run)] {
					t.Errorf("%s, %s: a step uses %q and runs %q", file, name, step.Uses, step.Run)
				}
			}
		}
	}
}
