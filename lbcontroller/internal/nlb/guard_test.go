package nlb_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

// admits are the networks from which the NLB lets people in, as "internet 10.0.0.0/8"; nil without a listener.
func (w *world) admits() (list []string) {
	w.cloud.Look(func(c *state.Cloud) {
		if len(c.NLBListeners) == 0 {
			return
		}
		for _, lb := range c.NLBs {
			from := []string{"VPC"}
			if lb.AddressType == "Internet" {
				from = append(from, "internet")
			}
			networks := []string{}
			for _, id := range lb.SecurityGroupIDs {
				for _, r := range c.SecurityGroups[id].Rules {
					if r.Policy == "Accept" {
						networks = append(networks, r.SourceCidr+r.Ipv6SourceCidr)
					}
				}
			}
			if len(lb.SecurityGroupIDs) == 0 {
				networks = []string{"0.0.0.0/0"}
			}
			for _, f := range from {
				for _, n := range networks {
					list = append(list, f+" "+n)
				}
			}
		}
	})
	slices.Sort(list)
	return list
}

// TestNobodyElseCanConnect: between any two calls of a change, of which one fails or none, nobody can connect whom neither the Service as
// it was lets in nor the one that is wanted. Where access can't be restricted, the event says to whom the NLB is open.
func TestNobodyElseCanConnect(t *testing.T) {
	t.Parallel()

	type changes = []func(*corev1.Service)
	public, intranet := annotated(annotation.AddressType, "internet"), annotated(annotation.AddressType, "intranet")
	groups := func(ids string) func(*corev1.Service) { return annotated(annotation.SecurityGroupIDs, ids) }
	for name, test := range map[string]struct{ before, after []func(*corev1.Service) }{
		"public and restricted at once": {before: changes{intranet}, after: changes{public, ranges("10.0.0.0/8")}},
		"public, and other networks": {
			before: changes{intranet, ranges("192.168.0.0/16")}, after: changes{public, ranges("10.0.0.0/8")},
		},
		"public, restricted and another name": {
			before: changes{intranet}, after: changes{public, ranges("10.0.0.0/8"), annotated(annotation.Name, "shop")},
		},
		"other groups, and off the internet": {
			before: changes{public, groups("sg-1")}, after: changes{intranet, groups("sg-2")},
		},
		"other groups, and public":         {before: changes{intranet, groups("sg-1")}, after: changes{public, groups("sg-2")}},
		"without groups, and public":       {before: changes{intranet, groups("sg-1")}, after: changes{public, groups("none")}},
		"without groups, off the internet": {before: changes{public, groups("sg-1")}, after: changes{intranet, groups("none")}},
		"restricted, and one port more": {
			before: changes{public},
			after: changes{ranges("10.0.0.0/8"), func(svc *corev1.Service) {
				svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{Name: "more", Port: 81, NodePort: 30081, Protocol: corev1.ProtocolTCP})
			}},
		},
	} {
		for _, failing := range []string{"", "CreateSecurityGroup", "UpdateSecurityGroup", "join", "address type", "name"} {
			t.Run(name+", fails: "+failing, func(t *testing.T) {
				t.Parallel()
				inWorld(t, 1, func(w *world) {
					w.cloud.Change(func(c *state.Cloud) {
						for id, network := range map[string]string{"sg-1": "172.16.0.0/16", "sg-2": "172.17.0.0/16"} {
							c.SecurityGroups[id].Rules = []state.SecurityRule{{ID: "sgr-" + id, SourceCidr: network, IPProtocol: "ALL",
								PortRange: "-1/-1", Priority: "1", NicType: "intranet", Direction: "ingress", Policy: "Accept"}}
						}
					})
					w.create(web(test.before...))
					allowed := w.admits()
					var mu sync.Mutex
					isStruck := false
					w.cloud.Interpose(func(_ int, method string, r proto.Message) gatewaytest.Fault {
						mu.Lock()
						defer mu.Unlock()
						for _, who := range w.admits() {
							from, _, _ := strings.Cut(who, " ")
							if !slices.Contains(allowed, who) && !slices.Contains(allowed, from+" 0.0.0.0/0") {
								t.Errorf("before %s: %s can connect", method, who)
							}
						}
						up, _ := r.(*nlbv1.UpdateLoadBalancerRequest)
						strikes := method == failing || failing == "join" && len(up.GetSecurityGroups().GetSecurityGroupIds()) > 0 ||
							failing == "address type" && up.GetAddressType() != 0 || failing == "name" && up.GetName() != ""
						if !strikes {
							return gatewaytest.Fault{}
						}
						isStruck = true
						return gatewaytest.Fault{Before: rpcerr.Errorf(rpcerr.QuotaExceeded, "no")}
					})
					want := inWanted(t, test.before, test.after)
					mu.Lock()
					allowed = append(allowed, want...)
					mu.Unlock()
					w.events.take()
					w.update(test.after...)
					w.cloud.Interpose(nil)
					if isStruck && (failing == "CreateSecurityGroup" || failing == "UpdateSecurityGroup" || failing == "join") {
						w.says("is open from")
					}
					if isGuarded := slices.Equal(w.admits(), want); !isGuarded && (!isStruck || failing == "name") {
						t.Errorf("in the end %v can connect, want %v", w.admits(), want)
					}
				})
			})
		}
	}
}

