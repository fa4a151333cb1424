// Package config describes the gateway's configuration: the file, its defaults, what the environment and the existing CCM's
// cloud-config file add, and what makes it invalid.
package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"alicloud-controllers.dev/services/admin"
	"alicloud-controllers.dev/services/config"
	"alicloud-controllers.dev/services/config/cloudconfig"
	"alicloud-controllers.dev/services/kube"
	"alicloud-controllers.dev/services/logging"
	"alicloud-controllers.dev/services/tracing"
)

// Config is the file.
type Config struct {
	// Region of all calls, e.g. "cn-hangzhou"; if empty, the metadata service is asked for it.
	Region string `json:"region"`
	// VpcID is returned to callers that ask for the gateway's capabilities.
	VpcID string `json:"vpcID"`
	// ClusterID is the id of the cluster, for scopeControllers.
	ClusterID string `json:"clusterID"`
	// Listen is the address of the gRPC server.
	Listen string `json:"listen"`
	// ActiveListen is another address of the gRPC server, where it listens while this replica is the active one: a client
	// that tries the addresses of all replicas finds the active one without health checks. If empty, there is none.
	ActiveListen string       `json:"activeListen"`
	Admin        admin.Config `json:"admin"`
	TLS          TLS          `json:"tls"`
	// Kubernetes is where callers are checked.
	Kubernetes     kube.Config    `json:"kubernetes"`
	Authentication Authentication `json:"authentication"`
	Credentials    Credentials    `json:"credentials"`
	// MetadataEndpoint is the instance metadata service.
	MetadataEndpoint string    `json:"metadataEndpoint"`
	Endpoints        Endpoints `json:"endpoints"`
	// Scheme of the calls, HTTPS or HTTP.
	Scheme string `json:"scheme"`
	// Network chooses the default endpoints: "vpc" or "public".
	Network        string              `json:"network"`
	API            API                 `json:"api"`
	Budget         Budget              `json:"budget"`
	Limits         Limits              `json:"limits"`
	Coalesce       Coalesce            `json:"coalesce"`
	LeaderElection kube.ElectionConfig `json:"leaderElection"`
	Front          Front               `json:"front"`
	// Reflection describes the API to callers that may get capabilities, for tools like grpcurl.
	Reflection bool `json:"reflection"`
	// ScopeControllers keeps lbcontroller to what is tagged for the cluster clusterID, but for load balancers, server
	// groups and EIPs of nobody's, which it may change and bind; routecontroller to the routes of vpcID; and
	// nodecontroller to the network interfaces there.
	ScopeControllers bool `json:"scopeControllers"`
	// Scopes keep callers to a part of the account in what they change. Every scope that names a caller counts. A caller
	// in none may change what its ClusterRoles allow.
	Scopes  []Scope        `json:"scopes"`
	Logging logging.Config `json:"logging"`
	Tracing tracing.Config `json:"tracing"`
}

// API says what is offered.
type API struct {
	// Enable lists the services of which the methods are offered that no controller uses, e.g. "slb.v1.CertificateService", for other
	// programs. Attach the RAM policies of the same names.
	Enable []string `json:"enable"`
}

// Front is for tools that know nothing but the cloud's OpenAPI.
type Front struct {
	// Listen is the address where the front takes signed calls of the OpenAPI, over TLS with the gateway's certificate; if
	// empty, there is no front.
	Listen string `json:"listen"`
	// KeysFile has the key pairs of the tools. It is read again when it changes.
	KeysFile string `json:"keysFile"`
	// Wait is how long a call may be held up, by rate limits and by the cloud, 1s to 5m. It should be a little less than
	// the time-out of the tools.
	Wait config.Duration `json:"wait"`
	// Audience that the tokens of ServiceAccounts must be made for, which tools turn into sessions by AssumeRoleWithOIDC. Default:
	// that of the tokens that RRSA of ACK puts into pods. It can't be that of authentication.audience.
	Audience string `json:"audience"`
	// AuditReads leaves a line in the audit log for every call of a tool. Without it, changes, refusals, and reads
	// that give keys or control leave one.
	AuditReads bool `json:"auditReads"`
}

// TLS names the files of the server's identity. They are read again when they change.
type TLS struct {
	// CertFile is the certificate of the server.
	CertFile string `json:"certFile"`
	// KeyFile is the private key of the certificate.
	KeyFile string `json:"keyFile"`
	// ClientCAFile lets callers show client certificates that it vouches for instead of tokens.
	ClientCAFile string `json:"clientCAFile"`
}

// Authentication says which tokens are taken.
type Authentication struct {
	// Audience the callers' ServiceAccount tokens must be made for.
	Audience string `json:"audience"`
}

