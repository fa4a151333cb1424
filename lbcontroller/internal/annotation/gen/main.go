// Command gen writes what is made of the table of annotations: the reference page, the admission policy of the chart, and values by which
// the end-to-end tests hold that policy against the parser.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

func main() {
	root := flag.String("root", ".", "the `DIRECTORY` of the source tree")
	flag.Parse()
	if err := run(*root); err != nil {
		fmt.Fprintf(os.Stderr, "gen: %v\n", err)
		os.Exit(1)
	}
}

func run(root string) error {
	var values []string
	for _, s := range samples() {
		line, err := json.Marshal(s)
		if err != nil {
			return fmt.Errorf("encode values: %w", err)
		}
		values = append(values, string(line))
	}
	for path, text := range map[string]string{
		"docs/reference/annotations.md":                  annotation.Markdown(),
		"deploy/chart/files/admission.yaml":              annotation.AdmissionPolicy(),
		"deploy/test/e2e/testdata/annotationvalues.json": "[\n" + strings.Join(values, ",\n") + "\n]\n",
	} {
		if err := os.WriteFile(filepath.Join(root, path), []byte(text), 0o644); err != nil { //nolint:gosec // A file of the source tree.
			return fmt.Errorf("write: %w", err)
		}
	}
	return nil
}