// inWanted is who can connect once a Service has what it asks for, by the words of the test.
func inWanted(t *testing.T, before, after []func(*corev1.Service)) []string {
	t.Helper()
	svc := web(slices.Concat(before, after)...)
	from, networks := []string{"VPC"}, svc.Spec.LoadBalancerSourceRanges
	if svc.Annotations[annotation.Prefix+annotation.AddressType] != "intranet" {
		from = append(from, "internet")
	}
	switch svc.Annotations[annotation.Prefix+annotation.SecurityGroupIDs] {
	case "sg-1":
		networks = []string{"172.16.0.0/16"}
	case "sg-2":
		networks = []string{"172.17.0.0/16"}
	}
	if len(networks) == 0 {
		networks = []string{"0.0.0.0/0"}
	}
	var list []string
	for _, f := range from {
		for _, n := range networks {
			list = append(list, f+" "+n)
		}
	}
	slices.Sort(list)
	return list
}

// TestAccessIsNotOpenedByAWord: neither the removal nor the loss of annotation security-group-ids, nor a slip in it, nor the words of a CLB
// open an NLB or make an open one. What is there serves on, and its servers follow.
func TestAccessIsNotOpenedByAWord(t *testing.T) {
	t.Parallel()
	type changes = []func(*corev1.Service)
	groups, gone := annotated(annotation.SecurityGroupIDs, "sg-1"), withoutAnnotation(annotation.SecurityGroupIDs)
	for name, test := range map[string]struct {
		change changes
		says   string
	}{
		"removed":           {changes{gone}, "AnnotationKept"},
		"empty":             {changes{annotated(annotation.SecurityGroupIDs, "")}, "has no value"},
		"misspelt":          {changes{gone, annotated("security-groups-ids", "sg-1")}, "did you mean"},
		"words of a CLB":    {changes{gone, annotated(annotation.ACLStatus, "on", annotation.ACLID, "acl-1")}, "is for CLBs"},
		"an empty list":     {changes{annotated(annotation.SecurityGroupIDs, ",")}, "security-group-ids"},
		"none asks for it":  {changes{annotated(annotation.SecurityGroupIDs, "none")}, ""},
		"another group":     {changes{annotated(annotation.SecurityGroupIDs, "sg-2")}, ""},
		"a word of nothing": {changes{annotated(annotation.ACLStatus, "off")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, 1, func(w *world) {
				w.create(web(groups))
				w.events.take()
				w.update(test.change...)
				if test.says != "" {
					w.says(test.says)
					check(t, "groups", []string{"sg-1"}, w.balancer().SecurityGroupIDs)
				} else {
					synced := conditionOf(w.service(), "Synced")
					check(t, "synced", "True", string(synced.Status))
				}
				w.addNode(2)
				w.settle()
				check(t, "servers", 2, len(w.group().Servers))
			})
			if test.says == "" || test.says == "AnnotationKept" {
				return
			}
			inWorld(t, 1, func(w *world) { // Of a new Service nothing is made.
				w.create(web(test.change...))
				w.says(test.says)
				w.has("nothing")
			})
		})
	}
}

// TestLongListBecomesAnother: a security group that is full gets its new networks after the old ones have gone, and at no time is it
// without what drops the rest. Where all of them are too many, the event says how many fit.
func TestLongListBecomesAnother(t *testing.T) {
	t.Parallel()
	networks := func(first, n int) []string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf("10.%d.0.0/16", first+i))
		}
		return list
	}
	const most = 200
	inWorld(t, 1, func(w *world) {
		w.cloud.Interpose(func(_ int, method string, _ proto.Message) gatewaytest.Fault {
			w.cloud.Look(func(c *state.Cloud) {
				drops := 0
				for _, g := range c.SecurityGroups {
					for _, rule := range g.Rules {
						if rule.Policy == "Drop" {
							drops++
						}
					}
				}
				if drops != 2 && len(c.NLBListeners) > 0 {
					t.Errorf("before %s: %d rules drop the rest", method, drops)
				}
			})
			return gatewaytest.Fault{}
		})
		w.create(web(ranges(networks(0, most)...)))
		w.says("2 of them keep everybody else out")
		w.update(ranges(networks(0, 150)...))
		w.after(time.Hour)
		check(t, "synced", metav1.ConditionTrue, conditionOf(w.service(), "Synced").Status)
		w.update(ranges(networks(150, 60)...))
		w.after(time.Hour)
		check(t, "synced with other networks", metav1.ConditionTrue, conditionOf(w.service(), "Synced").Status)
		check(t, "networks", 60, len(w.admits())/2)
	})
}
