package lb_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/gateway"

	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
)

// plantedFault is a call that no controller may make.
type plantedFault struct {
	name string
	says string // of the invariant that it breaks
	call func(ctx context.Context, g *gateway.Client) error
}

// TestOracleFindsPlantedFaults: a controller that would make one of these calls is found out. A Service of each kind has two servers and
// lets only 10.0.0.0/8 connect; the cloud has things of a user's beside.
func TestOracleFindsPlantedFaults(t *testing.T) {
	t.Parallel()
	key := &slbv1.ListenerKey{LoadBalancerId: "lb-1", Port: 80, Protocol: tcp}
	const connect, serves, whose = "who may connect", "who serves", "whose it is"
	clb := []plantedFault{
		{"access control is switched off", connect, func(ctx context.Context, g *gateway.Client) error {
			_, err := g.Listeners.UpdateListener(ctx, &slbv1.UpdateListenerRequest{Key: key, Config: &slbv1.ListenerConfig{AclEnabled: new(false)}})
			return err
		}},
		{"a network too many", connect, func(ctx context.Context, g *gateway.Client) error {
			_, err := g.AccessControlLists.UpdateAccessControlList(ctx, &slbv1.UpdateAccessControlListRequest{AclId: "acl-1",
				AddEntries: []*slbv1.AccessControlEntry{{Cidr: "0.0.0.0/0"}}})
			return err
		}},
		{"an open listener beside", connect, func(ctx context.Context, g *gateway.Client) error {
			_, err := g.Listeners.CreateListener(ctx, &slbv1.CreateListenerRequest{
				Key: &slbv1.ListenerKey{LoadBalancerId: "lb-1", Port: 81, Protocol: tcp},
				Config: &slbv1.ListenerConfig{ServerGroupId: new("rsp-1"), Scheduler: new("rr"), Description: new("k8s/81/web/default/c-test"),
					BandwidthMbps: new(int32(-1))},
			})
			return err
		}},
		{"all servers are removed", serves, func(ctx context.Context, g *gateway.Client) error {
			_, err := g.ServerGroups.ApplyServerChanges(ctx, &slbv1.ApplyServerChangesRequest{ServerGroupId: "rsp-1", LoadBalancerId: "lb-1",
				Remove: []*slbv1.Server{clbServer("i-1"), clbServer("i-2")}})
			return err
		}},
		{"the listener is deleted", serves, func(ctx context.Context, g *gateway.Client) error {
			_, err := g.Listeners.DeleteListener(ctx, &slbv1.DeleteListenerRequest{Key: key})
			return err
		}},
		{"an empty group", serves, func(ctx context.Context, g *gateway.Client) error {
			_, err := g.Listeners.UpdateListener(ctx, &slbv1.UpdateListenerRequest{Key: key,
				Config: &slbv1.ListenerConfig{ServerGroupId: new("rsp-users")}})
			return err
		}},
		{"the list of a user's", whose, func(ctx context.Context, g *gateway.Client) error {
			_, err := g.AccessControlLists.DeleteAccessControlList(ctx, &slbv1.DeleteAccessControlListRequest{AclId: "acl-users"})
			return err
		}},
		{"the load balancer of a user's", whose, func(ctx context.Context, g *gateway.Client) error {
			_, err := g.LoadBalancers.UpdateLoadBalancer(ctx, &slbv1.UpdateLoadBalancerRequest{LoadBalancerId: "lb-users", Name: new("ours")})
			return err
		}},
		{"a server by hand", whose, func(ctx context.Context, g *gateway.Client) error {
			server := clbServer("i-1")
			server.Port = 9000
			_, err := g.ServerGroups.ApplyServerChanges(ctx, &slbv1.ApplyServerChangesRequest{ServerGroupId: "rsp-users", LoadBalancerId: "lb-1",
				Remove: []*slbv1.Server{server}})
			return err
		}},
	}
	network := []plantedFault{
		{"the security group is left", connect, func(ctx context.Context, g *gateway.Client) error {
			_, err := g.NetworkLoadBalancers.UpdateLoadBalancer(ctx, &nlbv1.UpdateLoadBalancerRequest{LoadBalancerId: "nlb-1",
				SecurityGroups: &nlbv1.SecurityGroups{}})
			return err
		}},
		{"a network too many", connect, func(ctx context.Context, g *gateway.Client) error {
			_, err := g.SecurityGroups.UpdateSecurityGroup(ctx, &ecsv1.UpdateSecurityGroupRequest{SecurityGroupId: "sg-1",
				AddRules: []*ecsv1.SecurityGroupRule{{Direction: ecsv1.Direction_DIRECTION_INGRESS, Policy: ecsv1.RulePolicy_RULE_POLICY_ACCEPT,
					Priority: 1, IpProtocol: "ALL", Cidr: "192.0.2.0/24"}}})
			return err
		}},
		{"all servers are removed", serves, func(ctx context.Context, g *gateway.Client) error {
			_, err := g.NetworkServerGroups.ApplyServerChanges(ctx, &nlbv1.ApplyServerChangesRequest{ServerGroupId: "sgp-1",
				Remove: []*nlbv1.Server{nlbServer("i-1", 0), nlbServer("i-2", 0)}})
			return err
		}},
		{"all servers get no weight", serves, func(ctx context.Context, g *gateway.Client) error {
			_, err := g.NetworkServerGroups.ApplyServerChanges(ctx, &nlbv1.ApplyServerChangesRequest{ServerGroupId: "sgp-1",
				Update: []*nlbv1.Server{nlbServer("i-1", 0), nlbServer("i-2", 0)}})
			return err
		}},
		{"the listener is deleted", serves, func(ctx context.Context, g *gateway.Client) error {
			_, err := g.NetworkListeners.DeleteListener(ctx, &nlbv1.DeleteListenerRequest{ListenerId: "lsn-1@80", LoadBalancerId: "nlb-1"})
			return err
		}},
		{"an empty group", serves, func(ctx context.Context, g *gateway.Client) error {
			_, err := g.NetworkListeners.UpdateListener(ctx, &nlbv1.UpdateListenerRequest{ListenerId: "lsn-1@80", LoadBalancerId: "nlb-1",
				Config: &nlbv1.ListenerConfig{ServerGroupId: new("sgp-empty")}})
			return err
		}},
		{"the security group of a user's", whose, func(ctx context.Context, g *gateway.Client) error {
			_, err := g.SecurityGroups.DeleteSecurityGroup(ctx, &ecsv1.DeleteSecurityGroupRequest{SecurityGroupId: "sg-users"})
			return err
		}},
		{"a security group with our tags and another name", whose, func(ctx context.Context, g *gateway.Client) error {
			_, err := g.SecurityGroups.DeleteSecurityGroup(ctx, &ecsv1.DeleteSecurityGroupRequest{SecurityGroupId: "sg-clone"})
			return err
		}},
		{"the group of a user's", whose, func(ctx context.Context, g *gateway.Client) error {
			_, err := g.NetworkServerGroups.DeleteServerGroup(ctx, &nlbv1.DeleteServerGroupRequest{ServerGroupId: "sgp-empty"})
			return err
		}},
		{"the load balancer of a user's", whose, func(ctx context.Context, g *gateway.Client) error {
			_, err := g.NetworkLoadBalancers.DeleteLoadBalancer(ctx, &nlbv1.DeleteLoadBalancerRequest{LoadBalancerId: "nlb-users"})
			return err
		}},
	}
	for name, list := range map[string][]plantedFault{"CLB": clb, "NLB": network} {
		for _, fault := range list {
			t.Run(name+", "+fault.name, func(t *testing.T) {
				t.Parallel()
				inWorld(t, 2, func(w *world) {
					w.config = bothKinds
					w.zones()
					w.restart()
					w.foreignThings()
					oracle := watchOver(w)
					if name == "NLB" {
						w.create(networkWeb(ranges("10.0.0.0/8")))
					} else {
						w.create(web(ranges("10.0.0.0/8")))
					}
					said := oracle.silently()
					w.stop()
					w.clone()
					if err := fault.call(w.t.Context(), w.cloud.Client()); err != nil {
						t.Fatal(err)
					}
					if !slices.ContainsFunc(*said, func(line string) bool { return strings.HasPrefix(line, fault.says) }) {
						t.Errorf("says %q, want that of %q", *said, fault.says)
					}
				})
			})
		}
	}
}

