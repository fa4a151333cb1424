package server

import (
	"slices"
	"testing"
	"testing/synctest"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
)

// TestRefusedNameHoldsNoGuardBack: by one request an intranet NLB goes public, gets a security group and a name. With a security group that
// can't be joined it isn't opened, and a name that is refused holds nothing of that back.
func TestRefusedNameHoldsNoGuardBack(t *testing.T) {
	t.Parallel()
	for _, refused := range []string{"LoadBalancerJoinSecurityGroup", "UpdateLoadBalancerAttribute"} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, slowJobs)
			ctx := t.Context()
			lb, _, _, err := w.serveNLB(ctx, "a", 2)
			if err != nil {
				t.Fatal(err)
			}
			change := func(r *nlbv1.UpdateLoadBalancerRequest) error {
				r.LoadBalancerId = lb
				_, err := w.NetworkLoadBalancers.UpdateLoadBalancer(ctx, r)
				return err
			}
			intranet, internet := nlbv1.AddressType_ADDRESS_TYPE_INTRANET, nlbv1.AddressType_ADDRESS_TYPE_INTERNET
			there, err := w.NetworkLoadBalancers.GetLoadBalancer(ctx, &nlbv1.GetLoadBalancerRequest{LoadBalancerId: lb})
			if err != nil {
				t.Fatal(err)
			}
			if there.GetLoadBalancer().GetAddressType() != intranet {
				if err := change(&nlbv1.UpdateLoadBalancerRequest{AddressType: intranet.Enum()}); err != nil {
					t.Fatal(err)
				}
			}
			sg, err := w.SecurityGroups.CreateSecurityGroup(ctx, &ecsv1.CreateSecurityGroupRequest{RequestId: "sg", Name: "web", VpcId: testVPC,
				Type: ecsv1.SecurityGroupType_SECURITY_GROUP_TYPE_ENTERPRISE})
			if err != nil {
				t.Fatal(err)
			}
			w.strike(t, fault.Rule{Product: "nlb", Action: refused, Times: 100,
				Error: &fault.Error{Code: "IllegalParam", Message: "no", Status: 400}})
			groups := []string{sg.GetSecurityGroupId()}
			err = change(&nlbv1.UpdateLoadBalancerRequest{
				Name: new("web"), AddressType: internet.Enum(), SecurityGroups: &nlbv1.SecurityGroups{SecurityGroupIds: groups}})
			if err == nil {
				t.Errorf("%s is refused, and the update went well", refused)
			}
			answer, err := w.NetworkLoadBalancers.GetLoadBalancer(ctx, &nlbv1.GetLoadBalancerRequest{LoadBalancerId: lb})
			if err != nil {
				t.Fatal(err)
			}
			now := answer.GetLoadBalancer()
			isGuarded := slices.Equal(now.GetSecurityGroupIds(), groups)
			if isOpen := now.GetAddressType() == internet; isOpen != isGuarded || isGuarded != (refused == "UpdateLoadBalancerAttribute") {
				t.Errorf("%s is refused: public is %t, guarded is %t", refused, isOpen, isGuarded)
			}
		})
	}
}
