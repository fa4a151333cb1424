package nlb_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

// ranges asks that only these networks may connect.
func ranges(list ...string) func(*corev1.Service) {
	return func(svc *corev1.Service) { svc.Spec.LoadBalancerSourceRanges = list }
}

const (
	sgName  = "k8s-nlb-" + mark
	theRest = "100 drop ALL 0.0.0.0/0, 100 drop ALL ::/0"
)

// TestSourceRanges are the writes for the security group, which is there with its rules before the NLB is, and goes after it.
func TestSourceRanges(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.create(web(ranges("10.0.0.0/8", "2001:db8::1/32")))
		w.expect("cold create", "CreateSecurityGroup", "CreateServerGroup", "CreateLoadBalancer", "CreateListener")
		rest := []string{"listener 80-0 TCP to " + groupName, nodeLine(groupName)}
		w.has("created", append(rest, "balancer "+mark+" with "+sgName,
			"security group "+sgName+" 1 accept ALL 10.0.0.0/8, 1 accept ALL 2001:db8::/32, "+theRest)...)
		w.update(func(svc *corev1.Service) { svc.Labels["team"] = "a" })
		check(t, "calls after a change that means nothing", 0, len(w.cloud.Calls()))
		w.restart()
		w.expect("restart")
		w.after(8 * time.Hour)
		w.expect("drift checks")
		w.cloud.Change(func(c *state.Cloud) {
			for id, g := range c.SecurityGroups {
				g.Rules = append(g.Rules, state.SecurityRule{ID: "sgr-" + id, Direction: "ingress", Policy: "Accept", Priority: "1",
					NicType: "intranet", IPProtocol: "TCP", PortRange: "1/9999", SourceCidr: "0.0.0.0/0"})
			}
		})
		w.update(ranges("10.0.0.0/8", "192.0.2.0/24"))
		w.expect("other networks", "UpdateSecurityGroup")
		w.has("changed", append(rest, "balancer "+mark+" with "+sgName,
			"security group "+sgName+" 1 accept ALL 10.0.0.0/8, 1 accept ALL 192.0.2.0/24, "+theRest)...)
		w.update(ranges())
		w.expect("none any more", "UpdateLoadBalancer", "DeleteSecurityGroup")
		w.has("open", append(rest, "balancer "+mark)...)
		w.update(ranges("10.0.0.0/8"))
		w.expect("again", "CreateSecurityGroup", "UpdateLoadBalancer")
		w.remove()
		w.expect("delete", "UpdateLoadBalancer", "DeleteLoadBalancer", "DeleteServerGroup", "DeleteSecurityGroup")
		w.has("deleted")
	})
}

// TestSourceRangesAndTrouble: whatever call fails, or loses its answer, once, be it that the process dies then: the NLB
// has never a listener without the security group and its rules, nothing is there twice, and nothing is left.
func TestSourceRangesAndTrouble(t *testing.T) {
	for n, more := 1, true; more; n++ {
		for _, m := range mishaps(n) {
			inWorld(t, 2, func(w *world) {
				var count, hit, open atomic.Int64
				w.cloud.Interpose(func(int, string, proto.Message) gatewaytest.Fault {
					w.cloud.Look(func(c *state.Cloud) {
						for _, l := range c.NLBListeners {
							guards := 0
							for _, id := range c.NLBs[l.NLBID].SecurityGroupIDs {
								guards += len(c.SecurityGroups[id].Rules)
							}
							if guards < 3 {
								open.Add(1)
							}
						}
					})
					if count.Add(1) == int64(n) {
						hit.Add(1)
						return m.fault
					}
					return gatewaytest.Fault{}
				})
				mend := func() {
					if m.dies {
						w.restart()
					}
					w.after(10 * time.Minute)
				}
				what := fmt.Sprintf("call %d %s", n, m.name)
				w.create(web(ranges("10.0.0.0/8")))
				mend()
				w.update(ranges("192.0.2.0/24"))
				mend()
				w.has(what, "balancer "+mark+" with "+sgName, "listener 80-0 TCP to "+groupName, nodeLine(groupName),
					"security group "+sgName+" 1 accept ALL 192.0.2.0/24, "+theRest)
				check(t, what+": open", 0, open.Load())
				w.remove()
				mend()
				w.has(what + ", deleted")
				more = hit.Load() > 0
			})
		}
	}
}

// TestTakeoverOfSourceRanges: the security group of the existing CCM is taken over. It gets the rule that it lacks, which drops the rest of
// IPv6, and nothing else is written.
func TestTakeoverOfSourceRanges(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		svc := w.byCCM(web(ranges("10.0.0.0/8")), "TCP")
		svc.Labels["service.k8s.alibaba/security-group-id"] = "sg-ccm"
		rule := func(policy, priority, cidr string) state.SecurityRule {
			return state.SecurityRule{
				ID: "sgr-" + priority, Direction: "ingress", Policy: policy, Priority: priority, NicType: "intranet", IPProtocol: "ALL",
				PortRange: "-1/-1", SourceCidr: cidr, Description: "k8s.default.web." + clusterID,
			}
		}
		w.cloud.Add(&state.Cloud{SecurityGroups: map[string]*state.SecurityGroup{
			"sg-ccm": {Name: sgName, VpcID: "vpc-test", Type: "normal", Tags: marks(),
				Rules: []state.SecurityRule{rule("Accept", "1", "10.0.0.0/8"), rule("Drop", "100", "0.0.0.0/0")}},
			"sg-of-users": {Name: "by hand", VpcID: "vpc-test", Type: "normal"},
		}})
		w.cloud.Change(func(c *state.Cloud) { c.NLBs["nlb-ccm"].SecurityGroupIDs = []string{"sg-ccm", "sg-of-users"} })
		w.create(svc)
		w.after(time.Minute)
		w.expect("takeover", "UpdateSecurityGroup")
		w.says("security groups sg-of-users, too")
		w.remove()
		w.after(time.Minute)
		w.has("deleted", "security group by hand ")
	})
}

