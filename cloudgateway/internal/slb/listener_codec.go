package slb

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
)

// CheckListenerConfig names everything in cfg that the cloud would not take for a listener of the protocol. The fields are
// relative to the configuration, e.g. "health_check.interval".
func CheckListenerConfig(cfg *slbv1.ListenerConfig, protocol slbv1.Protocol, creating bool) []rpcerr.FieldViolation {
	var wrong []rpcerr.FieldViolation
	report := func(field, format string, args ...any) {
		wrong = append(wrong, rpcerr.FieldViolation{Field: field, Description: fmt.Sprintf(format, args...)})
	}
	set := protocolSet(protocol)
	rows := attributes()
	for i, a := range rows {
		value, present := lookup(cfg, a.field)
		if !present {
			continue
		}
		if a.protocols&set == 0 {
			first := slices.IndexFunc(rows, func(b attribute) bool { return b.field == a.field })
			elsewhere := slices.ContainsFunc(rows, func(b attribute) bool { return b.field == a.field && b.protocols&set != 0 })
			if first == i && !elsewhere {
				report(a.field, "not supported by %s listeners", protocolName(protocol))
			}
			continue
		}
		if a.fixed && !creating {
			report(a.field, "can't be changed, delete the listener and create it anew")
			continue
		}
		if a.later && creating {
			report(a.field, "can't be set at creation, update the listener afterwards")
			continue
		}
		if problem := a.check(value, creating); problem != "" {
			report(a.field, "%s", problem)
		}
	}
	return wrong
}

// HasSettings tells whether cfg sets anything.
func HasSettings(cfg *slbv1.ListenerConfig) bool {
	return slices.ContainsFunc(attributes(), func(a attribute) bool {
		_, present := lookup(cfg, a.field)
		return present
	})
}

// check says what is wrong with a value, "" if nothing is.
func (a attribute) check(value protoreflect.Value, creating bool) string {
	switch a.kind {
	case number:
		if n := int32(value.Int()); !a.inRange(n) {
			return fmt.Sprintf("%d is out of range, must be %s", n, a.rangeText())
		}
	case text:
		s := value.String()
		switch length := utf8.RuneCountInString(s); {
		case s == "" && creating:
			// The cloud knows no empty values: at creation that is the same as absent.
		case s == "":
			return "can't be set to nothing, the cloud has no call for it"
		case len(a.allowed) > 0:
			if !slices.Contains(a.allowed, s) {
				return fmt.Sprintf("%q is not one of %s", s, strings.Join(a.allowed, ", "))
			}
		case length > int(a.max):
			return fmt.Sprintf("is %d characters long, at most %d are allowed", length, a.max)
		}
	case commaList:
		list := value.List()
		for i := range list.Len() {
			if id := list.Get(i).String(); id == "" || strings.Contains(id, ",") {
				return fmt.Sprintf("%q is not an id", id)
			}
		}
	case onOff, trueFalse, enable:
	}
	return ""
}

func (a attribute) rangeText() string {
	parts := []string{fmt.Sprintf("%d to %d", a.min, a.max)}
	for _, n := range a.special {
		parts = append(parts, strconv.Itoa(int(n)))
	}
	return strings.Join(parts, " or ")
}

// listenerParams encodes the fields that are present in cfg.
func listenerParams(cfg *slbv1.ListenerConfig, protocol slbv1.Protocol, creating bool) map[string]string {
	params := map[string]string{}
	for _, a := range attributes() {
		if a.protocols&protocolSet(protocol) == 0 {
			continue
		}
		name := a.param
		if creating && a.creation != "" {
			name = a.creation
		}
		value := ""
		if v, present := lookup(cfg, a.field); present {
			value = a.encode(v)
		}
		if value == "" && creating {
			value = a.missing
		}
		if value != "" {
			params[name] = value
		}
	}
	if port := cfg.GetForwardPort(); port == 0 {
		delete(params, "ForwardPort")
	} else {
		params["ListenerForward"] = "on"
	}
	if _, ok := params["VServerGroupId"]; ok && !creating {
		params["VServerGroup"] = "on"
	}
	return params
}

func (a attribute) encode(value protoreflect.Value) string {
	switch a.kind {
	case number:
		return strconv.FormatInt(value.Int(), 10)
	case onOff, trueFalse, enable:
		yes, no := a.kind.words()
		if value.Bool() {
			return yes
		}
		return no
	case commaList:
		list := value.List()
		ids := make([]string, list.Len())
		for i := range ids {
			ids[i] = list.Get(i).String()
		}
		return strings.Join(ids, ",")
	case text:
	}
	return value.String()
}

// listenerAnswer is one element of the answer to DescribeLoadBalancerListeners: common attributes at the top, those of the
// protocol in an object named after it.
type listenerAnswer map[string]json.RawMessage

