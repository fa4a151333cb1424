package nlb_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
)

// refuse makes a call fail from now on.
func (w *world) refuse(method string, err error) {
	w.cloud.Interpose(func(_ int, m string, _ proto.Message) gatewaytest.Fault {
		if m == method {
			return gatewaytest.Fault{Before: err}
		}
		return gatewaytest.Fault{}
	})
}

// another is a Service that stays, so that the search believes what the API server says.
func another(svc *corev1.Service) {
	svc.Name, svc.UID, svc.Spec.Ports[0].NodePort = "api", "aaaaaaaa-c2ae-4642-b033-5607860aef6a", 30090
}

// anothersLines are what the cloud has for it.
var anothersLines = []string{"balancer aaaaaaaaac2ae4642b0335607860aef6",
	"listener 80-0 TCP to k8s.30090.TCP.api.default.c-test", "group k8s.30090.TCP.api.default.c-test i-1:30090=100"}

// vanish deletes the Service past its finalizer while no controller runs.
func (w *world) vanish() {
	w.t.Helper()
	w.stop()
	if err := w.kube.CoreV1().Services("default").Delete(w.t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		w.t.Fatal(err)
	}
	w.start()
}

// replace puts a manifest in place of the Service while no controller runs, as kubectl replace does: all that the
// controller has noted is gone, and the status stays.
func (w *world) replace(fresh *corev1.Service) {
	w.t.Helper()
	w.stop()
	there := w.service()
	fresh.ResourceVersion, fresh.Status = there.ResourceVersion, there.Status
	if _, err := w.kube.CoreV1().Services("default").Update(w.t.Context(), fresh, metav1.UpdateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	w.start()
}

func onCLB(svc *corev1.Service) { svc.Spec.LoadBalancerClass = nil }

// TestMadeTheirs: people take the tags off a load balancer, or mark it as theirs, to keep it, and delete the Service:
// it goes on serving, with the server groups that its listeners use.
func TestMadeTheirs(t *testing.T) {
	for what, tags := range map[string][]state.Tag{
		"without tags": nil, "reused by a user": append(marks(), state.Tag{Key: ownership.TagReused, Value: "true"}),
	} {
		inWorld(t, 2, func(w *world) {
			w.create(web())
			w.cloud.Change(func(c *state.Cloud) {
				for _, lb := range c.NLBs {
					lb.Tags, lb.Name = tags, "shop"
				}
			})
			w.writes()
			w.events.take()
			w.remove()
			w.after(time.Hour)
			w.expect(what)
			w.has(what, "balancer shop", "listener 80-0 TCP to "+groupName, nodeLine(groupName))
			w.says("stays")
			check(t, what+": finalizers", 0, len(w.service().Finalizers))
		})
	}
}

// TestSecurityGroupInUse: a security group that something else uses keeps neither the Service nor its passes: it is
// told once, and left to the search.
func TestSecurityGroupInUse(t *testing.T) {
	inUse := rpcerr.Errorf(rpcerr.ResourceInUse, "DependencyViolation")
	inWorld(t, 1, func(w *world) {
		w.create(web(ranges("10.0.0.0/8")))
		w.refuse("DeleteSecurityGroup", inUse)
		w.writes()
		w.events.take()
		w.remove()
		w.after(time.Hour)
		check(t, "finalizers", 0, len(w.service().Finalizers))
		w.expect("deleted", "UpdateLoadBalancer", "DeleteLoadBalancer", "DeleteServerGroup", "DeleteSecurityGroup")
		w.says("access list " + sgName)
	})
	inWorld(t, 1, func(w *world) {
		w.create(web(ranges("10.0.0.0/8")))
		w.refuse("DeleteSecurityGroup", inUse)
		w.writes()
		w.events.take()
		w.update(ranges())
		w.after(10 * time.Hour)
		w.expect("no ranges any more", "UpdateLoadBalancer", "DeleteSecurityGroup")
		told := 0
		for _, e := range w.events.take() {
			if strings.Contains(e, "Warning") && strings.Contains(e, sgName) {
				told++
			}
		}
		check(t, "warnings", 1, told)
		check(t, "synced", true, w.service().Labels["service.beta.kubernetes.io/hash"] != "")
		w.cloud.ResetCalls()
		w.addNode(2)
		w.settle()
		check(t, "calls for a node", 1, len(w.cloud.Calls()))
		w.cloud.Interpose(nil)
		w.writes()
		w.after(48 * time.Hour)
		w.expect("a day later it is free", "DeleteSecurityGroup")
	})
}

// TestGroupsAreFound: what is left of a Service whose NLB was never made is found by the hourly search.
func TestGroupsAreFound(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.orphans = true
		w.restart()
		w.create(web(another))
		w.refuse("nlb.CreateLoadBalancer", rpcerr.Errorf(rpcerr.QuotaExceeded, "quota of NLBs"))
		w.create(web(ranges("10.0.0.0/8")))
		w.events.take()
		w.vanish()
		w.after(3 * time.Hour)
		w.says(groupName)
		w.after(72 * time.Hour)
		w.has("in the end", anothersLines...)
	})
}

