package listener

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/slb/attribute"
)

// configParams encodes the fields that are present in cfg.
func configParams(cfg *slbv1.ListenerConfig, protocol slbv1.Protocol, creating bool) map[string]string {
	params := map[string]string{}
	for _, a := range attribute.Rows() {
		if a.Protocols&attribute.ProtocolSet(protocol) == 0 {
			continue
		}
		name := a.Param
		if creating && a.Creation != "" {
			name = a.Creation
		}
		value := ""
		if v, present := attribute.Lookup(cfg, a.Field); present {
			value = a.Encode(v)
		}
		if value == "" && creating {
			value = a.Missing
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

// decode reads one listener in the answer to DescribeLoadBalancerListeners: common attributes at the top, those of the
// protocol in an object named after it. Attributes the cloud did not report stay absent.
func decode(item []byte) (*slbv1.Listener, error) {
	fields, err := cloud.Members(item)
	if err != nil {
		return nil, fmt.Errorf("decode listener: %w", err)
	}
	name, port := strings.ToUpper(cloud.Text(fields["ListenerProtocol"])), cloud.Text(fields["ListenerPort"])
	n, err := strconv.ParseInt(port, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("decode listener: port %q is not a number", port)
	}
	l := &slbv1.Listener{
		Key: &slbv1.ListenerKey{
			LoadBalancerId: cloud.Text(fields["LoadBalancerId"]),
			Port:           int32(n),
			Protocol:       cloud.Named[slbv1.Protocol](name),
		},
		Config: &slbv1.ListenerConfig{},
		Status: cloud.Text(fields["Status"]),
	}
	if err := cloud.Decode(item, cloud.Fields{"Tags": cloud.TagsInto(&l.Tags)}); err != nil {
		return nil, fmt.Errorf("decode listener %d/%s: %w", n, name, err)
	}
	if l.GetKey().GetProtocol() == slbv1.Protocol_PROTOCOL_UNSPECIFIED {
		l.UnknownProtocol = name
		if description := cloud.Text(fields["Description"]); description != "" {
			l.Config.Description = &description
		}
		return l, nil
	}
	var values map[string]json.RawMessage
	if raw, ok := fields[name+"ListenerConfig"]; ok {
		if values, err = cloud.Members(raw); err != nil {
			return nil, fmt.Errorf("decode listener %d/%s: %w", n, name, err)
		}
	}
	for _, a := range attribute.Rows() {
		if a.Protocols&attribute.ProtocolSet(l.GetKey().GetProtocol()) == 0 {
			continue
		}
		for _, key := range []string{a.Param, a.Answer} {
			raw, ok := values[key]
			if !ok {
				raw = fields[key]
			}
			if a.Decode(l.GetConfig(), raw) {
				break
			}
		}
	}
	if !strings.EqualFold(cloud.Text(values["ListenerForward"]), "on") {
		l.Config.ForwardPort = nil
	}
	if l.GetConfig().GetServerCertificateId() == "" {
		l.Config.ServerCertificateId = firstCertificate(values["ServerCertificates"])
	}
	return l, nil
}

func firstCertificate(raw json.RawMessage) *string {
	var list []struct{ ServerCertificateId, BindingType string }
	if json.Unmarshal(raw, &list) != nil || len(list) == 0 {
		return nil
	}
	return &list[0].ServerCertificateId
}
