package slb

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// Protocols of listeners.
const (
	protoTCP   = "tcp"
	protoUDP   = "udp"
	protoHTTP  = "http"
	protoHTTPS = "https"
)

// protocols is a set of protocols.
type protocols uint8

const (
	onTCP protocols = 1 << iota
	onUDP
	onHTTP
	onHTTPS

	layer4 = onTCP | onUDP
	layer7 = onHTTP | onHTTPS
	every  = layer4 | layer7
)

func protocolBit(name string) protocols {
	return map[string]protocols{protoTCP: onTCP, protoUDP: onUDP, protoHTTP: onHTTP, protoHTTPS: onHTTPS}[name]
}

// usage says which actions take or show an attribute.
type usage uint8

const (
	inCreate usage = 1 << iota
	inSet
	common   // shown beside, not inside the …ListenerConfig of DescribeLoadBalancerListeners
	asText   // a boolean that DescribeLoadBalancerListeners writes as text
	unlisted // not in DescribeLoadBalancerListeners
)

const both = inCreate | inSet

// samePort stands for "the port of the backend" in port parameters: the cloud shows it, terraform sends it.
const samePort = "-520"

// attribute is one row of the table: an attribute of listeners, its values, and where it appears.
type attribute struct {
	name      string    // canonical, as in Set… and Describe…
	on        protocols // the listeners that have it
	use       usage
	kind      api.Kind
	enum      []string
	open      bool // there are values that enum doesn't have; another check judges them
	min, max  int64
	fallback  string // value of a listener that was created, or seeded, without it
	needed    bool   // the creation requires it
	code      string // error code for a bad value, if it is not InvalidParameter
	valid     func(value string) bool
	lowerCase usage // the actions that spell it with a small first letter
}

