package server

import (
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func ruleTo(port int32, cidr string) *ecsv1.SecurityGroupRule {
	return &ecsv1.SecurityGroupRule{
		Direction: ecsv1.Direction_DIRECTION_INGRESS, Policy: ecsv1.RulePolicy_RULE_POLICY_ACCEPT, Priority: 1, IpProtocol: "TCP",
		StartPort: port, EndPort: port, Cidr: cidr,
	}
}

func dropOf(direction ecsv1.Direction, cidr string) *ecsv1.SecurityGroupRule {
	return &ecsv1.SecurityGroupRule{Direction: direction, Policy: ecsv1.RulePolicy_RULE_POLICY_DROP, Priority: 100,
		IpProtocol: "ALL", Cidr: cidr}
}

// TestLifeOfASecurityGroup: what was asked for is what is read, in both families and both directions, and few calls do it.
func TestLifeOfASecurityGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		create := &ecsv1.CreateSecurityGroupRequest{
			RequestId: "r-1", Name: "web", Description: "for a Service", VpcId: testVPC,
			Type: ecsv1.SecurityGroupType_SECURITY_GROUP_TYPE_ENTERPRISE,
			Tags: []*commonv1.Tag{{Key: "cluster", Value: "c-1"}},
			Rules: []*ecsv1.SecurityGroupRule{
				ruleTo(80, "10.0.0.0/8"), ruleTo(80, "2408:4000::/32"), dropOf(ecsv1.Direction_DIRECTION_INGRESS, "0.0.0.0/0"),
				dropOf(ecsv1.Direction_DIRECTION_INGRESS, "::/0"), dropOf(ecsv1.Direction_DIRECTION_EGRESS, "0.0.0.0/0"),
			},
		}
		var id string
		for range 2 {
			made, err := w.SecurityGroups.CreateSecurityGroup(t.Context(), create)
			if err != nil || id != "" && made.GetSecurityGroupId() != id {
				t.Fatal(made, err)
			}
			id = made.GetSecurityGroupId()
		}
		if diff := cmp.Diff([]string{"CreateSecurityGroup", "AuthorizeSecurityGroup", "AuthorizeSecurityGroupEgress"},
			w.actions(false)); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
		got := w.securityGroup(t, id)
		want := &ecsv1.SecurityGroup{
			SecurityGroupId: id, Name: "web", Description: "for a Service", VpcId: testVPC, Type: create.GetType(),
			Tags: create.GetTags(), RulesLoaded: true,
			Rules: create.GetRules(), ResourceGroupId: state.DefaultResourceGroup,
		}
		ignore := protocmp.IgnoreFields(&ecsv1.SecurityGroup{}, "creation_time")
		sortless := protocmp.SortRepeated(func(a, b *ecsv1.SecurityGroupRule) bool { return a.String() < b.String() })
		if diff := cmp.Diff(want, got, protocmp.Transform(), ignore, sortless,
			protocmp.IgnoreFields(&ecsv1.SecurityGroupRule{}, "rule_id")); diff != "" {
			t.Errorf("the group (-want +got):\n%s", diff)
		}
		listed, err := w.SecurityGroups.ListSecurityGroups(t.Context(), &ecsv1.ListSecurityGroupsRequest{
			Name: "web", VpcId: testVPC, Type: create.GetType(), Tags: create.GetTags(), SecurityGroupIds: []string{id, "sg-gone"},
		})
		if err != nil || len(listed.GetSecurityGroups()) != 1 || listed.GetSecurityGroups()[0].GetRulesLoaded() {
			t.Errorf("listed: %v, %v", listed, err)
		}
		for range 2 {
			if _, err := w.SecurityGroups.DeleteSecurityGroup(t.Context(), &ecsv1.DeleteSecurityGroupRequest{SecurityGroupId: id}); err != nil {
				t.Error(err)
			}
		}
		err = second(w.SecurityGroups.GetSecurityGroup(t.Context(), &ecsv1.GetSecurityGroupRequest{SecurityGroupId: id}))
		if rpcerr.ReasonOf(err) != rpcerr.SecurityGroupNotFound {
			t.Errorf("after its end: %v", err)
		}
	})
}

func (w *world) securityGroup(t *testing.T, id string) *ecsv1.SecurityGroup {
	t.Helper()
	got, err := w.SecurityGroups.GetSecurityGroup(t.Context(), &ecsv1.GetSecurityGroupRequest{SecurityGroupId: id})
	if err != nil {
		t.Fatal(err)
	}
	return got.GetSecurityGroup()
}

