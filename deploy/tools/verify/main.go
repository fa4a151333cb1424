// Command verify checks what the Go compiler does not: that the modules import only what the architecture lets them, and that
// they agree on the versions of Go, gRPC and Kubernetes, since a workspace build would hide a difference. Its arguments are the
// directories of the modules.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
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
	var problems []error
	var modules []module
	for _, dir := range dirs {
		packages, err := listPackages(ctx, dir)
		if err != nil {
			return err
		}
		for _, p := range packages {
			problems = append(problems, checkImports(p)...)
		}
		m, err := readModule(ctx, dir)
		if err != nil {
			return err
		}
		modules = append(modules, m)
	}
	problems = append(problems, checkVersions(modules)...)
	return errors.Join(problems...)
}
