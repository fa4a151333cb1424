package nlb

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func listenerReadActions() []api.Action {
	return []api.Action{
		read("GetListenerAttribute", api.On2(listener, getListener), []string{noListener}, mandatory("ListenerId")...),
		read("ListListeners", listListeners, nil, append(paging(),
			texts("ListenerIds", maxIDs), texts("LoadBalancerIds", maxIDs), api.OneOf("ListenerProtocol", protoTCP, protoUDP, protoTCPSSL),
			api.Flag("SecSensorEnabled"), structs("Tag", maxTags))...),
		read("GetListenerHealthStatus", api.On2(listener, listenerHealth), []string{noListener}, append(mandatory("ListenerId"), paging()...)...),
		read("ListListenerCertificates", api.On2(listener, listCertificates),
			[]string{noListener, "OperationDenied.Protocol"}, append(append(mandatory("ListenerId"),
				api.OneOf("CertType", "Ca", "Server"), texts("CertificateIds", maxIDs)), paging()...)...),
	}
}

func showListener(c *api.Context, l *state.NLBListener, tags []api.Object) api.Object {
	return api.Spelled(l.Spelling, api.Object{
		"RegionId", c.Region, "LoadBalancerId", l.NLBID, "ListenerId", l.ID, "ListenerProtocol", l.Protocol, "ListenerPort", l.Port,
		"StartPort", api.NonZero(portText(l, l.StartPort)), "EndPort", api.NonZero(portText(l, l.EndPort)), "ListenerDescription", l.Description,
		"ServerGroupId", l.ServerGroupID, "IdleTimeout", l.IdleTimeout, "SecurityPolicyId", l.SecurityPolicyID, "CaEnabled", l.Ca,
		"AlpnEnabled", l.Alpn, "AlpnPolicy", l.AlpnPolicy, "ProxyProtocolEnabled", l.ProxyProtocol, "ProxyProtocolV2Config", api.Object{
			"Ppv2PrivateLinkEpIdEnabled", l.ProxyV2.EndpointID, "Ppv2PrivateLinkEpsIdEnabled", l.ProxyV2.EndpointServiceID,
			"Ppv2VpcIdEnabled", l.ProxyV2.VpcID,
		},
		"SecSensorEnabled", l.SecSensor, "ListenerStatus", l.Status, "Cps", l.Cps, "Mss", l.Mss, "CertificateIds", l.CertificateIDs,
		"CaCertificateIds", l.CaCertificateIDs, "Tags", tags,
	})
}

// portText is an end of the range of ports of a listener that has one. It is text in the cloud.
func portText(l *state.NLBListener, port int) string {
	if l.Port != 0 {
		return ""
	}
	return strconv.Itoa(port)
}

func getListener(c *api.Context, l *state.NLBListener, _ *state.NLB) (any, *api.Error) {
	return showListener(c, l, twiceNamed(l.Tags)), nil
}

func listListeners(c *api.Context) (any, *api.Error) {
	balancers, wanted := c.List("LoadBalancerIds"), tags.FilterOf(c)
	return list[state.NLBListener]{
		name: "Listeners", ids: "ListenerIds", all: c.State.NLBListeners, place: (*state.NLBListener).Place,
		match: func(l *state.NLBListener) bool {
			completeListener(c, l)
			sensor := !c.Has("SecSensorEnabled") || c.True("SecSensorEnabled") == l.SecSensor
			return listing.Among(balancers, l.NLBID) && listing.Match(c.Get("ListenerProtocol"), l.Protocol) && sensor && wanted.Match(l.Tags)
		},
		show: func(l *state.NLBListener) api.Object { return showListener(c, l, tagsOf(l.Tags)) },
	}.answer(c)
}

func listCertificates(c *api.Context, l *state.NLBListener, _ *state.NLB) (any, *api.Error) {
	if l.Protocol != protoTCPSSL {
		return nil, fail("OperationDenied.Protocol")
	}
	type certificate struct{ id, kind, status string }
	var shown []certificate
	if c.Get("CertType") != "Server" {
		for _, id := range l.CaCertificateIDs {
			shown = append(shown, certificate{id, "Ca", associated})
		}
	}
	if c.Get("CertType") != "Ca" {
		for _, a := range l.Additional {
			shown = append(shown, certificate{a.ID, "Server", a.Status})
		}
		for _, id := range l.CertificateIDs {
			shown = append(shown, certificate{id, "Server", associated})
		}
	}
	wanted := c.List("CertificateIds")
	shown = slices.DeleteFunc(shown, func(cert certificate) bool { return !listing.Among(wanted, cert.id) })
	slices.SortFunc(shown, func(a, b certificate) int { return strings.Compare(a.id, b.id) })
	ids := []string{}
	answer, err := pageOf(c, "Certificates", shown, func(cert certificate) string { return cert.id }, func(cert certificate) api.Object {
		ids = append(ids, cert.id)
		return api.Object{
			"CertificateId", cert.id, "CertificateType", cert.kind, "IsDefault", additional(l, cert.id) == nil, "Status", cert.status,
		}
	})
	if err != nil {
		return nil, err
	}
	return append(answer, "CertificateIds", ids), nil
}

