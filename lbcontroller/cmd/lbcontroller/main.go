// Command lbcontroller gives every Service of type LoadBalancer its Classic Load Balancer. `lbcontroller plan` says what it would change,
// and `lbcontroller convert` makes of one with a CLB a Service of an NLB, or of any a Gateway.
package main

import (
	"context"
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
		About:   "Gives every Service of type LoadBalancer its load balancer.",
		Load:    config.Load,
		Logging: func(cfg config.Config) logging.Config { return cfg.Logging },
		Run:     app.Run,

		Subcommands: map[string]command.Subcommand{"plan": plan(), "convert": convert()},
	}
}
