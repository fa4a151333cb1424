package nlb

import (
	"cmp"
	"crypto/x509"
	"encoding/pem"
	"slices"
	"unicode/utf8"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

const (
	protoTCP    = "TCP"
	protoUDP    = "UDP"
	protoTCPSSL = "TCPSSL"
	protoBoth   = "TCP_UDP" // of server groups

	maxPort = 65535
)

// Seconds of idleness after which a session ends.
const (
	leastIdle, greatestIdle, greatestIdleUDP = 10, 900, 20
)

func listenerActions() []api.Action {
	settings := []api.Param{
		api.Optional("ListenerDescription"), {Name: "IdleTimeout", Kind: api.Int}, api.Optional("SecurityPolicyId"), api.Flag("CaEnabled"),
		texts("CertificateIds", 0), texts("CaCertificateIds", 0), api.Flag("AlpnEnabled"),
		api.OneOf("AlpnPolicy", "HTTP1Only", "HTTP2Only", "HTTP2Optional", "HTTP2Preferred"), api.Flag("ProxyProtocolEnabled"),
		api.Flag("ProxyProtocolV2Config.Ppv2PrivateLinkEpIdEnabled"),
		api.Flag("ProxyProtocolV2Config.Ppv2PrivateLinkEpsIdEnabled"), api.Flag("ProxyProtocolV2Config.Ppv2VpcIdEnabled"),
		api.Flag("SecSensorEnabled"), api.Number("Cps", 0, maxCps), api.Number("Mss", 0, 1500),
	}
	codes := []string{
		noGroup, quota, lockConflict, balancerStatus, groupStatus, "Mismatch.VpcId", "Mismatch.Protocol", "MissingParam.AlpnPolicy",
		"MissingParam.CaCertificate", "ResourceNotFound.Certificate", "ResourceNotFound.CaCertificate", noPolicy,
		illegal, "IllegalParam.IdleTimeout", "IllegalParam.ListenerDescription", "IllegalParam.MssConflictWithUdpAndGeneve",
		"IllegalParam.PreserveClientIpSwitch", "IllegalParamSize.certificateIds",
		"IllegalParam.AnyPortListenerConflictWithNonAnyPortServerGroup", "IllegalParam.NonAnyPortListenerConflictWithAnyPortServerGroup",
	}
	return []api.Action{
		write("CreateListener", api.On(balancer, createListener), append([]string{
			noBalancer, "Conflict.Port", "IllegalParam.Port", "MissingParam.Certificate",
		}, codes...), append(append(mandatory("LoadBalancerId", "ServerGroupId"),
			required(api.OneOf("ListenerProtocol", protoTCP, protoUDP, protoTCPSSL)), required(api.Param{Name: "ListenerPort", Kind: api.Int}),
			api.Param{Name: "StartPort", Kind: api.Int}, api.Param{Name: "EndPort", Kind: api.Int}, structs("Tag", maxTags)), settings...)...),
		write("UpdateListenerAttribute", api.On2(settledListener, updateListener), append([]string{noListener, listenerStatus}, codes...),
			append(append(mandatory("ListenerId"), api.Optional("ServerGroupId")), settings...)...),
	}
}

func createListener(c *api.Context, lb *state.NLB) (*change, *api.Error) {
	if err := free(c, lb, balancerStatus, balancerStatus); err != nil {
		return nil, err
	}
	l := &state.NLBListener{
		NLBID: lb.ID, Protocol: c.Get("ListenerProtocol"), Port: c.Int("ListenerPort", 0), StartPort: c.Int("StartPort", 0),
		EndPort: c.Int("EndPort", 0), Status: provisioning, IdleTimeout: greatestIdle, Tags: tags.FilterOf(c), Created: c.Now,
	}
	switch l.Protocol {
	case protoUDP:
		l.IdleTimeout = greatestIdleUDP
	case protoTCPSSL:
		l.SecurityPolicyID = systemPolicies()[0].ID
	}
	switch {
	case !validPorts(l):
		return nil, fail("IllegalParam.Port")
	case !validTags(l.Tags):
		return nil, fail(illegal)
	case l.Protocol == protoTCPSSL && len(c.List("CertificateIds")) == 0:
		return nil, fail("MissingParam.Certificate")
	}
	count := 0
	for _, other := range c.State.NLBListeners {
		if other.NLBID != lb.ID {
			continue
		}
		if count++; portsOverlap(l, other) {
			return nil, fail("Conflict.Port")
		}
	}
	if count >= c.Settings.Quotas.NLBListeners {
		return nil, fail(quota)
	}
	if err := setListener(c, lb, l); err != nil {
		return nil, err
	}
	return &change{kind: kindListener, balancer: lb.ID, begin: func() string {
		l.ID = c.NewID("lsn-") + "@" + c.Get("ListenerPort")
		l.Number = c.State.Sequence
		c.State.NLBListeners[l.ID] = l
		return l.ID
	}}, nil
}

// validPorts reports whether a listener has one port, or a range of at least two.
func validPorts(l *state.NLBListener) bool {
	if l.Port == 0 {
		return l.StartPort >= 1 && l.StartPort < l.EndPort && l.EndPort <= maxPort
	}
	return l.Port >= 1 && l.Port <= maxPort && l.StartPort == 0 && l.EndPort == 0
}

// portsOverlap reports whether two listeners of a load balancer would serve the same port. UDP has ports of its own.
func portsOverlap(a, b *state.NLBListener) bool {
	if (a.Protocol == protoUDP) != (b.Protocol == protoUDP) {
		return false
	}
	return cmp.Or(a.StartPort, a.Port) <= cmp.Or(b.EndPort, b.Port) && cmp.Or(b.StartPort, b.Port) <= cmp.Or(a.EndPort, a.Port)
}

// setListener sets what the parameters of a call say. On an error the listener, a copy, is of no more use.
func setListener(c *api.Context, lb *state.NLB, l *state.NLBListener) *api.Error {
	c.Keep("", &l.Spelling)
	c.SetText("ListenerDescription", &l.Description)
	c.SetInt("IdleTimeout", &l.IdleTimeout)
	c.SetInt("Cps", &l.Cps)
	c.SetInt("Mss", &l.Mss)
	c.SetFlag("SecSensorEnabled", &l.SecSensor)
	c.SetFlag("ProxyProtocolEnabled", &l.ProxyProtocol)
	setProxyV2(c, &l.ProxyV2)
	longest := greatestIdle
	if l.Protocol == protoUDP {
		longest = greatestIdleUDP
	}
	switch n := utf8.RuneCountInString(l.Description); {
	case l.IdleTimeout < leastIdle || l.IdleTimeout > longest:
		return fail("IllegalParam.IdleTimeout")
	case l.Description != "" && (n < 2 || n > 256):
		return fail("IllegalParam.ListenerDescription")
	case l.Protocol == protoUDP && l.Mss != 0:
		return fail("IllegalParam.MssConflictWithUdpAndGeneve")
	}
	if l.Protocol == protoTCPSSL {
		if err := setTLS(c, l); err != nil {
			return err
		}
	}
	if former := l.ServerGroupID; c.Has("ServerGroupId") && c.Get("ServerGroupId") != former {
		l.ServerGroupID = c.Get("ServerGroupId")
		return checkGroup(c, lb, l)
	}
	return nil
}

// setProxyV2 reads what the header of the proxy protocol carries.
func setProxyV2(c *api.Context, v *state.NLBProxyV2) {
	const name = "ProxyProtocolV2Config."
	c.SetFlag(name+"Ppv2PrivateLinkEpIdEnabled", &v.EndpointID)
	c.SetFlag(name+"Ppv2PrivateLinkEpsIdEnabled", &v.EndpointServiceID)
	c.SetFlag(name+"Ppv2VpcIdEnabled", &v.VpcID)
}

// setTLS sets certificates, the TLS policy and ALPN of a listener.
func setTLS(c *api.Context, l *state.NLBListener) *api.Error {
	c.SetText("SecurityPolicyId", &l.SecurityPolicyID)
	c.SetText("AlpnPolicy", &l.AlpnPolicy)
	c.SetFlag("AlpnEnabled", &l.Alpn)
	c.SetFlag("CaEnabled", &l.Ca)
	if ids := c.List("CertificateIds"); len(ids) > 0 {
		l.CertificateIDs = ids
	}
	if ids := c.List("CaCertificateIds"); len(ids) > 0 {
		l.CaCertificateIDs = ids
	}
	switch {
	case len(l.CertificateIDs) > 1 || len(l.CaCertificateIDs) > 1:
		return fail("IllegalParamSize.certificateIds")
	case !certificateIs(c, l.CertificateIDs, false):
		return fail("ResourceNotFound.Certificate")
	case l.Ca && len(l.CaCertificateIDs) == 0:
		return fail("MissingParam.CaCertificate")
	case !certificateIs(c, l.CaCertificateIDs, true):
		return fail("ResourceNotFound.CaCertificate")
	case l.Alpn && l.AlpnPolicy == "":
		return fail("MissingParam.AlpnPolicy")
	case !policyExists(c, l.SecurityPolicyID):
		return fail(noPolicy)
	}
	return nil
}

// certificateIs reports whether certificates exist in the Certificate Management Service and are those of authorities or of servers.
func certificateIs(c *api.Context, ids []string, ca bool) bool {
	return !slices.ContainsFunc(ids, func(id string) bool {
		cert := c.State.UserCertificate(id)
		return cert == nil || cert.CA != ca && (!ca || !ofAuthority(cert.PEM))
	})
}

// ofAuthority reports whether an uploaded certificate is one of an authority. It may serve as that of a server all the same, as
// self-signed ones do.
func ofAuthority(text string) bool {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return false
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	return err == nil && cert.IsCA
}

// checkGroup checks that a listener can use its server group.
func checkGroup(c *api.Context, lb *state.NLB, l *state.NLBListener) *api.Error {
	g := c.State.NLBServerGroups[l.ServerGroupID]
	if g == nil {
		return fail(noGroup)
	}
	completeGroup(c, g)
	fits := map[string][]string{
		protoTCP: {protoTCP, protoBoth}, protoUDP: {protoUDP, protoBoth}, protoTCPSSL: {protoTCP, protoTCPSSL},
	}[l.Protocol]
	uses, here := 0, []*state.NLBServerGroup{g}
	for _, other := range c.State.NLBListeners {
		if other.ServerGroupID == g.ID {
			uses++
		}
		if used := c.State.NLBServerGroups[other.ServerGroupID]; other.NLBID == lb.ID && other.ID != l.ID && used != nil {
			here = append(here, used)
		}
	}
	switch {
	case g.Status == creating || busy(c, kindGroup, g.ID, "DeleteServerGroup"):
		return fail(groupStatus)
	case g.VpcID != lb.VpcID:
		return fail("Mismatch.VpcId")
	case !slices.Contains(fits, g.Protocol):
		return fail("Mismatch.Protocol")
	case l.Protocol == protoTCPSSL && !g.ClientIPOff:
		return fail("IllegalParam.PreserveClientIpSwitch")
	case l.Port == 0 && !g.AnyPort:
		return fail("IllegalParam.AnyPortListenerConflictWithNonAnyPortServerGroup")
	case l.Port != 0 && g.AnyPort:
		return fail("IllegalParam.NonAnyPortListenerConflictWithAnyPortServerGroup")
	case uses >= c.Settings.Quotas.NLBListenersPerGroup, differentServers(here) > c.Settings.Quotas.NLBServers:
		return fail(quota)
	}
	return nil
}

// differentServers counts the servers of some groups. One counts once, in however many groups and with however many ports.
func differentServers(groups []*state.NLBServerGroup, more ...*state.NLBServer) int {
	type backend struct{ id, ip string }
	seen := map[backend]bool{}
	for i, g := range groups {
		if !slices.Contains(groups[:i], g) {
			for _, s := range g.Servers {
				seen[backend{s.ServerID, s.ServerIP}] = true
			}
		}
	}
	for _, s := range more {
		seen[backend{s.ServerID, s.ServerIP}] = true
	}
	return len(seen)
}

func updateListener(c *api.Context, l *state.NLBListener, lb *state.NLB) (*change, *api.Error) {
	updated := *l
	if err := setListener(c, lb, &updated); err != nil {
		return nil, err
	}
	what := reconfigure(l, configuring)
	what.apply = func() {
		updated.Status, updated.SettleTo = l.Status, l.SettleTo
		*l = updated
	}
	return what, nil
}

// reconfigure is a change of a listener that nothing else may overlap.
func reconfigure(l *state.NLBListener, passing string) *change {
	return &change{kind: kindListener, id: l.ID, balancer: l.NLBID, begin: func() string {
		l.SettleTo, l.Status = l.Status, passing
		return ""
	}}
}

// listener returns the listener of the parameter ListenerId.
func listener(c *api.Context) (*state.NLBListener, *state.NLB, *api.Error) {
	l := c.State.NLBListeners[c.Get("ListenerId")]
	if l == nil || c.State.NLBs[l.NLBID] == nil {
		return nil, nil, fail(noListener)
	}
	lb := c.State.NLBs[l.NLBID]
	complete(c, lb)
	completeListener(c, l)
	return l, lb, nil
}

// settledListener returns the listener of the parameter ListenerId if it can be changed.
func settledListener(c *api.Context) (*state.NLBListener, *state.NLB, *api.Error) {
	l, lb, err := listener(c)
	if err != nil {
		return nil, nil, err
	}
	if err := free(c, lb, balancerStatus, balancerStatus); err != nil {
		return nil, nil, err
	}
	if l.Status != running && l.Status != stopped {
		return nil, nil, fail(listenerStatus)
	}
	return l, lb, nil
}

// completeListener fills in what a seeded listener leaves out.
func completeListener(c *api.Context, l *state.NLBListener) {
	if !l.Created.IsZero() {
		return
	}
	l.Created, l.Protocol, l.Status = c.Now, cmp.Or(l.Protocol, protoTCP), cmp.Or(l.Status, running)
	idle := greatestIdle
	if l.Protocol == protoUDP {
		idle = greatestIdleUDP
	}
	l.IdleTimeout = cmp.Or(l.IdleTimeout, idle)
}
