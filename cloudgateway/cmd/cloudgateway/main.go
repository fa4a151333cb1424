// Command cloudgateway is the one place that talks to Alibaba Cloud: it holds the credentials, spends the account's rate limits,
// and serves the cloud to controllers and tools over gRPC. `cloudgateway doctor` examines a configuration instead, and
// `cloudgateway top` shows how the rate limits are used.
package main

import (
	"context"
	"log/slog"
	"os"

	"alicloud-controllers.dev/services/command"
	"alicloud-controllers.dev/services/logging"

	"alicloud-controllers.dev/cloudgateway/internal/app"
	"alicloud-controllers.dev/cloudgateway/internal/config"
)

func main() { os.Exit(process().Execute(context.Background(), os.Args[1:], os.Stdout, os.Stderr)) }

func process() command.Command[config.Config] {
	return command.Command[config.Config]{
		Name:  "cloudgateway",
		About: "Serves Alibaba Cloud to controllers and tools over gRPC: it holds the credentials and spends the account's rate limits.",
		Load: func(path, cloudConfig string) (config.Config, []string, error) {
			return config.Load(path, cloudConfig, os.Getenv)
		},
		Logging: func(cfg config.Config) logging.Config { return cfg.Logging },
		Run: func(ctx context.Context, cfg config.Config, log *slog.Logger) error {
			gateway, err := app.New(ctx, cfg, log)
			if err != nil {
				return err
			}
			return gateway.Run(ctx)
		},
		Subcommands: map[string]command.Subcommand{
			"doctor": {About: aboutDoctor, Example: "cloudgateway doctor --config /etc/cloudgateway/config.yaml", Run: examine},
			"top":    {About: aboutTop, Example: "cloudgateway top --config /etc/cloudgateway/config.yaml", Run: showStatus},
		},
	}
}
