package listener

import (
	"slices"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/check"
	"alicloud-controllers.dev/cloudgateway/internal/slb"
	"alicloud-controllers.dev/cloudgateway/internal/slb/attribute"
)

// Checks are the rules of requests beyond those in the protocol.
func Checks() []check.Rule {
	return []check.Rule{
		check.Of(func(c *check.Request, r *slbv1.CreateListenerRequest) {
			checkConfig(c, r.GetKey().GetProtocol(), r.GetConfig(), true)
			checkTarget(c, r.GetConfig())
			if r.GetKey().GetProtocol() == slbv1.Protocol_PROTOCOL_HTTPS && r.GetConfig().GetServerCertificateId() == "" {
				c.Addf("config.server_certificate_id", "is required for HTTPS")
			}
		}),
		check.Of(func(c *check.Request, r *slbv1.UpdateListenerRequest) {
			checkConfig(c, r.GetKey().GetProtocol(), r.GetConfig(), false)
			if !hasSettings(r.GetConfig()) && len(r.GetSetTags())+len(r.GetRemoveTagKeys()) == 0 {
				c.Addf("config", "the request changes nothing; at least one attribute is required")
			}
		}),
	}
}

// checkTarget checks that a new listener sends its traffic to one place.
func checkTarget(c *check.Request, cfg *slbv1.ListenerConfig) {
	forwards, groups, ports := cfg.GetForwardPort() != 0, cfg.GetServerGroupId() != "", cfg.GetBackendServerPort() != 0
	switch {
	case !forwards && !groups && !ports:
		c.Addf("config.server_group_id", "is required, unless config.forward_port or config.backend_server_port is set")
	case forwards && groups:
		c.Addf("config.server_group_id", "a listener that redirects has no vServer group")
	case forwards && ports:
		c.Addf("config.backend_server_port", "a listener that redirects has no servers")
	case groups && ports:
		c.Addf("config.backend_server_port", "is for the default server group, leave it out with config.server_group_id")
	}
}

// checkConfig names everything in cfg that the cloud would not take for a listener of the protocol.
func checkConfig(c *check.Request, protocol slbv1.Protocol, cfg *slbv1.ListenerConfig, creating bool) {
	report := func(field, format string, args ...any) { c.Addf("config."+field, format, args...) }
	set := attribute.ProtocolSet(protocol)
	rows := attribute.Rows()
	for i, a := range rows {
		value, present := attribute.Lookup(cfg, a.Field)
		switch {
		case !present:
		case a.Protocols&set == 0:
			first := slices.IndexFunc(rows, func(b attribute.Row) bool { return b.Field == a.Field })
			elsewhere := slices.ContainsFunc(rows, func(b attribute.Row) bool { return b.Field == a.Field && b.Protocols&set != 0 })
			if first == i && !elsewhere {
				report(a.Field, "not supported by %s listeners", slb.ProtocolName(protocol))
			}
		case a.Fixed && !creating:
			report(a.Field, "can't be changed, delete the listener and create it anew")
		case a.Later && creating:
			report(a.Field, "can't be set at creation, update the listener afterwards")
		default:
			if problem := a.Problem(value, creating); problem != "" {
				report(a.Field, "%s", problem)
			}
		}
	}
}

// hasSettings reports whether cfg sets anything.
func hasSettings(cfg *slbv1.ListenerConfig) bool {
	return slices.ContainsFunc(attribute.Rows(), func(a attribute.Row) bool {
		_, present := attribute.Lookup(cfg, a.Field)
		return present
	})
}