// attributes is the table. Bandwidth, health check and session ranges are the documented ones.
func attributes() []attribute {
	onOff := []string{on, off}
	return []attribute{
		{name: "Bandwidth", on: every &^ onHTTP, use: both | common, kind: api.Int, fallback: "-1", valid: validBandwidth, needed: true},
		{name: "Bandwidth", on: onHTTP, use: both | common, kind: api.Int, fallback: "-1", valid: validBandwidth},
		{name: "Description", on: every, use: both | common, valid: lengthOf(1, 256)},
		{name: "VServerGroupId", on: every, use: both | common},
		{name: "MasterSlaveServerGroupId", on: layer4, use: both},
		{name: "BackendServerPort", on: every, use: inCreate | common, kind: api.Int, valid: validPort},
		{name: "Scheduler", on: onTCP, use: both | common, enum: []string{"wrr", "rr", "wlc", "sch", "tch"}, fallback: "wrr"},
		{name: "Scheduler", on: onUDP, use: both | common, enum: []string{"wrr", "rr", "wlc", "sch", "tch", "qch"}, fallback: "wrr"},
		{name: "Scheduler", on: layer7, use: both | common, enum: []string{"wrr", "rr", "wlc"}, fallback: "wrr"},
		{name: "AclStatus", on: every, use: both | common, enum: onOff, fallback: off},
		{name: "AclType", on: every, use: both | common, enum: []string{"white", "black"}},

		{name: "PersistenceTimeout", on: layer4, use: both, kind: api.Int, max: 3600, fallback: "0"},
		{name: "EstablishedTimeout", on: onTCP, use: both, kind: api.Int, min: 10, max: 900, fallback: "900"},
		{name: "SynProxy", on: onTCP, use: inSet | unlisted, enum: []string{"enable", "disable"}},
		{name: "ConnectionDrain", on: layer4, use: both, enum: onOff, fallback: off},
		{name: "ConnectionDrainTimeout", on: layer4, use: both, kind: api.Int, min: 10, max: 900},
		{name: "ProxyProtocolV2Enabled", on: layer4, use: both | asText, kind: api.Bool, fallback: "false"},

		{name: "HealthCheckSwitch", on: layer4, use: both, enum: onOff, fallback: on},
		{name: "HealthCheck", on: layer7, use: both, enum: onOff},
		{name: "HealthCheckType", on: onTCP, use: both, enum: []string{protoTCP, protoHTTP}, fallback: protoTCP},
		{name: "HealthCheckConnectTimeout", on: layer4, use: both, kind: api.Int, min: 1, max: 300, fallback: "5"},
		{name: "HealthCheckTimeout", on: layer7, use: both, kind: api.Int, min: 1, max: 300, fallback: "5"},
		{name: "HealthCheckInterval", on: layer4, use: both, kind: api.Int, min: 1, max: 50, fallback: "2", lowerCase: inCreate},
		{name: "HealthCheckInterval", on: layer7, use: both, kind: api.Int, min: 1, max: 50, fallback: "2"},
		{name: "HealthyThreshold", on: every, use: both, kind: api.Int, min: 2, max: 10, fallback: "3"},
		{name: "UnhealthyThreshold", on: every, use: both, kind: api.Int, min: 2, max: 10, fallback: "3"},
		{name: "HealthCheckConnectPort", on: every, use: both, kind: api.Int, fallback: samePort, valid: validPort},
		{name: "HealthCheckDomain", on: onTCP | layer7, use: both, valid: lengthOf(1, 80)},
		{name: "HealthCheckURI", on: onTCP | layer7, use: both, valid: validURI},
		{name: "HealthCheckHttpCode", on: onTCP | layer7, use: both, fallback: "http_2xx", valid: validHTTPCodes},
		{name: "HealthCheckMethod", on: onTCP | layer7, use: both, enum: []string{"head", "get"}},
		{name: "HealthCheckReq", on: onUDP, use: both, valid: lengthOf(1, 64), code: "InvalidParamLength.HealthCheckReq", lowerCase: both},
		{name: "HealthCheckExp", on: onUDP, use: both, valid: lengthOf(1, 64), code: "InvalidParamLength.HealthCheckExp", lowerCase: both},

		{name: "StickySession", on: layer7, use: both, enum: onOff, fallback: off},
		{name: "StickySessionType", on: layer7, use: both, enum: []string{"insert", "server"}},
		{name: "Cookie", on: layer7, use: both, valid: validCookie},
		{name: "CookieTimeout", on: layer7, use: both, kind: api.Int, min: 1, max: 86400},
		{name: "IdleTimeout", on: layer7, use: both, kind: api.Int, min: 1, max: 60, fallback: "15", code: "InvalidParameter.IdleTimeout"},
		{name: "RequestTimeout", on: layer7, use: both, kind: api.Int, min: 1, max: 180, fallback: "60", code: "InvalidParameter.RequestTimeout"},
		{name: "Gzip", on: layer7, use: both, enum: onOff, fallback: on},
		{name: "XForwardedFor", on: layer7, use: both, enum: onOff, fallback: on},
		{name: "XForwardedFor_SLBID", on: layer7, use: both, enum: onOff, fallback: off},
		{name: "XForwardedFor_SLBIP", on: layer7, use: both, enum: onOff, fallback: off},
		{name: "XForwardedFor_SLBPORT", on: layer7, use: both, enum: onOff, fallback: off},
		{name: "XForwardedFor_proto", on: layer7, use: both, enum: onOff, fallback: off},
		{name: "XForwardedFor_ClientSrcPort", on: layer7, use: both, enum: onOff, fallback: off},

		{name: "ListenerForward", on: onHTTP, use: inCreate, enum: onOff, fallback: off},
		{name: "ForwardPort", on: onHTTP, use: inCreate, kind: api.Int, min: 1, max: 65535},
		{name: "ForwardCode", on: onHTTP, use: inCreate, kind: api.Int, min: 301, max: 308, code: "InvalidParameter.ForwardCode"},

		{name: "ServerCertificateId", on: onHTTPS, use: both},
		{name: "CACertificateId", on: onHTTPS, use: both},
		{name: "EnableHttp2", on: onHTTPS, use: both, enum: onOff, fallback: on},
		{
			name: "TLSCipherPolicy", on: onHTTPS, use: both, fallback: "tls_cipher_policy_1_0", enum: systemCipherPolicies(), open: true,
		},
	}
}

