// Package config is the configuration of the nodecontroller: one YAML file, and for a cluster that is taken over the
// cloud-config file of the existing CCM besides.
package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"alicloud-controllers.dev/services/admin"
	"alicloud-controllers.dev/services/budget"
	"alicloud-controllers.dev/services/config"
	"alicloud-controllers.dev/services/config/cloudconfig"
	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/kube"
	"alicloud-controllers.dev/services/nodes"
	"alicloud-controllers.dev/services/replica"

	"alicloud-controllers.dev/nodecontroller/internal/lifecycle"
	"alicloud-controllers.dev/nodecontroller/internal/nodestate"
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
	defaultAsking       = time.Minute
	minAsking           = 30 * time.Second
	defaultLead         = 5 * time.Minute
	// minConfirmAfter is what the second look at a vanished instance is worth at least.
	minConfirmAfter = time.Minute
	// minOldPeriod is the shortest period that is taken from the existing CCM's file: one of seconds would be the cloud's main load.
	minOldPeriod = time.Minute
	// gateDualStack is the existing CCM's feature gate for the IPv6 addresses of nodes.
	gateDualStack = "IPv6DualStack"
)

// Config is the configuration file.
type Config struct {
	replica.Config

	// ClusterTag is the key of the tag with the cluster's id that instances carry. A node without providerID is looked for
	// in the VPC among the instances with it, and an instance with another cluster's id becomes no node.
	// Default: ack.aliyun.com.
	ClusterTag string `json:"clusterTag"`
	// NodeVPCIDs are further VPCs whose instances may be nodes. The instance of a node is in vpcID otherwise: a kubelet
	// alone says which instance it is, and must not have that of others changed. No route leads to another VPC.
	NodeVPCIDs []string `json:"nodeVPCIDs"`
	// ConfigureCloudRoutes keeps pods off new nodes until the routecontroller has made their routes.
	ConfigureCloudRoutes bool `json:"configureCloudRoutes"`
	// DisableSourceDestCheck lets instances forward the packets of pods.
	DisableSourceDestCheck bool `json:"disableSourceDestCheck"`
	// IPv6 publishes the IPv6 addresses of instances.
	IPv6 bool `json:"ipv6"`
	// ShutdownTaint puts the taint node.cloudprovider.kubernetes.io/shutdown on nodes whose instances are stopped, in economical mode and
	// hibernated ones, too; it goes when they are started.
	ShutdownTaint bool `json:"shutdownTaint"`
	// SyncInterval is how often labels, addresses and existence are looked at.
	SyncInterval config.Duration `json:"syncInterval"`
	// Workers is how many nodes are initialised at once.
	Workers int `json:"workers"`
	// Deletion bounds the deletion of nodes whose instances are gone.
	Deletion Deletion `json:"deletion"`
	// Maintenance tells nodes what the cloud is about to do to their instances.
	Maintenance Maintenance `json:"maintenance"`
	// TagRules say which tags of instances become labels, annotations or taints of their nodes.
	TagRules []TagRule `json:"tagRules"`
	// ApproveServingCertificates approves the requests of kubelets for serving certificates (serverTLSBootstrap) whose names and addresses the
	// cloud confirms. Others are left to people.
	ApproveServingCertificates bool `json:"approveServingCertificates"`
}

// TagRule makes a label, an annotation or a taint of nodes of a tag of their instances; its value is that of the tag.
// It goes with the tag. ACK puts the tags of a node pool on its instances.
type TagRule struct {
	// Tag is the key of the tag.
	Tag string `json:"tag"`
	// Label is the key of the label that the tag becomes. Of label, annotation and taint exactly one is given.
	Label string `json:"label"`
	// Annotation is the key of the annotation that the tag becomes.
	Annotation string `json:"annotation"`
	// Taint is the key of the taint that the tag becomes.
	Taint string `json:"taint"`
	// Effect is that of the taint: NoSchedule, PreferNoSchedule or NoExecute.
	Effect string `json:"effect"`
}

// Maintenance is about planned maintenance, failures and spot interruptions of instances, which the cloud announces.
type Maintenance struct {
	// Enabled makes what is announced the condition MaintenancePlanned and an event of the node. The gateway's identity needs the RAM
	// policy node-maintenance. Load balancers act on it where lbcontroller has drainNodes.
	Enabled bool `json:"enabled"`
	// Interval is how often the cloud is asked, in one call for all nodes and one for 100 spot instances; 30s at least.
	Interval config.Duration `json:"interval"`
	// Lead is how long before an interruption the condition says that it is imminent.
	Lead config.Duration `json:"lead"`
}

// Deletion bounds the deletion of nodes. Those that the cluster autoscaler has tainted with ToBeDeletedByClusterAutoscaler don't count.
type Deletion struct {
	// Enabled lets nodes be deleted whose instances are gone.
	Enabled bool `json:"enabled"`
	// ConfirmAfter is the least time between two answers without the instance.
	ConfirmAfter config.Duration `json:"confirmAfter"`
	// Silence is how long the kubelet has to have been silent: for how long the condition Ready is Unknown.
	Silence config.Duration `json:"silence"`
	// Config bounds how many may go unannounced.
	budget.Config
}

