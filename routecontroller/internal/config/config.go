// Package config is the configuration of the routecontroller: one YAML file, and for a cluster that is taken over the
// cloud-config file of the existing CCM besides.
package config

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"alicloud-controllers.dev/services/admin"
	"alicloud-controllers.dev/services/budget"
	"alicloud-controllers.dev/services/config"
	"alicloud-controllers.dev/services/config/cloudconfig"
	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/kube"
	"alicloud-controllers.dev/services/nodes"
	"alicloud-controllers.dev/services/replica"

	"alicloud-controllers.dev/routecontroller/internal/orphan"
)

const (
	defaultSyncInterval = 5 * time.Minute
	defaultOrphanGrace  = time.Hour
	// goneGrace is how long a route stays whose Node and instance are both gone.
	goneGrace          = 2 * time.Minute
	defaultWindow      = 10 * time.Minute
	defaultMinimum     = 3
	defaultPercent     = 5
	defaultGatherQuiet = time.Second
	defaultGatherMax   = 5 * time.Second
	// defaultRouteQuota is the cloud's default number of custom entries per table (source: VPC quota vpc_quota_route_entrys_num).
	defaultRouteQuota = 200
	// minSyncInterval keeps the drift check from being the cloud's main load, as in the existing CCM.
	minSyncInterval = time.Minute
	// maxClusterID leaves room for a node's name in the mark of an entry.
	maxClusterID = 64
)

// Config is the configuration file.
type Config struct {
	replica.Config

	// ClusterTag is the key of the tag with the cluster's id that instances carry, as in nodecontroller. A route without a
	// description in the way of a node is the cluster's if its instance has it. Default: ack.aliyun.com.
	ClusterTag string `json:"clusterTag"`
	// RouteTableIDs are the tables that get the routes; if empty, the VPC's only one, or else its system table.
	RouteTableIDs []string `json:"routeTableIDs"`
	// ClusterCIDRs are the ranges of pods; routes outside of them are never created or deleted.
	ClusterCIDRs []string `json:"clusterCIDRs"`
	// IPv6 makes routes for the IPv6 ranges of nodes, too; needs an IPv6 range in clusterCIDRs. A node of two families then has to wait
	// for both of its routes.
	IPv6 bool `json:"ipv6"`
	// SyncInterval is how often a table is compared with the nodes though nothing seems to have changed.
	SyncInterval config.Duration `json:"syncInterval"`
	// OrphanGrace is how long a route without a Node stays if neither its instance is gone nor the deletion of the Node was seen.
	OrphanGrace config.Duration `json:"orphanGrace"`
	// Deletion bounds the deletion of routes without a Node for which there is no second fact: neither was the deletion of
	// the Node seen, nor is the instance gone. All others go at once. The ConfigMap routecontroller-deletions keeps the
	// count for the next leader.
	Deletion budget.Config `json:"deletion"`
	// Gather says how long node changes are gathered.
	Gather Gather `json:"gather"`
	// RouteQuota is the number of custom entries a table may hold; 80 % of it is warned about.
	RouteQuota int `json:"routeQuota"`
}

// Gather says how long node changes are gathered: until none has come for Quiet, Max at most.
type Gather struct {
	// Quiet is how long no node may have changed before the tables are compared. What changes within this time costs one call.
	Quiet config.Duration `json:"quiet"`
	// Max is when the tables are compared at the latest.
	Max config.Duration `json:"max"`
}

// Orphans is what the controller needs of it.
func (c *Config) Orphans() orphan.Policy {
	return orphan.Policy{
		GoneGrace: min(goneGrace, time.Duration(c.OrphanGrace)), Grace: time.Duration(c.OrphanGrace),
		Policy: c.Deletion.Policy(),
	}
}

// Default gives the values of keys that a file leaves out.
func Default() Config {
	return Config{
		Config: replica.Config{
			Gateway:        gateway.Config{ServerName: "cloudgateway"},
			Admin:          admin.Config{Listen: "127.0.0.1:7083"},
			LeaderElection: kube.ElectionConfig{Enabled: true, Namespace: "kube-system", Name: "routecontroller"},
		},
		SyncInterval: config.Duration(defaultSyncInterval),
		OrphanGrace:  config.Duration(defaultOrphanGrace),
		Deletion:     budget.Config{Window: config.Duration(defaultWindow), Minimum: defaultMinimum, Percent: defaultPercent},
		Gather:       Gather{Quiet: config.Duration(defaultGatherQuiet), Max: config.Duration(defaultGatherMax)},
		RouteQuota:   defaultRouteQuota,
	}
}

