package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
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
