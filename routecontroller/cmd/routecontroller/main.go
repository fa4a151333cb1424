// Command routecontroller keeps the route tables of a VPC in step with the nodes of a cluster.
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
		Load:    config.Load,
		Logging: func(cfg config.Config) logging.Config { return cfg.Logging },
		Run:     app.Run,
	}
}
