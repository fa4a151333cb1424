package clb

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/reflect/protoreflect"

	"alicloud-controllers.dev/cloudgateway/inprocess"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/lbcontroller/internal/lb/apply"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/observe"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
)

// neverBack are the fields of a listener that one which comes back can't have, and why.
var neverBack = map[string]string{
	"health_check.request":  "it is for udp, and no listener of another protocol takes the place of one of udp",
	"health_check.response": "it is for udp, and no listener of another protocol takes the place of one of udp",
	"syn_proxy":             "the list of listeners doesn't have it",
	"backend_server_port":   "it is for listeners on the default server group, which aren't replaced: they are a user's",
}

// TestListenerComesBack: a listener that was deleted for one that the cloud refuses is made again as it was, with each
// attribute that a message has, its tags and its further certificates.
func TestListenerComesBack(t *testing.T) {
	t.Parallel()
	layer4 := map[string]string{"ConnectionDrain": "on", "ConnectionDrainTimeout": "20", "ProxyProtocolV2Enabled": "true",
		"PersistenceTimeout": "60", "HealthCheckSwitch": "on", "HealthCheckConnectTimeout": "7", "HealthCheckInterval": "9"}
	web := map[string]string{"StickySession": "on", "StickySessionType": "insert", "CookieTimeout": "100",
		"IdleTimeout": "9", "RequestTimeout": "33", "Gzip": "on", "XForwardedFor": "on", "XForwardedFor_SLBID": "on",
		"XForwardedFor_SLBIP": "on", "XForwardedFor_SLBPORT": "on", "XForwardedFor_proto": "on", "XForwardedFor_ClientSrcPort": "on",
		"HealthCheck":        "on",
		"HealthCheckTimeout": "8", "HealthCheckInterval": "9", "HealthCheckDomain": "a.example.com",
		"HealthCheckURI": "/ready", "HealthCheckHttpCode": "http_2xx,http_3xx", "HealthCheckMethod": "head"}
	every := map[string]string{"Bandwidth": "5", "Scheduler": "wrr", "AclStatus": "on", "AclType": "white",
		"HealthyThreshold": "4", "UnhealthyThreshold": "5", "HealthCheckConnectPort": "99"}
	seen := map[string]bool{}
	for name, test := range map[string]struct {
		protocol   string
		attributes []map[string]string
		becomes    model.Protocol
		domains    []*state.Domain
	}{
		"tcp": {protocol: "tcp", attributes: []map[string]string{every, layer4, {"EstablishedTimeout": "60",
			"HealthCheckType": "http", "HealthCheckDomain": "a.example.com", "HealthCheckURI": "/ready",
			"HealthCheckHttpCode": "http_2xx,http_3xx"}}, becomes: model.HTTP},
		"tcp, checked by tcp": {protocol: "tcp", attributes: []map[string]string{every, {"HealthCheckType": "tcp"}},
			becomes: model.HTTP},
		"http": {protocol: "http", attributes: []map[string]string{every, web}, becomes: model.TCP},
		"http, by a cookie": {protocol: "http", attributes: []map[string]string{every, web, {"StickySessionType": "server",
			"CookieTimeout": "", "Cookie": "mine"}}, becomes: model.TCP},
		"redirect": {protocol: "http", attributes: []map[string]string{{"Bandwidth": "-1", "ListenerForward": "on",
			"ForwardPort": "443", "VServerGroupId": ""}}, becomes: model.TCP},
		"https": {protocol: "https", attributes: []map[string]string{every, web, {"ServerCertificateId": "cert-1",
			"CACertificateId": "ca-1", "EnableHttp2": "on", "TLSCipherPolicy": "tls_cipher_policy_1_2"}}, becomes: model.TCP,
			domains: []*state.Domain{{Domain: "*.example.com", CertificateID: "cert-2"},
				{Domain: "b.example.com", CertificateID: "cert-3"}}},
		"https, no more": {protocol: "https", attributes: []map[string]string{{"ServerCertificateId": "cert-1"}},
			becomes: model.TCP},
	} {
		t.Run(name, func(t *testing.T) {
			f, want := newCloud(t), wanted(80)
			want.Listeners[0].Key.Protocol = test.becomes
			l := &state.Listener{Port: 80, Protocol: test.protocol, Status: "running", AclIDs: []string{"acl-1"},
				Domains: test.domains, Tags: []state.Tag{{Key: "team", Value: "blue"}},
				Attributes: map[string]string{"Description": want.Owner.Listener(80), "VServerGroupId": "rsp-1"}}
			for _, more := range test.attributes {
				maps.Copy(l.Attributes, more)
			}
			maps.DeleteFunc(l.Attributes, func(_, value string) bool { return value == "" })
			if l.Attributes["AclStatus"] == "" {
				l.AclIDs = nil
			}
			things := &state.Cloud{
				LoadBalancers: map[string]*state.LoadBalancer{"lb-1": {Name: "web", AddressType: "internet",
					Listeners: []*state.Listener{l}}},
				ServerGroups: map[string]*state.ServerGroup{"rsp-1": {LoadBalancerID: "lb-1", Name: want.Groups[0].Name}},
				Acls:         map[string]*state.Acl{"acl-1": {Name: "theirs"}},
				Certificates: map[string]*state.Certificate{"cert-1": {}, "cert-2": {}, "cert-3": {}, "ca-1": {CA: true}},
			}
			if test.protocol == "http" {
				things.LoadBalancers["lb-1"].Listeners = append(things.LoadBalancers["lb-1"].Listeners, &state.Listener{Port: 443,
					Protocol: "https", Status: "running", Attributes: map[string]string{"VServerGroupId": "rsp-1",
						"ServerCertificateId": "cert-1"}})
			}
			f.Add(things)
			product := Product{Gateway: f.Client()}
			there, err := product.Read(t.Context(), "lb-1", observe.Extent{View: observe.Full})
			if err == nil {
				err = product.Complete(t.Context(), &there, want)
			}
			if err != nil {
				t.Fatal(err)
			}
			before := portEighty(f)
			addFields("", configOf(there.Listeners[0].Config).ProtoReflect(), seen)
			f.Fail("CreateListener", 1, &rpcerr.Error{Code: codes.ResourceExhausted, Reason: rpcerr.QuotaExceeded})
			now, err := apply.Apply(t.Context(), product, apply.Work{Plan: plan.Diff(product, want, there), Observed: there,
				Life: apply.Life{ClusterID: "c", UID: "u"}})
			if rpcerr.ReasonOf(err) != rpcerr.QuotaExceeded {
				t.Fatalf("got %v, want the refusal of the new listener and no other failure", err)
			}
			after := portEighty(f)
			// What it never was given has the cloud's defaults.
			maps.DeleteFunc(after.Attributes, func(key, _ string) bool { return before.Attributes[key] == "" })
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("the listener has come back otherwise (-before +after):\n%s", diff)
			}
			i := slices.IndexFunc(now.Listeners, func(l model.Listener) bool { return l.Key.Port == 80 })
			if i < 0 || len(now.Listeners[i].Further) != len(test.domains) {
				t.Errorf("remembered %v, want the listener with %d further certificates", now.Listeners, len(test.domains))
			}
		})
	}
	for _, name := range fieldsOf("", (&slbv1.ListenerConfig{}).ProtoReflect().Descriptor()) {
		if why := neverBack[name]; seen[name] == (why != "") {
			t.Errorf("field %s: seen to come back: %t; why it can't: %q", name, seen[name], why)
		}
	}
}

