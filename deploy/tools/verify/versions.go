package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// module is what a go.mod file says.
type module struct {
	Dir     string `json:"-"`
	Go      string
	Require []requirement
}

type requirement struct{ Path, Version string }

func readModule(ctx context.Context, dir string) (module, error) {
	out, err := goCommand(ctx, dir, "mod", "edit", "-json")
	if err != nil {
		return module{}, err
	}
	m := module{Dir: dir}
	if err := json.Unmarshal([]byte(out), &m); err != nil {
		return module{}, fmt.Errorf("read go.mod of %s: %w", dir, err)
	}
	return m, nil
}

// checkVersions names every module that has another version of Go, gRPC, protobuf or Kubernetes than the modules before it.
func checkVersions(modules []module) []error {
	first := map[string]struct{ version, dir string }{}
	var problems []error
	check := func(dir, what, version string) {
		known, ok := first[what]
		if !ok {
			first[what] = struct{ version, dir string }{version, dir}
			return
		}
		if known.version != version {
			problems = append(problems, fmt.Errorf("%s has %s %s, %s has %s: run make tidy", dir, what, version, known.dir, known.version))
		}
	}
	for _, m := range modules {
		check(m.Dir, "go", m.Go)
		for _, r := range m.Require {
			if aligned(r.Path) {
				check(m.Dir, r.Path, r.Version)
			}
		}
	}
	return problems
}

func aligned(path string) bool {
	switch path {
	case "google.golang.org/grpc", "google.golang.org/protobuf":
		return true
	}
	return strings.HasPrefix(path, "k8s.io/")
}
