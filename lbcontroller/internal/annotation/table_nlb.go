package annotation

import "slices"

// Keys of the table that only NLBs have, in its order.
const (
	ZoneMaps            = "zone-maps"
	IPv6AddressType     = "ipv6-address-type"
	SecurityGroupIDs    = "security-group-ids"
	BandwidthPackageID  = "bandwidth-package-id"
	CrossZone           = "cross-zone-enabled"
	ShiftedZones        = "shifted-zones"
	AdditionalCertIDs   = "additional-cert-ids"
	CACertID            = "cacert-id"
	CACert              = "cacert"
	ALPN                = "alpn"
	ALPNPolicy          = "alpn-policy"
	ListenerPortRange   = "listener-port-range"
	ConnectionsPerSec   = "cps"
	PPv2EndpointID      = "ppv2-pvl-ep-id-enabled"
	PPv2EndpointService = "ppv2-pvl-eps-id-enabled"
	PPv2VPCID           = "ppv2-pvl-vpc-id-enabled"
	ServerGroupType     = "server-group-type"
	PreserveClientIP    = "preserve-client-ip"
)

// None is the value of an annotation with ids that asks for none of them. It takes the place of one that was applied and is deleted.
const None = "none"

// nlbTable are the rows of NLBs, apart from those that they share with CLBs.
func nlbTable() []Spec {
	rows := append(nlbInstanceTable(), append(nlbListenerTable(), append(nlbHealthTable(), nlbBackendTable()...)...)...)
	for i := range rows {
		rows[i].For = []LoadBalancer{NLB}
	}
	return rows
}

func nlbInstanceTable() []Spec {
	return []Spec{
		{Key: ID, Kind: Text, Max: 64, Pattern: IDText, Scope: Instance, Default: "an NLB of its own", Removal: Fails, Since: "v2.5.1",
			Doc: "Uses an existing NLB instead of creating one; it is never deleted."},
		{Key: ForceOverride, Kind: Switch, Scope: Instance, Default: "off", Removal: Reverts, Since: "v2.5.1",
			Needs: []Need{needs(ID)},
			Doc:   "Manages the listeners of an existing NLB too; without effect unless id is set."},
		{Key: ZoneMaps, Kind: Pairs, Separator: ":", Scope: Instance,
			Default: "one of vswitchIDs of the configuration in each zone, or those that are found", Removal: Keeps, Since: "v2.5.1",
			Doc: "Zones with their vSwitches, 2 to 10, each zone and each EIP once: " +
				"zone:vSwitch[:private IPv4 address[:EIP]],…; the NLB gets and loses zones as they are listed."},
		{Key: AddressType, Kind: Choice, Values: []string{"internet", "intranet"}, Scope: Instance, Default: "internet",
			Removal: Keeps, Since: "v2.5.1",
			Doc: "Where the IPv4 addresses can be reached from; can be changed."},
		{Key: IPVersion, Kind: Choice, Values: []string{"ipv4", "DualStack"}, Scope: Instance, Default: "ipv4",
			Removal: Keeps, Field: FieldFamilies,
			Since: "v2.5.1",
			Doc:   "Families of the addresses; fixed once the NLB exists."},
		{Key: IPv6AddressType, Kind: Choice, Values: []string{"internet", "intranet"}, Scope: Instance,
			Default: "the cloud's, intranet", Removal: Keeps, Since: "v2.9.1",
			Doc: "Where the IPv6 addresses of a DualStack NLB can be reached from."},
		{Key: Name, Kind: Text, Max: 128, Scope: Instance,
			Default: "\"a\" and the UID of the Service without dashes, 32 characters", Removal: Keeps, Since: "v2.5.1",
			Doc: "Name of the NLB."},
		{Key: ResourceGroupID, Kind: Text, Max: 64, Scope: Instance,
			Default: "resourceGroupID of the configuration, else the account's default", Removal: Keeps, Since: "v2.5.1",
			Doc: "Resource group of the NLB and of its server groups; fixed once they exist."},
		{Key: AdditionalTags, Kind: Pairs, Separator: "=", Scope: Instance, Default: "none", Removal: Reverts, Since: "v2.5.1",
			Doc: "Tags to add to the NLB, key=value,…; what is taken off the list is taken off the NLB. Tags of others are never touched."},
		{Key: SecurityGroupIDs, Kind: List, Scope: Instance, Default: "those that it has", Removal: Keeps, Since: "v2.6.0",
			Doc: "All security groups of the NLB, or none. Only none takes them off: they decide who may connect."},
		{Key: BandwidthPackageID, Kind: Text, Max: 64, Pattern: IDText, Scope: Instance, Default: "the one that it has",
			Removal: Reverts, Reset: None, Since: "v2.9.1",
			Doc: "Internet Shared Bandwidth of an internet NLB, or none."},
		{Key: CrossZone, Kind: Switch, Scope: Instance, Default: "the cloud's, on", Removal: Reverts, Reset: "on", Since: "v2.13.0",
			Doc: "Sends traffic to servers in other zones, too."},
		{Key: ShiftedZones, Kind: List, Scope: Instance, Default: "those that are", Removal: Reverts, Reset: None, Since: "new",
			Doc: "All zones whose addresses are taken out of the NLB's name, such as cn-hangzhou-h, or none; at least one zone stays in it. " +
				"The zones stay with the NLB and come back when they are taken off the list."},
		{Key: DeleteProtection, Kind: Switch, Scope: Instance, Default: "on", Removal: Reverts, Reset: "on", Since: "new",
			Doc: "Refuses to delete the NLB in the console; the controller lifts it before it deletes the NLB itself."},
		{Key: ModificationProtection, Kind: Choice, Values: []string{"ConsoleProtection", "NonProtection"}, Scope: Instance,
			Default: "ConsoleProtection",
			Removal: Reverts, Reset: "ConsoleProtection", Since: "new", Doc: "Refuses changes made in the console."},
		{Key: PreserveOnDelete, Kind: Switch, Scope: Instance, Default: "off", Removal: Reverts, Since: "v2.10.0",
			Doc: "Keeps the NLB with its listeners, server groups and backends when the Service goes."},
	}
}