// Endpoints override the hosts of the products, "host:port".
type Endpoints struct {
	// SLB is the host of the load balancers, "host:port". Default: that of the region in the network.
	SLB string `json:"slb"`
	// NLB is the host of the network load balancers, "host:port". Default: that of the region in the network.
	NLB string `json:"nlb"`
	// VPC is the host of the networks, "host:port". Default: that of the region in the network.
	VPC string `json:"vpc"`
	// ECS is the host of the instances, "host:port". Default: that of the region in the network.
	ECS string `json:"ecs"`
	// STS is the host of the security tokens, "host:port". Default: that of the region in the network.
	STS string `json:"sts"`
	// CAS is the host of the Certificate Management Service, "host:port". Default: that of mainland China or that of all
	// other regions, inside the VPC only in cn-hangzhou and ap-southeast-1. An account of Alibaba Cloud's other site sets it.
	CAS string `json:"cas"`
	// RAM is the host of Resource Access Management, "host:port", for tools at the OpenAPI front. Default: the one of the cloud in the
	// network.
	RAM string `json:"ram"`
	// CS is the host of Container Service for Kubernetes, "host:port", for tools at the OpenAPI front. Default: that of the region in
	// the network.
	CS string `json:"cs"`
	// ESS is the host of Auto Scaling, "host:port", for tools at the OpenAPI front. Default: that of the region in the network.
	ESS string `json:"ess"`
	// ALB is the host of the application load balancers, "host:port", for tools at the OpenAPI front. Default: that of the region in the
	// network.
	ALB string `json:"alb"`
	// Alidns is the host of public DNS, "host:port", for tools at the OpenAPI front. Default: alidns.aliyuncs.com, which can't be reached
	// from inside a VPC without a way to the internet.
	Alidns string `json:"alidns"`
	// PVTZ is the host of PrivateZone, "host:port", for tools at the OpenAPI front. Default: the one of the cloud in the network.
	PVTZ string `json:"pvtz"`
	// NAS is the host of the file storage, "host:port", for tools at the OpenAPI front. Default: that of the region in the network.
	NAS string `json:"nas"`
	// KMS is the host of Key Management Service, "host:port", for tools at the OpenAPI front. Default: that of the region in the network.
	KMS string `json:"kms"`
	// Quotas is the host of Quota Center, "host:port", which only the doctor asks. Default: quotas.aliyuncs.com, which can't be
	// reached from inside a VPC without a way to the internet.
	Quotas string `json:"quotas"`
}

// Hosts are the endpoints by the name of the product.
func (e Endpoints) Hosts() map[string]string {
	return map[string]string{
		"slb": e.SLB, "nlb": e.NLB, "vpc": e.VPC, "ecs": e.ECS, "sts": e.STS, "cas": e.CAS, "quotas": e.Quotas, "ram": e.RAM, "cs": e.CS,
		"ess": e.ESS, "alb": e.ALB, "alidns": e.Alidns, "pvtz": e.PVTZ, "nas": e.NAS, "kms": e.KMS,
	}
}

// Budget bounds the calls.
type Budget struct {
	// Part of the account's limits that the gateway takes for the whole, above 0 to 1. Gateways of one account whose parts add up to 1 are in
	// nobody's way; what one leaves, the others can't use.
	Part float64 `json:"part"`
	// Share of the account's limits that the gateway keeps to while others use them too, above 0 to 1. Background work and all callers
	// but the controllers keep to it always, together.
	Share float64 `json:"share"`
	// Overrides replace the documented limit of an action, by "product/Action".
	Overrides map[string]Limit `json:"overrides"`
	// LearnUpTo is how many times of its documented limit an action's limit may be learned to be, 1 to 10. With 1, limits are only
	// learned to be lower.
	LearnUpTo float64 `json:"learnUpTo"`
	// MaxPriority is the highest priority of the calls of others than the controllers: "backend", "user", "deletion" or "background".
	MaxPriority string `json:"maxPriority"`
	// Callers are the budgets of callers that get more or less than the others, by user name, e.g.
	// "system:serviceaccount:tools:backup".
	Callers map[string]CallerBudget `json:"callers"`

	// Controllers are the users who may use more than the share. Empty: every caller may.
	Controllers []string `json:"-"`
}

// KeepsToShare reports whether a caller uses no more than the share, together with background work: so does everybody but
// the controllers, the gateway itself, and whom the configuration gives all of the budget.
func (b Budget) KeepsToShare(caller string) bool {
	return len(b.Controllers) > 0 && !slices.Contains(b.Controllers, caller) && b.Callers[caller].Share < 1
}

