// Package config is the configuration of the nodecontroller: one YAML file, and for a cluster that is taken over the
// cloud-config file of the existing CCM besides.
package config

import (
	"time"

	"alicloud-controllers.dev/services/admin"
	"alicloud-controllers.dev/services/budget"
	"alicloud-controllers.dev/services/config"
	"alicloud-controllers.dev/services/config/cloudconfig"
	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/kube"
	"alicloud-controllers.dev/services/replica"

	"alicloud-controllers.dev/nodecontroller/internal/lifecycle"
)

const (
	defaultSyncInterval = 5 * time.Minute
	defaultWorkers      = 100
	maxWorkers          = 1000
	defaultConfirmAfter = time.Minute
	defaultSilence      = time.Minute
	defaultWindow       = 10 * time.Minute
	defaultMinimum      = 3
	defaultPercent      = 25
	// minConfirmAfter is what the second look at a vanished instance is worth at least.
	minConfirmAfter = time.Minute
	// minOldPeriod is the shortest period that is taken from the existing CCM's file: one of seconds would be the cloud's main load.
	minOldPeriod = time.Minute
	// defaultClusterTag is the key of the tag that ACK puts on a cluster's instances.
	defaultClusterTag = "ack.aliyun.com"
	// gateDualStack is the existing CCM's feature gate for the IPv6 addresses of nodes.
	gateDualStack = "IPv6DualStack"
)

// Config is the configuration file.
type Config struct {
	replica.Config

	// ClusterTag is the key of the tag that instances carry, for nodes without providerID, which are looked for in the VPC. Default: ack.aliyun.com.
	ClusterTag string `json:"clusterTag"`
	// ConfigureCloudRoutes keeps pods off new nodes until the routecontroller has made their routes.
	ConfigureCloudRoutes bool `json:"configureCloudRoutes"`
	// DisableSourceDestCheck lets instances forward the packets of pods.
	DisableSourceDestCheck bool `json:"disableSourceDestCheck"`
	// IPv6 publishes the IPv6 addresses of instances.
	IPv6 bool `json:"ipv6"`
	// ShutdownTaint puts the taint node.cloudprovider.kubernetes.io/shutdown on nodes whose instances are stopped; it goes when they
	// are started.
	ShutdownTaint bool `json:"shutdownTaint"`
	// SyncInterval is how often labels, addresses and existence are looked at.
	SyncInterval config.Duration `json:"syncInterval"`
	// Workers is how many nodes are initialised at once.
	Workers int `json:"workers"`
	// Deletion bounds the deletion of nodes whose instances are gone.
	Deletion Deletion `json:"deletion"`
}

// Deletion bounds the deletion of nodes. Those that the cluster autoscaler has tainted with ToBeDeletedByClusterAutoscaler don't count.
type Deletion struct {
	// Enabled lets nodes be deleted whose instances are gone.
	Enabled bool `json:"enabled"`
	// ConfirmAfter is the least time between two answers without the instance.
	ConfirmAfter config.Duration `json:"confirmAfter"`
	// Silence is how long the kubelet has to have been silent: for how long the condition Ready is Unknown.
	Silence config.Duration `json:"silence"`
	// Window is the time in which deletions are counted. The ConfigMap nodecontroller-deletions keeps the count for the next leader.
	Window config.Duration `json:"window"`
	// Minimum is how many nodes may go in the window in a small cluster, unannounced. Never more than half of all go.
	Minimum int `json:"minimum"`
	// Percent of all nodes may go in the window, unannounced, if that is more than the minimum.
	Percent int `json:"percent"`
}

// Policy is what the controller needs of it, nil if deletion is off.
func (d Deletion) Policy() *lifecycle.Policy {
	if !d.Enabled {
		return nil
	}
	return &lifecycle.Policy{
		ConfirmAfter: time.Duration(d.ConfirmAfter), Silence: time.Duration(d.Silence),
		Policy: budget.Policy{Window: time.Duration(d.Window), Minimum: d.Minimum, Percent: d.Percent},
	}
}

// Default gives the values of keys that a file leaves out.
func Default() Config {
	return Config{
		Config: replica.Config{
			Gateway:        gateway.Config{ServerName: "cloudgateway"},
			Admin:          admin.Config{Listen: "127.0.0.1:7082"},
			LeaderElection: kube.ElectionConfig{Enabled: true, Namespace: "kube-system", Name: "nodecontroller"},
		},
		ConfigureCloudRoutes:   true,
		DisableSourceDestCheck: true,
		SyncInterval:           config.Duration(defaultSyncInterval),
		Workers:                defaultWorkers,
		Deletion: Deletion{
			Enabled: true, ConfirmAfter: config.Duration(defaultConfirmAfter), Silence: config.Duration(defaultSilence),
			Window: config.Duration(defaultWindow), Minimum: defaultMinimum, Percent: defaultPercent,
		},
	}
}

// Load reads the file and, if its path is not empty, the cloud-config, whose values stand in for keys that the file leaves
// empty. It gives warnings about settings of the latter without effect.
func Load(path, cloudConfigPath string) (Config, []string, error) {
	cfg := Default()
	warnings, err := replica.Load(path, cloudConfigPath, &cfg)
	return cfg, warnings, err
}

// Preset takes from the existing CCM's file what our own file has a value for if it says nothing. Without the switch, the nodes of a
// dual-stack cluster that is taken over would lose their IPv6 addresses.
func (c *Config) Preset(old *cloudconfig.CloudConfig) {
	c.IPv6 = old.FeatureGates[gateDualStack]
	// One look at an instance answers both questions of the existing CCM, so that the shorter of its periods counts.
	for _, seconds := range []int{old.NodeMonitorPeriod, old.NodeAddrSyncPeriod} {
		if period := max(minOldPeriod, time.Duration(seconds)*time.Second); seconds > 0 && period < time.Duration(c.SyncInterval) {
			c.SyncInterval = config.Duration(period)
		}
	}
}

// Fill takes from the existing CCM's file what the configuration leaves empty.
func (c *Config) Fill(old *cloudconfig.CloudConfig) {
	c.Config.Fill(old)
	config.Fill(&c.ClusterTag, old.KubernetesClusterTag)
	config.Fill(&c.ClusterTag, defaultClusterTag)
}

// Validate reports all problems at once.
func (c *Config) Validate() error {
	var p config.Problems
	c.Config.Validate(&p)
	p.Positive("syncInterval", c.SyncInterval)
	p.Range("workers", c.Workers, 1, maxWorkers)
	if c.Deletion.Enabled {
		if time.Duration(c.Deletion.ConfirmAfter) < minConfirmAfter {
			p.Addf("deletion.confirmAfter", "%s is shorter than %s", c.Deletion.ConfirmAfter, minConfirmAfter)
		}
		if c.Deletion.Silence < 0 {
			p.Addf("deletion.silence", "%s is below zero", c.Deletion.Silence)
		}
		p.Positive("deletion.window", c.Deletion.Window)
		p.Range("deletion.minimum", c.Deletion.Minimum, 0, 1000) //nolint:mnd // More is no bound at all.
		p.Range("deletion.percent", c.Deletion.Percent, 0, 100)  //nolint:mnd // Percent.
	}
	return p.Err()
}