func nlbListenerTable() []Spec {
	secure := []string{"tcpssl"}
	return []Spec{
		{Key: ProtocolPort, Kind: Pairs, Separator: ":", Scope: Listener, Whole: true,
			Default: "the protocol of the port", Removal: Reverts, Since: "v2.5.1",
			Doc: "Protocol by port, tcp, udp or tcpssl, for instance tcpssl:443,tcp:80; a change recreates the listener."},
		{Key: ListenerPortRange, Kind: Pairs, Separator: ":", Scope: Listener, Whole: true,
			Default: "the port", Removal: Reverts, Since: "v2.11.2",
			Doc: "Ranges of listener ports by port of the Service, for instance 8000-8100:80; traffic goes to the port of " +
				"the pod at which it came. Only for backend-type eni."},
		{Key: CertID, Kind: List, Scope: Listener, Protocols: secure, Default: "none; required for tcpssl", Removal: Fails, Since: "v2.5.1",
			Doc: "Server certificate of the tcpssl listeners, one of the certificate service such as 123-cn-hangzhou."},
		{Key: AdditionalCertIDs, Kind: List, Scope: Listener, Protocols: secure, Default: "those that it has",
			Removal: Reverts, Reset: None, Since: "v2.13.0",
			Doc: "All further server certificates of the tcpssl listeners, or none. In place of a certificate, secret/NAME names a Secret, " +
				"as tls-secret does."},
		{Key: CACert, Kind: Switch, Scope: Listener, Protocols: secure, Default: "the cloud's, off", Removal: Reverts,
			Reset: "off", Since: "v2.5.1",
			Doc: "Asks clients for a certificate; needs cacert-id."},
		{Key: CACertID, Kind: List, Scope: Listener, Protocols: secure, Default: "none", Removal: Keeps, Since: "v2.5.1",
			Needs: []Need{needs(CACert, "on")},
			Doc:   "The certificate of the authority of the clients' certificates."},
		{Key: TLSCipherPolicy, Kind: Text, Max: 64, Pattern: IDText, Scope: Listener, Protocols: secure,
			Default: "the cloud's, tls_cipher_policy_1_0", Removal: Reverts,
			Reset: "tls_cipher_policy_1_0", Since: "v2.5.1",
			Doc: "TLS versions and ciphers: tls_cipher_policy_1_0, _1_1, _1_2, _1_2_strict or _1_2_strict_with_1_3, or the " +
				"id of a policy of your own."},
		{Key: ALPN, Kind: Switch, Scope: Listener, Protocols: secure, Default: "the cloud's, off", Removal: Reverts,
			Reset: "off", Since: "v2.10.0",
			Doc: "Agrees with clients on the protocol within TLS; needs alpn-policy."},
		{Key: ALPNPolicy, Kind: Choice, Values: []string{"HTTP1Only", "HTTP2Only", "HTTP2Optional", "HTTP2Preferred"},
			Scope: Listener, Protocols: secure, Default: "none",
			Removal: Keeps, Since: "v2.10.0", Needs: []Need{needs(ALPN, "on")},
			Doc: "Which protocols are offered."},
		{Key: IdleTimeout, Kind: Number, Min: 10, Max: 900, Scope: Listener, Default: "the cloud's, 900, for udp 20",
			Removal: Reverts, Reset: "900", Since: "v2.5.1",
			Doc: "Idle time of a connection in seconds; at least 10, and at most 20 for udp."},
		{Key: ProxyProtocol, Kind: Switch, Scope: Listener, Default: "the cloud's, off", Removal: Reverts, Reset: "off", Since: "v2.6.0",
			Doc: "Sends the client address by PROXY protocol version 2."},
		{Key: PPv2EndpointID, Kind: Switch, Scope: Listener, Default: "the cloud's, off", Removal: Reverts, Reset: "off", Since: "v2.9.1",
			Needs: []Need{needs(ProxyProtocol, "on")},
			Doc:   "Sends the id of the PrivateLink endpoint, too; needs proxy-protocol."},
		{Key: PPv2EndpointService, Kind: Switch, Scope: Listener, Default: "the cloud's, off", Removal: Reverts, Reset: "off", Since: "v2.9.1",
			Needs: []Need{needs(ProxyProtocol, "on")},
			Doc:   "Sends the id of the PrivateLink endpoint service, too; needs proxy-protocol."},
		{Key: PPv2VPCID, Kind: Switch, Scope: Listener, Default: "the cloud's, off", Removal: Reverts, Reset: "off", Since: "v2.9.1",
			Needs: []Need{needs(ProxyProtocol, "on")},
			Doc:   "Sends the id of the client's VPC, too; needs proxy-protocol."},
		{Key: ConnectionsPerSec, Kind: Number, Min: 0, Max: 1000000, Scope: Listener, Default: "the cloud's, 0 (any number)",
			Removal: Reverts, Reset: "0", Since: "v2.5.1",
			Doc: "New connections per second in each zone at most."},
	}
}

