// Command images builds the container images of our processes, or the plugin of kubectl, into a directory.
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
	plugin := flag.Bool("plugin", false, "build the plugin of kubectl in place of images, for all its platforms")
	flag.Parse()
	err := error(nil)
	if *plugin {
		err = build.Plugin(context.Background(), o.Out, o.Version, build.PluginPlatforms(), os.Stdout)
	} else {
		err = build.Images(context.Background(), o, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "images:", err)
		os.Exit(1)
	}
}
