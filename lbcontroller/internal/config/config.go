// Package config is the configuration of lbcontroller: one YAML file, completed by the existing CCM's cloud-config file if that
// is given.
package config

import (
	"fmt"
	"time"

	"alicloud-controllers.dev/services/admin"
	"alicloud-controllers.dev/services/config"
	"alicloud-controllers.dev/services/config/cloudconfig"
	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/kube"
	"alicloud-controllers.dev/services/logging"
)

// Backend types.
const (
	BackendNode = "node"
	BackendENI  = "eni"
)

// Config is the file.
type Config struct {
	Kubernetes     kube.Config         `json:"kubernetes"`
	Gateway        gateway.Config      `json:"gateway"`
	Admin          admin.Config        `json:"admin"`
	LeaderElection kube.ElectionConfig `json:"leaderElection"`
	Logging        logging.Config      `json:"logging"`

	// ClusterID marks what is ours in the cloud. There is no default: two clusters with the same id take each other's CLBs.
	ClusterID string `json:"clusterID"`
	// Region is where the cluster is.
	Region string `json:"region"`
	// VPCID and VSwitchIDs place intranet CLBs. VPCID also finds the network interfaces of pods; the gateway's own if empty.
	VPCID      string   `json:"vpcID"`
	VSwitchIDs []string `json:"vswitchIDs"`
	// ResourceGroupID is for CLBs whose Service names none.
	ResourceGroupID string `json:"resourceGroupID"`
	// BackendType is node or eni, for Services that don't say.
	BackendType string `json:"backendType"`
	// DisablePublicLoadBalancer refuses to create public CLBs.
	DisablePublicLoadBalancer bool `json:"disablePublicLoadBalancer"`
	// LoadBalancerTypeAnnotation leaves Services with that annotation to other controllers.
	LoadBalancerTypeAnnotation bool `json:"loadBalancerTypeAnnotation"`
	// Workers is how many Services are worked on at once.
	Workers int `json:"workers"`
	// NodeGather collects bursts of node changes.
	NodeGather NodeGather `json:"nodeGather"`
	// DriftCheckInterval is how often, about, an unchanged CLB is read and compared.
	DriftCheckInterval config.Duration `json:"driftCheckInterval"`
}

// NodeGather tells how long a burst of node changes is collected.
type NodeGather struct {
	// Quiet is how long nothing may have changed.
	Quiet config.Duration `json:"quiet"`
	// Max is when the Services are told at the latest.
	Max config.Duration `json:"max"`
}

// Default returns the configuration of an empty file.
func Default() Config {
	return Config{
		Gateway:            gateway.Config{ServerName: "cloudgateway"},
		Admin:              admin.Config{Listen: "127.0.0.1:7081"},
		LeaderElection:     kube.ElectionConfig{Enabled: true, Namespace: "kube-system", Name: "lbcontroller"},
		BackendType:        BackendNode,
		Workers:            10,
		NodeGather:         NodeGather{Quiet: config.Duration(time.Second), Max: config.Duration(5 * time.Second)},
		DriftCheckInterval: config.Duration(4 * time.Hour),
	}
}

// Load reads the file, and the cloud-config file if cloudPath isn't empty. What the first says wins. The warnings are about
// settings of the second that have no effect.
func Load(path, cloudPath string) (Config, []string, error) {
	cfg := Default()
	var warnings []string
	if cloudPath != "" {
		cloud, unused, err := cloudconfig.Load(cloudPath)
		if err != nil {
			return Config{}, nil, fmt.Errorf("read --cloud-config: %w", err)
		}
		cfg.take(cloud)
		warnings = unused
	}
	if err := config.Load(path, &cfg); err != nil {
		return Config{}, nil, fmt.Errorf("read --config: %w", err)
	}
	if err := cfg.Validate(); err != nil {
		return Config{}, nil, fmt.Errorf("configuration %s: %w", path, err)
	}
	return cfg, warnings, nil
}

// take uses what the existing CCM's file says about CLBs.
func (c *Config) take(cloud *cloudconfig.CloudConfig) {
	c.ClusterID, c.Region, c.VPCID = cloud.ClusterID, cloud.Region, cloud.VpcID
	c.VSwitchIDs, c.ResourceGroupID = cloud.VSwitchIDs, cloud.ResourceGroupID
	c.DisablePublicLoadBalancer = cloud.DisablePublicSLB
	c.LoadBalancerTypeAnnotation = cloud.FeatureGates["LoadBalancerTypeAnnotation"]
	if cloud.ServiceBackendType == BackendENI {
		c.BackendType = BackendENI
	}
	if cloud.ServiceMaxConcurrentReconciles > 0 {
		c.Workers = cloud.ServiceMaxConcurrentReconciles
	}
}

// Validate reports every problem at once.
func (c *Config) Validate() error {
	var p config.Problems
	c.Kubernetes.Validate(&p, "kubernetes")
	c.Gateway.Validate(&p, "gateway")
	c.Admin.Validate(&p, "admin")
	c.LeaderElection.Validate(&p, "leaderElection")
	c.Logging.Validate(&p, "logging")
	p.Required("clusterID", c.ClusterID)
	p.OneOf("backendType", c.BackendType, BackendNode, BackendENI)
	p.Range("workers", c.Workers, 1, 100)
	p.Positive("nodeGather.quiet", c.NodeGather.Quiet)
	p.Positive("nodeGather.max", c.NodeGather.Max)
	p.Positive("driftCheckInterval", c.DriftCheckInterval)
	return p.Err()
}
