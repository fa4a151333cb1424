package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"

	"alicloud-controllers.dev/lbcontroller/internal/app"
	"alicloud-controllers.dev/lbcontroller/internal/config"
)

// preview is `lbcontroller plan`: it prints what the controller would change, and changes nothing.
func preview(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("lbcontroller plan", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // What is wrong is told once, by Execute.
	file := flags.String("config", "/etc/lbcontroller/config.yaml", "configuration `FILE` (YAML)")
	cloudConfig := flags.String("cloud-config", "", "cloud-config `FILE` of the existing CCM, for what the configuration leaves out")
	output := flags.String("o", "text", "`FORMAT` of the output, text or json")
	var which app.Selection
	flags.StringVar(&which.Namespace, "n", "", "only Services of this `NAMESPACE`; for one Service its name follows the flags")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		flags.SetOutput(out)
		flags.Usage()
		return nil
	case err != nil:
		return fmt.Errorf("plan: %w; --help lists the flags", err)
	case flags.NArg() > 1:
		return fmt.Errorf("plan: unknown argument %q; flags come before the name of the Service", flags.Arg(1))
	case flags.NArg() == 1 && which.Namespace == "":
		return fmt.Errorf("plan: the namespace of Service %s is missing; give it with -n", flags.Arg(0))
	case *output != "text" && *output != "json":
		return fmt.Errorf("plan: -o is %q; use text or json", *output)
	}
	which.Service = flags.Arg(0)
	cfg, _, err := config.Load(*file, *cloudConfig)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	found, err := app.Plan(ctx, cfg, which, slog.New(slog.DiscardHandler))
	if err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	if which.Service != "" && len(found.Services) == 0 {
		return fmt.Errorf("plan: there is no Service %s/%s with a CLB", which.Namespace, which.Service)
	}
	if *output == "json" {
		return found.WriteJSON(out)
	}
	return found.WriteText(out)
}
