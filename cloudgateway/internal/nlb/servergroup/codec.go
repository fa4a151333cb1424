package servergroup

import (
	"cmp"
	"strconv"
	"strings"

	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/nlb"
)

// healthParams encode what is present of a health check.
func healthParams(p cloud.Params, h *nlbv1.HealthCheck) cloud.Params {
	if h == nil {
		return p
	}
	const prefix = "HealthCheckConfig."
	return p.Bool(prefix+"HealthCheckEnabled", h.Enabled).
		With(prefix+"HealthCheckType", strings.ToUpper(cloud.Word(h.GetType()))).
		Number(prefix+"HealthCheckConnectPort", h.ConnectPort).
		Number(prefix+"HealthyThreshold", h.HealthyThreshold).
		Number(prefix+"UnhealthyThreshold", h.UnhealthyThreshold).
		Number(prefix+"HealthCheckConnectTimeout", h.ConnectTimeout).
		Number(prefix+"HealthCheckInterval", h.Interval).
		With(prefix+"HealthCheckDomain", h.GetDomain()).
		With(prefix+"HealthCheckUrl", h.GetUrl()).
		With(prefix+"HttpCheckMethod", h.GetHttpMethod()).
		List(prefix+"HealthCheckHttpCode", h.GetHttpCodes())
}

// protocolWord is the cloud's word for a protocol, e.g. "TCP_UDP".
func protocolWord(p nlbv1.ServerGroupProtocol) string {
	if p == nlbv1.ServerGroupProtocol_SERVER_GROUP_PROTOCOL_UNSPECIFIED {
		return ""
	}
	return strings.TrimPrefix(p.String(), "SERVER_GROUP_PROTOCOL_")
}

func createParams(r *nlbv1.CreateServerGroupRequest) cloud.Params {
	p := cloud.Tags(cloud.Params{}, r.GetTags()).
		With("ServerGroupName", r.GetName()).
		With("VpcId", r.GetVpcId()).
		With("ServerGroupType", cloud.Word(r.GetType())).
		With("Protocol", protocolWord(r.GetProtocol())).
		With("AddressIPVersion", strings.Replace(cloud.Word(r.GetIpVersion()), "Ipv4", "ipv4", 1)).
		With("IpVersionAffinityMode", cloud.Word(r.GetIpVersionAffinity())).
		With("ResourceGroupId", r.GetResourceGroupId()).
		With("Scheduler", r.GetScheduler()).
		Bool("ConnectionDrainEnabled", r.ConnectionDrainEnabled).
		Number("ConnectionDrainTimeout", r.ConnectionDrainTimeout).
		Bool("PreserveClientIpEnabled", r.PreserveClientIpEnabled)
	if r.GetAnyPortEnabled() {
		p["AnyPortEnabled"] = "true"
	}
	return healthParams(p, r.GetHealthCheck())
}

func updateParams(r *nlbv1.UpdateServerGroupRequest) cloud.Params {
	return healthParams(cloud.Params{}.
		With("ServerGroupName", r.GetName()).
		With("IpVersionAffinityMode", cloud.Word(r.GetIpVersionAffinity())).
		With("Scheduler", r.GetScheduler()).
		Bool("ConnectionDrainEnabled", r.ConnectionDrainEnabled).
		Number("ConnectionDrainTimeout", r.ConnectionDrainTimeout).
		Bool("PreserveClientIpEnabled", r.PreserveClientIpEnabled), r.GetHealthCheck())
}

// serverParams encode servers. To be removed, they are named by nothing but what tells them apart.
func serverParams(group string, servers []*nlbv1.Server, settings bool) cloud.Params {
	items := make([]cloud.Params, len(servers))
	for i, s := range servers {
		items[i] = cloud.Params{
			"ServerId": s.GetServerId(), "ServerIp": s.GetServerIp(), "ServerType": cloud.Word(s.GetType()), "Port": strconv.Itoa(int(s.GetPort())),
		}
		if settings {
			items[i].Number("Weight", s.Weight).With("Description", s.GetDescription())
		}
	}
	return nlb.Structs(cloud.Params{"ServerGroupId": group}, "Servers", items)
}

