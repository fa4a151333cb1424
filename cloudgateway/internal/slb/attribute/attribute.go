// Package attribute is the table of attributes that listeners and forwarding rules share: how each is named, checked and sent.
package attribute

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/check"
	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/slb"
)

// Protocols is a set of listener protocols.
type Protocols uint8

// The protocols of listeners.
const (
	TCP   Protocols = 1 << slbv1.Protocol_PROTOCOL_TCP
	UDP   Protocols = 1 << slbv1.Protocol_PROTOCOL_UDP
	HTTP  Protocols = 1 << slbv1.Protocol_PROTOCOL_HTTP
	HTTPS Protocols = 1 << slbv1.Protocol_PROTOCOL_HTTPS

	layer4 = TCP | UDP
	layer7 = HTTP | HTTPS
	all    = layer4 | layer7
)

// ProtocolSet gives the set with one protocol in it, empty for an unknown one.
func ProtocolSet(p slbv1.Protocol) Protocols { return 1 << max(0, p) & all }

// Kind is how a value is written on the wire.
type Kind uint8

// The kinds.
const (
	Text      Kind = iota
	Number         // decimal
	OnOff          // "on", "off"
	TrueFalse      // "true", "false"
	Enable         // "enable", "disable"
	CommaList      // "a,b"
)

// Row ties one field of a configuration to the cloud's parameter: it drives the encoding of requests, the decoding of
// answers and the validation, so that the three cannot disagree.
type Row struct {
	Field     string // path in ListenerConfig or ForwardingRuleConfig, e.g. "health_check.interval"
	Param     string // name in requests and answers
	Creation  string // name at creation where the cloud spells it differently
	Answer    string // second name in answers, looked at when the first is absent
	Protocols Protocols
	Kind      Kind
	Min, Max  int32    // range of a number; Max: longest text
	Special   []int32  // numbers outside the range that are allowed
	Allowed   []string // values of a text; empty: any
	Missing   string   // sent at creation when the field is absent, since the cloud requires the parameter
	Fixed     bool     // can't be changed after creation
	Later     bool     // can't be set at creation
}

