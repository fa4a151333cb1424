package bench

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"alicloud-controllers.dev/services/logging"

	"alicloud-controllers.dev/cloudgateway/internal/app"
	"alicloud-controllers.dev/cloudgateway/internal/config"
)

// asGateway names the configuration file if this process is to be a gateway and not a test: so the gateway that is measured is a
// process of its own, and needs no building.
const asGateway = "BENCH_GATEWAY_CONFIG"

func TestMain(m *testing.M) {
	if file := os.Getenv(asGateway); file != "" {
		if err := serve(file); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

func serve(file string) error {
	cfg, _, err := config.Load(file, "", os.Getenv)
	if err != nil {
		return err
	}
	log, err := logging.New(cfg.Logging, os.Stderr)
	if err != nil {
		return err
	}
	logging.Bridge(log)
	ctx := context.Background()
	gateway, err := app.New(ctx, cfg, log)
	if err != nil {
		return err
	}
	return gateway.Run(ctx)
}
