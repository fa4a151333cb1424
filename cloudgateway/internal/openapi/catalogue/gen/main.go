// Command gen writes the reference page of the cloud's errors.
package main

import (
	"flag"
	"fmt"
	"os"

	"alicloud-controllers.dev/cloudgateway/internal/openapi/catalogue"
)

func main() {
	out := flag.String("o", "errors.md", "the `FILE` to write")
	flag.Parse()
	if err := os.WriteFile(*out, []byte(catalogue.Markdown()), 0o644); err != nil { //nolint:gosec // A file of the source tree.
		fmt.Fprintf(os.Stderr, "gen: %v\n", err)
		os.Exit(1)
	}
}