// TestLabelOfTheSecurityGroup: the Service has the id of the group for its source ranges as a label, as with the existing CCM, and no
// longer than it has ranges. The label costs no write of its own.
func TestLabelOfTheSecurityGroup(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		const label = "service.k8s.alibaba/security-group-id"
		group := func() string {
			found := "none"
			w.cloud.Look(func(c *state.Cloud) {
				for id, g := range c.SecurityGroups {
					if g.Name == sgName {
						found = id
					}
				}
			})
			return found
		}
		w.create(web())
		w.after(time.Minute)
		check(t, "without ranges", "", w.service().Labels[label])
		w.update(ranges("10.0.0.0/8"))
		w.after(time.Minute)
		check(t, "with ranges", group(), w.service().Labels[label])
		w.update(ranges("10.0.0.0/8", "192.0.2.0/24"))
		w.after(time.Minute)
		check(t, "with another range", group(), w.service().Labels[label])
		w.update(ranges())
		w.after(time.Minute)
		check(t, "without ranges again", "", w.service().Labels[label])
	})
}

// TestSourceRangesAreNotMixed: the field and security groups of the user's exclude each other.
func TestSourceRangesAreNotMixed(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web(ranges("10.0.0.0/8"), annotated(annotation.SecurityGroupIDs, "sg-7")))
		w.has("nothing")
		w.says(annotation.SourceRanges + " can't be used together with annotation " + annotation.Prefix + annotation.SecurityGroupIDs)
	})
}

// TestSourceRangesOff: where fields of Services don't count, they restrict nothing, unless something does already. What once restricted the
// access goes on, whatever the configuration says.
func TestSourceRangesOff(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.serviceFields = false
		w.restart()
		w.create(web(ranges("10.0.0.0/8")))
		w.has("off", "balancer "+mark, "listener 80-0 TCP to "+groupName, "group "+groupName+" i-1:30080=100")
		w.says(annotation.SourceRanges + " has no effect, because serviceFields is off")
		w.serviceFields = true
		w.restart()
		w.update(func(svc *corev1.Service) { svc.Annotations["touched"] = "1" })
		kept := []string{"balancer " + mark + " with " + sgName, "listener 80-0 TCP to " + groupName,
			"group " + groupName + " i-1:30080=100", "security group " + sgName + " 1 accept ALL 10.0.0.0/8, " + theRest}
		w.has("on", kept...)
		w.serviceFields = false
		w.restart()
		w.update(func(svc *corev1.Service) { svc.Annotations["touched"] = "2" })
		w.has("off again", kept...)
	})
}

// TestSourceRangesPreserved: with a preserved NLB its security group stays, and is nobody's then but the user's.
func TestSourceRangesPreserved(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.create(web(ranges("10.0.0.0/8"), annotated(annotation.PreserveOnDelete, "on")))
		before := w.state()
		w.writes()
		w.remove()
		w.expect("preserved", "UpdateLoadBalancer", "UpdateServerGroup", "UpdateSecurityGroup")
		w.has("preserved", before...)
		w.cloud.Look(func(c *state.Cloud) {
			for _, g := range c.SecurityGroups {
				check(t, "marks", 0, len(g.Tags))
			}
		})
	})
}

// clone puts a copy of the Service's security group into the cloud, under another name and with the id.
func (w *world) clone(id, name string) {
	w.t.Helper()
	isThere := false
	w.cloud.Change(func(c *state.Cloud) {
		for _, g := range c.SecurityGroups {
			if g.Name == sgName && !isThere {
				isThere = true
				clone := *g
				clone.ID, clone.Name = id, name
				c.SecurityGroups[id] = &clone
			}
		}
	})
	if !isThere {
		w.t.Fatal("the Service has no security group")
	}
}

// TestClonedSecurityGroup: a security group with another name that bears the tags of the Service's, as a clone does, is
// another's: it is neither changed nor deleted. Of one with the same name nobody knows whose it is: that is told.
func TestClonedSecurityGroup(t *testing.T) {
	for _, id := range []string{"sg-00", "sg-zz"} {
		inWorld(t, 1, func(w *world) {
			w.create(web(ranges("10.0.0.0/8")))
			w.clone(id, "my-own-clone")
			w.writes()
			w.after(10 * time.Hour)
			w.expect("drift checks")
			w.update(ranges("192.0.2.0/24"))
			w.expect("other networks", "UpdateSecurityGroup")
			clone := "security group my-own-clone 1 accept ALL 10.0.0.0/8, " + theRest
			w.has("changed", "balancer "+mark+" with "+sgName, "listener 80-0 TCP to "+groupName,
				"group "+groupName+" i-1:30080=100", "security group "+sgName+" 1 accept ALL 192.0.2.0/24, "+theRest, clone)
			w.update(ranges())
			w.expect("none any more", "UpdateLoadBalancer", "DeleteSecurityGroup")
			w.remove()
			w.has("deleted", clone)
		})
	}
	inWorld(t, 1, func(w *world) {
		w.create(web(ranges("10.0.0.0/8")))
		w.clone("sg-zz", sgName)
		w.writes()
		w.after(10 * time.Hour)
		w.expect("drift checks")
		w.says("sg-zz")
		w.remove()
		w.expect("deleted", "UpdateLoadBalancer", "DeleteLoadBalancer", "DeleteServerGroup")
		w.says("what was made for the Service stays: access list")
	})
}
