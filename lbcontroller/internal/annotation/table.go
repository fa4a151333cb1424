package annotation

import (
	"slices"
	"sync"
)

// Keys of the table, in its order.
const (
	ID                     = "id"
	ForceOverride          = "force-override-listeners"
	AddressType            = "address-type"
	Name                   = "name"
	ResourceGroupID        = "resource-group-id"
	AdditionalTags         = "additional-resource-tags"
	DeleteProtection       = "delete-protection"
	ModificationProtection = "modification-protection"
	PreserveOnDelete       = "preserve-lb-on-delete"
	VSwitchID              = "vswitch-id"
	NetworkType            = "network-type"
	ChargeType             = "charge-type"
	Bandwidth              = "bandwidth"
	InstanceChargeType     = "instance-charge-type"
	InstanceSpec           = "spec"
	MasterZone             = "master-zoneid"
	SlaveZone              = "slave-zoneid"
	IPVersion              = "ip-version"
	Address                = "ip"
	ExternalIPType         = "external-ip-type"
	EIPID                  = "eip-id"
	EIPAllocate            = "eip-allocate"
	EIPBandwidth           = "eip-bandwidth"
	EIPChargeType          = "eip-internet-charge-type"
	Hostname               = "hostname"
	IPMode                 = "ip-mode"
	SyncPolicy             = "sync-policy"

	ProtocolPort           = "protocol-port"
	CertID                 = "cert-id"
	TLSSecret              = "tls-secret"
	DomainExtensions       = "domain-extensions"
	TLSCipherPolicy        = "tls-cipher-policy"
	HTTP2                  = "http2-enabled"
	ForwardPort            = "forward-port"
	Scheduler              = "scheduler"
	PersistenceTimeout     = "persistence-timeout"
	EstablishedTimeout     = "established-timeout"
	IdleTimeout            = "idle-timeout"
	RequestTimeout         = "request-timeout"
	ConnectionDrain        = "connection-drain"
	ConnectionDrainTimeout = "connection-drain-timeout"
	ProxyProtocol          = "proxy-protocol"
	ACLStatus              = "acl-status"
	ACLID                  = "acl-id"
	ACLType                = "acl-type"
	StickySession          = "sticky-session"
	StickySessionType      = "sticky-session-type"
	Cookie                 = "cookie"
	CookieTimeout          = "cookie-timeout"
	XForwardedForProto     = "xforwardedfor-proto"
	XForwardedForSLBPort   = "xforwardedfor-slbport"
	XForwardedForSrcPort   = "xforwardedfor-clientsrcport"

	HealthCheckSwitch         = "health-check-switch"
	HealthCheckFlag           = "health-check-flag"
	HealthCheckType           = "health-check-type"
	HealthCheckURI            = "health-check-uri"
	HealthCheckDomain         = "health-check-domain"
	HealthCheckHTTPCode       = "health-check-httpcode"
	HealthCheckMethod         = "health-check-method"
	HealthCheckConnectPort    = "health-check-connect-port"
	HealthCheckInterval       = "health-check-interval"
	HealthyThreshold          = "healthy-threshold"
	UnhealthyThreshold        = "unhealthy-threshold"
	HealthCheckConnectTimeout = "health-check-connect-timeout"
	HealthCheckTimeout        = "health-check-timeout"
	NodeHealthCheck           = "node-health-check"

	BackendLabel       = "backend-label"
	RemoveUnscheduled  = "remove-unscheduled-backend"
	VGroupPort         = "vgroup-port"
	Weight             = "weight"
	DefaultWeight      = "default-weight"
	IgnoreWeightUpdate = "ignore-weight-update"
	BackendIPVersion   = "backend-ip-version"
	MaxNodes           = "max-nodes-per-server-group"
	DrainTerminating   = "drain-terminating"
	DefaultServerGroup = "default-server-group"
	AllowHealthChecks  = "allow-health-checks"
)

// Table returns every annotation that the controller knows for a CLB, in the order of the reference page. The ranges are the cloud's.
func Table() []Spec { return TableFor(CLB) }

// TableFor returns the annotations of a kind of load balancers, which callers may not change.
func TableFor(kind LoadBalancer) []Spec { return tables()[kind] }