// portEighty is the listener of port 80 without what is new of each.
func portEighty(f *inprocess.Cloud) (found state.Listener) {
	f.Look(func(c *state.Cloud) {
		for _, l := range c.LoadBalancers["lb-1"].Listeners {
			if l.Port == 80 {
				found = *l
			}
		}
	})
	found.Spelling, found.Attributes, found.Domains = nil, maps.Clone(found.Attributes), slices.Clone(found.Domains)
	for i, d := range found.Domains {
		found.Domains[i] = &state.Domain{Domain: d.Domain, CertificateID: d.CertificateID}
	}
	return found
}

// addFields adds the fields of a message that say something, with those of the messages in it.
func addFields(prefix string, m protoreflect.Message, to map[string]bool) {
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		name := prefix + string(field.Name())
		switch {
		case field.Message() != nil && !field.IsList():
			addFields(name+".", value.Message(), to)
		case field.IsList() || !value.Equal(field.Default()):
			to[name] = true
		}
		return true
	})
}

// fieldsOf are the fields of a message, with those of the messages in it.
func fieldsOf(prefix string, m protoreflect.MessageDescriptor) (names []string) {
	for i := range m.Fields().Len() {
		field := m.Fields().Get(i)
		if name := prefix + string(field.Name()); field.Message() != nil {
			names = append(names, fieldsOf(name+".", field.Message())...)
		} else {
			names = append(names, name)
		}
	}
	return names
}
