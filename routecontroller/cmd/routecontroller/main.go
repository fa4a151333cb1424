// Command routecontroller keeps the route tables of a VPC in step with the nodes of a cluster. `routecontroller plan` says
// what it would change. Its exit code is 1 if that can't be found out, else 0.
package main

import (
	"context"
	"os"

	"alicloud-controllers.dev/services/command"
	"alicloud-controllers.dev/services/logging"

	"alicloud-controllers.dev/routecontroller/internal/app"
	"alicloud-controllers.dev/routecontroller/internal/config"
)

func main() { os.Exit(process().Execute(context.Background(), os.Args[1:], os.Stdout, os.Stderr)) }

func process() command.Command[config.Config] {
	return command.Command[config.Config]{
		Name:    app.Name,
		About:   "Keeps a route in the VPC for each node's range of pod addresses.",
		Load:    config.Load,
		Logging: func(cfg config.Config) logging.Config { return cfg.Logging },
		Run:     app.Run,

		Subcommands: map[string]command.Subcommand{"plan": command.Plan(app.Name, config.Load, command.All{}, app.Plan)},
	}
}
