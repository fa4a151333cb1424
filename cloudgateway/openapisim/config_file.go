package openapisim

import (
	"fmt"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/strictjson"
	"alicloud-controllers.dev/cloudgateway/openapisim/limit"
)

// File is a configuration file: everything but what the cloud holds. What it leaves out has its default.
type File struct {
	Region          string       `json:"region"`
	Account         string       `json:"account"`
	Role            string       `json:"role"`
	Roles           []string     `json:"roles"`           // further ones that can be assumed; none: any role can
	SessionDuration api.Duration `json:"sessionDuration"` // life of keys from the metadata service
	AccessKeys      []AccessKey  `json:"accessKeys"`
	Regions         []string     `json:"regions"`  // further ones
	Accounts        []Account    `json:"accounts"` // further ones

	Listen map[string]string `json:"listen"` // addresses by endpoint, as the flags of the same names

	Settings api.Settings `json:"settings"`
	Limits   FileLimits   `json:"limits"`
	Faults   []fault.Rule `json:"faults"`
}

// FileLimits are the rate limits in a [File].
type FileLimits struct {
	Enabled          *bool       `json:"enabled"`
	RetryAfterHeader *bool       `json:"retryAfterHeader"`
	RateLimitHeader  *bool       `json:"rateLimitHeader"`
	Actions          limit.Table `json:"actions"`
}

// ReadFile reads a configuration file, which is JSON. Settings are those that it doesn't name. It reports every mistake at once,
// with the key that has it.
func ReadFile(document []byte, settings api.Settings) (*File, error) {
	f := &File{Settings: settings}
	if err := strictjson.Unmarshal(document, f); err != nil {
		return nil, fmt.Errorf("configuration file:\n%w", err)
	}
	return f, nil
}

// Apply sets what the file says. Addresses of endpoints are the business of [Simulator.Start].
func (f *File) Apply(cfg *Config) {
	for _, text := range []struct {
		from string
		to   *string
	}{{f.Region, &cfg.Region}, {f.Account, &cfg.Account}, {f.Role, &cfg.Role}} {
		if text.from != "" {
			*text.to = text.from
		}
	}
	if len(f.Roles) > 0 {
		cfg.Roles = f.Roles
	}
	if f.SessionDuration > 0 {
		cfg.SessionDuration = time.Duration(f.SessionDuration)
	}
	if len(f.AccessKeys) > 0 {
		cfg.AccessKeys = f.AccessKeys
	}
	cfg.Regions, cfg.Accounts = append(cfg.Regions, f.Regions...), append(cfg.Accounts, f.Accounts...)
	cfg.Limits = &LimitsDocument{
		Enabled: f.Limits.Enabled, RetryAfterHeader: f.Limits.RetryAfterHeader, RateLimitHeader: f.Limits.RateLimitHeader,
		Actions: f.Limits.Actions, Settings: &f.Settings,
	}
	cfg.Faults = f.Faults
}
