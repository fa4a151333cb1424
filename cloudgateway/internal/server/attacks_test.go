package server

import (
	"fmt"
	"slices"
	"testing"

	casv1 "alicloud-controllers.dev/proto/cloudgateway/cas/v1"
	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/config"
	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// ofThree is a cloud with things of the cluster c-1, of the cluster c-2, and of a user.
func ofThree(cfg *openapisim.Config) {
	owned(cfg)
	c := cfg.Seed
	for whose, tags := range map[string][]state.Tag{
		"own": {{Key: "ack.aliyun.com", Value: "c-1"}}, "other": {{Key: "ack.aliyun.com", Value: "c-2"}}, "user": nil,
	} {
		c.LoadBalancers["lb-"+whose] = &state.LoadBalancer{AddressType: "internet", Spec: "slb.s2.small", Tags: tags}
		c.NLBs["nlb-"+whose] = &state.NLB{VpcID: testVPC, Tags: tags}
		c.NLBServerGroups["sgp-"+whose] = &state.NLBServerGroup{VpcID: testVPC, Name: "web-" + whose, Tags: tags}
		c.NLBListeners["lsn-"+whose] = &state.NLBListener{NLBID: "nlb-" + whose, Port: 80, ServerGroupID: "sgp-" + whose}
		c.SecurityGroups["sg-"+whose] = &state.SecurityGroup{VpcID: testVPC, Name: whose, Tags: tags}
		c.Acls["acl-"+whose] = &state.Acl{Name: whose, Tags: tags}
		c.Certificates["cert-"+whose] = &state.Certificate{Name: whose, Tags: tags}
		c.Eips["eip-"+whose] = &state.Eip{Address: map[string]string{"own": "47.9.1.1", "other": "47.9.1.2", "user": "47.9.1.3"}[whose],
			Tags: tags}
	}
	c.NatGateways["ngw-1"] = &state.NatGateway{VpcID: testVPC, VSwitchID: testVSwitch}
	for id, to := range map[string][2]string{
		"eip-ecs": {instanceID(0), "EcsInstance"}, "eip-nat": {"ngw-1", "Nat"}, "eip-lb": {"lb-other", "SlbInstance"},
	} {
		c.Eips[id] = &state.Eip{Address: fmt.Sprint("47.9.2.", len(c.Eips)), Status: "InUse", InstanceID: to[0], InstanceType: to[1]}
	}
	for id, name := range map[string]string{"11": "k8s-c-2-abc", "12": "web", "13": "k8s-c-1-2-abc"} {
		c.UserCertificates[id] = &state.UserCertificate{Name: name}
	}
}

// TestAttacksOfAController: with the token of lbcontroller, nobody opens or deletes what is not its cluster's, by no
// detour: tags, parts, names, bindings, or several calls after each other.
func TestAttacksOfAController(t *testing.T) {
	w := newWorld(t, ofThree)
	w.scopes = []config.Scope{{Callers: []string{scoped}, ClusterID: "c-1", Controller: true}}
	w.startGateway(t)
	ctx := t.Context()
	mark := []*commonv1.Tag{{Key: "ack.aliyun.com", Value: "c-1"}}
	legacy := []*commonv1.Tag{{Key: "kubernetes.do.not.delete", Value: "a1"}}
	open := []*ecsv1.SecurityGroupRule{ruleTo(22, "0.0.0.0/0")}
	group := func(r *ecsv1.UpdateSecurityGroupRequest) error {
		return second(w.SecurityGroups.UpdateSecurityGroup(ctx, r))
	}
	bind := func(eip, instance, kind string) error {
		return second(w.Eips.AssociateEip(ctx, &vpcv1.AssociateEipRequest{RequestId: "b", AllocationId: eip, InstanceId: instance,
			InstanceType: kind}))
	}
	unbind := func(eip, instance string) error {
		return second(w.Eips.UnassociateEip(ctx, &vpcv1.UnassociateEipRequest{AllocationId: eip, InstanceId: instance}))
	}
	upload := func(name string) error {
		return second(w.UserCertificates.UploadCertificate(ctx, userUpload(t, "u-"+name, name)))
	}
	certificate := func(id string) error {
		return second(w.UserCertificates.DeleteCertificate(ctx, &casv1.DeleteCertificateRequest{CertificateId: id}))
	}
	listener := func(balancer, id string) error {
		return second(w.NetworkListeners.DeleteListener(ctx, &nlbv1.DeleteListenerRequest{LoadBalancerId: balancer, ListenerId: id}))
	}
	noBalancers := map[string]bool{ // What they name as a load balancer is none.
		"a user's EIP for an instance by another name": true, "an instance's EIP, by name": true, "a NAT gateway's EIP, by name": true,
	}
	for name, attack := range map[string]func() error{
		"a rule in a group of nobody's": func() error {
			return group(&ecsv1.UpdateSecurityGroupRequest{SecurityGroupId: "sg-user", AddRules: open})
		},
		"a rule in another cluster's group, which takes its tag": func() error {
			return group(&ecsv1.UpdateSecurityGroupRequest{SecurityGroupId: "sg-other", AddRules: open, SetTags: mark})
		},
		"a rule in a group of nobody's, which takes the tag": func() error {
			return group(&ecsv1.UpdateSecurityGroupRequest{SecurityGroupId: "sg-user", AddRules: open, SetTags: mark})
		},
		"a group of nobody's": func() error {
			return second(w.SecurityGroups.DeleteSecurityGroup(ctx, &ecsv1.DeleteSecurityGroupRequest{SecurityGroupId: "sg-user"}))
		},
		"an entry in an access list of nobody's": func() error {
			return second(w.AccessControlLists.UpdateAccessControlList(ctx, &slbv1.UpdateAccessControlListRequest{AclId: "acl-user",
				AddEntries: []*slbv1.AccessControlEntry{{Cidr: "0.0.0.0/0"}}}))
		},
		"an access list of nobody's": func() error {
			return second(w.AccessControlLists.DeleteAccessControlList(ctx, &slbv1.DeleteAccessControlListRequest{AclId: "acl-user"}))
		},
		"another cluster's tag taken away": func() error {
			return second(w.LoadBalancers.UpdateLoadBalancer(ctx, &slbv1.UpdateLoadBalancerRequest{LoadBalancerId: "lb-other",
				RemoveTagKeys: []string{"ack.aliyun.com"}}))
		},
		"a user's load balancer with the legacy mark": func() error {
			return second(w.LoadBalancers.UpdateLoadBalancer(ctx, &slbv1.UpdateLoadBalancerRequest{LoadBalancerId: "lb-user", SetTags: legacy}))
		},
		"a user's NLB with the legacy mark": func() error {
			return second(w.NetworkLoadBalancers.UpdateLoadBalancer(ctx, &nlbv1.UpdateLoadBalancerRequest{LoadBalancerId: "nlb-user",
				SetTags: legacy}))
		},
		"a user's server group with the mark": func() error {
			return second(w.NetworkServerGroups.UpdateServerGroup(ctx, &nlbv1.UpdateServerGroupRequest{ServerGroupId: "sgp-user", SetTags: mark}))
		},
		"a user's server group": func() error {
			return second(w.NetworkServerGroups.DeleteServerGroup(ctx, &nlbv1.DeleteServerGroupRequest{ServerGroupId: "sgp-user"}))
		},
		"a listener in the name of an own NLB": func() error { return listener("nlb-own", "lsn-other") },
		"a listener in nobody's name":          func() error { return listener("", "lsn-other") },
		"a user's EIP for another cluster":     func() error { return bind("eip-user", "lb-other", "SlbInstance") },
		"a user's EIP for an instance":         func() error { return bind("eip-user", instanceID(0), "EcsInstance") },
		"a user's EIP for an instance by another name": func() error {
			return bind("eip-user", instanceID(0), "SlbInstance")
		},
		"a user's EIP for a NAT gateway": func() error { return bind("eip-user", "ngw-1", "Nat") },
		"a user's EIP": func() error {
			return second(w.Eips.ReleaseEip(ctx, &vpcv1.ReleaseEipRequest{RequestId: "r", AllocationId: "eip-user"}))
		},
		"another cluster's EIP taken off":                 func() error { return unbind("eip-other", "") },
		"another cluster's EIP taken off an own balancer": func() error { return unbind("eip-other", "lb-own") },
		"an instance's EIP":                               func() error { return unbind("eip-ecs", "") },
		"an instance's EIP, by name":                      func() error { return unbind("eip-ecs", instanceID(0)) },
		"a NAT gateway's EIP":                             func() error { return unbind("eip-nat", "") },
		"a NAT gateway's EIP, by name":                    func() error { return unbind("eip-nat", "ngw-1") },
		"the EIP of another cluster's balancer":           func() error { return unbind("eip-lb", "") },
		"the EIP of another cluster's balancer, by name":  func() error { return unbind("eip-lb", "lb-other") },
		"another cluster's certificate":                   func() error { return certificate("11") },
		"a user's certificate":                            func() error { return certificate("12") },
		"the certificate of a cluster with a longer id":   func() error { return certificate("13") },
		"a certificate that looks like another cluster's": func() error { return upload("k8s-c-2-abd") },
		"a certificate that looks like a longer id's":     func() error { return upload("k8s-c-1-2-abd") },
		"a certificate that looks like nobody's":          func() error { return upload("web2") },
		"a server certificate of nobody's": func() error {
			return second(w.Certificates.DeleteServerCertificate(ctx, &slbv1.DeleteServerCertificateRequest{ServerCertificateId: "cert-user"}))
		},
	} {
		w.forget()
		if err := attack(); err == nil {
			t.Errorf("%s: it gets through", name)
		} else if reason := rpcerr.ReasonOf(err); reason != rpcerr.CallerForbidden && reason != rpcerr.InvalidField &&
			(!noBalancers[name] || rpcerr.ReasonOf(err) != rpcerr.LoadBalancerNotFound) {
			t.Errorf("%s: %v", name, err)
		}
		if writes := w.actions(false); len(writes) > 0 {
			t.Errorf("%s: %q were sent", name, writes)
		}
	}

	// Nor after a call that is allowed.
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	forbidden := func(what string, err error) {
		t.Helper()
		if rpcerr.ReasonOf(err) != rpcerr.CallerForbidden {
			t.Errorf("%s: %v", what, err)
		}
	}
	must(second(w.NetworkServerGroups.UpdateServerGroup(ctx, &nlbv1.UpdateServerGroupRequest{ServerGroupId: "sgp-user", Name: new("mine")})))
	made, err := w.NetworkServerGroups.CreateServerGroup(ctx, &nlbv1.CreateServerGroupRequest{
		RequestId: "g-1", Name: "web-user", VpcId: testVPC, Protocol: nlbv1.ServerGroupProtocol_SERVER_GROUP_PROTOCOL_TCP, Tags: mark,
	})
	must(err)
	if made.GetServerGroupId() == "sgp-user" {
		t.Error("a creation takes over what has the name")
	}
	forbidden("a user's group after a creation of its name",
		second(w.NetworkServerGroups.DeleteServerGroup(ctx, &nlbv1.DeleteServerGroupRequest{ServerGroupId: "sgp-user"})))
	must(second(w.LoadBalancers.UpdateLoadBalancer(ctx, &slbv1.UpdateLoadBalancerRequest{LoadBalancerId: "lb-own",
		RemoveTagKeys: []string{"ack.aliyun.com"}})))
	forbidden("what was given to the user",
		second(w.LoadBalancers.DeleteLoadBalancer(ctx, &slbv1.DeleteLoadBalancerRequest{LoadBalancerId: "lb-own"})))
	forbidden("what was given to the user, taken back", second(w.LoadBalancers.UpdateLoadBalancer(ctx,
		&slbv1.UpdateLoadBalancerRequest{LoadBalancerId: "lb-own", SetTags: mark})))
	must(bind("eip-user", "lb-1", "SlbInstance"))
	forbidden("a user's EIP that was bound", second(w.Eips.ReleaseEip(ctx,
		&vpcv1.ReleaseEipRequest{RequestId: "r2", AllocationId: "eip-user"})))

	// An EIP is taken off no other thing than the load balancer of the request. One that is gone is off.
	w.forget()
	for _, eip := range []string{"eip-ecs", "eip-nat", "eip-lb", "eip-gone"} {
		must(unbind(eip, "lb-own"))
	}
	if writes := w.actions(false); len(writes) > 0 {
		t.Errorf("%q were sent", writes)
	}
	must(unbind("eip-user", "lb-1"))
	if writes := w.actions(false); !slices.Equal(writes, []string{"UnassociateEipAddress"}) {
		t.Errorf("%q were sent for an EIP of nobody's at a load balancer of nobody's", writes)
	}
}
