// Command nodecontroller initialises the nodes of a cluster from their ECS instances. `nodecontroller plan` says
// what it would change. Its exit code is 1 if that can't be found out, else 0.
package main

import (
	"context"
	"os"

	"alicloud-controllers.dev/services/command"
	"alicloud-controllers.dev/services/logging"

	"alicloud-controllers.dev/nodecontroller/internal/app"
	"alicloud-controllers.dev/nodecontroller/internal/config"
)

func main() { os.Exit(process().Execute(context.Background(), os.Args[1:], os.Stdout, os.Stderr)) }

func process() command.Command[config.Config] {
	return command.Command[config.Config]{
		Name:    app.Name,
		About:   "Initialises the nodes of a cluster from their ECS instances, and deletes those whose instances are gone.",
		Load:    config.Load,
		Logging: func(cfg config.Config) logging.Config { return cfg.Logging },
		Run:     app.Run,

		Subcommands: map[string]command.Subcommand{"plan": command.Plan(app.Name, config.Load, command.All{}, app.Plan)},
	}
}
