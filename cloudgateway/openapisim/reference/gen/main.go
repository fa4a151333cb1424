// Command gen writes the reference pages of the simulated cloud.
package main

import (
	"flag"
	"fmt"
	"os"

	"alicloud-controllers.dev/cloudgateway/openapisim/reference"
)

func main() {
	out := flag.String("o", "actions.md", "the `FILE` to write")
	coverage := flag.String("coverage", "coverage.md", "the `FILE` to write how much there is to")
	tools := flag.String("tools", "tools.md", "the `FILE` to write what tools call to")
	flag.Parse()
	pages := map[string]string{*out: reference.Markdown(), *coverage: reference.Coverage(), *tools: reference.ToolsPage()}
	for file, page := range pages {
		if err := os.WriteFile(file, []byte(page), 0o644); err != nil { //nolint:gosec // A file of the source tree.
			fmt.Fprintf(os.Stderr, "gen: %v\n", err)
			os.Exit(1)
		}
	}
}
