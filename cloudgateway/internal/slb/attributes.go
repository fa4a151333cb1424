package slb

import (
	"slices"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
)

// protocols is a set of listener protocols.
type protocols uint8

const (
	tcp protocols = 1 << iota
	udp
	http
	https

	layer4 = tcp | udp
	layer7 = http | https
	all    = layer4 | layer7
)

// protocolSet gives the set with one protocol in it, empty for an unknown one.
func protocolSet(p slbv1.Protocol) protocols {
	switch p {
	case slbv1.Protocol_PROTOCOL_TCP:
		return tcp
	case slbv1.Protocol_PROTOCOL_UDP:
		return udp
	case slbv1.Protocol_PROTOCOL_HTTP:
		return http
	case slbv1.Protocol_PROTOCOL_HTTPS:
		return https
	case slbv1.Protocol_PROTOCOL_UNSPECIFIED:
	}
	return 0
}

// kind is how a value is written on the wire.
type kind uint8

const (
	text      kind = iota
	number         // decimal
	onOff          // "on", "off"
	trueFalse      // "true", "false"
	enable         // "enable", "disable"
	commaList      // "a,b"
)

// attribute ties one field of a configuration to the cloud's parameter: it drives the encoding of requests, the decoding of
// answers and the validation, so that the three cannot disagree.
type attribute struct {
	field     string // path in ListenerConfig or ForwardingRuleConfig, e.g. "health_check.interval"
	param     string // name in requests and answers
	creation  string // name at creation where the cloud spells it differently
	answer    string // second name in answers, looked at when the first is absent
	protocols protocols
	kind      kind
	min, max  int32    // range of a number; max: longest text
	special   []int32  // numbers outside the range that are allowed
	allowed   []string // values of a text; empty: any
	missing   string   // sent at creation when the field is absent, since the cloud requires the parameter
	fixed     bool     // can't be changed after creation
	later     bool     // can't be set at creation
}