func nlbHealthTable() []Spec {
	checks := []Need{needs(HealthCheckFlag, "on")}
	byHTTP := append(slices.Clone(checks), needs(HealthCheckType, "http"))
	return []Spec{
		{Key: HealthCheckFlag, Kind: Switch, Scope: Health, Default: "the cloud's, on", Removal: Reverts, Reset: "on", Since: "v2.5.1",
			Doc: "Probes the backends. The other annotations of this section have an effect only if this one is on, as with the existing CCM."},
		{Key: HealthCheckType, Kind: Choice, Values: []string{"tcp", "http", "udp"}, Scope: Health,
			Default: "the cloud's, tcp", Removal: Keeps, Since: "v2.5.1",
			Needs: checks,
			Doc: "How backends are probed; udp is for udp ports only, whose new server groups have it by default. Those that are there " +
				"keep their type."},
		{Key: HealthCheckURI, Kind: Text, Max: 80, Pattern: PathText, Scope: Health, Default: "the cloud's, /",
			Removal: Keeps, Since: "v2.5.1", Needs: byHTTP,
			Doc: "Path to probe."},
		{Key: HealthCheckDomain, Kind: Text, Max: 80, Scope: Health, Default: "the cloud's, $SERVER_IP", Removal: Keeps, Since: "v2.5.1",
			Needs: byHTTP,
			Doc:   "Host header of the probe, or $SERVER_IP for the address of the backend."},
		{Key: HealthCheckHTTPCode, Kind: Choices, Values: []string{"http_2xx", "http_3xx", "http_4xx", "http_5xx"},
			Scope: Health, Default: "the cloud's, http_2xx",
			Removal: Keeps, Since: "v2.5.1", Needs: byHTTP,
			Doc: "Answers that count as healthy."},
		{Key: HealthCheckMethod, Kind: Choice, Values: []string{"GET", "HEAD"}, Scope: Health, Default: "the cloud's, GET",
			Removal: Keeps, Since: "v2.5.1",
			Needs: byHTTP,
			Doc:   "Method of the probe."},
		{Key: HealthCheckConnectPort, Kind: Number, Min: 0, Max: 65535, Scope: Health, Default: "the cloud's, 0", Removal: Keeps, Since: "v2.5.1",
			Needs: checks,
			Doc:   "Port to probe; 0 means the port of the backend."},
		{Key: HealthCheckInterval, Kind: Number, Min: 1, Max: 300, Scope: Health, Default: "the cloud's", Removal: Keeps, Since: "v2.5.1",
			Needs: checks,
			Doc:   "Seconds between probes, at most 50 but for udp."},
		{Key: HealthyThreshold, Kind: Number, Min: 2, Max: 10, Scope: Health, Default: "the cloud's, 2", Removal: Keeps, Since: "v2.5.1",
			Needs: checks,
			Doc:   "Successes until a backend is healthy."},
		{Key: UnhealthyThreshold, Kind: Number, Min: 2, Max: 10, Scope: Health, Default: "the cloud's, 2", Removal: Keeps, Since: "v2.5.1",
			Needs: checks,
			Doc:   "Failures until a backend is unhealthy."},
		{Key: HealthCheckConnectTimeout, Kind: Number, Min: 1, Max: 300, Scope: Health, Default: "the cloud's, 5",
			Removal: Keeps, Since: "v2.5.1",
			Needs: checks,
			Doc:   "Seconds until a probe fails."},
	}
}