// TestGroupsThatAreNotDeleted: the search deletes no server group that something uses, that has a server which is no
// node of the cluster, whose marks or name are another's, or whose Service is there.
func TestGroupsThatAreNotDeleted(t *testing.T) {
	group := func(change func(g *state.NLBServerGroup)) *state.NLBServerGroup {
		g := &state.NLBServerGroup{Name: "k8s.30080.TCP.gone.default.c-test", VpcID: "vpc-test",
			Tags: []state.Tag{{Key: ownership.TagService, Value: "agone"}, {Key: ownership.TagCluster, Value: clusterID}},
			Servers: []*state.NLBServer{{
				Type: "Ecs", ServerID: "i-1", Port: 30080, Weight: 100, Description: "k8s.30080.TCP.gone.default.c-test"}}}
		change(g)
		return g
	}
	for what, tt := range map[string]struct {
		change  func(g *state.NLBServerGroup)
		deleted bool
	}{
		"nobody's":           {func(*state.NLBServerGroup) {}, true},
		"without a server":   {func(g *state.NLBServerGroup) { g.Servers = nil }, true},
		"another name":       {func(g *state.NLBServerGroup) { g.Name = "my-own" }, false},
		"another cluster's":  {func(g *state.NLBServerGroup) { g.Tags[1].Value = "c-other" }, false},
		"one tag only":       {func(g *state.NLBServerGroup) { g.Tags = g.Tags[:1] }, false},
		"name of a cluster":  {func(g *state.NLBServerGroup) { g.Name = "k8s.30080.TCP.gone.default.c-other" }, false},
		"name of a Service":  {func(g *state.NLBServerGroup) { g.Name = "k8s.30090.TCP.api.default.c-test" }, false},
		"a foreign server":   {func(g *state.NLBServerGroup) { g.Servers[0].ServerID = "i-other" }, false},
		"a server by hand":   {func(g *state.NLBServerGroup) { g.Servers[0].Description = "mine" }, false},
		"a listener uses it": {nil, false},
	} {
		inWorld(t, 1, func(w *world) {
			w.orphans = true
			w.restart()
			w.create(web(another))
			change := tt.change
			if change == nil {
				change = func(*state.NLBServerGroup) {}
				w.cloud.Add(&state.Cloud{
					NLBs:         map[string]*state.NLB{"nlb-user": {Name: "by-hand", VpcID: "vpc-test"}},
					NLBListeners: map[string]*state.NLBListener{"lsn-user": {NLBID: "nlb-user", Port: 9000, Protocol: "TCP", ServerGroupID: "sgp-left"}},
				})
			}
			left := group(change)
			servers := len(left.Servers)
			w.cloud.Add(&state.Cloud{NLBServerGroups: map[string]*state.NLBServerGroup{"sgp-left": left}})
			w.after(30 * time.Hour)
			w.cloud.Look(func(c *state.Cloud) {
				now, isThere := c.NLBServerGroups["sgp-left"]
				check(t, what+": deleted", tt.deleted, !isThere)
				if isThere {
					check(t, what+": servers", servers, len(now.Servers))
				}
			})
		})
	}
}

// failures makes every creation of an NLB fail.
func (w *world) failures() { w.job("CreateLoadBalancer", 0, 5*time.Second, "InternalError") }

// TestFailedNLBsGo: NLBs that could not be made go with the Service; one that the cloud protects is told.
func TestFailedNLBsGo(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.failures()
		w.create(web())
		w.after(time.Hour)
		w.events.take()
		w.remove()
		w.after(10 * time.Minute)
		check(t, "finalizers", 0, len(w.service().Finalizers))
		left := w.balancer()
		check(t, left.ID+": protected", true, left.Deletion.On)
		w.says(left.ID + ", which could not be made")
	})
}

// TestFailedNLBsAreFound: so are those of a Service that went past its finalizer.
func TestFailedNLBsAreFound(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.orphans = true
		w.restart()
		w.create(web(another))
		w.failures()
		w.create(web(annotated(annotation.DeleteProtection, "off")))
		w.after(time.Hour)
		w.events.take()
		w.vanish()
		w.after(3 * time.Hour)
		w.says("could not be made")
		w.after(72 * time.Hour)
		w.has("in the end", anothersLines...)
	})
}

