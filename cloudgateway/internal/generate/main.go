// Command generate writes the RAM policies, and the reference pages of them and of the cloud's errors, into the tree.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"alicloud-controllers.dev/cloudgateway/internal/openapi/catalogue"
	"alicloud-controllers.dev/cloudgateway/internal/rampolicy"
)

//go:generate go run . -root ../../..

func main() {
	root := flag.String("root", ".", "the `DIRECTORY` of the repository")
	flag.Parse()
	if err := write(*root); err != nil {
		fmt.Fprintf(os.Stderr, "generate: %v\n", err)
		os.Exit(1)
	}
}

func write(root string) error {
	files, err := rampolicy.Files()
	if err != nil {
		return err
	}
	files["docs/reference/errors.md"] = []byte(catalogue.Markdown())
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // A directory of the source tree.
			return err
		}
		if err := os.WriteFile(path, text, 0o644); err != nil { //nolint:gosec // A file of the source tree.
			return err
		}
	}
	return nil
}
