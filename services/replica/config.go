package replica

import (
	"cmp"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/services/admin"
	"alicloud-controllers.dev/services/config"
	"alicloud-controllers.dev/services/config/cloudconfig"
	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/kube"
	"alicloud-controllers.dev/services/logging"
	"alicloud-controllers.dev/services/tracing"
)

// Config is the part that the configurations of all controllers have in common; they embed it.
type Config struct {
	Kubernetes     kube.Config         `json:"kubernetes"`
	Gateway        gateway.Config      `json:"gateway"`
	Admin          admin.Config        `json:"admin"`
	LeaderElection kube.ElectionConfig `json:"leaderElection"`
	Logging        logging.Config      `json:"logging"`
	Tracing        tracing.Config      `json:"tracing"`
	// AllowExistingCCM lets the controller work while the Lease of the existing CCM, kube-system/ccm, is renewed. Only where the two share no
	// work, e.g. because that one runs with other controllers only.
	AllowExistingCCM bool `json:"allowExistingCCM"`
	// ClusterID marks what is ours in the cloud. There is no default: two clusters with the same id take each other's CLBs and routes.
	ClusterID string `json:"clusterID"`
	// Region is where the cluster is; the gateway's own if empty.
	Region string `json:"region"`
	// VPCID is the VPC of the cluster; the gateway's own if empty.
	VPCID string `json:"vpcID"`
}

// Settings is the whole configuration of a controller, in which Config is embedded. It is what it is by default at first.
type Settings interface {
	// Preset takes from the existing CCM's file what the configuration may replace by anything, nothing included.
	Preset(old *cloudconfig.CloudConfig)
	// Fill takes from the existing CCM's file what the configuration leaves empty.
	Fill(old *cloudconfig.CloudConfig)
	// Validate returns all that is wrong at once.
	Validate() error
}

// Load reads the file into the settings and, if its path is not empty, the cloud-config, whose values stand in for what the file
// leaves out. It gives warnings about those of the latter without effect.
func Load(path, cloudConfigPath string, settings Settings) (warnings []string, err error) {
	old, warnings, err := cloudconfig.Load(cloudConfigPath)
	if err != nil {
		return nil, err
	}
	if cloudConfigPath != "" { // Without it, nothing is taken over, and its zeros mean nothing.
		settings.Preset(old)
	}
	if err := config.Load(path, settings); err != nil {
		return nil, err
	}
	settings.Fill(old)
	if err := settings.Validate(); err != nil {
		return nil, fmt.Errorf("configuration %s: %w", path, err)
	}
	return warnings, nil
}

// Preset takes nothing: what all controllers have in common is only filled in.
func (c *Config) Preset(*cloudconfig.CloudConfig) {}

// Fill takes from the existing CCM's file what the configuration leaves empty.
func (c *Config) Fill(old *cloudconfig.CloudConfig) {
	config.Fill(&c.ClusterID, old.ClusterID)
	config.Fill(&c.Region, old.Region)
	config.Fill(&c.VPCID, old.VpcID)
}

// namespace is where the process keeps its Lease, and what else has to outlive it.
func (c *Config) namespace() string {
	return cmp.Or(c.LeaderElection.Namespace, metav1.NamespaceSystem)
}

// Validate notes what is wrong.
func (c *Config) Validate(p *config.Problems) {
	c.Kubernetes.Validate(p, "kubernetes")
	c.Gateway.Validate(p, "gateway")
	c.Admin.Validate(p, "admin")
	c.LeaderElection.Validate(p, "leaderElection")
	c.Logging.Validate(p, "logging")
	c.Tracing.Validate(p, "tracing")
	p.Required("clusterID", c.ClusterID)
}
