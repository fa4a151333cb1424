// Command lbcontroller gives every Service of type LoadBalancer its Classic Load Balancer. `lbcontroller plan` says what it would change.
package main

import (
	"context"
	"io"
	"os"

	"alicloud-controllers.dev/services/command"
	"alicloud-controllers.dev/services/logging"

	"alicloud-controllers.dev/lbcontroller/internal/app"
	"alicloud-controllers.dev/lbcontroller/internal/config"
)

func main() { os.Exit(process().Execute(context.Background(), os.Args[1:], os.Stdout, os.Stderr)) }

func process() command.Command[config.Config] {
	return command.Command[config.Config]{
		Name:    app.Name,
		Load:    config.Load,
		Logging: func(cfg config.Config) logging.Config { return cfg.Logging },
		Run:     app.Run,

		Subcommands: map[string]func([]string, io.Writer) error{"plan": plan()},
	}
}
