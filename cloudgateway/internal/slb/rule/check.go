package rule

import (
	"fmt"
	"slices"
	"strings"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/check"
	"alicloud-controllers.dev/cloudgateway/internal/slb/attribute"
)

// Checks are the rules of requests beyond those in the protocol.
func Checks() []check.Rule {
	return []check.Rule{
		check.Of(func(c *check.Request, r *slbv1.ListForwardingRulesRequest) { checkListener(c, r.GetKey()) }),
		check.Of(func(c *check.Request, r *slbv1.BatchCreateForwardingRulesRequest) {
			checkListener(c, r.GetKey())
			checkNew(c, "rules", r.GetRules())
		}),
		check.Of(func(c *check.Request, r *slbv1.UpdateForwardingRuleRequest) { checkConfig(c, r.GetConfig()) }),
		check.Of(func(c *check.Request, r *slbv1.BatchDeleteForwardingRulesRequest) { checkListener(c, r.GetKey()) }),
	}
}

func checkListener(c *check.Request, key *slbv1.ListenerKey) {
	switch key.GetProtocol() {
	case slbv1.Protocol_PROTOCOL_TCP, slbv1.Protocol_PROTOCOL_UDP:
		c.Addf("key.protocol", "only HTTP and HTTPS listeners have forwarding rules")
	case slbv1.Protocol_PROTOCOL_HTTP, slbv1.Protocol_PROTOCOL_HTTPS, slbv1.Protocol_PROTOCOL_UNSPECIFIED:
	}
}

// checkNew checks the URL of each rule, and that none is there twice.
func checkNew(c *check.Request, field string, rules []*slbv1.NewForwardingRule) {
	seen := map[ruleKey]string{}
	for i, rule := range rules {
		at := fmt.Sprintf("%s[%d]", field, i)
		switch url := rule.GetUrl(); {
		case url == "/":
			c.Addf(at+".url", `must say more than "/", which every path begins with; leave it out for a rule that is for all`)
		case url != "" && !strings.HasPrefix(url, "/"):
			c.Addf(at+".url", `%q does not begin with "/"`, check.Shorten(url))
		}
		if first, ok := seen[keyOf(rule)]; ok {
			c.Addf(at, "has the domain and the URL of %s", first)
			continue
		}
		seen[keyOf(rule)] = at
	}
}

// checkConfig names everything in cfg that the cloud would not take for a rule.
func checkConfig(c *check.Request, cfg *slbv1.ForwardingRuleConfig) {
	report := func(field, format string, args ...any) { c.Addf("config."+field, format, args...) }
	_, decides := attribute.Lookup(cfg, "listener_sync")
	follows := cfg.GetListenerSync()
	for _, a := range rows() {
		value, present := attribute.Lookup(cfg, a.Field)
		if !present {
			continue
		}
		if problem := a.Problem(value, false); problem != "" {
			report(a.Field, "%s", problem)
		}
		if follows && slices.Contains(listenerSettings(), a.Field) {
			report(a.Field, "has no effect on a rule that follows its listener, leave it out or set listener_sync to false")
		}
	}
	probe := cfg.GetHealthCheck().ProtoReflect()
	for i := range probe.Descriptor().Fields().Len() {
		field := probe.Descriptor().Fields().Get(i)
		name := "health_check." + string(field.Name())
		if probe.Has(field) && !slices.Contains(listenerSettings(), name) {
			report(name, "not supported by forwarding rules")
		}
	}
	if decides && !follows {
		for _, field := range []string{"sticky_session", "health_check.enabled"} {
			if _, present := attribute.Lookup(cfg, field); !present {
				report(field, "is required with listener_sync false")
			}
		}
	}
	if len(configParams(cfg)) == 0 {
		c.Addf("config", "the request changes nothing; at least one attribute is required")
	}
}
