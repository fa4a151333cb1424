// Command openapisim runs a simulated Alibaba Cloud on loopback, for development and for tests.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
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
	opts, err := parse(args, os.Getenv, stderr)
	if err != nil {
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
		fmt.Fprintf(stdout, "%-9s http://%s\n", e.Name, sim.Endpoint(e.Name))
	}
	sim.Wait()
	return nil
}
