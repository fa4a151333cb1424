package nlb

import (
	"maps"
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
		read("GetListenerAttribute", getListener, []string{noListener}, mandatory("ListenerId")...),
		read("ListListeners", listListeners, nil, append(paging(),
			list("ListenerIds", maxIDs), list("LoadBalancerIds", maxIDs), api.OneOf("ListenerProtocol", protoTCP, protoUDP, protoTCPSSL),
			api.Flag("SecSensorEnabled"), structs("Tag", maxTags))...),
		read("GetListenerHealthStatus", listenerHealth, []string{noListener}, append(mandatory("ListenerId"), paging()...)...),
		read("ListListenerCertificates", listCertificates, []string{noListener, "OperationDenied.Protocol"}, append(append(mandatory("ListenerId"),
			api.OneOf("CertType", "Ca", "Server"), list("CertificateIds", maxIDs)), paging()...)...),
	}
}

// listenerView shows a listener. The ends of a range of ports are text in the cloud.
type listenerView struct {
	RegionID             string       `json:"RegionId"`
	LoadBalancerID       string       `json:"LoadBalancerId"`
	ListenerID           string       `json:"ListenerId"`
	ListenerProtocol     string       `json:"ListenerProtocol"`
	ListenerPort         int          `json:"ListenerPort"`
	StartPort            string       `json:"StartPort,omitempty"`
	EndPort              string       `json:"EndPort,omitempty"`
	ListenerDescription  string       `json:"ListenerDescription"`
	ServerGroupID        string       `json:"ServerGroupId"`
	IdleTimeout          int          `json:"IdleTimeout"`
	SecurityPolicyID     string       `json:"SecurityPolicyId"`
	CaEnabled            bool         `json:"CaEnabled"`
	AlpnEnabled          bool         `json:"AlpnEnabled"`
	AlpnPolicy           string       `json:"AlpnPolicy"`
	ProxyProtocolEnabled bool         `json:"ProxyProtocolEnabled"`
	ProxyProtocolV2      proxyV2      `json:"ProxyProtocolV2Config"`
	SecSensorEnabled     bool         `json:"SecSensorEnabled"`
	ListenerStatus       string       `json:"ListenerStatus"`
	Cps                  int          `json:"Cps"`
	Mss                  int          `json:"Mss"`
	CertificateIDs       []string     `json:"CertificateIds"`
	CaCertificateIDs     []string     `json:"CaCertificateIds"`
	Tags                 []tags.Short `json:"Tags"`
}

type proxyV2 struct {
	EndpointID        bool `json:"Ppv2PrivateLinkEpIdEnabled"`
	EndpointServiceID bool `json:"Ppv2PrivateLinkEpsIdEnabled"`
	VpcID             bool `json:"Ppv2VpcIdEnabled"`
}

func newListenerView(c *api.Context, l *state.NLBListener) listenerView {
	v := listenerView{
		RegionID: c.Region, LoadBalancerID: l.NLBID, ListenerID: l.ID, ListenerProtocol: l.Protocol, ListenerPort: l.Port,
		ListenerDescription: l.Description, ServerGroupID: l.ServerGroupID, IdleTimeout: l.IdleTimeout, SecurityPolicyID: l.SecurityPolicyID,
		CaEnabled: l.Ca, AlpnEnabled: l.Alpn, AlpnPolicy: l.AlpnPolicy, ProxyProtocolEnabled: l.ProxyProtocol, ProxyProtocolV2: proxyV2(l.ProxyV2),
		SecSensorEnabled: l.SecSensor, ListenerStatus: l.Status, Cps: l.Cps, Mss: l.Mss,
		CertificateIDs: append([]string{}, l.CertificateIDs...), CaCertificateIDs: append([]string{}, l.CaCertificateIDs...), Tags: tags.Shorts(l.Tags).Tag,
	}
	if l.Port == 0 {
		v.StartPort, v.EndPort = strconv.Itoa(l.StartPort), strconv.Itoa(l.EndPort)
	}
	return v
}

func getListener(c *api.Context) (any, *api.Error) {
	l, _, err := listener(c)
	if err != nil {
		return nil, err
	}
	return newListenerView(c, l), nil
}

func listListeners(c *api.Context) (any, *api.Error) {
	balancers, wanted := c.List("LoadBalancerIds"), tags.FilterOf(c)
	found := []*state.NLBListener{}
	for _, l := range candidates(c.State.NLBListeners, c.List("ListenerIds")) {
		completeListener(c, l)
		sensor := !c.Has("SecSensorEnabled") || c.True("SecSensorEnabled") == l.SecSensor
		if listing.Among(balancers, l.NLBID) && listing.Match(c.Get("ListenerProtocol"), l.Protocol) && sensor && wanted.MatchAny(l.Tags) {
			found = append(found, l)
		}
	}
	slices.SortFunc(found, func(a, b *state.NLBListener) int { return strings.Compare(a.ID, b.ID) })
	page, found, err := pageOf(c, found, func(l *state.NLBListener) string { return l.ID })
	if err != nil {
		return nil, err
	}
	out := struct {
		pageView
		Listeners []listenerView `json:"Listeners"`
	}{page, make([]listenerView, 0, len(found))}
	for _, l := range found {
		out.Listeners = append(out.Listeners, newListenerView(c, l))
	}
	return out, nil
}

