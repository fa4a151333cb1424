package lb_test

import (
	"fmt"
	"testing"
	"time"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
)

// inGroup puts the instances of the first nodes into a security group with these rules; all servers are unhealthy from now on.
func (w *world) inGroup(id string, nodes int, rules ...*ecsv1.SecurityGroupRule) {
	w.cloud.Lock()
	defer w.cloud.Unlock()
	w.cloud.SecurityGroups[id] = &ecsv1.SecurityGroup{SecurityGroupId: id, Name: id, VpcId: "vpc-test", Rules: rules}
	for i := range nodes {
		w.cloud.Instances[fmt.Sprintf("i-%d", i+1)].SecurityGroupIds = []string{id}
	}
	w.cloud.Health = func(*slbv1.ListenerKey, *slbv1.Server) string { return "abnormal" }
}

// TestBlockedChecksCostFewCalls: whatever happens to nodes, security groups are read once an hour, and the health of servers only where
// groups drop the checks.
func TestBlockedChecksCostFewCalls(t *testing.T) {
	everything := &ecsv1.SecurityGroupRule{Direction: ecsv1.Direction_DIRECTION_INGRESS, Policy: ecsv1.RulePolicy_RULE_POLICY_ACCEPT,
		Priority: 1, IpProtocol: "ALL", Cidr: "0.0.0.0/0"}
	for name, tt := range map[string]struct {
		off    bool
		rules  []*ecsv1.SecurityGroupRule
		reads  int
		health int
	}{
		"dropped":      {false, nil, 3, 3},
		"let in":       {false, []*ecsv1.SecurityGroupRule{everything}, 3, 0},
		"switched off": {true, nil, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 2, func(w *world) {
				w.config = func(cfg *settings) { cfg.Kind.SecurityGroups = !tt.off }
				w.restart()
				w.inGroup("sg-1", 2, tt.rules...)
				w.create(web())
				w.settle()
				w.cloud.ResetCalls()
				for i := range 29 { // Two hours and 25 minutes.
					w.addInstance(fmt.Sprintf("i-%d", i+3))
					w.addNode(i + 3)
					w.after(5 * time.Minute)
				}
				for method, want := range map[string]int{"BatchGetInstances": tt.reads, "GetSecurityGroup": tt.reads, "ListServerHealth": tt.health} {
					if got := len(w.cloud.CallsOf(method)); got != want {
						t.Errorf("%d calls of %s, want %d", got, method, want)
					}
				}
			})
		})
	}
}