func nlbBackendTable() []Spec {
	return []Spec{
		{Key: ServerGroupType, Kind: Choice, Values: []string{"Instance", "Ip"}, Scope: Backends, Default: "Instance",
			Removal: Reverts, Since: "v2.8.0",
			Doc: "Whether backends are registered as instances and network interfaces or as addresses; a change makes new server groups."},
		{Key: Scheduler, Kind: Choice, Values: []string{"rr", "wrr", "wlc", "sch", "tch", "qch"}, Scope: Group,
			Default: "the cloud's, wrr", Removal: Reverts, Reset: "wrr", Field: FieldAffinity,
			Since: "v2.5.1", Doc: "How a backend is chosen. Weights matter only with wrr and wlc; qch is for udp."},
		{Key: ConnectionDrain, Kind: Switch, Scope: Group, Default: "the cloud's, off", Removal: Reverts, Reset: "off", Since: "v2.5.1",
			Doc: "Ends the connections of a backend that is removed or unhealthy after a time."},
		{Key: ConnectionDrainTimeout, Kind: Number, Min: 0, Max: 900, Scope: Group, Default: "the cloud's", Removal: Keeps, Since: "v2.5.1",
			Needs: []Need{needs(ConnectionDrain, "on")},
			Doc:   "That time, in seconds; needs connection-drain."},
		{Key: PreserveClientIP, Kind: Switch, Scope: Group, Default: "the cloud's, on", Removal: Reverts, Reset: "on", Since: "v2.5.1",
			Doc: "Shows backends the addresses of clients; off for tcpssl unless it is asked for, since the cloud can't do both."},
		{Key: VGroupPort, Kind: Pairs, Separator: ":", Pattern: IDText, Scope: Backends, Default: "server groups of its own",
			Removal: Reverts, Since: "v2.9.1",
			Needs: []Need{needs(ID)},
			Doc:   "Fills existing server groups, server group:port,…; without effect unless id is set."},
		{Key: BackendIPVersion, Kind: Choice, Values: []string{"ipv4", "ipv6", "dualstack"}, Scope: Backends, Default: "ipv4",
			Removal: Reverts, Field: FieldFamilies, Since: "v2.14.0",
			Doc: "Families of the addresses of pods as backends; ipv6 and dualstack need ip-version DualStack. With dualstack clients get servers " +
				"of their own family, with ipv6 all clients get all servers. From or to ipv4 makes new server groups."},
	}
}
