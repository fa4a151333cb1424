package server

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	"alicloud-controllers.dev/proto/method"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/openapisim/journal"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/flow"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/pipes"
)

// silentCloud notes calls, and answers none.
type silentCloud struct {
	mu    sync.Mutex
	calls []journal.Call
}

func (c *silentCloud) Do(_ context.Context, call openapi.Call, _ any) (openapi.Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, journal.Call{
		Product: string(call.Product), Action: call.Action, Params: cloud.Params{}.Merge(call.Params).Merge(call.Form),
	})
	return openapi.Result{}, &rpcerr.Error{Code: codes.Unavailable, Reason: rpcerr.CloudUnavailable}
}

// take gives the parameters of the calls since the last time.
func (c *silentCloud) take() (params string, calls []journal.Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls, c.calls = c.calls, nil
	for _, call := range calls {
		for name, value := range call.Params {
			params += name + "=" + strings.ToLower(value) + "\n"
		}
	}
	return params, calls
}

// filteredHere are the filters that the cloud does not have.
func filteredHere() map[string]bool {
	return map[string]bool{
		"ListAccessControlLists acl_ids": true, "ListServerCertificates server_certificate_ids": true, "ListServerCertificates name": true,
		"ListCaCertificates ca_certificate_ids": true, "ListCaCertificates name": true, "ListServerGroups include_users": false,
		"ListCertificates certificate_ids": true, "ListCertificates name": true,
	}
}

// TestEveryFilterReachesTheCloud, as a parameter that the cloud has: what is not sent makes the answer too broad.
func TestEveryFilterReachesTheCloud(t *testing.T) {
	silent, all := &silentCloud{}, sent{}
	services := New(Config{Caller: silent, Shared: cloud.Shared{Locks: &flow.Keyed[string]{}, Logger: slog.New(slog.DiscardHandler)}})
	server := grpc.NewServer()
	services.Register(server)
	conn := pipes.ServeGRPC(t, server)
	for _, m := range method.All() {
		fields := m.Descriptor.Input().Fields()
		if !strings.HasPrefix(m.Name, "List") || fields.ByName("page_size") == nil {
			continue
		}
		for i := range fields.Len() {
			f := fields.Get(i)
			text, ok := sample(f)
			if !ok {
				continue
			}
			request := dynamicpb.NewMessage(m.Descriptor.Input())
			for j := range fields.Len() { // What is required, and what this filter needs.
				if other := fields.Get(j); required(other) || needs(m.Descriptor.Input(), f.Name(), other.Name()) {
					fill(request, other)
				}
			}
			fill(request, f)
			_ = conn.Invoke(t.Context(), m.FullName(), request, dynamicpb.NewMessage(m.Descriptor.Output())) // It fails.
			params, calls := silent.take()
			all.add(calls)
			if here := filteredHere()[m.Name+" "+string(f.Name())]; strings.Contains(params, text) == here {
				t.Errorf("%s: %s = %q is sent: %t, in\n%s", m.FullName(), f.Name(), text, !here, params)
			}
		}
	}
	all.check(t)
}

// sample is a value of a filter, as it stands in a parameter.
func sample(f protoreflect.FieldDescriptor) (text string, ok bool) {
	rules, _ := proto.GetExtension(f.Options(), commonv1.E_Field).(*commonv1.FieldRules)
	switch {
	case f.Name() == "page_token" || f.Name() == "max_age" || f.Name() == "page_size":
		return "", false
	case f.Kind() == protoreflect.BoolKind:
		return "=true", true
	case f.Kind() == protoreflect.EnumKind:
		first := f.Enum().Values()
		prefix := strings.TrimSuffix(string(first.Get(0).Name()), "UNSPECIFIED")
		return "=" + strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(string(first.Get(1).Name()), prefix), "_", "")), true
	case f.Kind() != protoreflect.StringKind:
		return "sample", f.Message() != nil
	case len(rules.GetOneOf()) > 0:
		return strings.ToLower(rules.GetOneOf()[0]), true
	case rules.GetForm() == commonv1.Form_FORM_IP_ADDRESS:
		return "10.0.0.1", true
	case rules.GetForm() == commonv1.Form_FORM_NETWORK:
		return "10.0.0.0/24", true
	}
	return "sample", true
}

// fill sets a field to its sample.
func fill(m protoreflect.Message, f protoreflect.FieldDescriptor) {
	text, _ := sample(f)
	var value protoreflect.Value
	switch {
	case f.Kind() == protoreflect.BoolKind:
		value = protoreflect.ValueOfBool(true)
	case f.Kind() == protoreflect.EnumKind:
		value = protoreflect.ValueOfEnum(1)
	case f.Kind() == protoreflect.Int32Kind:
		value = protoreflect.ValueOfInt32(1)
	case f.Message() != nil:
		within := dynamicpb.NewMessage(f.Message())
		for i := range f.Message().Fields().Len() {
			fill(within, f.Message().Fields().Get(i))
		}
		value = protoreflect.ValueOfMessage(within)
	default:
		value = protoreflect.ValueOfString(text)
	}
	if f.IsList() {
		list := m.NewField(f).List()
		list.Append(value)
		value = protoreflect.ValueOfList(list)
	}
	m.Set(f, value)
}

func required(f protoreflect.FieldDescriptor) bool {
	rules, _ := proto.GetExtension(f.Options(), commonv1.E_Field).(*commonv1.FieldRules)
	return rules.GetRequired() && !f.IsList()
}

func needs(m protoreflect.MessageDescriptor, field, other protoreflect.Name) bool {
	rules, _ := proto.GetExtension(m.Options(), commonv1.E_Message).(*commonv1.MessageRules)
	for _, need := range rules.GetNeeds() {
		if need.GetField() == string(field) && need.GetNeeds() == string(other) {
			return true
		}
	}
	return false
}
