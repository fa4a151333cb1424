package app

import (
	"context"
	"log/slog"
	"time"

	"alicloud-controllers.dev/cloudgateway/internal/config"
	"alicloud-controllers.dev/cloudgateway/internal/doctor"
	"alicloud-controllers.dev/cloudgateway/internal/openapi/metadata"
	"alicloud-controllers.dev/cloudgateway/internal/openapi/sts"
	"alicloud-controllers.dev/cloudgateway/internal/rampolicy"
)

// Examine finds out whether a gateway with this configuration could work in the cloud, without being one. The permissions of optional
// features may be missing.
func Examine(
	ctx context.Context, cfg config.Config, features, optional []rampolicy.Feature, log *slog.Logger,
) (*doctor.Report, error) {
	if err := locate(ctx, &cfg); err != nil {
		return nil, err
	}
	exchange, err := sts.New(cloudConfig(cfg, log))
	if err != nil {
		return nil, err
	}
	source, err := credentialsSource(cfg, exchange)
	if err != nil {
		return nil, err
	}
	instance, err := metadata.New(cfg.MetadataEndpoint)
	if err != nil {
		return nil, err
	}
	return doctor.Run(ctx, doctor.Config{
		OpenAPI: cloudConfig(cfg, log), Source: source, STS: exchange, Metadata: instance, VpcID: cfg.VpcID, Features: features, Optional: optional, Now: time.Now,
	})
}
