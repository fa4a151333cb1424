// Command release makes the files of a release, pushes them into a registry, and makes them again to compare.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"alicloud-controllers.dev/deploy/tools/local/binaries"
	"alicloud-controllers.dev/deploy/tools/release"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	root, err := binaries.Root()
	if err != nil {
		return err
	}
	if len(args) == 0 {
		return errors.New("say collect, push or rebuild")
	}
	flags := flag.NewFlagSet("release "+args[0], flag.ExitOnError)
	from := flags.String("from", "../dist/release", "`DIRECTORY` with the files of a release")
	switch args[0] {
	case "collect":
		o := release.Options{Root: root}
		flags.StringVar(&o.Images, "images", "../dist/images", "`DIRECTORY` with what make images wrote")
		flags.StringVar(&o.Out, "out", "../dist/release", "`DIRECTORY` to write")
		flags.StringVar(&o.Version, "version", "",
			"`VERSION` of the processes; a tag, such as v1.2.3, has to be that of the chart and of the changes")
		flags.StringVar(&o.Source, "source", "", "`URL` below which the files of each tag are published, such as "+
			"https://git.example.com/team/repo/blob; if empty, the notes name files without a link, and there is no SECURITY-INSIGHTS.yml")
		flags.StringVar(&o.Downloads, "downloads", "", "`URL` below which the files of each tag are published, such as "+
			"https://git.example.com/team/repo/releases/download; if empty, there is no manifest for krew and no SECURITY-INSIGHTS.yml")
		flags.StringVar(&o.Registry, "registry", "docker.io", "registry in the images' names, as make images had it")
		flags.StringVar(&o.Platforms, "platforms", "linux/amd64,linux/arm64", "`LIST` of platforms, as make images had it")
		flags.StringVar(&o.Key, "key", "", "`FILE` with the key that signs; if empty, nothing is signed")
		_ = flags.Parse(args[1:]) // It exits.
		return release.Collect(ctx, o, os.Stdout)
	case "push":
		to := flags.String("to", "", "`REGISTRY` with a path, such as registry.example.com/alicloud-controllers")
		_ = flags.Parse(args[1:])
		if *to == "" {
			return errors.New("push: say where to with -to")
		}
		return release.Push(ctx, *from, *to, os.Stdout)
	case "rebuild":
		out := flags.String("out", "../dist/rebuilt", "`DIRECTORY` to write")
		image := flags.String("image", "", "`PROCESS` whose image alone is made again")
		_ = flags.Parse(args[1:])
		if *image != "" {
			return release.RebuildImage(ctx, root, *from, *image, os.Stdout)
		}
		if err := release.Rebuild(ctx, root, *from, *out, os.Stdout); err != nil {
			return err
		}
		return release.Compare(*from, *out, os.Stdout)
	}
	return fmt.Errorf("%q is none of collect, push and rebuild", args[0])
}
