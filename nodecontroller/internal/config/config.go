// Package config is the configuration of the nodecontroller: one YAML file, and for a cluster that is taken over the
// cloud-config file of the existing CCM besides.
package config

import (
	"time"

	"alicloud-controllers.dev/services/admin"
	"alicloud-controllers.dev/services/config"
	"alicloud-controllers.dev/services/config/cloudconfig"
	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/kube"
	"alicloud-controllers.dev/services/logging"

	"alicloud-controllers.dev/nodecontroller/internal/lifecycle"
)

const (
	defaultSyncInterval = 5 * time.Minute
	defaultWorkers      = 100
	maxWorkers          = 1000
	defaultConfirmAfter = time.Minute
	defaultWindow       = 10 * time.Minute
	defaultMinimum      = 3
	defaultPercent      = 5
	// minConfirmAfter is what the second look at a vanished instance is worth at least.
	minConfirmAfter = time.Minute
	// defaultClusterTag is the key of the tag that ACK puts on a cluster's instances.
	defaultClusterTag = "ack.aliyun.com"
)

// Config is the configuration file.
type Config struct {
	Kubernetes kube.Config    `json:"kubernetes"`
	Gateway    gateway.Config `json:"gateway"`
	// ClusterID names the cluster in the log.
	ClusterID string `json:"clusterID"`
	// Region of the instances.
	Region string `json:"region"`
	// VPCID is where nodes without providerID are looked for; asked from the gateway if empty.
	VPCID string `json:"vpcID"`
	// ClusterTag is the key of the tag that instances carry, for nodes without providerID.
	ClusterTag string `json:"clusterTag"`
	// ConfigureCloudRoutes keeps pods off new nodes until the routecontroller has made their routes.
	ConfigureCloudRoutes bool `json:"configureCloudRoutes"`
	// DisableSourceDestCheck lets instances forward the packets of pods.
	DisableSourceDestCheck bool `json:"disableSourceDestCheck"`
	// IPv6 publishes the IPv6 addresses of instances.
	IPv6 bool `json:"ipv6"`
	// SyncInterval is how often labels, addresses and existence are looked at.
	SyncInterval config.Duration `json:"syncInterval"`
	// Workers is how many nodes are initialised at once.
	Workers int `json:"workers"`
	// Deletion bounds the deletion of nodes whose instances are gone.
	Deletion       Deletion            `json:"deletion"`
	Admin          admin.Config        `json:"admin"`
	LeaderElection kube.ElectionConfig `json:"leaderElection"`
	Logging        logging.Config      `json:"logging"`
}

// Deletion bounds the deletion of nodes.
type Deletion struct {
	Enabled bool `json:"enabled"`
	// ConfirmAfter is the least time between two answers without the instance.
	ConfirmAfter config.Duration `json:"confirmAfter"`
	// Within Window at most Minimum nodes or Percent of all go, whichever is more.
	Window  config.Duration `json:"window"`
	Minimum int             `json:"minimum"`
	Percent int             `json:"percent"`
}

// Policy is what the controller needs of it, nil if deletion is off.
func (d Deletion) Policy() *lifecycle.Policy {
	if !d.Enabled {
		return nil
	}
	return &lifecycle.Policy{
		ConfirmAfter: time.Duration(d.ConfirmAfter), Window: time.Duration(d.Window), Minimum: d.Minimum, Percent: d.Percent,
	}
}

// Default gives the values of keys that a file leaves out.
func Default() Config {
	return Config{
		Gateway:                gateway.Config{ServerName: "cloudgateway"},
		ConfigureCloudRoutes:   true,
		DisableSourceDestCheck: true,
		SyncInterval:           config.Duration(defaultSyncInterval),
		Workers:                defaultWorkers,
		Deletion: Deletion{
			Enabled: true, ConfirmAfter: config.Duration(defaultConfirmAfter), Window: config.Duration(defaultWindow),
			Minimum: defaultMinimum, Percent: defaultPercent,
		},
		Admin:          admin.Config{Listen: "127.0.0.1:7082"},
		LeaderElection: kube.ElectionConfig{Enabled: true, Namespace: "kube-system", Name: "nodecontroller"},
	}
}

// Load reads the file and, if its path is not empty, the cloud-config, whose values stand in for keys that the file leaves
// empty. It gives warnings about settings without effect.
func Load(path, cloudConfigPath string) (Config, []string, error) {
	cfg := Default()
	if err := config.Load(path, &cfg); err != nil {
		return Config{}, nil, err
	}
	var warnings []string
	if cloudConfigPath != "" {
		old, notes, err := cloudconfig.Load(cloudConfigPath)
		if err != nil {
			return Config{}, nil, err
		}
		warnings = notes
		cfg.fill(old)
	}
	if cfg.ClusterTag == "" {
		cfg.ClusterTag = defaultClusterTag
	}
	return cfg, warnings, cfg.Validate()
}

func (c *Config) fill(old *cloudconfig.CloudConfig) {
	for _, value := range []struct {
		key *string
		old string
	}{{&c.ClusterID, old.ClusterID}, {&c.Region, old.Region}, {&c.VPCID, old.VpcID}, {&c.ClusterTag, old.KubernetesClusterTag}} {
		if *value.key == "" {
			*value.key = value.old
		}
	}
}

// Validate tells all that is wrong at once.
func (c Config) Validate() error {
	var p config.Problems
	c.Kubernetes.Validate(&p, "kubernetes")
	c.Gateway.Validate(&p, "gateway")
	c.Admin.Validate(&p, "admin")
	c.LeaderElection.Validate(&p, "leaderElection")
	c.Logging.Validate(&p, "logging")
	p.Required("clusterID", c.ClusterID)
	p.Required("region", c.Region)
	p.Positive("syncInterval", c.SyncInterval)
	p.Range("workers", c.Workers, 1, maxWorkers)
	if c.Deletion.Enabled {
		if time.Duration(c.Deletion.ConfirmAfter) < minConfirmAfter {
			p.Addf("deletion.confirmAfter", "%s is shorter than %s", c.Deletion.ConfirmAfter, minConfirmAfter)
		}
		p.Positive("deletion.window", c.Deletion.Window)
		p.Range("deletion.minimum", c.Deletion.Minimum, 0, 1000) //nolint:mnd // More is no bound at all.
		p.Range("deletion.percent", c.Deletion.Percent, 0, 100)  //nolint:mnd // Percent.
	}
	return p.Err()
}