// CallerBudget is what one caller gets of the budget.
type CallerBudget struct {
	// Weight is the number of calls that the caller may make in its turn, 1 to 100. Default: 1.
	Weight int `json:"weight"`
	// Share is the part of the gateway's share that the caller may use at most, above 0. With 1 it may use all of the budget, as
	// the controllers may. Default: all of the share, which it has together with background work and the other callers.
	Share float64 `json:"share"`
	// MaxPriority is the highest priority of the caller's calls. Default: "backend" for the controllers, that of the budget for others.
	MaxPriority string `json:"maxPriority"`
}

// Bounded reports whether the caller may not use all of the budget.
func (b CallerBudget) Bounded() bool { return b.Share > 0 && b.Share < 1 }

// Priorities are the names that maxPriority takes, highest first.
func Priorities() []string { return []string{"backend", "user", "deletion", "background"} }

// Limit is a number of calls in a window.
type Limit struct {
	// Calls is how many calls of the action the account may make in the window.
	Calls int `json:"calls"`
	// Window is the time in which the calls are counted, 1s or 60s as the cloud has them.
	Window config.Duration `json:"window"`
}

// ClusterTag is the key of the tag that names the cluster of a resource, as the existing CCM and ACK write it.
const ClusterTag = "ack.aliyun.com"

// Scope keeps callers to a part of the account. What they change must have all of the tags and be in one of the VPCs, and so must what they
// create. A listener, a server group and other parts count as their load balancer, a route as its VPC.
type Scope struct {
	// Callers are user names, e.g. "system:serviceaccount:tools:backup". With "*" at the end, all names that begin so are meant.
	Callers []string `json:"callers"`
	// Tags are the tags that a resource must have, by key.
	Tags map[string]string `json:"tags"`
	// VpcIDs are the VPCs. What is in none, such as an EIP or an internet load balancer, is inside if the scope has tags and they fit.
	VpcIDs []string `json:"vpcIDs"`
	// ClusterID is the value that the tag "ack.aliyun.com" must have.
	ClusterID string `json:"clusterID"`
	// Controller says that the callers are controllers of the cluster. They may change load balancers and server
	// groups without a tag "ack.aliyun.com", too, which users made by hand, and bind such EIPs, but delete none of
	// them. Of what the existing CCM has made, its tag "kubernetes.do.not.delete" is enough for everything. It needs
	// clusterID.
	Controller bool `json:"controller"`
	// forControllers: it is one that scopeControllers stands for.
	forControllers bool
}

// Key is where the scope with an index stands in the configuration.
func (s Scope) Key(index int) string {
	if s.forControllers {
		return "scopeControllers"
	}
	return fmt.Sprintf("scopes[%d]", index)
}

// Limits bound the size of calls.
type Limits struct {
	// ServersPerCall is how many servers are added or removed by one call, 1 to 40.
	ServersPerCall int `json:"serversPerCall"`
	// RoutesPerCall is how many route entries are made or deleted by one call, 1 to 50.
	RoutesPerCall int `json:"routesPerCall"`
}

// Coalesce shapes the gathering of reads.
type Coalesce struct {
	// Idle is how long to wait for another read to join.
	Idle config.Duration `json:"idle"`
	// Max is how long the first read waits at most.
	Max config.Duration `json:"max"`
}

// Default is the configuration of an empty file.
func Default() Config {
	return Config{
		Listen:           "127.0.0.1:7443",
		Admin:            admin.Config{Listen: "127.0.0.1:7080"},
		Authentication:   Authentication{Audience: "cloudgateway"},
		MetadataEndpoint: "http://100.100.100.200",
		Scheme:           "HTTPS",
		Network:          "vpc",
		Reflection:       true,
		Budget:           Budget{Part: 1, Share: 0.7, LearnUpTo: 1, MaxPriority: "background"},
		Front:            Front{Wait: config.Duration(8 * time.Second), Audience: "sts.aliyuncs.com"},
		Limits:           Limits{ServersPerCall: 40, RoutesPerCall: 50},
		Coalesce:         Coalesce{Idle: config.Duration(20 * time.Millisecond), Max: config.Duration(time.Second)},
		// The standby looks twice as often as usual, and so serves within 20 s when the active replica is gone: the lease may be seen to
		// be renewed, and to have ended, 2.2 periods late each.
		LeaderElection: kube.ElectionConfig{
			Namespace: "kube-system", Name: "cloudgateway",
			LeaseDuration: config.Duration(15 * time.Second), RetryPeriod: config.Duration(time.Second),
		},
	}
}

