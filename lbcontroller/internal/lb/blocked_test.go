package lb_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

// inGroup puts the instances of the first nodes into a security group with these rules; all servers are unhealthy from now on.
func (w *world) inGroup(id string, nodes int, rules ...state.SecurityRule) {
	w.healthIs("abnormal")
	w.cloud.Lock()
	defer w.cloud.Unlock()
	w.cloud.SecurityGroups[id] = &state.SecurityGroup{Name: id, VpcID: "vpc-test", Type: "normal", Rules: rules}
	for i := range nodes {
		w.cloud.Instances[fmt.Sprintf("i-%d", i+1)].SecurityGroupIDs = []string{id}
	}
}

// TestBlockedChecksCostFewCalls: whatever happens to nodes, security groups are read once an hour, and the health of servers only where
// groups drop the checks.
func TestBlockedChecksCostFewCalls(t *testing.T) {
	everything := state.SecurityRule{ID: "sgr-all", Direction: "ingress", Policy: "Accept", Priority: "1", IPProtocol: "ALL",
		PortRange: "-1/-1", SourceCidr: "0.0.0.0/0"}
	for name, tt := range map[string]struct {
		off    bool
		rules  []state.SecurityRule
		reads  int
		health int
	}{
		"dropped":      {false, nil, 3, 3},
		"let in":       {false, []state.SecurityRule{everything}, 3, 0},
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

// TestHealthChecksAreLetIn: a Service that asks for it gets the rule that its health checks lack, in a group of the
// cluster's and no other, and the rule goes when the Service does; what people have put there stays.
func TestHealthChecksAreLetIn(t *testing.T) {
	asks := []func(*corev1.Service){annotated(annotation.AllowHealthChecks, "on")}
	byHand := state.SecurityRule{ID: "sgr-ssh", Direction: "ingress", Policy: "Accept", Priority: "1", IPProtocol: "TCP", PortRange: "22/22",
		SourceCidr: "10.0.0.0/8", Description: "by hand"}
	for name, tt := range map[string]struct {
		tag      string
		off      bool
		policy   Policy
		annotate []func(*corev1.Service)
		added    bool
		said     string
	}{
		"the cluster's":      {tag: clusterID, annotate: asks, added: true, said: "rules are added for the health checks"},
		"another cluster's":  {tag: "c-other", annotate: asks, said: "only, which neither a load balancer"},
		"nothing is deleted": {tag: clusterID, policy: PolicyUpsert, annotate: asks, added: true},
		"nothing is written": {tag: clusterID, policy: PolicyReport, annotate: asks},
		"not asked for":      {tag: clusterID, said: "drops TCP to port"},
		"only reported":      {tag: clusterID, annotate: append(asks, annotated(annotation.SyncPolicy, "report"))},
		"switched off":       {tag: clusterID, off: true, annotate: asks, said: "securityGroups.allow is off"},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 2, func(w *world) {
				w.config = func(cfg *settings) {
					cfg.Kind.Orphans = Orphans{Client: w.kube, Recorder: w.events}
					cfg.Kind.SecurityGroups, cfg.Kind.HealthCheckRules, cfg.Kind.Desired.NoRules = true, !tt.off, tt.off
					cfg.Kind.Policy = tt.policy
				}
				w.restart()
				w.inGroup("sg-1", 2, byHand)
				w.cloud.Lock()
				w.cloud.SecurityGroups["sg-1"].Tags = []state.Tag{tag("ack.aliyun.com", tt.tag)}
				w.cloud.Unlock()
				w.create(web())
				w.after(3 * time.Minute)
				w.update(func(svc *corev1.Service) {
					for _, annotate := range tt.annotate {
						annotate(svc)
					}
				})
				w.after(3 * time.Minute)
				rules := func() int {
					w.cloud.Lock()
					defer w.cloud.Unlock()
					return len(w.cloud.SecurityGroups["sg-1"].Rules)
				}
				if got := rules() == 2; got != tt.added {
					t.Errorf("added is %t, want %t: %d rules", got, tt.added, rules())
				}
				if said := strings.Join(w.events.take(), "\n"); !strings.Contains(said, tt.said) {
					t.Errorf("nothing says %q in:\n%s", tt.said, said)
				}
				w.cloud.ResetCalls()
				w.after(5 * time.Hour)
				if got := w.cloud.CallsOf("UpdateSecurityGroup"); len(got) > 0 {
					t.Errorf("%d changes while the Service needs the rule: %v", len(got), got[0].Request)
				}
				w.remove()
				w.after(2 * time.Hour)
				want := 1
				if tt.policy == PolicyUpsert {
					want = 2
				}
				if rules() != want {
					t.Errorf("%d rules are left, want %d: that of people, and what may not be deleted", rules(), want)
				}
				said := strings.Join(w.events.take(), "\n")
				if told := strings.Contains(said, "no Service needs these rules"); told != (tt.added && want == 1) {
					t.Errorf("that rules are removed is told: %t\n%s", told, said)
				}
			})
		})
	}
}

// TestHealthChecksAreLetInByTheGateway: the rule that health checks lack comes and goes in the simulated cloud, too, by way
// of the real gateway. The other rules of the group stay as they are.
func TestHealthChecksAreLetInByTheGateway(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.inGroup("sg-1", 2, state.SecurityRule{ID: "sgr-ssh", Direction: "ingress", IPProtocol: "TCP", PortRange: "22/22", Policy: "Accept",
			Priority: "1", NicType: "intranet", SourceCidr: "10.0.0.0/8", Description: "by hand"})
		w.cloud.Lock()
		w.cloud.SecurityGroups["sg-1"].Tags = []state.Tag{tag("ack.aliyun.com", clusterID)}
		w.cloud.Unlock()
		w.config = func(cfg *settings) {
			cfg.Kind.Orphans = Orphans{Client: w.kube, Recorder: w.events}
			cfg.Kind.SecurityGroups, cfg.Kind.HealthCheckRules = true, true
		}
		w.restart()
		rules := func() (texts []string) {
			w.cloud.Look(func(c *state.Cloud) {
				for _, r := range c.SecurityGroups["sg-1"].Rules {
					texts = append(texts, strings.Join([]string{r.Direction, r.Policy, r.IPProtocol, r.PortRange, r.SourceCidr}, " "))
				}
			})
			return texts
		}
		const byHand, letIn = "ingress Accept TCP 22/22 10.0.0.0/8", "ingress Accept TCP 30080/30080 100.64.0.0/10"
		w.create(web())
		w.after(3 * time.Minute)
		if said := strings.Join(w.events.take(), "\n"); !strings.Contains(said, "drops TCP to port 30080 from 100.64.0.0/10") {
			t.Errorf("no event names the missing rule:\n%s", said)
		}
		if diff := cmp.Diff([]string{byHand}, rules()); diff != "" {
			t.Errorf("before it is asked for (-want +got):\n%s", diff)
		}
		w.update(annotated(annotation.AllowHealthChecks, "on"))
		w.after(3 * time.Minute)
		if diff := cmp.Diff([]string{byHand, letIn}, rules()); diff != "" {
			t.Errorf("after it was asked for (-want +got):\n%s", diff)
		}
		w.remove()
		w.after(2 * time.Hour)
		if diff := cmp.Diff([]string{byHand}, rules()); diff != "" {
			t.Errorf("after the Service has gone (-want +got):\n%s", diff)
		}
	})
}
