// Package config is the configuration of lbcontroller: one YAML file, and for a cluster that is taken over the cloud-config file
// of the existing CCM besides.
package config

import (
	"time"

	"alicloud-controllers.dev/services/admin"
	"alicloud-controllers.dev/services/config"
	"alicloud-controllers.dev/services/config/cloudconfig"
	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/kube"
	"alicloud-controllers.dev/services/replica"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

// Backend types.
const (
	BackendNode = "node"
	BackendENI  = "eni"
)

// Config is the file.
type Config struct {
	replica.Config

	// VSwitchIDs place intranet CLBs: each gets one of them, and another one if that is full. An NLB gets one in each of their zones, of which
	// there must be two. If there are none with free addresses, others of the VPC are found: those with the tag kubernetes.load.balancers, or
	// else those of the nodes.
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
	// Policy says which changes are made in the cloud, for Services that don't say (annotation sync-policy): sync, all; upsert-only, all but
	// those that delete CLBs, listeners or vServer groups; report, none, only what would be done is reported.
	Policy string `json:"policy"`
	// DriftCheckInterval is how often, about, an unchanged CLB is read and compared.
	DriftCheckInterval config.Duration `json:"driftCheckInterval"`
	// Drift says what happens when a user or another tool changes a CLB in the cloud.
	Drift Drift `json:"drift"`
	// Orphans is about CLBs of the cluster whose Services are gone.
	Orphans Orphans `json:"orphans"`
	// MaxNodesPerServerGroup is how many nodes are backends of a Service with externalTrafficPolicy Cluster; 0 for all.
	MaxNodesPerServerGroup int `json:"maxNodesPerServerGroup"`
	// ExcludeControlPlaneNodes keeps traffic off nodes with the label node-role.kubernetes.io/control-plane. Those with the old label
	// node-role.kubernetes.io/master, or with node.kubernetes.io/exclude-from-external-load-balancers, never get any.
	ExcludeControlPlaneNodes bool `json:"excludeControlPlaneNodes"`
	// DrainNodes takes new connections off the servers of a node whose conditions say that it is being drained or maintained: DrainInProgress,
	// MaintenanceInProgress, or MaintenancePlanned of nodecontroller within moments of an interruption (its maintenance.enabled). The
	// servers stay with weight 0 until the node or the pods are gone, unless no others would be left.
	DrainNodes bool `json:"drainNodes"`
	// DrainTerminating keeps pods that terminate as backends with weight 0 until they are gone, for Services that don't say.
	DrainTerminating bool `json:"drainTerminating"`
	// BackendIPv6 lets Services have IPv6 addresses of pods as backends (annotation backend-ip-version).
	BackendIPv6 bool `json:"backendIPv6"`
	// ReadinessGate is about pods that wait for the load balancer.
	ReadinessGate ReadinessGate `json:"readinessGate"`
	// ServiceFields lets fields of the spec of a Service count where no annotation says the same: sessionAffinity, loadBalancerIP, ipFamilies,
	// ipFamilyPolicy and loadBalancerSourceRanges; and it publishes ipMode Proxy where a CLB ends or marks connections. A
	// cluster that is taken over with the cloud-config file of the existing CCM has it off, since that CCM ignores them.
	ServiceFields bool `json:"serviceFields"`
	// NodeHealthChecks lets load balancers ask kube-proxy on the nodes whether it works and its node stays, for Services that don't say
	// (annotation node-health-check). The security groups of the nodes must admit the checks, see docs/services.md.
	NodeHealthChecks bool `json:"nodeHealthChecks"`
	// Quotas are the cloud's limits, of which metrics and plan say how much is needed. Set those that the cloud has raised.
	Quotas Quotas `json:"quotas"`
	// TLSSecretNamespaces are the namespaces whose Secrets with certificates may be named: by Services there (annotation tls-secret),
	// and by Gateways. The controller must be allowed to get, list and watch the Secrets there, as the chart lets it.
	TLSSecretNamespaces []string `json:"tlsSecretNamespaces"`
	// TLSSecretGrace is how long a certificate that was uploaded for a Secret stays when no Service needs it any more, at
	// least: a Secret may get back what it had. A new leader counts anew.
	TLSSecretGrace config.Duration `json:"tlsSecretGrace"`
	// CLB says which Services get Classic Load Balancers.
	CLB CLB `json:"clb"`
	// NLB is about Network Load Balancers.
	NLB NLB `json:"nlb"`
	// GatewayAPI is about Gateways.
	GatewayAPI GatewayAPI `json:"gatewayAPI"`
	// ServerGroupBindings is about server groups of users that custom resources fill.
	ServerGroupBindings ServerGroupBindings `json:"serverGroupBindings"`
	// EIPs is about EIPs that are bound to CLBs (annotations eip-id and eip-allocate).
	EIPs EIPs `json:"eips"`
	// SourceRanges is about the field loadBalancerSourceRanges.
	SourceRanges SourceRanges `json:"sourceRanges"`
	// SecurityGroups is about those of nodes and pods.
	SecurityGroups SecurityGroups `json:"securityGroups"`
}

// SecurityGroups says what is done about security groups of nodes and pods.
type SecurityGroups struct {
	// Check finds out once an hour whether they keep the health checks of load balancers out. The event HealthChecksBlocked of the Service
	// names the missing rule. The gateway's identity needs the RAM policy health-check-rules.
	Check bool `json:"check"`
	// Allow adds the missing rule for Services with the annotation allow-health-checks, to a group that bears the tag ack.aliyun.com of the
	// cluster, and removes it within an hour when no Service needs it any more. It needs check and the RAM policy health-check-rule-changes.
	// Switch it off an hour after the last Service has lost the annotation: what was added stays otherwise.
	Allow bool `json:"allow"`
}

// EIPs says whether Services may ask for EIPs.
type EIPs struct {
	// Enabled binds and allocates them. Off, a Service that asks for one is refused it, and the chart gives no right to change EIPs: switch it
	// off when no Service has one any more.
	Enabled bool `json:"enabled"`
}

// SourceRanges says whether Services may have loadBalancerSourceRanges.
type SourceRanges struct {
	// Enabled makes an access control list or a security group of the networks. Off, a Service with the field is refused, and the chart gives
	// no right to change either: switch it off when no Service has the field any more.
	Enabled bool `json:"enabled"`
}

// CLB says which Services get Classic Load Balancers. Those that have one keep it until it is confirmed that it may go.
type CLB struct {
	// Class is the value of spec.loadBalancerClass that asks for one; empty for none.
	Class string `json:"class"`
	// WithoutClass gives one to Services without a class. Off, they are left to another controller.
	WithoutClass bool `json:"withoutClass"`
}

// NLB says what is done for Services of class alibabacloud.com/nlb.
type NLB struct {
	// Enabled serves them. Off, they are left to another controller.
	Enabled bool `json:"enabled"`
}

// GatewayAPI says whether Gateways, TCPRoutes, UDPRoutes and TLSRoutes of the Kubernetes Gateway API are served.
type GatewayAPI struct {
	// Enabled serves Gateways whose GatewayClass has the controller alibabacloud.com/nlb or alibabacloud.com/clb. The custom resources of the
	// Gateway API, version 1.6 or later, are looked for once a minute; nothing happens before they are there. See docs/gateway-api-routes.md.
	Enabled bool `json:"enabled"`
}

// ServerGroupBindings says whether ServerGroupBindings are served.
type ServerGroupBindings struct {
	// Enabled fills server groups as ServerGroupBindings ask for. Their custom resource, which the chart has in crds, is looked for once a
	// minute; nothing happens before it is there. See docs/server-group-bindings.md.
	Enabled bool `json:"enabled"`
}

// Quotas are the cloud's limits by kind of load balancer.
type Quotas struct {
	CLB QuotaSet `json:"clb"`
	NLB QuotaSet `json:"nlb"`
}

// QuotaSet are limits; 0 for one that nothing is said about.
type QuotaSet struct {
	// LoadBalancers is how many the account may have.
	LoadBalancers int `json:"loadBalancers"`
	// Listeners is how many a load balancer may have.
	Listeners int `json:"listeners"`
	// Servers is how many a server group may have.
	Servers int `json:"servers"`
	// Attachments is in how many server groups a server may be.
	Attachments int `json:"attachments"`
	// ACLEntries is how many entries an access list may have.
	ACLEntries int `json:"aclEntries"`
}

// Policies.
const (
	PolicySync   = "sync"
	PolicyUpsert = "upsert-only"
	PolicyReport = "report"
)

// Policies about drift.
const (
	DriftEnforce = "enforce"
	DriftReport  = "report"
)

// Drift says what a check for drift does about a difference: enforce brings back what the Service asks for, report only
// reports it, by event and metric. Servers always follow nodes and pods. A Service that is changed is brought in step
// in any case, except for StoppedListeners.
type Drift struct {
	// Instance is about the attributes of the CLB that annotations name: enforce or report.
	Instance string `json:"instance"`
	// Listeners is about listeners and their certificates: enforce or report.
	Listeners string `json:"listeners"`
	// StoppedListeners is about listeners that a user or another tool stopped, also before the takeover: enforce starts them, report leaves
	// them stopped.
	StoppedListeners string `json:"stoppedListeners"`
}

// Orphans says what happens to CLBs with the tags of this cluster that belong to no Service. They are always reported, by event and metric.
type Orphans struct {
	// Interval is how often they are looked for.
	Interval config.Duration `json:"interval"`
	// Delete deletes those on which there is nothing but what this cluster has made, with at least one server, and none that isn't a node of
	// the cluster. It has no effect unless policy is sync. Never set it where two clusters of the account have the same clusterID: each takes
	// the CLBs of the other for its own.
	Delete bool `json:"delete"`
	// Grace is how long a CLB must have been without a Service before it is deleted.
	Grace config.Duration `json:"grace"`
	// PerDay is how many are deleted in a day at most, and never more than half of the CLBs of the cluster.
	PerDay int `json:"perDay"`
}

// ReadinessGate says how long pods wait that declare a readiness gate for a Service.
type ReadinessGate struct {
	// Patience is how long a registered pod waits for its first health checks, at most. 0 releases it as soon as it is registered.
	Patience config.Duration `json:"patience"`
}

// NodeGather says how long a burst of node changes is collected.
type NodeGather struct {
	// Quiet is how long nothing may have changed. What changes within this time costs one round of calls.
	Quiet config.Duration `json:"quiet"`
	// Max is how long a burst is collected at most.
	Max config.Duration `json:"max"`
}

// Default returns the configuration of an empty file.
func Default() Config {
	return Config{
		Config: replica.Config{
			Gateway:        gateway.Config{ServerName: "cloudgateway"},
			Admin:          admin.Config{Listen: "127.0.0.1:7081"},
			LeaderElection: kube.ElectionConfig{Enabled: true, Namespace: "kube-system", Name: "lbcontroller"},
		},
		BackendType:        BackendNode,
		Workers:            10,
		NodeGather:         NodeGather{Quiet: config.Duration(2 * time.Second), Max: config.Duration(5 * time.Second)},
		DriftCheckInterval: config.Duration(4 * time.Hour),
		BackendIPv6:        true,
		Policy:             PolicySync,
		Drift:              Drift{Instance: DriftEnforce, Listeners: DriftEnforce, StoppedListeners: DriftReport},
		Orphans:            Orphans{Interval: config.Duration(time.Hour), Grace: config.Duration(168 * time.Hour), PerDay: 5},
		ReadinessGate:      ReadinessGate{Patience: config.Duration(time.Minute)},
		ServiceFields:      true,
		TLSSecretGrace:     config.Duration(2 * time.Hour),
		Quotas: Quotas{ // Those of accounts that have not asked for more, by the pages about the quotas of CLB and NLB.
			CLB: QuotaSet{LoadBalancers: 60, Listeners: 50, Servers: 200, Attachments: 50, ACLEntries: 300},
			NLB: QuotaSet{LoadBalancers: 60, Listeners: 50, Servers: 400, Attachments: 200},
		},
		CLB: CLB{Class: "alibabacloud.com/clb", WithoutClass: true}, // annotation.CLBClass, as the reference page shows it
		NLB: NLB{Enabled: true}, EIPs: EIPs{Enabled: true}, SourceRanges: SourceRanges{Enabled: true},
		SecurityGroups: SecurityGroups{Check: true},
	}
}

// Load reads the file and, if its path is not empty, the cloud-config, whose values stand in for keys that the file leaves out.
// It gives warnings about settings of the latter without effect.
func Load(path, cloudConfigPath string) (Config, []string, error) {
	cfg := Default()
	warnings, err := replica.Load(path, cloudConfigPath, &cfg)
	return cfg, warnings, err
}

// Preset takes from the existing CCM's file the switches and numbers, whose zeros mean something in our own file.
func (c *Config) Preset(old *cloudconfig.CloudConfig) {
	c.DisablePublicLoadBalancer = old.DisablePublicSLB
	c.LoadBalancerTypeAnnotation = old.FeatureGates["LoadBalancerTypeAnnotation"]
	c.ServiceFields = false // It ignores them.
	c.BackendIPv6 = old.FeatureGates["IPv6DualStack"]
	if old.ServiceBackendType == BackendENI {
		c.BackendType = BackendENI
	}
	if old.ServiceMaxConcurrentReconciles > 0 {
		c.Workers = old.ServiceMaxConcurrentReconciles
	}
}

// Fill takes from the existing CCM's file what the configuration leaves empty.
func (c *Config) Fill(old *cloudconfig.CloudConfig) {
	c.Config.Fill(old)
	config.Fill(&c.ResourceGroupID, old.ResourceGroupID)
	if len(c.VSwitchIDs) == 0 {
		c.VSwitchIDs = old.VSwitchIDs
	}
}

func (q QuotaSet) validate(key string, p *config.Problems) {
	if min(q.LoadBalancers, q.Listeners, q.Servers, q.Attachments, q.ACLEntries) < 0 {
		p.Addf(key, "must not be negative")
	}
}

// Validate reports all problems at once.
func (c *Config) Validate() error {
	var p config.Problems
	c.Config.Validate(&p)
	p.OneOf("backendType", c.BackendType, BackendNode, BackendENI)
	p.OneOf("policy", c.Policy, PolicySync, PolicyUpsert, PolicyReport)
	p.Range("workers", c.Workers, 1, 100)
	p.Positive("nodeGather.quiet", c.NodeGather.Quiet)
	p.Positive("nodeGather.max", c.NodeGather.Max)
	p.Positive("driftCheckInterval", c.DriftCheckInterval)
	p.OneOf("drift.instance", c.Drift.Instance, DriftEnforce, DriftReport)
	p.OneOf("drift.listeners", c.Drift.Listeners, DriftEnforce, DriftReport)
	p.OneOf("drift.stoppedListeners", c.Drift.StoppedListeners, DriftEnforce, DriftReport)
	p.Range("maxNodesPerServerGroup", c.MaxNodesPerServerGroup, 0, 10000)
	p.Positive("orphans.interval", c.Orphans.Interval)
	p.Positive("orphans.grace", c.Orphans.Grace)
	p.Range("orphans.perDay", c.Orphans.PerDay, 1, 1000)
	if c.TLSSecretGrace < config.Duration(time.Second) { // Certificates are looked for twice as often.
		p.Addf("tlsSecretGrace", "%s is shorter than 1s", c.TLSSecretGrace)
	}
	c.Quotas.CLB.validate("quotas.clb", &p)
	c.Quotas.NLB.validate("quotas.nlb", &p)
	if c.CLB.Class == annotation.NLBClass {
		p.Addf("clb.class", "must not be %s, which asks for a Network Load Balancer", annotation.NLBClass)
	}
	if c.SecurityGroups.Allow && !c.SecurityGroups.Check {
		p.Addf("securityGroups.allow", "needs securityGroups.check, which finds the rules that are missing")
	}
	if c.ReadinessGate.Patience < 0 {
		p.Addf("readinessGate.patience", "must not be negative")
	}
	return p.Err()
}
