package slb

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
)

// LooseText reads a JSON string, number or boolean as text: the cloud is not consistent about which it sends.
func LooseText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	if t := string(raw); t != "null" {
		return t
	}
	return ""
}

// LooseList reads a JSON list of strings, or a comma list in one string.
func LooseList(raw json.RawMessage) []string {
	var list []string
	if json.Unmarshal(raw, &list) == nil {
		return list
	}
	if s := LooseText(raw); s != "" {
		return strings.Split(s, ",")
	}
	return nil
}

// Moment reads a time in milliseconds; nil if there is none.
func Moment(text string) *timestamppb.Timestamp {
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil || ms <= 0 {
		return nil
	}
	return timestamppb.New(time.UnixMilli(ms))
}

// Is recognises a word of the cloud.
func Is(word string) func(string) bool { return func(w string) bool { return w == word } }

// ProtocolName gives the cloud's name of a protocol in capitals, e.g. "TCP".
func ProtocolName(p slbv1.Protocol) string {
	return strings.TrimPrefix(p.String(), "PROTOCOL_")
}

// ServerType is the kind of server that the cloud names, ECS if it names none.
func ServerType(word string) slbv1.ServerType {
	return cloud.Named[slbv1.ServerType](cmp.Or(word, "ecs"))
}

// Word is the cloud's word for a value of an enumeration, of which SLB mostly knows small letters.
func Word[E cloud.Enum](value E) string { return strings.ToLower(cloud.Word(value)) }

// KeyParams names a listener by its port.
func KeyParams(key *slbv1.ListenerKey) cloud.Params {
	return cloud.Params{
		"LoadBalancerId": key.GetLoadBalancerId(),
		"ListenerPort":   strconv.Itoa(int(key.GetPort())),
	}
}

// StateParams also names the protocol, since TCP and UDP may share a port.
func StateParams(key *slbv1.ListenerKey) cloud.Params {
	return KeyParams(key).With("ListenerProtocol", strings.ToLower(ProtocolName(key.GetProtocol())))
}

// ListenerName names a listener in the caches.
func ListenerName(key *slbv1.ListenerKey) string {
	return fmt.Sprintf("%s%d/%s", ListenersOf(key.GetLoadBalancerId()), key.GetPort(), ProtocolName(key.GetProtocol()))
}

// ListenersOf is what the names of all listeners of an instance begin with.
func ListenersOf(loadBalancerID string) string { return loadBalancerID + " " }

// OfListeners finds the names of all listeners of an instance.
func OfListeners(loadBalancerID string) func(name string) bool {
	return func(name string) bool { return strings.HasPrefix(name, ListenersOf(loadBalancerID)) }
}
