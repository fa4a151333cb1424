package app

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"alicloud-controllers.dev/services/logging"

	"alicloud-controllers.dev/cloudgateway/internal/config"
)

// processFile is the environment variable that makes the test binary a gateway with that configuration, so that a test can kill
// it as a process is killed.
const processFile = "GATEWAY_UNDER_TEST"

func TestMain(m *testing.M) {
	if file := os.Getenv(processFile); file != "" {
		if err := runProcess(file); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if plan := os.Getenv(besiegeWith); plan != "" {
		if err := strangers(plan); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

func runProcess(file string) error {
	cfg, _, err := config.Load(file, "", func(string) string { return "" })
	if err != nil {
		return err
	}
	log, err := logging.New(cfg.Logging, os.Stdout)
	if err != nil {
		return err
	}
	ctx := context.Background()
	g, err := New(ctx, cfg, log)
	if err != nil {
		return err
	}
	return g.Run(ctx)
}
