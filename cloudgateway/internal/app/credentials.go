package app

import (
	"context"
	"log/slog"
	"os"

	"github.com/prometheus/client_golang/prometheus"

	"alicloud-controllers.dev/cloudgateway/internal/config"
	"alicloud-controllers.dev/cloudgateway/internal/openapi/credentials"
	"alicloud-controllers.dev/cloudgateway/internal/openapi/metadata"
)

// newCredentials makes the provider of the cloud credentials that the configuration names.
func newCredentials(cfg config.Config, registry *prometheus.Registry, log *slog.Logger) (*credentials.Provider, error) {
	source, err := credentialsSource(cfg)
	if err != nil {
		return nil, err
	}
	return credentials.New(credentials.Config{Source: source, Registerer: registry, Logger: log})
}

func credentialsSource(cfg config.Config) (credentials.Source, error) {
	switch c := cfg.Credentials; {
	case c.Given() != nil:
		return given(*c.Given()), nil
	case c.Environment:
		return credentials.Environment{Lookup: os.LookupEnv}, nil
	case c.ECSRAMRole != nil:
		client, err := metadata.New(cfg.MetadataEndpoint)
		if err != nil {
			return nil, err
		}
		return credentials.ECSRole{Metadata: client, Role: c.ECSRAMRole.Role}, nil
	default:
		return credentials.Files{IDFile: c.AccessKey.IDFile, SecretFile: c.AccessKey.SecretFile}, nil
	}
}

// given is the key pair of the existing CCM's cloud-config file.
type given config.KeyPair

// Name of the source.
func (given) Name() string { return "cloud_config" }

// Fetch gives the key pair.
func (g given) Fetch(context.Context) (credentials.Credentials, error) {
	return credentials.Credentials{AccessKeyID: g.ID, AccessKeySecret: string(g.Secret)}, nil
}