// decode turns the answer into a listener. Attributes the cloud did not report stay absent.
func (answer listenerAnswer) decode() (*slbv1.Listener, error) {
	name, port := strings.ToUpper(looseText(answer["ListenerProtocol"])), looseText(answer["ListenerPort"])
	n, err := strconv.ParseInt(port, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("decode listener: port %q is not a number", port)
	}
	l := &slbv1.Listener{
		Key: &slbv1.ListenerKey{
			LoadBalancerId: looseText(answer["LoadBalancerId"]),
			Port:           int32(n),
			Protocol:       slbv1.Protocol(slbv1.Protocol_value["PROTOCOL_"+name]),
		},
		Config: &slbv1.ListenerConfig{},
		Status: looseText(answer["Status"]),
	}
	if l.Tags, err = decodeTags(answer["Tags"]); err != nil {
		return nil, fmt.Errorf("decode listener %d/%s: %w", n, name, err)
	}
	if l.GetKey().GetProtocol() == slbv1.Protocol_PROTOCOL_UNSPECIFIED {
		l.UnknownProtocol = name
		if description := looseText(answer["Description"]); description != "" {
			l.Config.Description = &description
		}
		return l, nil
	}
	values := map[string]json.RawMessage{}
	if raw, ok := answer[name+"ListenerConfig"]; ok {
		if err := json.Unmarshal(raw, &values); err != nil {
			return nil, fmt.Errorf("decode listener %d/%s: %w", n, name, err)
		}
	}
	for _, a := range attributes() {
		if a.protocols&protocolSet(l.GetKey().GetProtocol()) == 0 {
			continue
		}
		for _, key := range []string{a.param, a.answer} {
			raw, ok := values[key]
			if !ok {
				raw = answer[key]
			}
			if a.decode(l.GetConfig(), raw) {
				break
			}
		}
	}
	if looseText(values["ListenerForward"]) != "on" {
		l.Config.ForwardPort = nil
	}
	if l.GetConfig().GetServerCertificateId() == "" {
		l.Config.ServerCertificateId = firstCertificate(values["ServerCertificates"])
	}
	return l, nil
}

// decode sets the field from an answer and tells whether there was anything to set. A zero outside the range is how the
// cloud reports "does not apply".
func (a attribute) decode(cfg proto.Message, raw json.RawMessage) bool {
	if a.kind == commaList {
		ids := looseList(raw)
		list := mutable(cfg, a.field).Mutable(descriptor(cfg, a.field)).List()
		for _, id := range ids {
			list.Append(protoreflect.ValueOfString(id))
		}
		return len(ids) > 0
	}
	s := looseText(raw)
	if s == "" {
		return false
	}
	var value protoreflect.Value
	switch a.kind {
	case number:
		n, err := strconv.ParseInt(s, 10, 32)
		if err != nil || n == 0 && !a.inRange(0) {
			return false
		}
		value = protoreflect.ValueOfInt32(int32(n))
	case onOff, trueFalse, enable:
		value = protoreflect.ValueOfBool(s == "on" || s == "true" || s == "enable")
	case text, commaList:
		value = protoreflect.ValueOfString(s)
	}
	mutable(cfg, a.field).Set(descriptor(cfg, a.field), value)
	return true
}

// lookup reads a field by its path.
func lookup(cfg proto.Message, path string) (protoreflect.Value, bool) {
	m := cfg.ProtoReflect()
	field := path
	if parent, child, nested := strings.Cut(path, "."); nested {
		fd := m.Descriptor().Fields().ByName(protoreflect.Name(parent))
		if !m.Has(fd) {
			return protoreflect.Value{}, false
		}
		m, field = m.Get(fd).Message(), child
	}
	fd := m.Descriptor().Fields().ByName(protoreflect.Name(field))
	return m.Get(fd), m.Has(fd)
}

// mutable gives the message that holds the field of a path, made if need be.
func mutable(cfg proto.Message, path string) protoreflect.Message {
	m := cfg.ProtoReflect()
	if parent, _, nested := strings.Cut(path, "."); nested {
		return m.Mutable(m.Descriptor().Fields().ByName(protoreflect.Name(parent))).Message()
	}
	return m
}

func descriptor(cfg proto.Message, path string) protoreflect.FieldDescriptor {
	name := path[strings.LastIndexByte(path, '.')+1:]
	return mutable(cfg, path).Descriptor().Fields().ByName(protoreflect.Name(name))
}

// looseText reads a JSON string, number or boolean as text: the cloud is not consistent about which it sends.
func looseText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	if t := string(raw); t != "null" {
		return t
	}
	return ""
}

// looseList reads a JSON list of strings, or a comma list in one string.
func looseList(raw json.RawMessage) []string {
	var list []string
	if json.Unmarshal(raw, &list) == nil {
		return list
	}
	if s := looseText(raw); s != "" {
		return strings.Split(s, ",")
	}
	return nil
}

// decodeTags reads a plain list of tags.
func decodeTags(raw json.RawMessage) ([]*commonv1.Tag, error) {
	var list cloud.TagList
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &list.Tag); err != nil {
			return nil, fmt.Errorf("decode tags: %w", err)
		}
	}
	return list.Decode(), nil
}

func firstCertificate(raw json.RawMessage) *string {
	var list []struct{ ServerCertificateId, BindingType string }
	if json.Unmarshal(raw, &list) != nil || len(list) == 0 {
		return nil
	}
	return &list[0].ServerCertificateId
}

// protocolName gives the cloud's name of a protocol in capitals, e.g. "TCP".
func protocolName(p slbv1.Protocol) string {
	return strings.TrimPrefix(p.String(), "PROTOCOL_")
}