// TestTagGoneFromANamedNLB: the server groups of an NLB with a name of its own that has lost its tag are found all
// the same.
func TestTagGoneFromANamedNLB(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.create(web(annotated(annotation.Name, "shop")))
		w.cloud.Change(func(c *state.Cloud) {
			for _, lb := range c.NLBs {
				lb.Tags = slices.DeleteFunc(lb.Tags, func(t state.Tag) bool { return t.Key == ownership.TagService })
			}
		})
		w.writes()
		w.update(func(svc *corev1.Service) { svc.Annotations["touched"] = "1" })
		w.update(annotated(annotation.IdleTimeout, "60"))
		w.expect("without the tag", "UpdateLoadBalancer", "UpdateListener")
	})
}

// guards compares how many security groups or access lists in force guard each load balancer.
func (w *world) guards(what string, want int) {
	w.t.Helper()
	w.cloud.Look(func(c *state.Cloud) {
		for _, lb := range c.NLBs {
			check(w.t, what+": security groups of the NLB", want, len(lb.SecurityGroupIDs))
		}
		for _, lb := range c.LoadBalancers {
			for _, l := range lb.Listeners {
				check(w.t, what+": access control of the listener", want > 0, l.Attributes["AclStatus"] == "on")
			}
		}
	})
}

// TestReplacedWhileNobodyLeads: what stands beside the load balancer and is noted nowhere any more is found by its
// tags: what guards the access goes with the ranges, and what the Service asks for is in place.
func TestReplacedWhileNobodyLeads(t *testing.T) {
	for kind, change := range map[string]func(*corev1.Service){"NLB": func(*corev1.Service) {}, "CLB": onCLB} {
		inWorld(t, 2, func(w *world) {
			w.create(web(ranges("10.0.0.0/8"), change))
			w.replace(web(change))
			w.after(time.Minute)
			lists := func() int {
				n := 0
				w.cloud.Look(func(c *state.Cloud) {
					n = len(c.Acls)
					for _, g := range c.SecurityGroups {
						if g.Name == sgName {
							n++
						}
					}
				})
				w.guards(kind, 0)
				return n
			}
			if kind == "NLB" { // The cloud deletes no list that a listener of a CLB names, in force or not.
				check(t, kind+": lists", 0, lists())
			}
			lists()
			w.writes()
			w.after(24 * time.Hour)
			w.expect(kind + ": drift checks")
			w.remove()
			w.after(time.Minute)
			check(t, kind+": lists after the Service", 0, lists())
			w.has(kind + ": deleted")
		})
		// The note alone is lost, and nothing else says that there is a list: the hourly search finds it.
		inWorld(t, 2, func(w *world) {
			w.orphans = true
			w.restart()
			w.create(web(ranges("10.0.0.0/8"), change))
			w.stop()
			svc := w.service()
			svc.Spec.LoadBalancerSourceRanges = nil
			delete(svc.Annotations, annotation.Applied)
			if _, err := w.kube.CoreV1().Services("default").Update(t.Context(), svc, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			w.start()
			w.after(3 * time.Hour)
			w.guards(kind+", found by the search", 0)
		})
		// Where fields of Services don't count, what once restricted the access goes on.
		inWorld(t, 2, func(w *world) {
			w.create(web(ranges("10.0.0.0/8"), change))
			w.serviceFields = false
			w.replace(web(ranges("10.0.0.0/8"), change))
			w.after(time.Minute)
			w.writes()
			w.update(func(svc *corev1.Service) { svc.Annotations["touched"] = "1" })
			w.after(24 * time.Hour)
			w.guards(kind+", fields off", 1)
		})
	}
}

// TestReplacedWithAnEIP: the EIP that was allocated for the Service goes, also where only its tags say that it is
// there.
func TestReplacedWithAnEIP(t *testing.T) {
	asked := annotated(annotation.AddressType, "intranet", annotation.EIPAllocate, "on", "vswitch-id", "vsw-h")
	plain := annotated(annotation.AddressType, "intranet", "vswitch-id", "vsw-h")
	inWorld(t, 2, func(w *world) {
		w.create(web(onCLB, asked))
		check(t, "EIPs", 1, len(w.eips()))
		w.replace(web(onCLB, plain))
		w.after(time.Minute)
		check(t, "EIPs after the replacement", 0, len(w.eips()))
		w.writes()
		w.after(24 * time.Hour)
		w.expect("drift checks")
	})
	inWorld(t, 2, func(w *world) {
		w.create(web(onCLB, asked))
		w.update(func(svc *corev1.Service) { delete(svc.Annotations, annotation.Bound) })
		w.stop()
		svc := w.service()
		delete(svc.Annotations, annotation.Bound)
		delete(svc.Annotations, annotation.Prefix+annotation.EIPAllocate)
		svc.DeletionTimestamp = new(metav1.Now())
		if _, err := w.kube.CoreV1().Services("default").Update(t.Context(), svc, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		w.start()
		w.after(time.Minute)
		check(t, "EIPs after the Service", 0, len(w.eips()))
		w.cloud.Look(func(c *state.Cloud) { check(t, "CLBs after the Service", 0, len(c.LoadBalancers)) })
	})
}

// eips are the ids of the EIPs that there are.
func (w *world) eips() (ids []string) {
	w.cloud.Look(func(c *state.Cloud) { ids = slices.Sorted(maps.Keys(c.Eips)) })
	return ids
}

// TestEIPsOfOthers: an EIP is the Service's by its tags and its name. One that somebody has renamed, or tagged like it,
// stays when the Service goes.
func TestEIPsOfOthers(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.create(web(onCLB,
			annotated(annotation.AddressType, "intranet", annotation.EIPAllocate, "on", "vswitch-id", "vsw-h")))
		w.cloud.Change(func(c *state.Cloud) {
			for _, id := range slices.Collect(maps.Keys(c.Eips)) {
				other := *c.Eips[id]
				other.ID, other.Name, other.Address, other.Status = "eip-other", "mine", "47.9.9.9", "Available"
				other.InstanceID, other.InstanceType = "", ""
				c.Eips["eip-other"] = &other
			}
		})
		w.after(10 * time.Hour)
		w.remove()
		w.after(time.Minute)
		check(t, "EIPs left", []string{"eip-other"}, w.eips())
	})
}

