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

// featuresVariable names the features of the controllers that are installed beside the gateway; the chart sets it. The
// permissions of others may be missing for good reason.
const featuresVariable = "DOCTOR_FEATURES"

const aboutDoctor = "Examines a configuration: credentials, permissions, network, clock, and what to do next."

// examine is `cloudgateway doctor`: it prints what it finds and what to do, and fails if the gateway could not work.
func examine(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("cloudgateway doctor", flag.ContinueOnError)
	file := flags.String("config", "", "configuration `FILE` of the gateway (YAML); required")
	cloudConfig := command.CloudConfig(flags)
	list := flags.String("features", "",
		fmt.Sprintf("the `FEATURES` whose permissions are tried, of %q; if empty, those of the controllers, or of $%s, and of "+
			"the services in api.enable, and what is optional is only reported", rampolicy.Features(), featuresVariable))
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
	var features, optional []rampolicy.Feature
	if *list != "" {
		features, err = parseFeatures(*list)
	} else {
		optional = rampolicy.Optional()
		features, err = inUse(cfg.API)
	}
	if err != nil {
		return err
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

// inUse are the features of the controllers that are installed, as far as that is known, and of the services that are
// on for other programs.
func inUse(api config.API) ([]rampolicy.Feature, error) {
	used := rampolicy.Used(api)
	list, given := os.LookupEnv(featuresVariable)
	if !given {
		return used, nil
	}
	var installed []rampolicy.Feature
	if list != "" {
		var err error
		if installed, err = parseFeatures(list); err != nil {
			return nil, err
		}
	}
	controllers := []rampolicy.Feature{rampolicy.LoadBalancers, rampolicy.Nodes, rampolicy.Routes}
	return slices.DeleteFunc(used, func(f rampolicy.Feature) bool {
		return slices.Contains(controllers, f) && !slices.Contains(installed, f)
	}), nil
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
