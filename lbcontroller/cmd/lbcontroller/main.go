// Lbcontroller gives every Service of type LoadBalancer its Classic Load Balancer.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"alicloud-controllers.dev/services/logging"
	"alicloud-controllers.dev/services/version"

	"alicloud-controllers.dev/lbcontroller/internal/app"
	"alicloud-controllers.dev/lbcontroller/internal/config"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "lbcontroller:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("lbcontroller", flag.ContinueOnError)
	path := flags.String("config", "", "configuration `file` (YAML); required")
	cloudPath := flags.String("cloud-config", "", "cloud-config `file` of the existing CCM, for what the configuration doesn't say")
	showVersion := flags.Bool("version", false, "print the version and exit")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *showVersion {
		fmt.Fprintln(os.Stdout, "lbcontroller", version.String())
		return nil
	}
	if *path == "" {
		return fmt.Errorf("--config is missing; give the configuration file, for instance --config /etc/lbcontroller/config.yaml")
	}
	cfg, warnings, err := config.Load(*path, *cloudPath)
	if err != nil {
		return err
	}
	log, err := logging.New(cfg.Logging, os.Stderr)
	if err != nil {
		return err
	}
	logging.Bridge(log)
	for _, w := range warnings {
		log.Warn("cloud-config", "warning", w)
	}
	return app.Run(context.Background(), cfg, log)
}