// Policy is what the controller needs of it, nil if deletion is off.
func (d Deletion) Policy() *lifecycle.Policy {
	if !d.Enabled {
		return nil
	}
	return &lifecycle.Policy{
		ConfirmAfter: time.Duration(d.ConfirmAfter), Silence: time.Duration(d.Silence),
		Policy: d.Config.Policy(),
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
		ShutdownTaint:          true,
		SyncInterval:           config.Duration(defaultSyncInterval),
		Workers:                defaultWorkers,
		Maintenance:            Maintenance{Interval: config.Duration(defaultAsking), Lead: config.Duration(defaultLead)},
		Deletion: Deletion{
			Enabled: true, ConfirmAfter: config.Duration(defaultConfirmAfter), Silence: config.Duration(defaultSilence),
			Config: budget.Config{Window: config.Duration(defaultWindow), Minimum: defaultMinimum, Percent: defaultPercent},
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
	config.Fill(&c.ClusterTag, nodes.DefaultClusterTag)
}

// Validate reports all problems at once.
func (c *Config) Validate() error {
	var p config.Problems
	c.Config.Validate(&p)
	p.Positive("syncInterval", c.SyncInterval)
	for i, id := range c.NodeVPCIDs {
		if !strings.HasPrefix(id, "vpc-") {
			p.Addf("nodeVPCIDs", `item %d: %q is not the id of a VPC, "vpc-…"`, i, id)
		}
	}
	p.Range("workers", c.Workers, 1, maxWorkers)
	if c.Deletion.Enabled {
		if time.Duration(c.Deletion.ConfirmAfter) < minConfirmAfter {
			p.Addf("deletion.confirmAfter", "%s is shorter than %s", c.Deletion.ConfirmAfter, minConfirmAfter)
		}
		if c.Deletion.Silence < 0 {
			p.Addf("deletion.silence", "%s is below zero", c.Deletion.Silence)
		}
		c.Deletion.Validate(&p, "deletion", 0)
	}
	if c.Maintenance.Enabled {
		if time.Duration(c.Maintenance.Interval) < minAsking {
			p.Addf("maintenance.interval", "%s is shorter than %s", c.Maintenance.Interval, minAsking)
		}
		if c.Maintenance.Lead < 0 {
			p.Addf("maintenance.lead", "%s is below zero", c.Maintenance.Lead)
		}
	}
	c.validateRules(&p)
	return p.Err()
}

// validateRules notes rules that name no target or several, one that the API server would refuse, or one that is taken.
func (c *Config) validateRules(p *config.Problems) {
	taken := map[string]bool{}
	for i, rule := range c.TagRules {
		key := fmt.Sprintf("tagRules[%d]", i)
		p.Required(key+".tag", rule.Tag)
		var targets []string
		for kind, target := range map[string]string{"label": rule.Label, "annotation": rule.Annotation, "taint": rule.Taint} {
			if target == "" {
				continue
			}
			targets = append(targets, kind+" "+target)
			for _, problem := range validation.IsQualifiedName(target) {
				p.Addf(key+"."+kind, "%q: %s", target, problem)
			}
		}
		switch {
		case len(targets) != 1:
			p.Addf(key, "has %d of label, annotation and taint, exactly one is needed", len(targets))
		case taken[targets[0]]:
			p.Addf(key, "%s is that of an earlier rule", targets[0])
		case slices.Contains(nodestate.OwnLabels(), rule.Label) || slices.Contains(kubeletLabels(), rule.Label) ||
			reserved(rule.Label) || rule.Label == nodes.LabelType || reserved(rule.Annotation) || reserved(rule.Taint):
			p.Addf(key, "%s is the controller's own or that of Kubernetes", targets[0])
		default:
			taken[targets[0]] = true
		}
		if rule.Taint != "" {
			p.OneOf(key+".effect", rule.Effect, string(corev1.TaintEffectNoSchedule), string(corev1.TaintEffectPreferNoSchedule),
				string(corev1.TaintEffectNoExecute))
		} else if rule.Effect != "" {
			p.Addf(key+".effect", "is for a taint only")
		}
	}
}

// kubeletLabels are those that a kubelet sets to what its machine is, again at each of its starts. The scheduler and
// local volumes go by them.
func kubeletLabels() []string {
	return []string{corev1.LabelHostname, corev1.LabelOSStable, corev1.LabelArchStable}
}

// reserved reports whether a key of a label, annotation or taint means something to Kubernetes or this controller.
func reserved(key string) bool {
	domain, _, _ := strings.Cut(key, "/")
	return domain == "kubernetes.io" || strings.HasSuffix(domain, ".kubernetes.io") || domain == "k8s.io" ||
		strings.HasSuffix(domain, ".k8s.io") ||
		strings.HasSuffix(domain, "alibabacloud.com") || key == nodes.TaintToBeDeleted
}

// Rules are what the controller needs of the tag rules.
func (c *Config) Rules() []nodestate.Rule {
	rules := make([]nodestate.Rule, len(c.TagRules))
	for i, r := range c.TagRules {
		rules[i] = nodestate.Rule{Tag: r.Tag, Label: r.Label, Annotation: r.Annotation, Taint: r.Taint, Effect: corev1.TaintEffect(r.Effect)}
	}
	return rules
}
