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

// pkg is what go list reports about a package.
type pkg struct {
	ImportPath   string
	Imports      []string
	Deps         []string // all that is linked, not only what is imported
	TestImports  []string
	XTestImports []string
}

// prefix of the paths of all our modules.
const prefix = "alicloud-controllers.dev/"

// The simulated cloud, the suite of others' clients and the tests of the alerts, whose modules lie inside the directory of another one.
const (
	simulator  = "cloudgateway/openapisim"
	thirdparty = simulator + "/thirdparty"
	alerts     = "deploy/test/alerts"
)

// siblings returns which of our modules a module may import besides itself. Tests are held to it too.
func siblings() map[string][]string {
	service := []string{"proto", "services"}
	return map[string][]string{
		"proto":           nil,
		"services":        {"proto"},
		"cloudgateway":    {"proto", "services", simulator},
		simulator:         nil,
		thirdparty:        {simulator},
		"lbcontroller":    service,
		"nodecontroller":  service,
		"routecontroller": service,
		"deploy":          {"proto", "services", "cloudgateway", simulator, "lbcontroller", "nodecontroller", "routecontroller"},
		alerts:            nil,
	}
}

// split divides the path of a package into its module, the longest that fits, and the path in that module. An unknown module
// is the first element of the path.
func split(importPath string) (module, inModule string) {
	inHouse := strings.TrimPrefix(importPath, prefix)
	module, inModule, _ = strings.Cut(inHouse, "/")
	for known := range siblings() {
		if within(inHouse, known) && len(known) >= len(module) {
			module, inModule = known, strings.TrimPrefix(strings.TrimPrefix(inHouse, known), "/")
		}
	}
	return module, inModule
}

// checkImports names every import that the architecture forbids.
func checkImports(p pkg) []error {
	module, inModule := split(p.ImportPath)
	allowed, known := siblings()[module]
	if !known {
		return []error{fmt.Errorf("%s: module %q has no row in the table of siblings", p.ImportPath, module)}
	}
	var problems []error
	forbid := func(imported, why string) {
		problems = append(problems, fmt.Errorf("%s imports %s: %s", p.ImportPath, imported, why))
	}
	for _, imported := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
		if other, _ := split(imported); strings.HasPrefix(imported, prefix) && other != module && !slices.Contains(allowed, other) {
			forbid(imported, "the modules are layered, see docs/architecture.md")
		}
		if ofSDK(imported) && !maySpeakToCloud(module, inModule, p, imported) {
			forbid(imported, "the SDK stays under cloudgateway/internal/openapi")
		}
	}
	linked := func(why string, forbidden func(path string) bool) {
		if at := slices.IndexFunc(p.Deps, forbidden); at >= 0 {
			forbid(p.Deps[at], why)
		}
	}
	if module == "cloudgateway" && (within(inModule, "internal") || within(inModule, "cmd")) {
		linked("the simulated cloud is for tests, no process of ours contains it", func(path string) bool {
			return within(strings.TrimPrefix(path, prefix), simulator)
		})
	}
	if pure(module, inModule) {
		linked("packages that decide do no I/O", func(path string) bool {
			return strings.HasPrefix(path, "k8s.io/client-go/")
		})
	}
	return problems
}

// ofSDK reports whether a package is of one of the two generations of the SDK.
func ofSDK(imported string) bool {
	return strings.HasPrefix(imported, "github.com/aliyun/") || strings.HasPrefix(imported, "github.com/alibabacloud-go/")
}

// maySpeakToCloud reports whether a package may import the SDK: its one home, and tests that check the simulator with it.
func maySpeakToCloud(module, inModule string, p pkg, imported string) bool {
	switch module {
	case "cloudgateway":
		return within(inModule, "internal/openapi")
	case simulator, thirdparty:
		return !slices.Contains(p.Imports, imported)
	}
	return false
}

// pure reports whether a package of a controller holds decisions only.
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
