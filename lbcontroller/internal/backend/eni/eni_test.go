package eni

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/gateway/gatewaytest"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/lbcontroller/internal/clb/model"
)

func groups(ips ...string) []model.Group {
	g := model.Group{Name: "g", Servers: []model.Server{{ServerKey: model.ServerKey{Type: slbv1.ServerType_SERVER_TYPE_ECS, ID: "i-1", Port: 80}}}}
	for _, ip := range ips {
		g.Servers = append(g.Servers, model.Server{ServerKey: model.ServerKey{Type: slbv1.ServerType_SERVER_TYPE_ENI, IP: ip, Port: 80}})
	}
	return []model.Group{g}
}

func put(f *gatewaytest.Fake, id, ip string) {
	f.Lock()
	defer f.Unlock()
	f.NetworkInterfaces[id] = &ecsv1.NetworkInterface{NetworkInterfaceId: id, VpcId: "vpc-test", PrivateIps: []string{ip}}
}

func ids(gs []model.Group) map[string]string {
	result := map[string]string{}
	for _, s := range gs[0].Servers {
		if s.IP != "" {
			result[s.IP] = s.ID
		}
	}
	return result
}

func TestResolve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := gatewaytest.New(t)
		put(f, "eni-1", "10.0.0.1")
		put(f, "eni-2", "10.0.0.2")
		r := &Resolver{Client: f.Client()} // The VPC comes from the gateway.
		resolve := func(ips ...string) (map[string]string, []string, int) {
			t.Helper()
			gs := groups(ips...)
			unresolved, err := r.Resolve(t.Context(), "default/web", gs)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(gs[0].Unresolved, unresolved); diff != "" {
				t.Error(diff)
			}
			asked := len(f.CallsOf("BatchGetNetworkInterfaces"))
			f.ResetCalls()
			return ids(gs), unresolved, asked
		}
		check := func(what string, wantIDs map[string]string, wantUnresolved []string, wantAsked int, gotIDs map[string]string, gotUnresolved []string, gotAsked int) {
			t.Helper()
			if diff := cmp.Diff([]any{wantIDs, wantUnresolved, wantAsked}, []any{gotIDs, gotUnresolved, gotAsked}); diff != "" {
				t.Errorf("%s (-want +got):\n%s", what, diff)
			}
		}
		got, missing, asked := resolve("10.0.0.1", "10.0.0.9")
		check("first", map[string]string{"10.0.0.1": "eni-1", "10.0.0.9": ""}, []string{"10.0.0.9"}, 1, got, missing, asked)
		got, missing, asked = resolve("10.0.0.1")
		check("remembered", map[string]string{"10.0.0.1": "eni-1"}, nil, 0, got, missing, asked)
		got, missing, asked = resolve("10.0.0.2")
		check("another", map[string]string{"10.0.0.2": "eni-2"}, nil, 1, got, missing, asked)
		put(f, "eni-1", "10.0.0.7")
		put(f, "eni-3", "10.0.0.1")
		got, missing, asked = resolve("10.0.0.1", "10.0.0.2")
		check("an address that left is looked up anew", map[string]string{"10.0.0.1": "eni-3", "10.0.0.2": "eni-2"}, nil, 1, got, missing, asked)
		<-time.After(keepFor)
		_, _, asked = resolve("10.0.0.1", "10.0.0.2")
		check("believed for a while only", nil, nil, 1, nil, nil, asked)
		_, _, asked = resolve()
		check("nodes only", nil, nil, 0, nil, nil, asked)
	})
}

func TestResolveFails(t *testing.T) {
	t.Parallel()
	f := gatewaytest.New(t)
	r := &Resolver{Client: f.Client(), VPCID: "vpc-test"}
	f.Fail("BatchGetNetworkInterfaces", 1, &rpcerr.Error{Code: codes.Unavailable, Reason: rpcerr.CloudUnavailable})
	if _, err := r.Resolve(t.Context(), "s", groups("10.0.0.1")); err == nil {
		t.Error("a failed lookup is no error")
	}
	f.Lock()
	f.Capabilities.VpcId = ""
	f.Unlock()
	r = &Resolver{Client: f.Client()}
	if _, err := r.Resolve(t.Context(), "s", groups("10.0.0.1")); err == nil {
		t.Error("an unknown VPC is no error")
	}
}
