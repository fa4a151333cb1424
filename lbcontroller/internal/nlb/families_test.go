package nlb_test

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

// older is a gateway of before IP_VERSION_AFFINITY: it refuses the field by its number, and doesn't answer it.
type older struct {
	nlbv1.ServerGroupServiceClient
}

func (o older) refuse(number string) error {
	return rpcerr.Invalidf(number, "is not a field that this gateway knows; the gateway is older than its caller")
}

func (o older) CreateServerGroup(
	ctx context.Context, r *nlbv1.CreateServerGroupRequest, opts ...grpc.CallOption,
) (*nlbv1.CreateServerGroupResponse, error) {
	if r.GetIpVersionAffinity() != 0 {
		return nil, o.refuse("17")
	}
	return o.ServerGroupServiceClient.CreateServerGroup(ctx, r, opts...)
}

func (o older) UpdateServerGroup(
	ctx context.Context, r *nlbv1.UpdateServerGroupRequest, opts ...grpc.CallOption,
) (*nlbv1.UpdateServerGroupResponse, error) {
	if r.GetIpVersionAffinity() != 0 {
		return nil, o.refuse("13")
	}
	return o.ServerGroupServiceClient.UpdateServerGroup(ctx, r, opts...)
}

func (o older) GetServerGroup(
	ctx context.Context, r *nlbv1.GetServerGroupRequest, opts ...grpc.CallOption,
) (*nlbv1.GetServerGroupResponse, error) {
	answer, err := o.ServerGroupServiceClient.GetServerGroup(ctx, r, opts...)
	if err == nil {
		answer.ServerGroup.IpVersionAffinity = 0
	}
	return answer, err
}

func (o older) ListServerGroups(
	ctx context.Context, r *nlbv1.ListServerGroupsRequest, opts ...grpc.CallOption,
) (*nlbv1.ListServerGroupsResponse, error) {
	answer, err := o.ServerGroupServiceClient.ListServerGroups(ctx, r, opts...)
	for _, g := range answer.GetServerGroups() {
		g.IpVersionAffinity = 0
	}
	return answer, err
}

// TestFamiliesWithAnOlderGateway: servers of both families are served by a gateway that can't keep them apart, without
// another write, and are kept apart once it is of today.
func TestFamiliesWithAnOlderGateway(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.stop()
		today := w.cloud.Client()
		clients := *today.Client
		clients.NetworkServerGroups = older{today.NetworkServerGroups}
		w.gateway = &gateway.Client{Client: &clients}
		w.start()
		w.create(web(annotated(annotation.IPVersion, "DualStack", annotation.BackendIPVersion, "dualstack")))
		w.settle()
		w.expect("an older gateway", "CreateServerGroup", "CreateLoadBalancer", "CreateListener")
		w.after(25 * time.Hour)
		w.restart()
		w.after(25 * time.Hour)
		w.expect("an older gateway, two days later")
		w.gateway = nil
		w.restart()
		w.after(25 * time.Hour)
		w.expect("after the upgrade of the gateway", "UpdateServerGroup")
		check(t, "affinity of the server group", "Affinity", w.group().IPAffinity)
	})
}

// TestFamiliesAtTheTakeover: what the existing CCM has set for both families stays without a write.
func TestFamiliesAtTheTakeover(t *testing.T) {
	for family, has := range map[string]string{"dualstack": "Affinity", "ipv6": "NonAffinity"} {
		inWorld(t, 2, func(w *world) {
			svc := w.byCCM(web(annotated(annotation.IPVersion, "DualStack", annotation.BackendIPVersion, family)), "TCP")
			w.cloud.Change(func(c *state.Cloud) {
				c.NLBs["nlb-ccm"].AddressIPVersion = "DualStack"
				g := c.NLBServerGroups["sgp-ccm-0"]
				g.AddressIPVersion, g.IPAffinity = "DualStack", has
			})
			w.create(svc)
			w.after(25 * time.Hour)
			w.expect(family + " of the existing CCM")
		})
	}
}
