package slb

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

// listenerActions are the creation and the change of a listener, one pair for each protocol.
func listenerActions(t table) []api.Action {
	var actions []api.Action
	for _, protocol := range []string{protoTCP, protoUDP, protoHTTP, protoHTTPS} {
		key := []api.Param{region(), api.Required("LoadBalancerId"), must(api.Number("ListenerPort", 1, 65535)), api.Optional("AclId")}
		switches := []api.Param{api.OneOf("VServerGroup", on, off), api.Flag("DryRun")}
		if protocolBit(protocol)&layer4 != 0 {
			key[2] = must(api.Number("ListenerPort", 0, 0)) // the range has a code of its own
			switches = append(switches, api.OneOf("MasterSlaveServerGroup", on, off))
		}
		actions = append(actions,
			api.Write("CreateLoadBalancer"+strings.ToUpper(protocol)+"Listener",
				func(c *api.Context) (any, *api.Error) { return t.create(c, protocol) }, t.codes(protocol, inCreate),
				slices.Concat(key, []api.Param{tags.Uncounted()}, t.params(protocol, inCreate))...),
			api.Write("SetLoadBalancer"+strings.ToUpper(protocol)+"ListenerAttribute",
				func(c *api.Context) (any, *api.Error) { return t.set(c, protocol) }, t.codes(protocol, inSet),
				slices.Concat(key, switches, t.params(protocol, inSet))...),
		)
	}
	return actions
}