// table has the rows of each protocol.
type table map[string][]attribute

func newTable() table {
	t := table{}
	for _, protocol := range []string{protoTCP, protoUDP, protoHTTP, protoHTTPS} {
		bit := protocolBit(protocol)
		t[protocol] = slices.DeleteFunc(attributes(), func(a attribute) bool { return a.on&bit == 0 })
	}
	return t
}

// check refuses what the description as a parameter cannot: ranges with a code of their own, and the forms of texts.
func (a attribute) check(value string) *api.Error {
	n, _ := strconv.ParseInt(value, 10, 64) // the server has checked that it is a number
	if (a.min == 0 && a.max == 0 || n >= a.min && n <= a.max) && (a.valid == nil || a.valid(value)) {
		return nil
	}
	return api.BadRequest(cmp.Or(a.code, "InvalidParameter"), "The specified parameter %s is not valid.", a.name)
}

// param describes the attribute as a parameter of a creation or a change. Ranges with a code of their own are left to check.
func (a attribute) param(use usage) api.Param {
	p := api.Param{Name: a.name, Kind: a.kind, Required: a.needed && use == inCreate, Enum: a.enum, Open: a.open, Min: a.min, Max: a.max}
	if a.lowerCase&use != 0 {
		p.Name = strings.ToLower(a.name[:1]) + a.name[1:]
	}
	if a.code != "" {
		p.Min, p.Max = 0, 0
	}
	return p
}

// params describes all parameters of a protocol's creation or change that the table knows.
func (t table) params(protocol string, use usage) []api.Param {
	var out []api.Param
	for _, a := range t[protocol] {
		if a.use&use != 0 {
			out = append(out, a.param(use))
		}
	}
	return out
}

// given returns the checked values of the attributes that were sent for an action.
func (t table) given(c *api.Context, protocol string, use usage) (map[string]string, *api.Error) {
	out := map[string]string{}
	for _, a := range t[protocol] {
		if a.use&use == 0 || !c.Has(a.name) {
			continue
		}
		value := c.Get(a.name)
		if err := a.check(value); err != nil {
			return nil, err
		}
		out[a.name] = value
	}
	return out, nil
}

// fallbacks returns the attributes of a listener that was created without any.
func (t table) fallbacks(protocol string) map[string]string {
	out := map[string]string{}
	for _, a := range t[protocol] {
		if a.fallback != "" {
			out[a.name] = a.fallback
		}
	}
	return out
}

// value returns an attribute of a listener, or what the table has for one that was never set.
func (a attribute) value(l *state.Listener) string {
	if l.Protocol == protoTCP && ofHTTPChecks(a.name) && l.Attributes["HealthCheckType"] != protoHTTP {
		return "" // what was set comes back when the type of the check does
	}
	if v, ok := l.Attributes[a.name]; ok {
		return v
	}
	return a.fallback
}

// ofHTTPChecks reports whether a TCP listener shows an attribute only while its servers are checked by HTTP.
func ofHTTPChecks(name string) bool { return name == "HealthCheckURI" || name == "HealthCheckHttpCode" }

func lengthOf(lo, hi int) func(string) bool {
	return func(v string) bool { n := utf8.RuneCountInString(v); return n >= lo && n <= hi }
}

func validBandwidth(v string) bool {
	n, err := strconv.Atoi(v)
	return err == nil && (n == -1 || n >= 1 && n <= greatestTraffic)
}

func validPort(v string) bool {
	n, err := strconv.Atoi(v)
	return v == samePort || err == nil && n >= 1 && n <= 65535
}

func validURI(v string) bool { return strings.HasPrefix(v, "/") && lengthOf(1, 80)(v) }

func validCookie(v string) bool {
	return lengthOf(1, 200)(v) && !strings.HasPrefix(v, "$") && !strings.ContainsAny(v, ",; ")
}

func validHTTPCodes(v string) bool {
	codes := strings.Split(v, ",")
	return !slices.ContainsFunc(codes, func(code string) bool {
		return !slices.Contains([]string{"http_2xx", "http_3xx", "http_4xx", "http_5xx"}, code)
	})
}