// tables are those of all kinds, made once: a pass over a Service looks at them several times. A new kind adds its rows
// here, and its name to those that it shares.
var tables = sync.OnceValue(func() map[LoadBalancer][]Spec { //nolint:gochecknoglobals // A constant.
	of := map[LoadBalancer][]Spec{}
	for _, s := range slices.Concat(instanceTable(), listenerTable(), healthTable(), backendTable(), nlbTable()) {
		kinds := s.For
		if len(kinds) == 0 {
			kinds = []LoadBalancer{CLB}
		}
		for _, kind := range kinds {
			of[kind] = append(of[kind], s)
		}
	}
	return of
})

// everyKind is for rows that mean the same for all load balancers.
func everyKind() []LoadBalancer { return []LoadBalancer{CLB, NLB} }

func instanceTable() []Spec {
	return []Spec{
		{Key: SyncPolicy, For: everyKind(), Kind: Choice, Values: []string{"sync", "upsert-only", "report"}, Scope: Instance,
			Default: "the configuration's policy", Removal: Reverts, Since: "new",
			Doc: "Which changes are made in the cloud: all; none that deletes CLBs, listeners or vServer groups; or none, " +
				"only what would be done is reported."},
		{Key: ID, Kind: Text, Max: 64, Pattern: IDText, Scope: Instance, Default: "a CLB of its own", Removal: Fails, Since: "v1.9.3.59",
			Doc: "Uses an existing CLB instead of creating one; it is never deleted."},
		{Key: ForceOverride, Kind: Switch, Scope: Instance, Default: "off", Removal: Reverts, Since: "v1.9.3.10",
			Needs: []Need{needs(ID)},
			Doc:   "Manages the listeners of an existing CLB too; without effect unless id is set."},
		{Key: AddressType, Kind: Choice, Values: []string{"internet", "intranet"}, Scope: Instance, Default: "internet",
			Removal: Keeps, Since: "v1.9.3",
			Doc: "Where the address can be reached from; fixed once the CLB exists."},
		{Key: Name, Kind: Text, Max: 80, Scope: Instance,
			Default: "\"a\" and the UID of the Service without dashes, 32 characters", Removal: Keeps, Since: "v1.9.3.313",
			Doc: "Name of the CLB."},
		{Key: ResourceGroupID, Kind: Text, Max: 64, Scope: Instance,
			Default: "resourceGroupID of the configuration, else the account's default", Removal: Keeps, Since: "v1.9.3.313",
			Doc: "Resource group of the CLB; fixed once the CLB exists."},
		{Key: AdditionalTags, Kind: Pairs, Separator: "=", Scope: Instance, Default: "none", Removal: Reverts, Since: "v1.9.3",
			Doc: "Tags to add to the CLB, key=value,…; what is taken off the list is taken off the CLB. Tags of others are never touched."},
		{Key: DeleteProtection, Kind: Switch, Scope: Instance, Default: "on", Removal: Reverts, Reset: "on", Since: "v1.9.3.313",
			Doc: "Refuses to release the CLB in the console; the controller lifts it before it deletes the CLB itself."},
		{Key: ModificationProtection, Kind: Choice, Values: []string{"ConsoleProtection", "NonProtection"}, Scope: Instance,
			Default: "ConsoleProtection", Removal: Reverts, Reset: "ConsoleProtection", Since: "v1.9.3.313",
			Doc: "Refuses changes made in the console."},
		{Key: PreserveOnDelete, Kind: Switch, Scope: Instance, Default: "off", Removal: Reverts, Since: "v2.10.0",
			Doc: "Keeps the CLB with its listeners and backends when the Service goes."},
		{Key: VSwitchID, Kind: Text, Max: 64, Scope: Instance, Removal: Keeps, Since: "v1.9.3",
			Default: "one of vswitchIDs of the configuration, or one that is found", Doc: "vSwitch of an intranet CLB; looked at only at creation."},
		{Key: NetworkType, Kind: Choice, Values: []string{"classic", "vpc"}, Scope: Instance,
			Default: "vpc for intranet, classic for internet", Removal: Keeps, Since: "v2.12.0",
			Doc: "Network of the address: new CLBs are in the VPC if they are intranet, and public ones count as classic; " +
				"another one that exists is kept."},
		{Key: ChargeType, Kind: Choice, Values: []string{"paybytraffic", "paybybandwidth"}, Scope: Instance,
			Default: "the cloud's, by traffic", Removal: Keeps, Since: "v1.9.3",
			Needs: []Need{needs(AddressType, "internet", NotSet)},
			Doc:   "Billing of public traffic; a new CLB is billed paybytraffic only, unless it is PayBySpec."},
		{Key: Bandwidth, Kind: Number, Min: 1, Max: 5120, Scope: Instance, Default: "the cloud's", Removal: Keeps, Since: "v1.9.3.10",
			Needs: []Need{needs(AddressType, "internet", NotSet), needs(ChargeType, "paybybandwidth")},
			Doc:   "Peak bandwidth of a public CLB in Mbit/s; without effect unless charge-type is paybybandwidth."},
		{Key: InstanceChargeType, Kind: Choice, Values: []string{"PayBySpec", "PayByCLCU"}, Scope: Instance,
			Default: "PayByCLCU", Removal: Keeps, Since: "v2.4.0",
			Doc: "Billing of the CLB itself; new ones are sold PayByCLCU only."},
		{Key: InstanceSpec, Kind: Text, Max: 64, Scope: Instance, Default: "slb.s1.small for PayBySpec", Removal: Keeps, Since: "v1.9.3",
			Doc: "Specification, for instance slb.s2.small; changed only while the CLB is billed PayBySpec."},
		{Key: MasterZone, Kind: Text, Max: 64, Scope: Instance, Default: "the cloud chooses", Removal: Keeps, Since: "v1.9.3.10",
			Doc: "Primary zone; fixed once the CLB exists."},
		{Key: SlaveZone, Kind: Text, Max: 64, Scope: Instance, Default: "the cloud chooses", Removal: Keeps, Since: "v1.9.3.10",
			Doc: "Standby zone; fixed once the CLB exists."},
		{Key: IPVersion, Kind: Choice, Values: []string{"ipv4", "ipv6"}, Scope: Instance, Default: "ipv4", Removal: Keeps, Field: FieldFamilies,
			Since: "v1.9.3.220",
			Doc:   "Family of the address; fixed once the CLB exists."},
		{Key: Address, Kind: Text, Pattern: IPv4Text, Scope: Instance, Default: "the cloud chooses", Removal: Keeps, Field: FieldAddress,
			Since: "v2.7.0",
			Doc:   "A free private address of the vSwitch; needs address-type intranet; fixed once the CLB exists."},
		{Key: ExternalIPType, Kind: Choice, Values: []string{"eip"}, Scope: Status, Default: "the address of the CLB",
			Removal: Reverts, Since: "v1.9.3.316",
			Doc: "Publishes the EIPs bound to the CLB instead of its own address."},
		{Key: EIPID, Kind: Text, Max: 64, Pattern: IDText, Scope: Instance, Default: "none", Removal: Reverts, Since: "new",
			Doc: "Binds this EIP to the CLB and publishes its address; needs address-type intranet. It is never released, and taken off " +
				"when the annotation or the Service goes."},
		{Key: EIPAllocate, Kind: Switch, Scope: Instance, Default: "off", Removal: Reverts, Since: "new",
			Doc: "Allocates an EIP for the Service, binds it to the CLB and publishes its address; needs address-type intranet. It is " +
				"released when the annotation or the Service goes."},
		{Key: EIPBandwidth, Kind: Number, Min: 1, Max: 1000, Scope: Instance, Default: "the cloud's, 5", Removal: Reverts, Since: "new",
			Needs: []Need{needs(EIPAllocate, "on")},
			Doc:   "Peak bandwidth of an EIP that is allocated, in Mbit/s; looked at only at its allocation."},
		{Key: EIPChargeType, Kind: Choice, Values: []string{"PayByTraffic", "PayByBandwidth"}, Scope: Instance,
			Default: "the cloud's, PayByBandwidth", Removal: Reverts, Since: "new",
			Needs: []Need{needs(EIPAllocate, "on")},
			Doc:   "Billing of the traffic of an EIP that is allocated; looked at only at its allocation."},
		{Key: Hostname, Kind: Text, Max: 253, Pattern: HostText, Scope: Status, Default: "none", Removal: Reverts, Since: "v2.3.0",
			Doc: "Publishes this host name instead of an address."},
		{Key: IPMode, Kind: Choice, Values: []string{"VIP", "Proxy"}, Scope: Status,
			Default: "Proxy if the CLB ends or marks connections and serviceFields is on; else the API server's, VIP",
			Removal: Reverts, Reset: "VIP", Since: "new",
			Doc: "ipMode of the published addresses. Proxy sends traffic from inside the cluster through the CLB instead of " +
				"straight to the pods; needs Kubernetes 1.30."},
	}
}