// codes returns the error codes of a protocol's creation or change.
func (t table) codes(protocol string, use usage) []string {
	codes := []string{
		"AclListenerOverLimit", "AclNotExist", "InvalidLoadBalancerId.NotFound", "InvalidParameter", "IpVersionConflict",
		"LbStatusNotSupport", "MissingParameter", "ServiceIsConfiguring",
	}
	if use == inCreate {
		codes = append(codes, "ListenerAlreadyExists", "ListenerNumberOverLimit")
		codes = append(codes, newTagCodes()...)
	} else {
		codes = append(codes, "DryRunOperation", noGroup(protocol), "ResourceNotFound.Listener")
	}
	if protocolBit(protocol)&layer4 != 0 {
		codes = append(codes, "Abs.VServerGroupIdAndMasterSlaveServerGroupId.MissMatch", "InvalidParam.ListenerPort")
	}
	if use == inCreate {
		codes = append(codes, "InvalidParameter.ListenerPortConflict")
	}
	if use == inCreate && protocol == protoUDP {
		codes = append(codes, "OperationDenied.SpecialListenerPortNotAllowed")
	}
	if use == inSet && protocol == protoHTTP {
		codes = append(codes, "Operation.NotAllowed")
	}
	if protocol == protoHTTPS {
		codes = append(codes, "CACertificateId.NotFound", "CertificateNotExist", "InvalidTLSPolicyId.NotExist",
			"MissingParam.ServerCertificates", "TLSPolicyConfiguring")
	}
	codes = append(codes, unknownGroup(protocol))
	for _, a := range t[protocol] {
		if a.code != "" && a.use&use != 0 {
			codes = append(codes, a.code)
		}
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}

func (t table) create(c *api.Context, protocol string) (any, *api.Error) {
	lb, err := loadBalancer(c)
	if err != nil {
		return nil, err
	}
	if err := writable(c, lb, listenerName(lb, protocol, c.Int("ListenerPort", 0)), busyListener); err != nil {
		return nil, err
	}
	port, err := newPort(c, lb, protocol)
	if err != nil {
		return nil, err
	}
	values, err := t.given(c, protocol, inCreate)
	if err != nil {
		return nil, err
	}
	l := &state.Listener{Port: port, Protocol: protocol, Status: stopped, Attributes: t.fallbacks(protocol)}
	c.Keep("", &l.Spelling)
	maps.Copy(l.Attributes, values)
	if err := checkScheduler(c, "", l); err != nil {
		return nil, err
	}
	if l.Tags, err = newTags(c); err != nil {
		return nil, err
	}
	if forward(l) == on {
		err = checkForward(lb, l)
	} else {
		err = checkTarget(c, lb, l)
	}
	if err != nil {
		return nil, err
	}
	if err := completeListener(c, lb, l); err != nil {
		return nil, err
	}
	lb.Listeners = append(lb.Listeners, l)
	changed(c, lb)
	return nil, nil
}

// newPort checks the port of a new listener. TCP, HTTP and HTTPS listeners share the ports; UDP listeners have their own, unless
// that is set to be refused.
func newPort(c *api.Context, lb *state.LoadBalancer, protocol string) (int, *api.Error) {
	if err := checkPort(c); err != nil {
		return 0, err
	}
	port := c.Int("ListenerPort", 0)
	if protocol == protoUDP && port == 4789 {
		return 0, api.BadRequest("OperationDenied.SpecialListenerPortNotAllowed", "The port 4789 is reserved.")
	}
	for _, other := range listenersAt(lb, port, "") {
		switch {
		case other.Protocol == protocol:
			return 0, api.BadRequest("ListenerAlreadyExists", "There is already a listener bound to the port on the specified load balancer.")
		case (other.Protocol == protoUDP) == (protocol == protoUDP) || c.Settings.SharedPortsRefused:
			return 0, api.BadRequest("InvalidParameter.ListenerPortConflict", "The ListenerPort conflicts with a listener of another protocol.")
		}
	}
	if limit := c.Settings.Quotas.Listeners; len(lb.Listeners) >= limit {
		return 0, api.BadRequest("ListenerNumberOverLimit", "The number of listeners exceeds the quota of %d.", limit)
	}
	return port, nil
}

// checkPort refuses what is no port in the actions of TCP and UDP listeners.
func checkPort(c *api.Context) *api.Error {
	if port := c.Int("ListenerPort", 0); port < 1 || port > 65535 {
		return api.BadRequest("InvalidParam.ListenerPort", "The specified ListenerPort is not in the range of 1 to 65535.")
	}
	return nil
}

// forward reports whether a listener redirects to an HTTPS listener.
func forward(l *state.Listener) string {
	if l.Attributes["ListenerForward"] == on {
		return on
	}
	return off
}

func forwardPort(l *state.Listener) int {
	n, err := strconv.Atoi(l.Attributes["ForwardPort"])
	if forward(l) == off || err != nil {
		return 0
	}
	return n
}

// checkForward checks a redirecting listener, which has neither servers nor a health check.
func checkForward(lb *state.LoadBalancer, l *state.Listener) *api.Error {
	if l.Attributes["ForwardPort"] == "" {
		l.Attributes["ForwardPort"] = "443"
	}
	if l.Attributes["ForwardCode"] == "" {
		l.Attributes["ForwardCode"] = "302"
	}
	if len(listenersAt(lb, forwardPort(l), protoHTTPS)) == 0 {
		return api.BadRequest("InvalidParameter", "The specified ForwardPort is not the port of an HTTPS listener.")
	}
	delete(l.Attributes, "VServerGroupId")
	delete(l.Attributes, "BackendServerPort")
	l.Attributes["HealthCheck"] = off
	return nil
}

// checkTarget checks where a new listener sends its traffic.
func checkTarget(c *api.Context, lb *state.LoadBalancer, l *state.Listener) *api.Error {
	switch a := l.Attributes; {
	case a["VServerGroupId"] != "" && a["MasterSlaveServerGroupId"] != "":
		return twoTargets()
	case a["VServerGroupId"] != "":
		return checkGroup(c, lb, l)
	case a["MasterSlaveServerGroupId"] != "":
		return checkPair(c, lb, l)
	case a["BackendServerPort"] == "":
		return api.Missing("VServerGroupId")
	}
	return nil
}

func checkGroup(c *api.Context, lb *state.LoadBalancer, l *state.Listener) *api.Error {
	if groupIn(c, lb, l.Attributes["VServerGroupId"]) {
		return nil
	}
	return api.BadRequest(unknownGroup(l.Protocol), "The specified VServerGroupId does not exist.")
}

// checkPair does so for a master-slave group. The documents of listeners list no code of their own for one that does not exist.
func checkPair(c *api.Context, lb *state.LoadBalancer, l *state.Listener) *api.Error {
	if pairIn(c, lb, l.Attributes["MasterSlaveServerGroupId"]) {
		return nil
	}
	return api.BadRequest("InvalidParameter", "The specified MasterSlaveServerGroupId does not exist.")
}

// twoTargets is the error for a listener that is to send its traffic to a vServer group and a master-slave group.
func twoTargets() *api.Error {
	return api.BadRequest("Abs.VServerGroupIdAndMasterSlaveServerGroupId.MissMatch",
		"VServerGroupId and MasterSlaveServerGroupId cannot be specified at the same time.")
}

// unknownGroup is the code for a group that does not exist.
func unknownGroup(protocol string) string {
	if protocolBit(protocol)&layer7 != 0 {
		return "InvalidParameter.VServerGroupId"
	}
	return "ResourceNotFound.VServerGroup"
}

// noGroup is the code for a switch to a group that does not say which.
func noGroup(protocol string) string {
	if protocolBit(protocol)&layer7 != 0 {
		return unknownGroup(protocol)
	}
	return "MissingParam.VServerGroupId"
}

// completeListener checks what involves several attributes or other resources, for a new listener and for a changed one.
func completeListener(c *api.Context, lb *state.LoadBalancer, l *state.Listener) *api.Error {
	for _, check := range []func(*api.Context, *state.LoadBalancer, *state.Listener) *api.Error{
		checkSession, checkCertificates, checkCipherPolicy, setAccessControl, checkBandwidth,
	} {
		if err := check(c, lb, l); err != nil {
			return err
		}
	}
	return nil
}

func checkSession(_ *api.Context, _ *state.LoadBalancer, l *state.Listener) *api.Error {
	if protocolBit(l.Protocol)&layer7 == 0 {
		return nil
	}
	switch a := l.Attributes; {
	case a["HealthCheck"] == "":
		return api.Missing("HealthCheck")
	case a["StickySession"] != on:
		return nil
	case a["StickySessionType"] == "":
		return api.Missing("StickySessionType")
	case a["StickySessionType"] == "insert" && a["CookieTimeout"] == "":
		return api.Missing("CookieTimeout")
	case a["StickySessionType"] == "server" && a["Cookie"] == "":
		return api.Missing("Cookie")
	}
	return nil
}

func checkCertificates(c *api.Context, _ *state.LoadBalancer, l *state.Listener) *api.Error {
	if l.Protocol != protoHTTPS {
		return nil
	}
	id, caID := l.Attributes["ServerCertificateId"], l.Attributes["CACertificateId"]
	if id == "" {
		return api.BadRequest("MissingParam.ServerCertificates", "The parameter ServerCertificateId is required.")
	}
	if cert := c.State.Certificates[id]; cert == nil || cert.CA {
		return api.BadRequest("CertificateNotExist", "The specified certificate does not exist.")
	}
	if cert := c.State.Certificates[caID]; caID != "" && (cert == nil || !cert.CA) {
		return api.NotFound("CACertificateId.NotFound", "The specified CA certificate does not exist.")
	}
	return nil
}

// setAccessControl binds the listener to the access control lists of the parameter AclId, if it was sent.
func setAccessControl(c *api.Context, lb *state.LoadBalancer, l *state.Listener) *api.Error {
	ids := l.AclIDs
	if c.Has("AclId") {
		ids = nil
		for _, item := range c.List("AclId") {
			ids = append(ids, listing.CommaList(item)...)
		}
	}
	if l.Attributes["AclStatus"] == on {
		switch {
		case len(ids) == 0:
			return api.Missing("AclId")
		case l.Attributes["AclType"] == "":
			return api.Missing("AclType")
		}
	}
	for _, id := range ids {
		acl := c.State.Acls[id]
		switch {
		case acl == nil:
			return aclNotFound()
		case acl.IPVersion != lb.AddressIPVersion:
			return api.BadRequest("IpVersionConflict", "The IP version of the Acl differs from that of the load balancer.")
		case !slices.Contains(l.AclIDs, id) && len(aclListeners(c, id)) >= c.Settings.Quotas.ListenersPerAcl:
			return api.BadRequest("AclListenerOverLimit", "The number of listeners of the Acl exceeds the quota of %d.",
				c.Settings.Quotas.ListenersPerAcl)
		}
	}
	l.AclIDs = ids
	return nil
}

// checkBandwidth keeps the listeners of a load balancer that pays for its bandwidth within it.
func checkBandwidth(_ *api.Context, lb *state.LoadBalancer, l *state.Listener) *api.Error {
	if lb.InternetChargeType == payByBandwidth && listenerBandwidth(lb, l) > lb.Bandwidth {
		return api.BadRequest("InvalidParameter", "The sum of the bandwidths of all listeners exceeds the bandwidth of the load balancer.")
	}
	return nil
}

// listenerBandwidth returns the sum of the limited bandwidths of all listeners, with one of them replaced or added.
func listenerBandwidth(lb *state.LoadBalancer, changed *state.Listener) int {
	sum := 0
	add := func(l *state.Listener) {
		if n, err := strconv.Atoi(l.Attributes["Bandwidth"]); err == nil {
			sum += max(0, n)
		}
	}
	for _, l := range lb.Listeners {
		if changed == nil || l.Port != changed.Port || l.Protocol != changed.Protocol {
			add(l)
		}
	}
	if changed != nil {
		add(changed)
	}
	return sum
}