// foreignThings are a user's, of both kinds.
func (w *world) foreignThings() {
	w.usersCLB("lb-users")
	w.usersNLB("nlb-users")
	w.cloud.Lock()
	defer w.cloud.Unlock()
	w.cloud.ServerGroups["rsp-users"] = &state.ServerGroup{LoadBalancerID: "lb-1", Name: "mine",
		Servers: []*state.Server{instanceServer("i-1", 9000, 0, "by hand")}}
	w.cloud.Acls["acl-users"] = &state.Acl{Name: "users"}
	w.cloud.SecurityGroups["sg-users"] = &state.SecurityGroup{Name: "users", VpcID: "vpc-test", Type: "normal"}
	w.cloud.NLBServerGroups["sgp-empty"] = &state.NLBServerGroup{Name: "theirs", VpcID: "vpc-test"}
}

// clone is a security group that a user has copied from the Service's, with its tags.
func (w *world) clone() {
	w.cloud.Lock()
	defer w.cloud.Unlock()
	w.cloud.SecurityGroups["sg-clone"] = &state.SecurityGroup{Name: "my-own-clone", VpcID: "vpc-test", Type: "normal",
		Tags: []state.Tag{tag(ownership.TagService, ownership.DefaultName(uid)), tag(ownership.TagCluster, clusterID)}}
}

func clbServer(id string) *slbv1.Server {
	return &slbv1.Server{Type: slbv1.ServerType_SERVER_TYPE_ECS, ServerId: id, Port: 30080, Weight: new(int32(100))}
}

func nlbServer(id string, weight int32) *nlbv1.Server {
	return &nlbv1.Server{Type: nlbv1.ServerType_SERVER_TYPE_ECS, ServerId: id, Port: 30080, Weight: &weight}
}
