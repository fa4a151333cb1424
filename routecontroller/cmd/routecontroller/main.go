// Command routecontroller keeps the route tables of a VPC in step with the nodes of a cluster.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"alicloud-controllers.dev/services/logging"
	"alicloud-controllers.dev/services/version"

	"alicloud-controllers.dev/routecontroller/internal/app"
	"alicloud-controllers.dev/routecontroller/internal/config"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", app.Name, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet(app.Name, flag.ExitOnError)
	path := flags.String("config", "", "configuration `file` (YAML), required")
	cloudConfig := flags.String("cloud-config", "", "cloud-config `file` of the existing CCM, for values that the configuration leaves out")
	showVersion := flags.Bool("version", false, "print the version and exit")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *showVersion {
		_, err := fmt.Fprintln(stdout, version.String())
		return err
	}
	if *path == "" {
		return errors.New("--config FILE is required")
	}
	cfg, warnings, err := config.Load(*path, *cloudConfig)
	if err != nil {
		return err
	}
	log, err := logging.New(cfg.Logging, stderr)
	if err != nil {
		return err
	}
	logging.Bridge(log)
	for _, warning := range warnings {
		log.Warn("setting of the cloud-config without effect", "setting", warning)
	}
	a, err := app.New(cfg, log)
	if err != nil {
		return err
	}
	return a.Run(ctx)
}