// decode reads a group in the answer to ListServerGroups.
func decode(item []byte) (*nlbv1.ServerGroup, error) {
	var (
		enabled                                                                     bool
		kind                                                                        nlbv1.HealthCheckType
		connectPort, healthyThreshold, unhealthyThreshold, connectTimeout, interval int32
		domain, path, method                                                        string
	)
	h := &nlbv1.HealthCheck{
		Enabled: &enabled, Type: &kind, ConnectPort: &connectPort, HealthyThreshold: &healthyThreshold, UnhealthyThreshold: &unhealthyThreshold,
		ConnectTimeout: &connectTimeout, Interval: &interval, Domain: &domain, Url: &path, HttpMethod: &method,
	}
	g := &nlbv1.ServerGroup{HealthCheck: h, IpVersionAffinity: nlbv1.IpVersionAffinity_IP_VERSION_AFFINITY_NON_AFFINITY}
	return g, cloud.Decode(item, cloud.Fields{
		"ServerGroupId":           cloud.Required(&g.ServerGroupId),
		"ServerGroupName":         &g.Name,
		"ServerGroupStatus":       cloud.Via(&g.Status, cloud.Named),
		"VpcId":                   &g.VpcId,
		"ServerGroupType":         cloud.Via(&g.Type, cloud.Named),
		"Protocol":                cloud.Via(&g.Protocol, protocolNamed),
		"AddressIPVersion":        cloud.Via(&g.IpVersion, cloud.Named),
		"IpVersionAffinityMode":   cloud.Via(&g.IpVersionAffinity, affinity),
		"AnyPortEnabled":          &g.AnyPortEnabled,
		"Scheduler":               cloud.Via(&g.Scheduler, scheduler),
		"ConnectionDrainEnabled":  &g.ConnectionDrainEnabled,
		"ConnectionDrainTimeout":  &g.ConnectionDrainTimeout,
		"PreserveClientIpEnabled": &g.PreserveClientIpEnabled,
		"HealthCheck": cloud.Fields{
			"HealthCheckEnabled":        &enabled,
			"HealthCheckType":           cloud.Via(&kind, cloud.Named),
			"HealthCheckConnectPort":    &connectPort,
			"HealthyThreshold":          &healthyThreshold,
			"UnhealthyThreshold":        &unhealthyThreshold,
			"HealthCheckConnectTimeout": &connectTimeout,
			"HealthCheckInterval":       &interval,
			"HealthCheckDomain":         &domain,
			"HealthCheckUrl":            &path,
			"HttpCheckMethod":           cloud.Via(&method, strings.ToUpper),
			"HealthCheckHttpCode": cloud.Via(&h.HttpCodes, func(codes []string) []string {
				for i, code := range codes {
					codes[i] = strings.ToLower(code)
				}
				return codes
			}),
		},
		"ServerCount":            &g.ServerCount,
		"RelatedLoadBalancerIds": &g.LoadBalancerIds,
		"ResourceGroupId":        &g.ResourceGroupId,
		"Tags":                   cloud.TagsInto(&g.Tags),
	})
}

// scheduler is the word of the documents, whatever the case in which another tool has sent it.
func scheduler(word string) string {
	for _, known := range []string{"Wrr", "Wlc", "rr", "sch", "tch", "qch"} {
		if strings.EqualFold(known, word) {
			return known
		}
	}
	return word
}

// affinity is what the cloud does where its answer says nothing.
func affinity(word string) nlbv1.IpVersionAffinity {
	return cmp.Or(cloud.Named[nlbv1.IpVersionAffinity](word), nlbv1.IpVersionAffinity_IP_VERSION_AFFINITY_NON_AFFINITY)
}

func protocolNamed(word string) nlbv1.ServerGroupProtocol {
	return cloud.Named[nlbv1.ServerGroupProtocol](strings.ReplaceAll(word, "_", ""))
}

// decodeServer reads a server in the answer to ListServerGroupServers.
func decodeServer(item []byte) (*nlbv1.Server, error) {
	s := &nlbv1.Server{Weight: new(int32)}
	return s, cloud.Decode(item, cloud.Fields{
		"ServerType":  cloud.Via(&s.Type, cloud.Named),
		"ServerId":    cloud.Required(&s.ServerId),
		"ServerIp":    &s.ServerIp,
		"Port":        cloud.Required(&s.Port),
		"Weight":      cloud.Required(s.Weight),
		"Description": &s.Description,
		"Status":      cloud.Via(&s.Status, cloud.Named),
		"ZoneId":      &s.ZoneId,
	})
}

// key tells a server from the others of its group. A request may leave out the address; then it is of any.
type key struct {
	kind nlbv1.ServerType
	id   string
	port int32
}

func keyOf(s *nlbv1.Server) key { return key{s.GetType(), s.GetServerId(), s.GetPort()} }

// same reports whether a server is the one that a request names.
func same(named, there *nlbv1.Server) bool {
	return keyOf(named) == keyOf(there) && (named.GetServerIp() == "" || named.GetServerIp() == there.GetServerIp())
}

func compare(a, b *nlbv1.Server) int {
	return cmp.Or(strings.Compare(a.GetServerId(), b.GetServerId()), strings.Compare(a.GetServerIp(), b.GetServerIp()),
		cmp.Compare(a.GetPort(), b.GetPort()))
}
