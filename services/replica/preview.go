package replica

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"k8s.io/client-go/tools/record"

	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/kube"
	"alicloud-controllers.dev/services/version"
)

// previewPatience is how long a preview waits for the gateway. The chart's Jobs start together with it.
const previewPatience = 30 * time.Second

// Preview lets look see what a controller with this configuration would work with. There are no events, metrics or election, and look must
// only read.
func Preview[T any](ctx context.Context, name string, cfg Config, look func(context.Context, Dependencies) (T, error)) (T, error) {
	var none T
	log := slog.New(slog.DiscardHandler)
	userAgent := name + "-plan/" + version.String()
	client, err := kube.NewClient(cfg.Kubernetes, userAgent)
	if err != nil {
		return none, err
	}
	cfg.Gateway.UserAgent, cfg.Gateway.Logger, cfg.Gateway.Kubernetes = userAgent, log, client
	conn, err := gateway.Dial(cfg.Gateway)
	if err != nil {
		return none, fmt.Errorf("connect to the gateway: %w", err)
	}
	if err := conn.Await(ctx, previewPatience); err != nil {
		return none, errors.Join(err, conn.Close())
	}
	found, err := look(gateway.WithPriority(ctx, gateway.Background), Dependencies{
		Client: client, Gateway: conn.Client(), Recorder: &record.FakeRecorder{}, Namespace: cfg.namespace(), Logger: log,
	})
	if closeErr := conn.Close(); err == nil && closeErr != nil {
		return none, fmt.Errorf("disconnect from the gateway: %w", closeErr)
	}
	return found, err
}
