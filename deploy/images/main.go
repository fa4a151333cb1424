// Command images builds the container images of our processes into a directory.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"alicloud-controllers.dev/deploy/images/build"
)

func main() {
	var o build.Options
	flag.StringVar(&o.Out, "out", "dist/images", "`DIRECTORY` of the tars")
	flag.StringVar(&o.Registry, "registry", "docker.io", "registry in the images' names")
	flag.StringVar(&o.Version, "version", "dev", "what the processes say of their version")
	flag.StringVar(&o.Platforms, "platforms", "linux/amd64,linux/arm64", "`LIST` of platforms, with commas between them")
	flag.Parse()
	if err := build.Images(context.Background(), o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "images:", err)
		os.Exit(1)
	}
}