func listenerTable() []Spec {
	l4, l7, tcp, http, https := []string{"tcp", "udp"}, []string{"http", "https"}, []string{"tcp"}, []string{"http"}, []string{"https"}
	return []Spec{
		{Key: ProtocolPort, Kind: Pairs, Separator: ":", Scope: Listener, Whole: true,
			Default: "the protocol of the port", Removal: Reverts, Since: "v1.9.3",
			Doc: "Protocol by port, for instance https:443,http:80; a change recreates the listener."},
		{Key: CertID, Kind: Text, Max: 128, Scope: Listener, Protocols: https, Default: "none; required for https",
			Removal: Fails, Since: "v1.9.3.164",
			Doc: "Server certificate of the https listeners."},
		{Key: TLSSecret, For: everyKind(), Kind: Text, Max: 317, Pattern: CertificateText, Scope: Listener,
			Protocols: []string{"https", "tcpssl"},
			Default:   "none",
			Removal:   Fails, Since: "new",
			Doc: "Secret of type kubernetes.io/tls, in the namespace of the Service, with the certificate of the https or tcpssl " +
				"listeners, in place of cert-id: it is uploaded, follows the Secret, and is deleted when nobody uses it any more. " +
				"NAMESPACE/NAME is for the Services that are made for Gateways; on all others it is refused."},
		{Key: DomainExtensions, Kind: Pairs, Separator: ":", Scope: Listener, Protocols: https, Default: "none", Removal: Keeps, Since: "v2.13.0",
			Doc: "Further certificates of the https listeners by the domain that clients ask for, domain:certificate,…; " +
				"domains that aren't listed are taken off. In place of a certificate, secret/NAME names a Secret, as tls-secret does."},
		{Key: TLSCipherPolicy, Kind: Choice, Scope: Listener, Protocols: https, Default: "the cloud's, tls_cipher_policy_1_0",
			Removal: Reverts, Reset: "tls_cipher_policy_1_0", Since: "v2.4.0",
			Values: []string{"tls_cipher_policy_1_0", "tls_cipher_policy_1_1", "tls_cipher_policy_1_2",
				"tls_cipher_policy_1_2_strict", "tls_cipher_policy_1_2_strict_with_1_3"},
			Doc: "TLS versions and ciphers."},
		{Key: HTTP2, Kind: Switch, Scope: Listener, Protocols: https, Default: "the cloud's, on", Removal: Reverts, Reset: "on", Since: "v2.1.0",
			Doc: "HTTP/2 between client and CLB."},
		{Key: ForwardPort, Kind: Pairs, Separator: ":", Scope: Listener, Whole: true,
			Protocols: http, Default: "none", Removal: Reverts, Since: "v1.9.3.164",
			Doc: "Redirects an http port to an https port, for instance 80:443; a change recreates the http listener."},
		{Key: Scheduler, Kind: Choice, Values: []string{"rr", "wrr", "wlc", "sch", "tch", "qch"}, Scope: Listener,
			Default: "rr", Removal: Reverts, Reset: "rr", Since: "v1.9.3",
			Doc: "How a backend is chosen. Weights matter only with wrr and wlc; sch and tch are for tcp and udp, qch is for " +
				"udp. A listener can't be switched between these and the others: delete it in the console, and it is made anew. " +
				"The cloud's documents of today list wlc for http and https only."},
		{Key: PersistenceTimeout, Kind: Number, Min: 0, Max: 3600, Scope: Listener, Protocols: tcp,
			Default: "the cloud's, 0 (off)", Removal: Reverts, Reset: "0", Field: FieldAffinity, Since: "v1.9.3",
			Doc: "Source address stickiness in seconds."},
		{Key: EstablishedTimeout, Kind: Number, Min: 10, Max: 900, Scope: Listener, Protocols: tcp,
			Default: "the cloud's, 900", Removal: Reverts, Reset: "900", Since: "v2.3.0",
			Doc: "Idle time of an established connection in seconds."},
		{Key: IdleTimeout, Kind: Number, Min: 1, Max: 60, Scope: Listener, Protocols: l7, Default: "the cloud's, 15",
			Removal: Reverts, Reset: "15", Since: "v2.1.0",
			Doc: "Idle time of a client connection in seconds."},
		{Key: RequestTimeout, Kind: Number, Min: 1, Max: 180, Scope: Listener, Protocols: l7, Default: "the cloud's, 60",
			Removal: Reverts, Reset: "60", Since: "v2.3.0",
			Doc: "Time for the backend's answer in seconds."},
		{Key: ConnectionDrain, Kind: Switch, Scope: Listener, Protocols: l4, Default: "the cloud's, off", Removal: Reverts,
			Reset: "off", Since: "v2.0.1",
			Doc: "Lets connections live on when their backend is removed."},
		{Key: ConnectionDrainTimeout, Kind: Number, Min: 10, Max: 900, Scope: Listener, Protocols: l4, Default: "the cloud's",
			Removal: Keeps, Since: "v2.0.1",
			Needs: []Need{needs(ConnectionDrain, "on")},
			Doc:   "How long they may, in seconds; needs connection-drain."},
		{Key: ProxyProtocol, Kind: Switch, Scope: Listener, Protocols: l4, Default: "the cloud's, off", Removal: Reverts,
			Reset: "off", Since: "v2.6.0",
			Doc: "Sends the client address by PROXY protocol version 2."},
		{Key: ACLStatus, Kind: Switch, Scope: Listener, Whole: true,
			Default: "the cloud's, off", Removal: Keeps, Since: "v1.9.3.164",
			Doc: "Puts access control in force; on needs acl-id and acl-type. Only off opens the listeners again: " +
				"without the annotation they stay as they are, and no new ones are made."},
		{Key: ACLID, Kind: List, Pattern: IDText, Scope: Listener, Whole: true, Default: "none", Removal: Keeps, Since: "v1.9.3.164",
			Needs: []Need{needs(ACLStatus, "on", NotSet)},
			Doc:   "Access control lists; refused without acl-status."},
		{Key: ACLType, Kind: Choice, Values: []string{"white", "black"}, Scope: Listener, Whole: true,
			Default: "none", Removal: Keeps, Since: "v1.9.3.164",
			Needs: []Need{needs(ACLStatus, "on", NotSet)},
			Doc:   "Whether the lists allow or forbid; refused without acl-status."},
		{Key: StickySession, Kind: Switch, Scope: Listener, Protocols: l7, Default: "off", Removal: Reverts, Reset: "off", Since: "v1.9.3",
			Doc: "Session stickiness by cookie; needs sticky-session-type."},
		{Key: StickySessionType, Kind: Choice, Values: []string{"insert", "server"}, Scope: Listener, Protocols: l7,
			Default: "none", Removal: Keeps, Since: "v1.9.3",
			Needs: []Need{needs(StickySession, "on")},
			Doc:   "Who sets the cookie: insert, the CLB (needs cookie-timeout); server, the backend (needs cookie)."},
		{Key: Cookie, Kind: Text, Max: 200, Pattern: CookieText, Scope: Listener, Protocols: l7, Default: "none", Removal: Keeps, Since: "v1.9.3",
			Needs: []Need{needs(StickySession, "on"), needs(StickySessionType, "server")},
			Doc:   "Name of the backend's cookie."},
		{Key: CookieTimeout, Kind: Number, Min: 1, Max: 86400, Scope: Listener, Protocols: l7, Default: "none", Removal: Keeps, Since: "v1.9.3",
			Needs: []Need{needs(StickySession, "on"), needs(StickySessionType, "insert")},
			Doc:   "Life of the CLB's cookie in seconds."},
		{Key: XForwardedForProto, Kind: Switch, Scope: Listener, Protocols: l7, Default: "the cloud's, off", Removal: Reverts,
			Reset: "off", Since: "v2.1.0",
			Doc: "Adds X-Forwarded-Proto."},
		{Key: XForwardedForSLBPort, Kind: Switch, Scope: Listener, Protocols: l7, Default: "the cloud's, off",
			Removal: Reverts, Reset: "off", Since: "v2.9.1",
			Doc: "Adds X-Forwarded-Port."},
		{Key: XForwardedForSrcPort, Kind: Switch, Scope: Listener, Protocols: l7, Default: "the cloud's, off",
			Removal: Reverts, Reset: "off", Since: "v2.9.1",
			Doc: "Adds X-Forwarded-Client-srcport."},
	}
}