// TestRulesOfASecurityGroup: a rule to add that is there, and one to remove that is gone, is a success, also if it goes
// meanwhile; 100 rules take one call.
func TestRulesOfASecurityGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(c *openapisim.Config) { c.Settings.Quotas.SecurityRules = 200 })
		made, err := w.SecurityGroups.CreateSecurityGroup(t.Context(), &ecsv1.CreateSecurityGroupRequest{
			RequestId: "r-1", Name: "web", VpcId: testVPC, Rules: []*ecsv1.SecurityGroupRule{ruleTo(1, "10.0.0.0/8"), ruleTo(2, "10.0.0.0/8")},
		})
		if err != nil {
			t.Fatal(err)
		}
		id := made.GetSecurityGroupId()
		w.forget()
		update := &ecsv1.UpdateSecurityGroupRequest{SecurityGroupId: id,
			RemoveRules: []*ecsv1.SecurityGroupRule{ruleTo(2, "10.0.0.0/8"), ruleTo(9999, "10.0.0.0/8")}}
		for i := range 150 {
			update.AddRules = append(update.AddRules, ruleTo(int32(1000+i), "10.0.0.0/8"))
		}
		update.AddRules = append(update.AddRules, ruleTo(1, "10.0.0.0/8"))
		if err := second(w.SecurityGroups.UpdateSecurityGroup(t.Context(), update)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"AuthorizeSecurityGroup", "AuthorizeSecurityGroup", "RevokeSecurityGroup"}, w.actions(false)); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
		if got := len(w.securityGroup(t, id).GetRules()); got != 151 {
			t.Errorf("%d rules, want 151", got)
		}

		// Of two rules to remove, one goes while the call is under way.
		w.strike(t, fault.Rule{Product: "ecs", Action: "RevokeSecurityGroup", Times: 1, Error: &fault.Error{
			Code: "InvalidSecurityGroupRuleId.NotFound", Message: "The specified SecurityGroupRuleId does not exist.", Status: 404,
		}})
		remove := &ecsv1.UpdateSecurityGroupRequest{SecurityGroupId: id, RemoveRules: update.GetAddRules()}
		if err := second(w.SecurityGroups.UpdateSecurityGroup(t.Context(), remove)); err != nil {
			t.Fatal(err)
		}
		if got := w.securityGroup(t, id).GetRules(); len(got) != 0 {
			t.Errorf("%v are left", got)
		}
		w.forget()
		if err := second(w.SecurityGroups.UpdateSecurityGroup(t.Context(), remove)); err != nil || len(w.actions(false)) > 0 {
			t.Errorf("once more: %v, %q", err, w.actions(false))
		}
	})
}

// TestSecurityGroupInUse: one that a load balancer has stays, and a rule that names another group that is not there is refused.
func TestSecurityGroupInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, slowJobs)
		made, err := w.SecurityGroups.CreateSecurityGroup(t.Context(), &ecsv1.CreateSecurityGroupRequest{RequestId: "r-1",
			Name: "web", VpcId: testVPC})
		if err != nil {
			t.Fatal(err)
		}
		create := nlbRequest("r-1")
		create.SecurityGroupIds = []string{made.GetSecurityGroupId()}
		if err := second(w.NetworkLoadBalancers.CreateLoadBalancer(t.Context(), create)); err != nil {
			t.Fatal(err)
		}
		err = second(w.SecurityGroups.DeleteSecurityGroup(t.Context(),
			&ecsv1.DeleteSecurityGroupRequest{SecurityGroupId: made.GetSecurityGroupId()}))
		if rpcerr.ReasonOf(err) != rpcerr.ResourceInUse {
			t.Errorf("of a load balancer: %v, want %s", err, rpcerr.ResourceInUse)
		}
		named := ruleTo(80, "")
		named.PeerSecurityGroupId = "sg-gone"
		err = second(w.SecurityGroups.UpdateSecurityGroup(t.Context(), &ecsv1.UpdateSecurityGroupRequest{
			SecurityGroupId: made.GetSecurityGroupId(), AddRules: []*ecsv1.SecurityGroupRule{named},
		}))
		if err == nil || rpcerr.ReasonOf(err) == rpcerr.SecurityGroupNotFound {
			t.Errorf("a rule about a group that is gone: %v, want an error that isn't about the group itself", err)
		}
	})
}