// Rows lists what can be set on a listener (SLB API reference, Create and SetLoadBalancer*Listener).
func Rows() []Row {
	const unlimited, serverPort = -1, -520
	layer4Schedulers := []string{"wrr", "rr", "wlc", "sch", "tch"}
	return []Row{
		{Field: "description", Param: "Description", Protocols: all, Max: 256},
		{Field: "server_group_id", Param: "VServerGroupId", Protocols: all, Max: 128},
		{Field: "backend_server_port", Param: "BackendServerPort", Protocols: all, Kind: Number, Min: 1, Max: 65535,
			Special: []int32{serverPort}, Fixed: true},
		{Field: "scheduler", Param: "Scheduler", Protocols: TCP, Allowed: layer4Schedulers},
		{Field: "scheduler", Param: "Scheduler", Protocols: UDP, Allowed: append(slices.Clone(layer4Schedulers), "qch")},
		{Field: "scheduler", Param: "Scheduler", Protocols: layer7, Allowed: []string{"wrr", "rr", "wlc"}},
		{Field: "bandwidth_mbps", Param: "Bandwidth", Protocols: all &^ HTTP, Kind: Number, Min: 1, Max: 5120,
			Special: []int32{unlimited}, Missing: "-1"},
		{Field: "bandwidth_mbps", Param: "Bandwidth", Protocols: HTTP, Kind: Number, Min: 1, Max: 5120,
			Special: []int32{unlimited}},
		{Field: "persistence_timeout", Param: "PersistenceTimeout", Protocols: TCP, Kind: Number, Min: 0, Max: 3600},
		{Field: "established_timeout", Param: "EstablishedTimeout", Protocols: TCP, Kind: Number, Min: 10, Max: 900},
		{Field: "idle_timeout", Param: "IdleTimeout", Protocols: layer7, Kind: Number, Min: 1, Max: 60},
		{Field: "request_timeout", Param: "RequestTimeout", Protocols: layer7, Kind: Number, Min: 1, Max: 180},
		{Field: "syn_proxy", Param: "SynProxy", Protocols: TCP, Kind: Enable, Later: true},
		{Field: "connection_drain", Param: "ConnectionDrain", Protocols: layer4, Kind: OnOff},
		{Field: "connection_drain_timeout", Param: "ConnectionDrainTimeout", Protocols: layer4, Kind: Number, Min: 10, Max: 900},
		{Field: "proxy_protocol_v2", Param: "ProxyProtocolV2Enabled", Protocols: layer4, Kind: TrueFalse},
		{Field: "acl_enabled", Param: "AclStatus", Protocols: all, Kind: OnOff},
		{Field: "acl_type", Param: "AclType", Protocols: all, Allowed: []string{"white", "black"}},
		{Field: "acl_ids", Param: "AclId", Answer: "AclIds", Protocols: all, Kind: CommaList},
		{Field: "sticky_session", Param: "StickySession", Protocols: layer7, Kind: OnOff, Missing: "off"},
		{Field: "sticky_session_type", Param: "StickySessionType", Protocols: layer7, Allowed: []string{"insert", "server"}},
		{Field: "cookie", Param: "Cookie", Protocols: layer7, Max: 200},
		{Field: "cookie_timeout", Param: "CookieTimeout", Protocols: layer7, Kind: Number, Min: 1, Max: 86400},
		{Field: "gzip", Param: "Gzip", Protocols: layer7, Kind: OnOff},
		{Field: "x_forwarded_for", Param: "XForwardedFor", Protocols: layer7, Kind: OnOff},
		{Field: "x_forwarded_for_slb_id", Param: "XForwardedFor_SLBID", Protocols: layer7, Kind: OnOff},
		{Field: "x_forwarded_for_slb_ip", Param: "XForwardedFor_SLBIP", Protocols: layer7, Kind: OnOff},
		{Field: "x_forwarded_for_proto", Param: "XForwardedFor_proto", Protocols: layer7, Kind: OnOff},
		{Field: "x_forwarded_for_slb_port", Param: "XForwardedFor_SLBPORT", Protocols: layer7, Kind: OnOff},
		{Field: "x_forwarded_for_client_src_port", Param: "XForwardedFor_ClientSrcPort", Protocols: layer7, Kind: OnOff},
		{Field: "server_certificate_id", Param: "ServerCertificateId", Protocols: HTTPS, Max: 256},
		{Field: "ca_certificate_id", Param: "CACertificateId", Protocols: HTTPS, Max: 256},
		{Field: "tls_cipher_policy", Param: "TLSCipherPolicy", Protocols: HTTPS, Max: 128},
		{Field: "http2", Param: "EnableHttp2", Protocols: HTTPS, Kind: OnOff},
		{Field: "forward_port", Param: "ForwardPort", Protocols: HTTP, Kind: Number, Min: 1, Max: 65535,
			Special: []int32{0}, Fixed: true},
		{Field: "health_check.enabled", Param: "HealthCheckSwitch", Answer: "HealthCheck", Protocols: layer4, Kind: OnOff},
		{Field: "health_check.enabled", Param: "HealthCheck", Protocols: layer7, Kind: OnOff, Missing: "off"},
		{Field: "health_check.type", Param: "HealthCheckType", Protocols: TCP, Allowed: []string{"tcp", "http"}},
		{Field: "health_check.uri", Param: "HealthCheckURI", Protocols: TCP | layer7, Max: 80},
		{Field: "health_check.domain", Param: "HealthCheckDomain", Protocols: TCP | layer7, Max: 80},
		{Field: "health_check.http_code", Param: "HealthCheckHttpCode", Protocols: TCP | layer7, Max: 64},
		{Field: "health_check.method", Param: "HealthCheckMethod", Protocols: layer7, Allowed: []string{"head", "get"}},
		{Field: "health_check.connect_port", Param: "HealthCheckConnectPort", Protocols: all, Kind: Number, Min: 1, Max: 65535,
			Special: []int32{serverPort}},
		// The cloud's parameter starts with a small letter at the creation of layer 4 listeners, and only there.
		{Field: "health_check.interval", Param: "HealthCheckInterval", Creation: "healthCheckInterval", Protocols: layer4,
			Kind: Number, Min: 1, Max: 50},
		{Field: "health_check.interval", Param: "HealthCheckInterval", Protocols: layer7, Kind: Number, Min: 1, Max: 50},
		{Field: "health_check.healthy_threshold", Param: "HealthyThreshold", Protocols: all, Kind: Number, Min: 2, Max: 10},
		{Field: "health_check.unhealthy_threshold", Param: "UnhealthyThreshold", Protocols: all, Kind: Number, Min: 2, Max: 10},
		{Field: "health_check.timeout", Param: "HealthCheckConnectTimeout", Protocols: layer4, Kind: Number, Min: 1, Max: 300},
		{Field: "health_check.timeout", Param: "HealthCheckTimeout", Protocols: layer7, Kind: Number, Min: 1, Max: 300},
		// These start with a small letter in all requests, and in no answer.
		{Field: "health_check.request", Param: "healthCheckReq", Answer: "HealthCheckReq", Protocols: UDP, Max: 64},
		{Field: "health_check.response", Param: "healthCheckExp", Answer: "HealthCheckExp", Protocols: UDP, Max: 64},
	}
}

