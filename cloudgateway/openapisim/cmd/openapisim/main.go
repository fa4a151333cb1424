// Command openapisim runs a simulated Alibaba Cloud on loopback, for development and for tests.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"

	"alicloud-controllers.dev/cloudgateway/openapisim"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "openapisim:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) > 0 && args[0] == "seed" {
		return runSeed(args[1:], stdout, stderr)
	}
	opts, err := parse(args, os.Getenv, stderr)
	if err != nil {
		return err
	}
	if opts.version {
		_, err := fmt.Fprintln(stdout, about())
		return err
	}
	sim, err := openapisim.New(opts.config)
	if err != nil {
		return err
	}
	if err := sim.Start(ctx, opts.addresses); err != nil {
		return err
	}
	for _, e := range openapisim.Endpoints() {
		if address := sim.Endpoint(e.Name); address != "" {
			fmt.Fprintf(stdout, "%-9s %s://%s\n", e.Name, cmp.Or(e.Scheme, "http"), address)
		}
	}
	sim.Wait()
	return keepSnapshot(sim, opts.snapshot)
}

// keepSnapshot writes what the cloud holds for the next start. A file that is there is replaced as a whole.
func keepSnapshot(sim *openapisim.Simulator, file string) error {
	if file == "" {
		return nil
	}
	snapshot, err := sim.Snapshot()
	if err != nil {
		return err
	}
	if err := os.WriteFile(file+".new", snapshot, 0o600); err != nil {
		return fmt.Errorf("--snapshot: %w", err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		return fmt.Errorf("--snapshot: %w", err)
	}
	return nil
}

// version is set by builds of images with -ldflags "-X main.version=…".
var version string

// about is what the build knows of itself: the version that it was given or that the module has, or the commit of a working tree.
func about() string {
	info, ok := debug.ReadBuildInfo()
	switch {
	case version != "":
		return "openapisim " + version + " " + runtime.Version()
	case !ok:
		return "openapisim, of an unknown version"
	}
	revision := ""
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			revision = " " + s.Value
		}
	}
	return "openapisim " + info.Main.Version + revision + " " + info.GoVersion
}