// Load reads the file at path, and the existing CCM's cloud-config file if one is named, which fills what the file leaves out;
// what is missing then comes from the environment. The warnings are for the log.
func Load(path, cloudConfig string, environ func(string) string) (Config, []string, error) {
	existing, warnings, err := cloudconfig.Load(cloudConfig)
	if err != nil {
		return Config{}, nil, err
	}
	cfg := Default()
	cfg.Scheme = cmp.Or(environ("ALICLOUD_CLIENT_SCHEME"), cfg.Scheme)
	cfg.MetadataEndpoint = cmp.Or(environ("METADATA_ENDPOINT"), cfg.MetadataEndpoint)
	if err := config.Load(path, &cfg); err != nil {
		return Config{}, nil, err
	}
	cfg.adopt(existing)
	cfg.adoptEnvironment(environ)
	warnings = append(warnings, cfg.addControllerScopes()...)
	if err := cfg.Validate(); err != nil {
		return Config{}, nil, fmt.Errorf("configuration %s: %w", path, err)
	}
	return cfg, warnings, nil
}

// adopt takes over the gateway's part of the existing CCM's file.
func (c *Config) adopt(existing *cloudconfig.CloudConfig) {
	config.Fill(&c.Region, existing.Region)
	config.Fill(&c.VpcID, existing.VpcID)
	config.Fill(&c.ClusterID, existing.ClusterID)
	if c.Credentials.sources() == 0 && existing.AccessKeyID != "" {
		c.Credentials.given = &KeyPair{ID: existing.AccessKeyID, Secret: existing.AccessKeySecret}
	}
}

// adoptEnvironment takes the variables that the existing CCM knows.
func (c *Config) adoptEnvironment(environ func(string) string) {
	config.Fill(&c.Region, environ("REGION_ID"))
	config.Fill(&c.VpcID, environ("VPC_ID"))
	config.Fill(&c.ClusterID, environ("CLUSTER_ID"))
	config.Fill(&c.Endpoints.SLB, host(environ("SLB_ENDPOINT")))
	config.Fill(&c.Endpoints.NLB, host(environ("NLB_ENDPOINT")))
	config.Fill(&c.Endpoints.VPC, host(environ("VPC_ENDPOINT")))
	config.Fill(&c.Endpoints.ECS, host(environ("ECS_ENDPOINT")))
	config.Fill(&c.Endpoints.CAS, host(environ("CAS_ENDPOINT")))
	config.Fill(&c.Endpoints.Quotas, host(environ("QUOTAS_ENDPOINT")))
	config.Fill(&c.Endpoints.STS, host(environ("ALIBABA_CLOUD_STS_ENDPOINT")))
	c.Credentials.adoptEnvironment(environ)
}

// host drops the scheme that some write before an endpoint.
func host(endpoint string) string {
	for _, scheme := range []string{"http://", "https://"} {
		endpoint = strings.TrimPrefix(endpoint, scheme)
	}
	return strings.TrimSuffix(endpoint, "/")
}

// ControllerAccounts are the user names of the cluster's controllers, by component. They run in the namespace of the gateway's Lease.
func (c *Config) ControllerAccounts() map[string]string {
	accounts := map[string]string{}
	for _, component := range []string{"lbcontroller", "nodecontroller", "routecontroller"} {
		accounts[component] = "system:serviceaccount:" + c.LeaderElection.Namespace + ":" + component
	}
	return accounts
}

// addControllerScopes adds the scopes that scopeControllers stands for, and warns where it is not known what to keep a controller to.
func (c *Config) addControllerScopes() (warnings []string) {
	if !c.ScopeControllers {
		return nil
	}
	accounts := c.ControllerAccounts()
	if c.ClusterID != "" {
		c.Scopes = append(c.Scopes, Scope{
			Callers: []string{accounts["lbcontroller"]}, ClusterID: c.ClusterID, Controller: true, forControllers: true,
		})
	} else {
		warnings = append(warnings,
			"scopeControllers: the cluster is not known, so lbcontroller is not kept from what is of others; "+
				"set clusterID, also in the cloud-config file, or scopeControllers to false")
	}
	if c.VpcID != "" {
		c.Scopes = append(c.Scopes, Scope{
			Callers: []string{accounts["routecontroller"], accounts["nodecontroller"]}, VpcIDs: []string{c.VpcID}, forControllers: true,
		})
	} else {
		warnings = append(warnings, "scopeControllers: the VPC is not known, so routecontroller is not kept from the routes of other VPCs, nor "+
			"nodecontroller from network interfaces there; set vpcID, also in the cloud-config file, or scopeControllers to false")
	}
	return warnings
}