// words are how a boolean is written.
func (k Kind) words() (yes, no string) {
	switch k {
	case TrueFalse:
		return "true", "false"
	case Enable:
		return "enable", "disable"
	case Text, Number, OnOff, CommaList:
	}
	return "on", "off"
}

// inRange reports whether n is one of the numbers the attribute takes.
func (a Row) inRange(n int32) bool {
	return n >= a.Min && n <= a.Max || slices.Contains(a.Special, n)
}

// Problem says what is wrong with a value, "" if nothing is.
func (a Row) Problem(value protoreflect.Value, creating bool) string {
	switch a.Kind {
	case Number:
		if n := int32(value.Int()); !a.inRange(n) {
			return fmt.Sprintf("%d is out of range, must be %s", n, a.rangeText())
		}
	case Text:
		s := value.String()
		switch length := utf8.RuneCountInString(s); {
		case s == "" && creating:
			// The cloud knows no empty values: at creation that is the same as absent.
		case s == "":
			return "can't be set to nothing, the cloud has no call for it"
		case len(a.Allowed) > 0:
			if !slices.Contains(a.Allowed, s) {
				return fmt.Sprintf("%q is not one of %s", check.Shorten(s), strings.Join(a.Allowed, ", "))
			}
		case length > int(a.Max):
			return fmt.Sprintf("is %d characters long, at most %d are allowed", length, a.Max)
		}
	case CommaList:
		const longestID = 128
		list := value.List()
		for i := range list.Len() {
			if id := list.Get(i).String(); len(id) > longestID || id == "" || strings.Contains(id, ",") {
				return fmt.Sprintf("%q is not an id", check.Shorten(id))
			}
		}
	case OnOff, TrueFalse, Enable:
	}
	return ""
}

func (a Row) rangeText() string {
	parts := []string{fmt.Sprintf("%d to %d", a.Min, a.Max)}
	for _, n := range a.Special {
		parts = append(parts, strconv.Itoa(int(n)))
	}
	return strings.Join(parts, " or ")
}

// Encode writes a value as the cloud reads it.
func (a Row) Encode(value protoreflect.Value) string {
	switch a.Kind {
	case Number:
		return strconv.FormatInt(value.Int(), 10)
	case OnOff, TrueFalse, Enable:
		yes, no := a.Kind.words()
		if value.Bool() {
			return yes
		}
		return no
	case CommaList:
		list := value.List()
		ids := make([]string, list.Len())
		for i := range ids {
			ids[i] = list.Get(i).String()
		}
		return strings.Join(ids, ",")
	case Text:
	}
	return value.String()
}

// Decode sets the field from an answer and reports whether there was anything to set. A zero outside the range is how the
// cloud reports "does not apply".
func (a Row) Decode(cfg proto.Message, raw json.RawMessage) bool {
	if a.Kind == CommaList {
		ids := slb.LooseList(raw)
		m, field := find(cfg, a.Field, protoreflect.Message.Mutable)
		list := m.Mutable(field).List()
		for _, id := range ids {
			list.Append(protoreflect.ValueOfString(id))
		}
		return len(ids) > 0
	}
	s := cloud.Text(raw)
	if s == "" {
		return false
	}
	var value protoreflect.Value
	switch a.Kind {
	case Number:
		n, err := strconv.ParseInt(s, 10, 32)
		if err != nil || n == 0 && !a.inRange(0) {
			return false
		}
		value = protoreflect.ValueOfInt32(int32(n))
	case OnOff, TrueFalse, Enable:
		value = protoreflect.ValueOfBool(slices.Contains([]string{"on", "true", "enable"}, strings.ToLower(s)))
	case Text, CommaList:
		if at := slices.IndexFunc(a.Allowed, func(word string) bool { return strings.EqualFold(word, s) }); at >= 0 {
			s = a.Allowed[at] // whatever the case in which another tool has sent it
		}
		value = protoreflect.ValueOfString(s)
	}
	m, field := find(cfg, a.Field, protoreflect.Message.Mutable)
	m.Set(field, value)
	return true
}

// Lookup reads a field by its path.
func Lookup(cfg proto.Message, path string) (protoreflect.Value, bool) {
	m, field := find(cfg, path, protoreflect.Message.Get)
	return m.Get(field), m.Has(field)
}

// find gives the message that holds the field of a path, and the field. Within is how a message within is come by.
func find(
	cfg proto.Message, path string, within func(protoreflect.Message, protoreflect.FieldDescriptor) protoreflect.Value,
) (protoreflect.Message, protoreflect.FieldDescriptor) {
	m := cfg.ProtoReflect()
	named := func(name string) protoreflect.FieldDescriptor {
		return m.Descriptor().Fields().ByName(protoreflect.Name(name))
	}
	if parent, child, nested := strings.Cut(path, "."); nested {
		m, path = within(m, named(parent)).Message(), child
	}
	return m, named(path)
}