func healthTable() []Spec {
	l4, l7, tcp, web := []string{"tcp", "udp"}, []string{"http", "https"}, []string{"tcp"}, []string{"tcp", "http", "https"}
	checks := []Need{needs(HealthCheckSwitch, "on", NotSet).of(l4...), needs(HealthCheckFlag, "on").of(l7...)}
	byHTTP := append(slices.Clone(checks), needs(HealthCheckType, "http").of(tcp...))
	return []Spec{
		{Key: HealthCheckSwitch, Kind: Switch, Scope: Health, Protocols: l4, Default: "the cloud's, on", Removal: Reverts,
			Reset: "on", Since: "v2.6.0",
			Doc: "Probes the backends of tcp and udp listeners."},
		{Key: HealthCheckFlag, Kind: Switch, Scope: Health, Protocols: l7, Default: "off", Removal: Reverts, Reset: "off", Since: "v1.9.3",
			Doc: "Probes the backends of http and https listeners."},
		{Key: HealthCheckType, Kind: Choice, Values: []string{"tcp", "http"}, Scope: Health, Protocols: tcp,
			Default: "the cloud's, tcp", Removal: Reverts, Reset: "tcp", Since: "v1.9.3",
			Needs: checks,
			Doc:   "How tcp backends are probed."},
		{Key: HealthCheckURI, Kind: Text, Max: 80, Pattern: PathText, Scope: Health, Protocols: web,
			Default: "the cloud's, /", Removal: Keeps, Since: "v1.9.3",
			Needs: byHTTP,
			Doc:   "Path to probe."},
		{Key: HealthCheckDomain, Kind: Text, Max: 80, Scope: Health, Protocols: web,
			Default: "the cloud's, the address of the backend", Removal: Keeps, Since: "v1.9.3",
			Needs: byHTTP,
			Doc:   "Host header of the probe, or $_ip for the address of the backend."},
		{Key: HealthCheckHTTPCode, Kind: Choices, Values: []string{"http_2xx", "http_3xx", "http_4xx", "http_5xx"},
			Scope: Health, Protocols: web, Default: "the cloud's, http_2xx", Removal: Keeps, Since: "v1.9.3",
			Needs: byHTTP,
			Doc:   "Answers that count as healthy."},
		{Key: HealthCheckMethod, Kind: Choice, Values: []string{"head", "get"}, Scope: Health, Protocols: l7,
			Default: "the cloud's, head", Removal: Keeps, Since: "v2.3.0",
			Needs: checks,
			Doc:   "Method of the probe."},
		{Key: HealthCheckConnectPort, Kind: Number, Min: 1, Max: 65535, Also: []int{-520}, Scope: Health,
			Default: "the cloud's, the port of the backend", Removal: Reverts, Reset: "-520", Since: "v1.9.3",
			Needs: checks,
			Doc:   "Port to probe; -520 means the port of the backend."},
		{Key: HealthCheckInterval, Kind: Number, Min: 1, Max: 50, Scope: Health, Default: "the cloud's, 2", Removal: Reverts,
			Reset: "2", Since: "v1.9.3",
			Needs: checks,
			Doc:   "Seconds between probes."},
		{Key: HealthyThreshold, Kind: Number, Min: 2, Max: 10, Scope: Health, Default: "the cloud's, 3", Removal: Reverts,
			Reset: "3", Since: "v1.9.3",
			Needs: checks,
			Doc:   "Successes until a backend is healthy."},
		{Key: UnhealthyThreshold, Kind: Number, Min: 2, Max: 10, Scope: Health, Default: "the cloud's, 3", Removal: Reverts,
			Reset: "3", Since: "v1.9.3",
			Needs: checks,
			Doc:   "Failures until a backend is unhealthy."},
		{Key: HealthCheckConnectTimeout, Kind: Number, Min: 1, Max: 300, Scope: Health, Protocols: l4,
			Default: "the cloud's, 5", Removal: Reverts, Reset: "5", Since: "v1.9.3",
			Needs: checks,
			Doc:   "Seconds until a probe of a tcp or udp backend fails."},
		{Key: HealthCheckTimeout, Kind: Number, Min: 1, Max: 300, Scope: Health, Protocols: l7, Default: "the cloud's, 5",
			Removal: Reverts, Reset: "5", Since: "v1.9.3",
			Needs: checks,
			Doc:   "Seconds until a probe of an http or https backend fails."},
		{Key: NodeHealthCheck, For: everyKind(), Kind: Switch, Scope: Health, Whole: true,
			Default: "the configuration's nodeHealthChecks, off",
			Removal: Reverts, Reset: "off", Since: "new",
			Doc: "With nodes as backends, asks what kube-proxy says of its node by HTTP: on spec.healthCheckNodePort with " +
				"externalTrafficPolicy Local, and on port 10256 otherwise. Other annotations of this section count more. Not for udp ports of a CLB."},
	}
}

