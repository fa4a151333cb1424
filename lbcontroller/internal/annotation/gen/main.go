// Command gen writes the reference page of the annotations.
package main

import (
	"flag"
	"fmt"
	"os"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

func main() {
	out := flag.String("o", "annotations.md", "the `FILE` to write")
	flag.Parse()
	if err := os.WriteFile(*out, []byte(annotation.Markdown()), 0o644); err != nil { //nolint:gosec // A file of the source tree.
		fmt.Fprintf(os.Stderr, "gen: %v\n", err)
		os.Exit(1)
	}
}
