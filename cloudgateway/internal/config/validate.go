package config

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"alicloud-controllers.dev/proto/method"
	"alicloud-controllers.dev/services/config"
)

// The greatest sizes that the cloud takes from any account (alibaba's API references), and what can only be a mistake.
const (
	mostServersPerCall = 40
	mostRoutesPerCall  = 50
	longestGathering   = time.Second
	mostLearned        = 10
	greatestWeight     = 100
	longestWait        = 5 * time.Minute
)

// Validate reports everything that is wrong.
func (c *Config) Validate() error {
	var p config.Problems
	if c.Region != "" && !regexp.MustCompile(`^[a-z0-9-]+$`).MatchString(c.Region) {
		p.Addf("region", "%q is not a region id such as cn-hangzhou", c.Region)
	}
	p.HostPort("listen", c.Listen)
	c.Admin.Validate(&p, "admin")
	p.Required("tls.certFile", c.TLS.CertFile)
	p.Required("tls.keyFile", c.TLS.KeyFile)
	c.Kubernetes.Validate(&p, "kubernetes")
	p.Required("authentication.audience", c.Authentication.Audience)
	c.Credentials.validate(&p, "credentials")
	if u, err := url.Parse(c.MetadataEndpoint); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		p.Addf("metadataEndpoint", `%q is not a URL, write e.g. "http://100.100.100.200"`, c.MetadataEndpoint)
	}
	c.Endpoints.validate(&p)
	p.OneOf("scheme", c.Scheme, "HTTPS", "HTTP")
	p.OneOf("network", c.Network, "vpc", "public")
	c.API.validate(&p)
	c.Budget.validate(&p)
	c.Front.validate(&p)
	if c.Front.Audience == c.Authentication.Audience {
		p.Addf("front.audience", "%q is authentication.audience, so that a token of the one would be good for the other", c.Front.Audience)
	}
	for i, s := range c.Scopes {
		s.validate(&p, s.Key(i))
	}
	p.Range("limits.serversPerCall", c.Limits.ServersPerCall, 1, mostServersPerCall)
	p.Range("limits.routesPerCall", c.Limits.RoutesPerCall, 1, mostRoutesPerCall)
	c.Coalesce.validate(&p)
	c.LeaderElection.Validate(&p, "leaderElection")
	c.Logging.Validate(&p, "logging")
	c.Tracing.Validate(&p, "tracing")
	return p.Err()
}

func (a API) validate(p *config.Problems) {
	for i, service := range a.Enable {
		p.OneOf(fmt.Sprintf("api.enable[%d]", i), service, method.ToolServices()...)
	}
}

func (f Front) validate(p *config.Problems) {
	if f.Listen != "" {
		p.HostPort("front.listen", f.Listen)
		p.Required("front.keysFile", f.KeysFile)
	}
	p.Required("front.audience", f.Audience)
	if f.Wait < config.Duration(time.Second) || f.Wait > config.Duration(longestWait) {
		p.Addf("front.wait", "%s is not in 1s to %s", f.Wait, longestWait)
	}
}

func (e Endpoints) validate(p *config.Problems) {
	host := regexp.MustCompile(`^[A-Za-z0-9.-]+(:[0-9]+)?$|^\[[0-9a-fA-F:]+\](:[0-9]+)?$`)
	hosts := e.Hosts()
	for _, key := range slices.Sorted(maps.Keys(hosts)) {
		if value := hosts[key]; value != "" && !host.MatchString(value) {
			p.Addf("endpoints."+key, `%q is not of the form "host" or "host:port"`, value)
		}
	}
}

func (b Budget) validate(p *config.Problems) {
	if b.Part <= 0 || b.Part > 1 {
		p.Addf("budget.part", "%g is not above 0 and at most 1", b.Part)
	}
	if b.Share <= 0 || b.Share > 1 {
		p.Addf("budget.share", "%g is not above 0 and at most 1", b.Share)
	}
	if b.LearnUpTo < 1 || b.LearnUpTo > mostLearned {
		p.Addf("budget.learnUpTo", "%g is not in 1 to %d", b.LearnUpTo, mostLearned)
	}
	p.OneOf("budget.maxPriority", b.MaxPriority, Priorities()...)
	for _, name := range slices.Sorted(maps.Keys(b.Callers)) {
		b.Callers[name].validate(p, "budget.callers."+name)
	}
	known := map[string]bool{}
	for product := range (Endpoints{}).Hosts() {
		known[product] = product != "quotas" // It has no budget.
	}
	for _, action := range slices.Sorted(maps.Keys(b.Overrides)) {
		key := "budget.overrides." + action
		product, name, ok := strings.Cut(action, "/")
		if !ok || name == "" || !known[product] {
			p.Addf(key, `is not of the form "product/Action", e.g. "slb/CreateLoadBalancer"`)
		}
		if limit := b.Overrides[action]; limit.Calls < 1 {
			p.Addf(key+".calls", "%d is below 1", limit.Calls)
		}
		if window := b.Overrides[action].Window; window != config.Duration(time.Second) && window != config.Duration(time.Minute) {
			p.Addf(key+".window", "%s is neither 1s nor 60s, the windows that the cloud has", window)
		}
	}
}

func (b CallerBudget) validate(p *config.Problems, key string) {
	if b.Weight < 0 || b.Weight > greatestWeight {
		p.Addf(key+".weight", "%d is not in 1 to %d", b.Weight, greatestWeight)
	}
	if b.Share < 0 || b.Share > 1 {
		p.Addf(key+".share", "%g is not above 0 and at most 1", b.Share)
	}
	if b.MaxPriority != "" {
		p.OneOf(key+".maxPriority", b.MaxPriority, Priorities()...)
	}
}

func (s Scope) validate(p *config.Problems, key string) {
	if len(s.Callers) == 0 {
		p.Addf(key+".callers", `is required, e.g. ["system:serviceaccount:tools:*"]`)
	}
	for i, name := range s.Callers {
		if name == "" || strings.Contains(strings.TrimSuffix(name, "*"), "*") {
			p.Addf(fmt.Sprintf("%s.callers[%d]", key, i), `%q is neither a user name nor the beginning of one with "*" at its end`, name)
		}
	}
	if len(s.Tags) == 0 && len(s.VpcIDs) == 0 && s.ClusterID == "" {
		p.Addf(key, "asks for nothing; give it tags, vpcIDs or clusterID")
	}
	if _, both := s.Tags[ClusterTag]; both && s.ClusterID != "" {
		p.Addf(key+".tags", "has %s, which clusterID stands for; keep one of them", ClusterTag)
	}
	if _, empty := s.Tags[""]; empty {
		p.Addf(key+".tags", "has an empty key")
	}
	if slices.Contains(s.VpcIDs, "") {
		p.Addf(key+".vpcIDs", "has an empty id")
	}
	if s.Controller && s.ClusterID == "" {
		p.Addf(key+".controller", "needs clusterID")
	}
}

func (c Coalesce) validate(p *config.Problems) {
	p.Positive("coalesce.idle", c.Idle)
	if c.Max < c.Idle {
		p.Addf("coalesce.max", "%s is shorter than coalesce.idle, %s", c.Max, c.Idle)
	}
	if time.Duration(c.Max) > longestGathering {
		p.Addf("coalesce.max", "%s is longer than %s", c.Max, longestGathering)
	}
}
