package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"alicloud-controllers.dev/services/command"

	"alicloud-controllers.dev/lbcontroller/internal/app"
	"alicloud-controllers.dev/lbcontroller/internal/config"
)

// convert is `lbcontroller convert`, of one Service.
func convert() command.Subcommand {
	const about = "Prints a Service of an NLB that asks for what NAMESPACE/SERVICE asks of its CLB, and what is different; " +
		"or with -gateway a Gateway and routes that take over the load balancer of NAMESPACE/SERVICE. Changes nothing."
	return command.Subcommand{About: about, Example: app.Name + " convert default/web", Run: func(args []string, stdout io.Writer) error {
		flags := flag.NewFlagSet(app.Name+" convert", flag.ContinueOnError)
		path := flags.String("config", "/etc/"+app.Name+"/config.yaml", "configuration `FILE` (YAML)")
		gateway := flags.Bool("gateway", false, "print a Gateway and routes")
		cloudConfig := command.CloudConfig(flags)
		switch helped, err := command.Parse(flags, about, args, stdout); {
		case err != nil:
			return fmt.Errorf("convert: %w", err)
		case helped:
			return nil
		}
		which, err := oneService(flags.Args())
		if err != nil {
			return fmt.Errorf("convert: %w", err)
		}
		cfg, _, err := config.Load(*path, *cloudConfig)
		if err != nil {
			return err
		}
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		text, err := app.Convert(ctx, cfg, which, *gateway)
		if err != nil {
			return fmt.Errorf("convert: %w", err)
		}
		_, err = stdout.Write(text)
		return err
	}}
}

// oneService reads the arguments after the flags.
func oneService(args []string) (app.Selection, error) {
	if len(args) != 1 {
		return app.Selection{}, errors.New("name one Service as NAMESPACE/SERVICE, after the flags")
	}
	namespace, name, found := strings.Cut(args[0], "/")
	if !found || namespace == "" || name == "" {
		return app.Selection{}, fmt.Errorf("%q is no NAMESPACE/SERVICE", args[0])
	}
	return app.Selection{Namespace: namespace, Service: name}, nil
}
