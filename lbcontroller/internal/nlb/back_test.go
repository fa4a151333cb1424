package nlb_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/reflect/protoreflect"

	"alicloud-controllers.dev/cloudgateway/inprocess"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/lbcontroller/internal/lb/apply"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/observe"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
	"alicloud-controllers.dev/lbcontroller/internal/nlb"
)

// TestListenerComesBack: a listener that was deleted for one that the cloud refuses is made again as it was, with each
// attribute that a message has, its tags and its further certificates.
func TestListenerComesBack(t *testing.T) {
	t.Parallel()
	proxy := state.NLBProxyV2{EndpointID: true, EndpointServiceID: true, VpcID: true}
	further := []state.NLBCertificate{{ID: "cert-2", Status: "Associated"}, {ID: "cert-3", Status: "Associated"}}
	seen := map[string]bool{}
	for name, test := range map[string]struct {
		there   state.NLBListener
		becomes model.ListenerKey
	}{
		"tcp": {there: state.NLBListener{Protocol: "TCP", Port: 80, IdleTimeout: 60, ProxyProtocol: true, ProxyV2: proxy,
			Cps: 7, Mss: 1200, SecSensor: true}, becomes: model.ListenerKey{Port: 80, Protocol: model.TCPSSL}},
		"a range": {there: state.NLBListener{Protocol: "TCP", StartPort: 80, EndPort: 90, IdleTimeout: 900},
			becomes: model.ListenerKey{Port: 80, Protocol: model.TCP}},
		"udp, a range": {there: state.NLBListener{Protocol: "UDP", StartPort: 53, EndPort: 63, IdleTimeout: 20, Cps: 7},
			becomes: model.ListenerKey{Port: 53, Protocol: model.UDP}},
		"tls": {there: state.NLBListener{Protocol: "TCPSSL", Port: 443, IdleTimeout: 900,
			SecurityPolicyID: "tls_cipher_policy_1_2", CertificateIDs: []string{"cert-1"}},
			becomes: model.ListenerKey{Port: 443, Protocol: model.TCP}},
		"tls, all": {there: state.NLBListener{Protocol: "TCPSSL", Port: 443, IdleTimeout: 900,
			SecurityPolicyID: "tls_cipher_policy_1_0", CertificateIDs: []string{"cert-1"}, Ca: true,
			CaCertificateIDs: []string{"ca-1"}, Alpn: true, AlpnPolicy: "HTTP2Only", Additional: further},
			becomes: model.ListenerKey{Port: 443, Protocol: model.TCP}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cloud := inprocess.New(t, "vpc-test", network())
				owner := ownership.Owner{Service: "web", Namespace: "default", ClusterID: "c"}
				l := test.there
				l.NLBID, l.ServerGroupID, l.Description = "nlb-1", "sgp-1", owner.Dotted("80", "TCP")
				l.Tags = []state.Tag{{Key: "team", Value: "blue"}}
				cloud.Add(&state.Cloud{
					Instances: map[string]*state.Instance{"i-1": {VpcID: "vpc-test", VSwitchID: "vsw-h", ZoneID: "cn-hangzhou-h",
						Status: "Running", PrivateIPs: []string{"10.2.0.9"}}},
					NLBs: map[string]*state.NLB{"nlb-1": {VpcID: "vpc-test"}},
					NLBServerGroups: map[string]*state.NLBServerGroup{"sgp-1": {VpcID: "vpc-test", Protocol: l.Protocol,
						ClientIPOff: l.Protocol == "TCPSSL", AnyPort: l.EndPort > 0, HealthCheck: state.NLBHealthCheck{ConnectPort: 80}}},
					NLBListeners: map[string]*state.NLBListener{"lsn-1": &l},
				})
				product := nlb.Product{Gateway: cloud.Client(), VPCID: "vpc-test"}
				server := model.Server{Weight: 100, ServerKey: model.ServerKey{Type: model.ECS, ID: "i-1", Port: 80}}
				config := &nlbv1.ListenerConfig{Description: new(owner.Dotted("80", "TCP"))}
				want := &model.Desired{Owner: owner, UID: "u", Instance: model.Instance{Spec: &nlbv1.CreateLoadBalancerRequest{}},
					Groups: []model.Group{{Name: "web", Config: &nlbv1.CreateServerGroupRequest{},
						Servers: []model.Server{server}}},
					Listeners: []model.Listener{{Key: test.becomes, Group: "web", Config: config}}}
				there, err := product.Read(t.Context(), "nlb-1", observe.Extent{View: observe.Full})
				if err == nil {
					err = product.Complete(t.Context(), &there, want)
				}
				if err != nil || len(there.Listeners) != 1 {
					t.Fatalf("read %v, %v", there.Listeners, err)
				}
				before := the(cloud)
				addFields("", there.Listeners[0].Config.ProtoReflect(), seen)
				// The first refusal is that of the proof, for which it may be the listener that is to go.
				cloud.Fail("nlb.CreateListener", 2, &rpcerr.Error{Code: codes.ResourceExhausted, Reason: rpcerr.QuotaExceeded})
				_, err = apply.Apply(t.Context(), product, apply.Work{Plan: plan.Diff(product, want, there), Observed: there,
					Life: apply.Life{ClusterID: "c", UID: "u"}})
				if failures, _ := errors.AsType[apply.Failures](err); len(failures) != 1 || rpcerr.ReasonOf(err) != rpcerr.QuotaExceeded {
					t.Fatalf("got %v, want the refusal of the new listener and no other failure; the plan was\n%s", err,
						plan.Diff(product, want, there))
				}
				check(t, "the listener", before, the(cloud))
			})
		})
	}
	for _, name := range fieldsOf("", (&nlbv1.ListenerConfig{}).ProtoReflect().Descriptor()) {
		if !seen[name] {
			t.Errorf("field %s was not seen to come back", name)
		}
	}
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

// the is the only listener, without its id and when it was made.
func the(cloud *inprocess.Cloud) (found state.NLBListener) {
	cloud.Look(func(c *state.Cloud) {
		for _, l := range c.NLBListeners {
			found = *l
		}
	})
	found.ID, found.Number, found.Created, found.Spelling = "", 0, time.Time{}, nil
	return found
}
