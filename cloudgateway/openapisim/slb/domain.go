package slb

import (
	"slices"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// domainActions are those of domain extensions: further certificates of HTTPS listeners, by the name that clients ask for.
func domainActions() []api.Action {
	port := must(api.Number("ListenerPort", 1, 65535))
	busyCodes := []string{"DomainExtensionProcessing", "LbStatusNotSupport"}
	return []api.Action{
		api.Write("CreateDomainExtension", api.On2(api.Unless(held(busyDomain), listenerOf(protoHTTPS)), createDomain), append([]string{
			"DomainExist", "DomainExtensionNotSupport", "DomainExtensionNumberOverLimit", "InvalidLoadBalancerId.NotFound",
			"InvalidParameter.Domain", "InvalidParameter.ServerCertificateId", "MissingParam.ServerCertificates", "ResourceNotFound.Listener",
		}, busyCodes...), region(), api.Required("LoadBalancerId"), port, api.Required("Domain"),
			api.Optional("ServerCertificateId")),
		api.Write("SetDomainExtensionAttribute", api.On(findDomain, setDomain), append([]string{
			"InvalidParameter.DomainExtensionId", "InvalidParameter.ServerCertificateId", "MissingParam.ServerCertificates",
		}, busyCodes...), region(), api.Required("DomainExtensionId"), api.Optional("ServerCertificateId")),
		api.Write("DeleteDomainExtension", api.On(findDomain, deleteDomain),
			append([]string{"DomainExtensionRelatedRuleExist", "InvalidParameter.DomainExtensionId"}, busyCodes...),
			region(), api.Required("DomainExtensionId")),
		api.Read("DescribeDomainExtensions", api.On2(listenerOf(protoHTTPS), describeDomains),
			api.Words("InvalidLoadBalancerId.NotFound ResourceNotFound.Listener"), region(),
			api.Required("LoadBalancerId"), port, api.Optional("DomainExtensionId")),
		api.Read("DescribeDomainExtensionAttribute", api.On(findDomain, describeDomain),
			api.Words("InvalidParameter.DomainExtensionId"), region(), api.Required("DomainExtensionId")),
	}
}

func newDomainView(d *state.Domain) api.Object {
	return api.Object{"DomainExtensionId", d.ID, "Domain", d.Domain, "ServerCertificateId", d.CertificateID}
}

func createDomain(c *api.Context, lb *state.LoadBalancer, l *state.Listener) (any, *api.Error) {
	domain, limit := c.Get("Domain"), c.Settings.Quotas.DomainExtensions
	switch {
	case shared(lb):
		return nil, api.BadRequest("DomainExtensionNotSupport", "The load balancer does not support domain extensions.")
	case !validDomain(domain):
		return nil, api.BadRequest("InvalidParameter.Domain", "The specified Domain %s is not valid.", domain)
	case slices.ContainsFunc(l.Domains, func(d *state.Domain) bool { return strings.EqualFold(d.Domain, domain) }):
		return nil, api.BadRequest("DomainExist", "The listener has a domain extension for the domain %s already.", domain)
	case len(l.Domains) >= limit:
		return nil, api.BadRequest("DomainExtensionNumberOverLimit", "The number of domain extensions exceeds the quota of %d.", limit)
	}
	if err := checkDomainCertificate(c); err != nil {
		return nil, err
	}
	d := &state.Domain{ID: c.NewID("de-bp1"), Domain: domain, CertificateID: c.Get("ServerCertificateId")}
	l.Domains = append(l.Domains, d)
	changed(c, lb)
	return api.Object{"DomainExtensionId", d.ID, "ListenerPort", l.Port}, nil
}

// validDomain accepts host names with at least two labels; the first one may be a wildcard.
func validDomain(domain string) bool {
	if len(domain) > 253 {
		return false
	}
	labels := strings.Split(strings.TrimPrefix(domain, "*."), ".")
	return len(labels) >= 2 && !slices.ContainsFunc(labels, func(label string) bool {
		return label == "" || len(label) > 63 || strings.Trim(strings.ToLower(label), "abcdefghijklmnopqrstuvwxyz0123456789-") != ""
	})
}

func checkDomainCertificate(c *api.Context) *api.Error {
	id := c.Get("ServerCertificateId")
	if id == "" {
		return api.BadRequest("MissingParam.ServerCertificates", "The parameter ServerCertificateId is required.")
	}
	if cert := c.State.Certificates[id]; cert == nil || cert.CA {
		return api.BadRequest("InvalidParameter.ServerCertificateId", "The specified ServerCertificateId does not exist.")
	}
	return nil
}

// domainPlace is a domain extension and where it is.
type domainPlace struct {
	lb     *state.LoadBalancer
	l      *state.Listener
	domain *state.Domain
}

func findDomain(c *api.Context) (domainPlace, *api.Error) {
	for _, lb := range c.State.LoadBalancers {
		for _, l := range lb.Listeners {
			for _, d := range l.Domains {
				if d.ID == c.Get("DomainExtensionId") {
					settle(c, lb)
					return domainPlace{lb, l, d}, nil
				}
			}
		}
	}
	return domainPlace{}, api.BadRequest("InvalidParameter.DomainExtensionId", "The specified DomainExtensionId does not exist.")
}

func setDomain(c *api.Context, p domainPlace) (any, *api.Error) {
	if err := held(busyDomain)(c, p.lb, p.l); err != nil {
		return nil, err
	}
	if err := checkDomainCertificate(c); err != nil {
		return nil, err
	}
	p.domain.CertificateID = c.Get("ServerCertificateId")
	changed(c, p.lb)
	return nil, nil
}

func deleteDomain(c *api.Context, p domainPlace) (any, *api.Error) {
	if err := held(busyDomain)(c, p.lb, p.l); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(p.l.Rules, func(r *state.Rule) bool { return strings.EqualFold(r.Domain, p.domain.Domain) }) {
		return nil, api.BadRequest("DomainExtensionRelatedRuleExist", "A forwarding rule of the listener uses the domain.")
	}
	p.l.Domains = slices.DeleteFunc(p.l.Domains, func(d *state.Domain) bool { return d == p.domain })
	changed(c, p.lb)
	return nil, nil
}

func describeDomains(c *api.Context, _ *state.LoadBalancer, l *state.Listener) (any, *api.Error) {
	domains := slices.DeleteFunc(slices.Clone(l.Domains), func(d *state.Domain) bool {
		return c.Has("DomainExtensionId") && d.ID != c.Get("DomainExtensionId")
	})
	return api.Object{"DomainExtensions", wrapped("DomainExtension", domains, newDomainView)}, nil
}

func describeDomain(c *api.Context, p domainPlace) (any, *api.Error) {
	return append(newDomainView(p.domain), "LoadBalancerId", p.lb.ID, "ListenerPort", p.l.Port), nil
}
