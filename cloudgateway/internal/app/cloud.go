package app

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"alicloud-controllers.dev/services/version"

	"alicloud-controllers.dev/cloudgateway/internal/config"
	"alicloud-controllers.dev/cloudgateway/internal/doctor"
	"alicloud-controllers.dev/cloudgateway/internal/flow"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/openapi/credentials"
	"alicloud-controllers.dev/cloudgateway/internal/openapi/metadata"
	"alicloud-controllers.dev/cloudgateway/internal/openapi/sts"
	"alicloud-controllers.dev/cloudgateway/internal/rampolicy"
)

// cloudConfig is the way to the cloud, without credentials and budget: not every client needs them.
func cloudConfig(cfg config.Config, log *slog.Logger) openapi.Config {
	endpoints := map[openapi.Product]string{}
	for product, host := range cfg.Endpoints.Hosts() {
		endpoints[openapi.Product(product)] = host
	}
	return openapi.Config{
		Region: cfg.Region, Network: cfg.Network, Scheme: cfg.Scheme, UserAgent: userAgent(), Logger: log, Endpoints: endpoints,
	}
}

// credentialsSource is the source that the configuration names, with the role on top that is to be assumed.
func credentialsSource(cfg config.Config, exchange credentials.STS) credentials.Source {
	source := baseSource(cfg, exchange)
	if r := cfg.Credentials.AssumeRole; r != nil {
		source = credentials.AssumeRole{Base: source, STS: exchange, Role: *r}
	}
	return source
}

func baseSource(cfg config.Config, exchange credentials.STS) credentials.Source {
	switch c := cfg.Credentials; {
	case c.Given() != nil:
		return given(*c.Given())
	case c.Environment:
		return credentials.Environment{}
	case c.ECSRAMRole != nil:
		return credentials.ECSRole{Metadata: metadata.New(cfg.MetadataEndpoint), Role: c.ECSRAMRole.Role}
	case c.RRSA != nil:
		return credentials.RRSA{STS: exchange, Role: *c.RRSA}
	case c.STSTokenFile != "":
		return credentials.TokenFile{Path: c.STSTokenFile}
	case c.AddonTokenFile != "":
		return credentials.AddonTokenFile{Path: c.AddonTokenFile}
	default:
		return credentials.Files{IDFile: c.AccessKey.IDFile, SecretFile: c.AccessKey.SecretFile}
	}
}

// userAgent is what the cloud's audit log shows.
func userAgent() string { return "alicloud-controllers/" + version.String() }

// given is the key pair of the existing CCM's cloud-config file.
type given config.KeyPair

// Name of the source.
func (given) Name() string { return "cloud_config" }

// Fetch gives the key pair.
func (g given) Fetch(context.Context) (credentials.Credentials, error) {
	return credentials.Credentials{AccessKeyID: g.ID, AccessKeySecret: string(g.Secret)}, nil
}

// locate asks the metadata service of the ECS instance for the region if the configuration leaves it out.
func locate(ctx context.Context, cfg *config.Config) error {
	if cfg.Region != "" {
		return nil
	}
	var err error
	if cfg.Region, err = metadata.New(cfg.MetadataEndpoint).Get(ctx, "region-id"); err == nil && cfg.Region == "" {
		err = fmt.Errorf("%s answered with nothing", cfg.MetadataEndpoint)
	}
	if err != nil {
		return fmt.Errorf("region: is not set, and the metadata service does not answer with it; set it, e.g. to cn-hangzhou: %w", err)
	}
	return cfg.Validate()
}

// Examine finds out whether a gateway with this configuration could work in the cloud, without being one. The permissions of optional
// features may be missing.
func Examine(
	ctx context.Context, cfg config.Config, features, optional []rampolicy.Feature, log *slog.Logger,
) (*doctor.Report, error) {
	if err := locate(ctx, &cfg); err != nil {
		return nil, err
	}
	limits, err := flow.Granted(cfg.Budget)
	if err != nil {
		return nil, err
	}
	exchange := sts.New(cloudConfig(cfg, log))
	return doctor.Run(ctx, doctor.Config{
		OpenAPI: cloudConfig(cfg, log), Source: credentialsSource(cfg, exchange), STS: exchange, Metadata: metadata.New(cfg.MetadataEndpoint),
		VpcID: cfg.VpcID, ClusterID: cfg.ClusterID, Features: features, Optional: optional, Limits: limits, Now: time.Now,
	})
}