// TestEIPIsTold: the EIP of a Service that went past its finalizer with its CLB is told by the search, and never
// released by it. One that a Service names by its id is its user's.
func TestEIPIsTold(t *testing.T) {
	intranet := annotated(annotation.AddressType, "intranet", annotation.EIPAllocate, "on", "vswitch-id", "vsw-h")
	inWorld(t, 2, func(w *world) {
		w.orphans = true
		w.restart()
		w.create(web(another, onCLB))
		w.create(web(onCLB, intranet))
		w.cloud.Change(func(c *state.Cloud) {
			for _, e := range c.Eips {
				e.InstanceID, e.InstanceType, e.Status = "", "", "Available"
			}
			for id, lb := range c.LoadBalancers {
				if lb.AddressType == "intranet" {
					delete(c.LoadBalancers, id)
				}
			}
			maps.DeleteFunc(c.ServerGroups, func(_ string, g *state.ServerGroup) bool { return c.LoadBalancers[g.LoadBalancerID] == nil })
			c.Recount()
		})
		w.vanish()
		w.events.take()
		w.after(3 * time.Hour)
		left := w.eips()
		check(t, "EIPs", 1, len(left))
		w.says("EIP " + left[0])
		w.after(30 * time.Hour)
		check(t, "EIPs", left, w.eips())
	})
	inWorld(t, 2, func(w *world) {
		w.orphans = true
		w.restart()
		w.create(web(onCLB, intranet))
		id := w.eips()[0]
		w.update(withoutAnnotation(annotation.EIPAllocate), annotated(annotation.EIPID, id))
		w.writes()
		version := w.service().ResourceVersion
		w.after(30 * time.Hour)
		w.expect("named by its id")
		check(t, "version of the Service", version, w.service().ResourceVersion)
		w.update(withoutAnnotation(annotation.EIPID))
		w.events.take()
		w.after(30 * time.Hour)
		w.says("UnusedEIP EIP " + id)
		w.cloud.Look(func(c *state.Cloud) { check(t, "bound to", "", c.Eips[id].InstanceID) })
		w.remove()
		w.after(time.Minute)
		check(t, "EIPs", 1, len(w.eips()))
	})
}

// TestReplacedOnAUsersNLB: what a Service that no longer names a user's load balancer has made there goes with it at
// the latest, also where only names and tags say that it is there.
func TestReplacedOnAUsersNLB(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.users()
		w.create(web(annotated(annotation.ID, "nlb-user", annotation.ForceOverride, "true")))
		w.replace(web())
		w.after(time.Minute)
		w.says("nlb-user")
		w.remove()
		w.after(time.Minute)
		w.has("deleted", usersLines, userListener, "group by-hand ")
	})
	inWorld(t, 2, func(w *world) {
		w.cloud.Add(&state.Cloud{LoadBalancers: map[string]*state.LoadBalancer{"lb-user": {Name: "by-hand", Address: "47.9.9.9",
			AddressType: "internet", Status: "active"}}})
		w.create(web(onCLB, annotated(annotation.ID, "lb-user", annotation.ForceOverride, "true")))
		w.replace(web(onCLB))
		w.after(time.Minute)
		w.says("lb-user")
		w.remove()
		w.after(time.Minute)
		w.cloud.Look(func(c *state.Cloud) {
			check(t, "listeners left", 0, len(c.LoadBalancers["lb-user"].Listeners))
			check(t, "server groups left", 0, len(c.ServerGroups))
		})
	})
}
