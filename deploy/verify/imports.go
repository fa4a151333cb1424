package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"
)

// pkg is what go list tells of a package.
type pkg struct {
	ImportPath   string
	Imports      []string
	Deps         []string // all that is linked, not only what is imported
	TestImports  []string
	XTestImports []string
}

// prefix of the paths of all our modules.
const prefix = "alicloud-controllers.dev/"

// siblings says which of our modules a module may import besides itself. Tests are held to it too.
func siblings() map[string][]string {
	service := []string{"proto", "services"}
	return map[string][]string{
		"proto":           nil,
		"services":        {"proto"},
		"cloudgateway":    service,
		"lbcontroller":    service,
		"nodecontroller":  service,
		"routecontroller": service,
		"deploy":          {"proto", "services", "cloudgateway", "lbcontroller", "nodecontroller", "routecontroller"},
		"thirdparty":      {"cloudgateway"},
	}
}

// checkImports names every import that the architecture forbids.
func checkImports(p pkg) []error {
	module, inModule, _ := strings.Cut(strings.TrimPrefix(p.ImportPath, prefix), "/")
	allowed, known := siblings()[module]
	if !known {
		return []error{fmt.Errorf("%s: module %q has no row in the table of siblings", p.ImportPath, module)}
	}
	var problems []error
	forbid := func(imported, why string) {
		problems = append(problems, fmt.Errorf("%s imports %s: %s", p.ImportPath, imported, why))
	}
	for _, imported := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
		other, isOurs := strings.CutPrefix(imported, prefix)
		other, _, _ = strings.Cut(other, "/")
		if isOurs && other != module && !slices.Contains(allowed, other) {
			forbid(imported, "the modules are layered, see docs/architecture.md")
		}
		if strings.HasPrefix(imported, "github.com/aliyun/") && !maySpeakToCloud(module, inModule, p, imported) {
			forbid(imported, "the SDK stays under cloudgateway/internal/openapi")
		}
	}
	if module == "cloudgateway" && within(inModule, "openapisim") {
		for _, imported := range p.Imports {
			if strings.HasPrefix(imported, prefix) && !within(strings.TrimPrefix(imported, prefix), "cloudgateway/openapisim") {
				forbid(imported, "the simulator shares no code with what is tested against it")
			}
		}
	}
	if pure(module, inModule) {
		for _, linked := range p.Deps {
			if strings.HasPrefix(linked, "k8s.io/client-go/") {
				forbid(linked, "packages that decide do not speak to anybody")
				break
			}
		}
	}
	return problems
}

// maySpeakToCloud tells whether a package may import the SDK: its one home, and tests that check the simulator with it.
func maySpeakToCloud(module, inModule string, p pkg, imported string) bool {
	inTest := !slices.Contains(p.Imports, imported)
	switch module {
	case "cloudgateway":
		return within(inModule, "internal/openapi") || within(inModule, "openapisim") && inTest
	case "thirdparty":
		return inTest
	}
	return false
}

// pure tells whether a package of a controller holds decisions only.
func pure(module, inModule string) bool {
	return strings.HasSuffix(module, "controller") && slices.Contains([]string{"model", "desired", "plan", "ownership", "reuse"}, path.Base(inModule))
}

func within(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

// listPackages lists a module's packages.
func listPackages(ctx context.Context, dir string) ([]pkg, error) {
	out, err := goCommand(ctx, dir, "list", "-json=ImportPath,Imports,Deps,TestImports,XTestImports", "./...")
	if err != nil {
		return nil, err
	}
	var packages []pkg
	for decoder := json.NewDecoder(strings.NewReader(out)); ; {
		var p pkg
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("list packages of %s: %w", dir, err)
		}
		packages = append(packages, p)
	}
}

func goCommand(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...) //nolint:gosec // The arguments are ours.
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s in %s: %w\n%s", args[0], dir, err, stderr.String())
	}
	return string(out), nil
}