func backendTable() []Spec {
	return []Spec{
		{Key: BackendLabel, For: everyKind(), Kind: Pairs, Separator: "=", Scope: Backends, Default: "all nodes",
			Removal: Reverts, Since: "v1.9.3",
			Doc: "Takes only nodes that carry all these labels, key=value,…; not for backend-type eni."},
		{Key: RemoveUnscheduled, For: everyKind(), Kind: Switch, Scope: Backends, Default: "off", Removal: Reverts, Since: "v1.9.3.164",
			Doc: "Removes cordoned nodes from the backends; not for backend-type eni."},
		{Key: VGroupPort, Kind: Pairs, Separator: ":", Pattern: IDText, Scope: Backends, Default: "vServer groups of its own",
			Removal: Reverts, Since: "v2.0.1",
			Needs: []Need{needs(ID)},
			Doc:   "Fills existing vServer groups of an existing CLB, vServer group:port,…; without effect unless id is set."},
		{Key: Weight, For: everyKind(), Kind: Number, Min: 0, Max: 100, Scope: Backends, Default: "by mode", Removal: Reverts, Since: "v2.0.1",
			Needs: []Need{needs(ID), needs(VGroupPort)},
			Doc:   "Total weight of this Service in shared vServer groups; without effect unless id and vgroup-port are set."},
		{Key: DefaultWeight, For: everyKind(), Kind: Number, Min: 0, Max: 100, Scope: Backends, Default: "100",
			Removal: Reverts, Since: "v2.14.0",
			Doc: "Weight of each backend; without effect for externalTrafficPolicy Local."},
		{Key: IgnoreWeightUpdate, For: everyKind(), Kind: Switch, Scope: Backends, Default: "off", Removal: Reverts, Since: "v2.11.2",
			Doc: "Leaves the weights of present backends alone; those that would drain are removed at once."},
		{Key: BackendIPVersion, Kind: Choice, Values: []string{"ipv4", "ipv6"}, Scope: Backends, Default: "ipv4",
			Removal: Reverts, Field: FieldFamilies, Since: "v2.1.0",
			Doc: "Family of the addresses of pods as backends; ipv6 needs ip-version ipv6."},
		{Key: MaxNodes, For: everyKind(), Kind: Number, Min: 1, Max: 10000, Scope: Backends,
			Default: "the configuration's maxNodesPerServerGroup", Removal: Reverts, Since: "new",
			Doc: "At most so many nodes are backends of a vServer group, the same ones for a Service, spread over the zones; " +
				"for externalTrafficPolicy Cluster."},
		{Key: DrainTerminating, For: everyKind(), Kind: Switch, Scope: Backends,
			Default: "the configuration's drainTerminating", Removal: Reverts, Since: "new",
			Needs: []Need{needs(IgnoreWeightUpdate, "off", NotSet)},
			Doc: "Sets the weight of a pod that terminates, and of a node that is about to be deleted or is cordoned and " +
				"left out for that, to 0 until it is gone, instead of removing it at once; without effect beside ignore-weight-update."},
		{Key: DefaultServerGroup, Kind: Switch, Scope: Backends, Default: "off", Removal: Reverts, Reset: "off", Since: "new",
			Doc: "Keeps the nodes of the Service in the default server group of the CLB, too, for listeners made by hand " +
				"that forward to it; not for backend-type eni."},
		{Key: AllowHealthChecks, For: everyKind(), Kind: Switch, Scope: Backends, Default: "off", Removal: Reverts, Since: "new",
			Doc: "Adds the rule that health checks lack to a security group of the servers, if that bears the tag of the cluster; needs " +
				"securityGroups.allow in the configuration. The rule is removed when no Service needs it any more."},
	}
}
