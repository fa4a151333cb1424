// Command gen writes the reference page of the simulated cloud.
package main

import (
	"flag"
	"fmt"
	"os"

	"alicloud-controllers.dev/cloudgateway/openapisim/reference"
)

func main() {
	out := flag.String("o", "actions.md", "the `FILE` to write")
	flag.Parse()
	if err := os.WriteFile(*out, []byte(reference.Markdown()), 0o644); err != nil { //nolint:gosec // A file of the source tree.
		fmt.Fprintf(os.Stderr, "gen: %v\n", err)
		os.Exit(1)
	}
}
