// Command cloudgateway is the one place that talks to Alibaba Cloud: it holds the credentials, spends the account's rate limits,
// and serves the cloud to controllers and tools over gRPC. `cloudgateway doctor` examines a configuration instead.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"alicloud-controllers.dev/services/logging"
	"alicloud-controllers.dev/services/version"

	"alicloud-controllers.dev/cloudgateway/internal/app"
	"alicloud-controllers.dev/cloudgateway/internal/config"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintf(os.Stderr, "cloudgateway: %s\n", logging.Redact(err.Error()))
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) > 1 && os.Args[1] == "doctor" {
		return examine(os.Args[2:], os.Stdout)
	}
	file := flag.String("config", "", "configuration `FILE` (YAML), required")
	cloudConfig := flag.String("cloud-config", "", "the existing cloud-controller-manager's cloud-config `FILE`, for what the configuration leaves out")
	showVersion := flag.Bool("version", false, "print the version and exit")
	flag.Parse()
	if *showVersion {
		fmt.Fprintln(os.Stdout, "cloudgateway", version.String())
		return nil
	}
	if *file == "" {
		return fmt.Errorf("no configuration; name one with --config FILE")
	}
	cfg, warnings, err := config.Load(*file, *cloudConfig, os.Getenv)
	if err != nil {
		return err
	}
	log, err := logging.New(cfg.Logging, os.Stderr)
	if err != nil {
		return err
	}
	logging.Bridge(log)
	for _, w := range warnings {
		log.Warn("setting of the cloud-config file", "warning", w)
	}
	gateway, err := app.New(cfg, log)
	if err != nil {
		return err
	}
	return gateway.Run(context.Background())
}
