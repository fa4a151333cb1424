package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"

	"alicloud-controllers.dev/services/command"

	"alicloud-controllers.dev/cloudgateway/internal/app"
	"alicloud-controllers.dev/cloudgateway/internal/config"
	"alicloud-controllers.dev/cloudgateway/internal/rampolicy"
)

const aboutDoctor = "Examines a configuration: credentials, permissions, network, clock, and what to do next."

// examine is `cloudgateway doctor`: it prints what it finds and what to do, and fails if the gateway could not work.
func examine(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("cloudgateway doctor", flag.ContinueOnError)
	file := flags.String("config", "", "configuration `FILE` of the gateway (YAML); required")
	cloudConfig := command.CloudConfig(flags)
	list := flags.String("features", "",
		fmt.Sprintf("the `FEATURES` whose permissions are tried, of %q; if empty, those of the controllers and of "+
			"the services in api.enable, and what is optional is only reported", rampolicy.Features()))
	if helped, err := command.Parse(flags, aboutDoctor, args, out); helped || err != nil {
		return err
	}
	if *file == "" {
		return fmt.Errorf("doctor: no configuration; name one with --config FILE")
	}
	cfg, _, err := config.Load(*file, *cloudConfig, os.Getenv)
	if err != nil {
		return err
	}
	features, optional := rampolicy.Used(cfg.API), rampolicy.Optional()
	if *list != "" {
		if features, err = parseFeatures(*list); err != nil {
			return err
		}
		optional = nil
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	report, err := app.Examine(ctx, cfg, features, optional, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	if _, err := report.WriteTo(out); err != nil {
		return err
	}
	if n := report.Failed(); n > 0 {
		return fmt.Errorf("doctor: the gateway can't work like this, %d of %d checks failed", n, len(report.Findings))
	}
	return nil
}

func parseFeatures(list string) ([]rampolicy.Feature, error) {
	var features []rampolicy.Feature
	for name := range strings.SplitSeq(list, ",") {
		f := rampolicy.Feature(strings.TrimSpace(name))
		if !slices.Contains(rampolicy.Features(), f) {
			return nil, fmt.Errorf("doctor: --features: %q is none of %q", f, rampolicy.Features())
		}
		features = append(features, f)
	}
	return features, nil
}