// attributes lists what can be set on a listener (SLB API reference, Create and SetLoadBalancer*Listener).
func attributes() []attribute {
	const unlimited, serverPort = -1, -520
	layer4Schedulers := []string{"wrr", "rr", "wlc", "sch", "tch"}
	return []attribute{
		{field: "description", param: "Description", protocols: all, max: 256},
		{field: "server_group_id", param: "VServerGroupId", protocols: all, max: 128},
		{field: "backend_server_port", param: "BackendServerPort", protocols: all, kind: number, min: 1, max: 65535,
			special: []int32{serverPort}, fixed: true},
		{field: "scheduler", param: "Scheduler", protocols: tcp, allowed: layer4Schedulers},
		{field: "scheduler", param: "Scheduler", protocols: udp, allowed: append(slices.Clone(layer4Schedulers), "qch")},
		{field: "scheduler", param: "Scheduler", protocols: layer7, allowed: []string{"wrr", "rr", "wlc"}},
		{field: "bandwidth_mbps", param: "Bandwidth", protocols: all &^ http, kind: number, min: 1, max: 5120,
			special: []int32{unlimited}, missing: "-1"},
		{field: "bandwidth_mbps", param: "Bandwidth", protocols: http, kind: number, min: 1, max: 5120,
			special: []int32{unlimited}},
		{field: "persistence_timeout", param: "PersistenceTimeout", protocols: tcp, kind: number, min: 0, max: 3600},
		{field: "established_timeout", param: "EstablishedTimeout", protocols: tcp, kind: number, min: 10, max: 900},
		{field: "idle_timeout", param: "IdleTimeout", protocols: layer7, kind: number, min: 1, max: 60},
		{field: "request_timeout", param: "RequestTimeout", protocols: layer7, kind: number, min: 1, max: 180},
		{field: "syn_proxy", param: "SynProxy", protocols: tcp, kind: enable, later: true},
		{field: "connection_drain", param: "ConnectionDrain", protocols: layer4, kind: onOff},
		{field: "connection_drain_timeout", param: "ConnectionDrainTimeout", protocols: layer4, kind: number, min: 10, max: 900},
		{field: "proxy_protocol_v2", param: "ProxyProtocolV2Enabled", protocols: layer4, kind: trueFalse},
		{field: "acl_enabled", param: "AclStatus", protocols: all, kind: onOff},
		{field: "acl_type", param: "AclType", protocols: all, allowed: []string{"white", "black"}},
		{field: "acl_ids", param: "AclId", answer: "AclIds", protocols: all, kind: commaList},
		{field: "sticky_session", param: "StickySession", protocols: layer7, kind: onOff, missing: "off"},
		{field: "sticky_session_type", param: "StickySessionType", protocols: layer7, allowed: []string{"insert", "server"}},
		{field: "cookie", param: "Cookie", protocols: layer7, max: 200},
		{field: "cookie_timeout", param: "CookieTimeout", protocols: layer7, kind: number, min: 1, max: 86400},
		{field: "gzip", param: "Gzip", protocols: layer7, kind: onOff},
		{field: "x_forwarded_for", param: "XForwardedFor", protocols: layer7, kind: onOff},
		{field: "x_forwarded_for_slb_id", param: "XForwardedFor_SLBID", protocols: layer7, kind: onOff},
		{field: "x_forwarded_for_slb_ip", param: "XForwardedFor_SLBIP", protocols: layer7, kind: onOff},
		{field: "x_forwarded_for_proto", param: "XForwardedFor_proto", protocols: layer7, kind: onOff},
		{field: "x_forwarded_for_slb_port", param: "XForwardedFor_SLBPORT", protocols: layer7, kind: onOff},
		{field: "x_forwarded_for_client_src_port", param: "XForwardedFor_ClientSrcPort", protocols: layer7, kind: onOff},
		{field: "server_certificate_id", param: "ServerCertificateId", protocols: https, max: 256},
		{field: "ca_certificate_id", param: "CACertificateId", protocols: https, max: 256},
		{field: "tls_cipher_policy", param: "TLSCipherPolicy", protocols: https, max: 128},
		{field: "http2", param: "EnableHttp2", protocols: https, kind: onOff},
		{field: "forward_port", param: "ForwardPort", protocols: http, kind: number, min: 1, max: 65535,
			special: []int32{0}, fixed: true},
		{field: "health_check.enabled", param: "HealthCheckSwitch", answer: "HealthCheck", protocols: layer4, kind: onOff},
		{field: "health_check.enabled", param: "HealthCheck", protocols: layer7, kind: onOff, missing: "off"},
		{field: "health_check.type", param: "HealthCheckType", protocols: tcp, allowed: []string{"tcp", "http"}},
		{field: "health_check.uri", param: "HealthCheckURI", protocols: tcp | layer7, max: 80},
		{field: "health_check.domain", param: "HealthCheckDomain", protocols: tcp | layer7, max: 80},
		{field: "health_check.http_code", param: "HealthCheckHttpCode", protocols: tcp | layer7, max: 64},
		{field: "health_check.method", param: "HealthCheckMethod", protocols: layer7, allowed: []string{"head", "get"}},
		{field: "health_check.connect_port", param: "HealthCheckConnectPort", protocols: all, kind: number, min: 1, max: 65535,
			special: []int32{serverPort}},
		// The cloud's parameter starts with a small letter at the creation of layer 4 listeners, and only there.
		{field: "health_check.interval", param: "HealthCheckInterval", creation: "healthCheckInterval", protocols: layer4,
			kind: number, min: 1, max: 50},
		{field: "health_check.interval", param: "HealthCheckInterval", protocols: layer7, kind: number, min: 1, max: 50},
		{field: "health_check.healthy_threshold", param: "HealthyThreshold", protocols: all, kind: number, min: 2, max: 10},
		{field: "health_check.unhealthy_threshold", param: "UnhealthyThreshold", protocols: all, kind: number, min: 2, max: 10},
		{field: "health_check.timeout", param: "HealthCheckConnectTimeout", protocols: layer4, kind: number, min: 1, max: 300},
		{field: "health_check.timeout", param: "HealthCheckTimeout", protocols: layer7, kind: number, min: 1, max: 300},
		// These start with a small letter in all requests, and in no answer.
		{field: "health_check.request", param: "healthCheckReq", answer: "HealthCheckReq", protocols: udp, max: 64},
		{field: "health_check.response", param: "healthCheckExp", answer: "HealthCheckExp", protocols: udp, max: 64},
	}
}

// words are how a boolean is written.
func (k kind) words() (yes, no string) {
	switch k {
	case trueFalse:
		return "true", "false"
	case enable:
		return "enable", "disable"
	case text, number, onOff, commaList:
	}
	return "on", "off"
}

// inRange tells whether n is one of the numbers the attribute takes.
func (a attribute) inRange(n int32) bool {
	return n >= a.min && n <= a.max || slices.Contains(a.special, n)
}
