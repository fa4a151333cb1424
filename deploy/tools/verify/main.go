// Command verify checks what neither the compiler nor a linter does: the modules agree on the versions of Go, gRPC and Kubernetes, since a
// workspace build would hide a difference, and the gateway is linked without the simulated cloud. Its arguments are the
// directories of the modules.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dirs []string) error {
	if len(dirs) == 0 {
		return errors.New("name the directories of the modules")
	}
	var modules []module
	var problems []error
	for _, dir := range dirs {
		m, err := readModule(ctx, dir)
		if err != nil {
			return err
		}
		modules = append(modules, m)
		if filepath.Base(dir) == "cloudgateway" {
			linked, err := goCommand(ctx, dir, "list", "-deps", "./cmd/cloudgateway")
			if err != nil {
				return err
			}
			problems = append(problems, checkLinked(linked))
		}
	}
	return errors.Join(append(problems, checkVersions(modules)...)...)
}

// checkLinked names a package of the simulated cloud among those that are linked. A linter sees only what a package imports itself.
func checkLinked(packages string) error {
	const simulator = "alicloud-controllers.dev/cloudgateway/openapisim"
	for line := range strings.Lines(packages) {
		if p := strings.TrimSpace(line); p == simulator || strings.HasPrefix(p, simulator+"/") {
			return fmt.Errorf("the gateway is linked with %s: the simulated cloud is for tests", p)
		}
	}
	return nil
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