func listenerHealth(c *api.Context, l *state.NLBListener, _ *state.NLB) (any, *api.Error) {
	infos := []api.Object{}
	if g := c.State.NLBServerGroups[l.ServerGroupID]; g != nil {
		completeGroup(c, g)
		servers := []api.Object{}
		for _, s := range g.Servers {
			if status, code := serverHealth(c, l, g, s); status != "" {
				servers = append(servers, api.Object{
					"ServerId", s.ServerID, "ServerIp", s.ServerIP, "Port", s.Port, "Status", status, "Reason", api.Object{"ReasonCode", code},
				})
			}
		}
		// The second member is spelt so by the cloud.
		infos = append(infos, api.Object{"ServerGroupId", g.ID, "HeathCheckEnabled", !g.HealthCheck.Off, "NonNormalServers", servers})
	}
	return pageOf(c, "ListenerHealthStatus", []*state.NLBListener{l}, func(l *state.NLBListener) string { return l.ID },
		func(l *state.NLBListener) api.Object {
			return api.Object{
				"ListenerId", l.ID, "ListenerPort", l.Port, "ListenerProtocol", l.Spelling.Of("ListenerProtocol", l.Protocol),
				"StartPort", api.NonZero(portText(l, l.StartPort)),
				"EndPort", api.NonZero(portText(l, l.EndPort)), "ServerGroupInfos", infos,
			}
		})
}

// Health returns the health of a server of a listener in the words of GetListenerHealthStatus, and "" of one that it leaves out.
func Health(c *api.Context, l *state.NLBListener, g *state.NLBServerGroup, s *state.NLBServer) string {
	status, _ := serverHealth(c, l, g, s)
	return status
}

// serverHealth returns why a server is not healthy, or "" if it is, or if it is not checked. What health checks find decides where the
// load balancers carry traffic, the state of the instance where they don't.
func serverHealth(c *api.Context, l *state.NLBListener, g *state.NLBServerGroup, s *state.NLBServer) (status, reasonCode string) {
	switch {
	case g.HealthCheck.Off:
		return "", ""
	case c.Traffic != nil:
		return checkedHealth(c, l, s)
	case c.Now.Before(s.Added.Add(c.Settings.BackendHealthy)):
		return initial, ""
	case !answers(c, s):
		return unhealthy, noConnection
	}
	return "", ""
}

// The words of GetListenerHealthStatus.
const (
	initial      = "Initial"
	unhealthy    = "Unhealthy"
	noConnection = "CONNECT_TIMEOUT"
)

// checkedHealth is what the data plane's health checks found, which has the words of CLB.
func checkedHealth(c *api.Context, l *state.NLBListener, s *state.NLBServer) (status, reasonCode string) {
	listener := &state.Listener{Port: cmp.Or(l.Port, l.StartPort), Protocol: strings.ToLower(l.Protocol)}
	server := &state.Server{Type: strings.ToLower(s.Type), ServerID: s.ServerID, ServerIP: s.ServerIP, Port: s.Port}
	switch c.Traffic.Health(l.NLBID, listener, server) {
	case "normal":
		return "", ""
	case "abnormal":
		return unhealthy, noConnection
	}
	return initial, ""
}

// answers reports whether a server passes health checks: its instance runs and is not marked unhealthy. Of an address alone
// nothing bad is known.
func answers(c *api.Context, s *state.NLBServer) bool {
	id := s.ServerID
	switch s.Type {
	case typeIP:
		return true
	case typeENI:
		eni := c.State.Interfaces[id]
		if eni == nil {
			return false
		}
		id = eni.InstanceID
	}
	i := c.State.Instances[id]
	return i != nil && i.Status == "Running" && (i.Healthy == nil || *i.Healthy)
}