// Load reads the file and, if its path is not empty, the cloud-config, whose values stand in for keys that the file leaves
// empty. It gives warnings about settings of the latter without effect.
func Load(path, cloudConfigPath string) (Config, []string, error) {
	cfg := Default()
	warnings, err := replica.Load(path, cloudConfigPath, &cfg)
	if prefixes, _ := cfg.Prefixes(); err == nil && !cfg.IPv6 {
		for _, cidr := range prefixes {
			if cidr.Addr().Is6() {
				warnings = append(warnings, fmt.Sprintf("clusterCIDRs: %s gets no routes without ipv6: true", cidr))
			}
		}
	}
	return cfg, warnings, err
}

// Fill takes from the existing CCM's file what the configuration leaves empty.
func (c *Config) Fill(old *cloudconfig.CloudConfig) {
	c.Config.Fill(old)
	config.Fill(&c.ClusterTag, old.KubernetesClusterTag)
	config.Fill(&c.ClusterTag, nodes.DefaultClusterTag)
	if len(c.RouteTableIDs) == 0 {
		c.RouteTableIDs = old.RouteTableIDs
	}
}

// Validate reports all problems at once.
func (c *Config) Validate() error {
	var p config.Problems
	c.Config.Validate(&p)
	if len(c.ClusterID) > maxClusterID || strings.Contains(c.ClusterID, "/") {
		p.Addf("clusterID", "%q is longer than %d characters or has a slash", c.ClusterID, maxClusterID)
	}
	for i, id := range c.RouteTableIDs {
		if !strings.HasPrefix(id, "vtb-") {
			p.Addf("routeTableIDs", `item %d: %q is not a route table id, "vtb-…"`, i, id)
		}
	}
	if len(c.ClusterCIDRs) == 0 {
		p.Addf("clusterCIDRs", "at least one range of pods is required, e.g. 10.0.0.0/8")
	}
	prefixes, err := c.Prefixes()
	has := func(ipv6 bool) bool {
		return slices.ContainsFunc(prefixes, func(cidr netip.Prefix) bool { return cidr.Addr().Is6() == ipv6 })
	}
	switch {
	case err != nil:
		p.Addf("clusterCIDRs", "%v", err)
	case c.IPv6 && !has(true):
		p.Addf("ipv6", "clusterCIDRs has no IPv6 range, e.g. fd00:10::/56")
	case !c.IPv6 && has(true) && !has(false):
		p.Addf("clusterCIDRs", "there are IPv6 ranges only, which get routes with ipv6: true")
	}
	if time.Duration(c.SyncInterval) < minSyncInterval {
		p.Addf("syncInterval", "%s is shorter than %s", c.SyncInterval, minSyncInterval)
	}
	if c.OrphanGrace < 0 {
		p.Addf("orphanGrace", "%s is below zero", c.OrphanGrace)
	}
	c.Deletion.Validate(&p, "deletion", 1)
	p.Positive("gather.quiet", c.Gather.Quiet)
	if c.Gather.Max < c.Gather.Quiet {
		p.Addf("gather.max", "%s is shorter than gather.quiet, %s", c.Gather.Max, c.Gather.Quiet)
	}
	if c.RouteQuota < 0 {
		p.Addf("routeQuota", "%d is below zero", c.RouteQuota)
	}
	return p.Err()
}

// Prefixes are the parsed ClusterCIDRs.
func (c *Config) Prefixes() ([]netip.Prefix, error) {
	prefixes := make([]netip.Prefix, 0, len(c.ClusterCIDRs))
	for _, text := range c.ClusterCIDRs {
		prefix, err := netip.ParsePrefix(strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("%q is not a CIDR such as 10.0.0.0/8", text)
		}
		if prefix.Bits() == 0 {
			return nil, fmt.Errorf("%q is everything; name the range of the pods", text)
		}
		prefixes = append(prefixes, prefix.Masked())
	}
	return prefixes, nil
}