type certificateView struct {
	CertificateID   string `json:"CertificateId"`
	CertificateType string `json:"CertificateType"`
	IsDefault       bool   `json:"IsDefault"`
	Status          string `json:"Status"`
}

func listCertificates(c *api.Context) (any, *api.Error) {
	l, _, err := listener(c)
	switch {
	case err != nil:
		return nil, err
	case l.Protocol != protoTCPSSL:
		return nil, fail("OperationDenied.Protocol")
	}
	shown := map[string]certificateView{}
	if c.Get("CertType") != "Server" {
		for _, id := range l.CaCertificateIDs {
			shown[id] = certificateView{id, "Ca", true, associated}
		}
	}
	if c.Get("CertType") != "Ca" {
		for _, a := range l.Additional {
			shown[a.ID] = certificateView{a.ID, "Server", false, a.Status}
		}
		for _, id := range l.CertificateIDs {
			shown[id] = certificateView{id, "Server", true, associated}
		}
	}
	wanted := c.List("CertificateIds")
	ids := slices.DeleteFunc(slices.Sorted(maps.Keys(shown)), func(id string) bool { return !listing.Among(wanted, id) })
	page, ids, err := pageOf(c, ids, func(id string) string { return id })
	if err != nil {
		return nil, err
	}
	out := struct {
		pageView
		CertificateIDs []string          `json:"CertificateIds"`
		Certificates   []certificateView `json:"Certificates"`
	}{page, append([]string{}, ids...), make([]certificateView, 0, len(ids))}
	for _, id := range ids {
		out.Certificates = append(out.Certificates, shown[id])
	}
	return out, nil
}

type healthView struct {
	ListenerID       string            `json:"ListenerId"`
	ListenerPort     int               `json:"ListenerPort"`
	ListenerProtocol string            `json:"ListenerProtocol"`
	StartPort        string            `json:"StartPort,omitempty"`
	EndPort          string            `json:"EndPort,omitempty"`
	ServerGroupInfos []groupHealthView `json:"ServerGroupInfos"`
}

type groupHealthView struct {
	ServerGroupID      string             `json:"ServerGroupId"`
	HealthCheckEnabled bool               `json:"HeathCheckEnabled"` // spelt so by the cloud
	NonNormalServers   []serverHealthView `json:"NonNormalServers"`
}

type serverHealthView struct {
	ServerID string `json:"ServerId"`
	ServerIP string `json:"ServerIp"`
	Port     int    `json:"Port"`
	Status   string `json:"Status"`
	Reason   reason `json:"Reason"`
}

type reason struct {
	ReasonCode string `json:"ReasonCode"`
}

func listenerHealth(c *api.Context) (any, *api.Error) {
	l, _, err := listener(c)
	if err != nil {
		return nil, err
	}
	view := newListenerView(c, l)
	shown := healthView{
		ListenerID: l.ID, ListenerPort: l.Port, ListenerProtocol: l.Protocol, StartPort: view.StartPort, EndPort: view.EndPort,
		ServerGroupInfos: []groupHealthView{},
	}
	if g := c.State.NLBServerGroups[l.ServerGroupID]; g != nil {
		completeGroup(c, g)
		info := groupHealthView{ServerGroupID: g.ID, HealthCheckEnabled: !g.HealthCheck.Off, NonNormalServers: []serverHealthView{}}
		for _, s := range g.Servers {
			if status, code := serverHealth(c, g, s); status != "" {
				info.NonNormalServers = append(info.NonNormalServers, serverHealthView{s.ServerID, s.ServerIP, s.Port, status, reason{code}})
			}
		}
		shown.ServerGroupInfos = append(shown.ServerGroupInfos, info)
	}
	return struct {
		pageView
		ListenerHealthStatus []healthView `json:"ListenerHealthStatus"`
	}{pageView{TotalCount: 1, MaxResults: c.Int("MaxResults", 20)}, []healthView{shown}}, nil
}

// serverHealth returns why a server is not healthy, or "" if it is, or if it is not checked. The state of its instance decides.
func serverHealth(c *api.Context, g *state.NLBServerGroup, s *state.NLBServer) (status, reasonCode string) {
	switch {
	case g.HealthCheck.Off:
		return "", ""
	case c.Now.Before(s.Added.Add(c.Settings.BackendHealthy)):
		return "Initial", ""
	case !answers(c, s):
		return "Unhealthy", "CONNECT_TIMEOUT"
	}
	return "", ""
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
