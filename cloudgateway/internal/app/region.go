package app

import (
	"context"
	"fmt"

	"alicloud-controllers.dev/cloudgateway/internal/config"
	"alicloud-controllers.dev/cloudgateway/internal/openapi/metadata"
)

// locate asks the metadata service of the ECS instance for the region if the configuration leaves it out.
func locate(ctx context.Context, cfg *config.Config) error {
	if cfg.Region != "" {
		return nil
	}
	instance, err := metadata.New(cfg.MetadataEndpoint)
	if err != nil {
		return err
	}
	if cfg.Region, err = instance.Get(ctx, "region-id"); err == nil && cfg.Region == "" {
		err = fmt.Errorf("%s answered with nothing", cfg.MetadataEndpoint)
	}
	if err != nil {
		return fmt.Errorf("region: is not set, and the metadata service does not answer with it; set it, e.g. to cn-hangzhou: %w", err)
	}
	return nil
}
