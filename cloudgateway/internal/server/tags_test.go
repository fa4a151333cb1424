package server

import (
	"context"
	"testing"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/proto/rpcerr"
)

// TestTagsOfWhatIsNotThere: the cloud speaks of a "resource" where it is about tags; callers learn what it is that is not there.
func TestTagsOfWhatIsNotThere(t *testing.T) {
	w := newWorld(t)
	lb := w.createBalancer(t, "lb")
	set, remove := []*commonv1.Tag{{Key: "k", Value: "v"}}, []string{"k"}
	for _, tt := range []struct {
		want   rpcerr.Reason
		update func(ctx context.Context, set []*commonv1.Tag, remove []string) error
	}{
		{rpcerr.LoadBalancerNotFound, func(ctx context.Context, set []*commonv1.Tag, remove []string) error {
			_, err := w.LoadBalancers.UpdateLoadBalancer(ctx, &slbv1.UpdateLoadBalancerRequest{
				LoadBalancerId: "lb-gone", SetTags: set, RemoveTagKeys: remove,
			})
			return err
		}},
		{rpcerr.ListenerNotFound, func(ctx context.Context, set []*commonv1.Tag, remove []string) error {
			_, err := w.Listeners.UpdateListener(ctx, &slbv1.UpdateListenerRequest{
				Key:     &slbv1.ListenerKey{LoadBalancerId: lb, Port: 80, Protocol: slbv1.Protocol_PROTOCOL_TCP},
				SetTags: set, RemoveTagKeys: remove,
			})
			return err
		}},
		{rpcerr.ServerGroupNotFound, func(ctx context.Context, set []*commonv1.Tag, remove []string) error {
			_, err := w.ServerGroups.UpdateServerGroup(ctx, &slbv1.UpdateServerGroupRequest{
				LoadBalancerId: lb, ServerGroupId: "rsp-gone", SetTags: set, RemoveTagKeys: remove,
			})
			return err
		}},
		{rpcerr.AclNotFound, func(ctx context.Context, set []*commonv1.Tag, remove []string) error {
			_, err := w.AccessControlLists.UpdateAccessControlList(ctx, &slbv1.UpdateAccessControlListRequest{
				AclId: "acl-gone", SetTags: set, RemoveTagKeys: remove,
			})
			return err
		}},
		{rpcerr.CertificateNotFound, func(ctx context.Context, set []*commonv1.Tag, remove []string) error {
			_, err := w.Certificates.UpdateServerCertificate(ctx, &slbv1.UpdateServerCertificateRequest{
				ServerCertificateId: "gone", SetTags: set, RemoveTagKeys: remove,
			})
			return err
		}},
		{rpcerr.EipNotFound, func(ctx context.Context, set []*commonv1.Tag, remove []string) error {
			_, err := w.Eips.UpdateEip(ctx, &vpcv1.UpdateEipRequest{AllocationId: "eip-gone", SetTags: set, RemoveTagKeys: remove})
			return err
		}},
		{rpcerr.InstanceNotFound, func(ctx context.Context, set []*commonv1.Tag, remove []string) error {
			_, err := w.Instances.UpdateInstance(ctx, &ecsv1.UpdateInstanceRequest{InstanceId: "i-gone", SetTags: set, RemoveTagKeys: remove})
			return err
		}},
		{rpcerr.NetworkInterfaceNotFound, func(ctx context.Context, set []*commonv1.Tag, remove []string) error {
			_, err := w.NetworkInterfaces.UpdateNetworkInterface(ctx, &ecsv1.UpdateNetworkInterfaceRequest{
				NetworkInterfaceId: "eni-gone", SetTags: set, RemoveTagKeys: remove,
			})
			return err
		}},
	} {
		if err := tt.update(t.Context(), set, nil); rpcerr.ReasonOf(err) != tt.want {
			t.Errorf("set: got %v, want %s", err, tt.want)
		}
		if err := tt.update(t.Context(), nil, remove); rpcerr.ReasonOf(err) != tt.want {
			t.Errorf("remove: got %v, want %s", err, tt.want)
		}
	}
}
