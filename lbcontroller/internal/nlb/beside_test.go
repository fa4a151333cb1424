package nlb_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
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
	for what, tags := range map[string][]*commonv1.Tag{
		"without tags": nil, "reused by a user": append(marks(), &commonv1.Tag{Key: ownership.TagReused, Value: "true"}),
	} {
		inWorld(t, 2, func(w *world) {
			w.create(web())
			w.cloud.Lock()
			for _, lb := range w.cloud.NLB.LoadBalancers {
				lb.Tags, lb.Name = tags, "shop"
			}
			w.cloud.Unlock()
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
	group := func(change func(g *nlbv1.ServerGroup)) *nlbv1.ServerGroup {
		g := &nlbv1.ServerGroup{ServerGroupId: "sgp-left", Name: "k8s.30080.TCP.gone.default.c-test", VpcId: "vpc-test",
			Tags: []*commonv1.Tag{{Key: ownership.TagService, Value: "agone"}, {Key: ownership.TagCluster, Value: clusterID}},
			Servers: []*nlbv1.Server{{
				Type: nlbv1.ServerType_SERVER_TYPE_ECS, ServerId: "i-1", Port: 30080, Weight: new(int32(100)),
				Description: "k8s.30080.TCP.gone.default.c-test"}}}
		change(g)
		return g
	}
	for what, tt := range map[string]struct {
		change  func(g *nlbv1.ServerGroup)
		deleted bool
	}{
		"nobody's":           {func(*nlbv1.ServerGroup) {}, true},
		"without a server":   {func(g *nlbv1.ServerGroup) { g.Servers = nil }, true},
		"another name":       {func(g *nlbv1.ServerGroup) { g.Name = "my-own" }, false},
		"another cluster's":  {func(g *nlbv1.ServerGroup) { g.Tags[1].Value = "c-other" }, false},
		"one tag only":       {func(g *nlbv1.ServerGroup) { g.Tags = g.GetTags()[:1] }, false},
		"name of a cluster":  {func(g *nlbv1.ServerGroup) { g.Name = "k8s.30080.TCP.gone.default.c-other" }, false},
		"name of a Service":  {func(g *nlbv1.ServerGroup) { g.Name = "k8s.30090.TCP.api.default.c-test" }, false},
		"a foreign server":   {func(g *nlbv1.ServerGroup) { g.Servers[0].ServerId = "i-other" }, false},
		"a server by hand":   {func(g *nlbv1.ServerGroup) { g.Servers[0].Description = "mine" }, false},
		"a listener uses it": {nil, false},
	} {
		inWorld(t, 1, func(w *world) {
			w.orphans = true
			w.restart()
			w.create(web(another))
			w.cloud.Lock()
			change := tt.change
			if change == nil {
				change = func(*nlbv1.ServerGroup) {}
				w.cloud.NLB.LoadBalancers["nlb-user"] = &nlbv1.LoadBalancer{
					LoadBalancerId: "nlb-user", Name: "by-hand", VpcId: "vpc-test",
					Status: nlbv1.LoadBalancerStatus_LOAD_BALANCER_STATUS_ACTIVE}
				w.cloud.NLB.Listeners["lsn-user"] = &nlbv1.Listener{ListenerId: "lsn-user", LoadBalancerId: "nlb-user", Port: 9000,
					Protocol: nlbv1.ListenerProtocol_LISTENER_PROTOCOL_TCP,
					Config:   &nlbv1.ListenerConfig{ServerGroupId: new("sgp-left")}}
			}
			left := group(change)
			before := proto.CloneOf(left)
			w.cloud.NLB.ServerGroups["sgp-left"] = left
			w.cloud.Unlock()
			w.after(72 * time.Hour)
			w.cloud.Lock()
			defer w.cloud.Unlock()
			now, isThere := w.cloud.NLB.ServerGroups["sgp-left"]
			check(t, what+": deleted", tt.deleted, !isThere)
			if isThere {
				check(t, what+": servers", len(before.GetServers()), len(now.GetServers()))
			}
		})
	}
}

// failures makes every creation of an NLB fail.
func (w *world) failures() {
	w.cloud.Lock()
	defer w.cloud.Unlock()
	w.cloud.NLB.Job = func(m string, _ proto.Message) gatewaytest.Job {
		if m == "nlb.CreateLoadBalancer" {
			return gatewaytest.Job{Fails: "InternalError", Takes: 5 * time.Second}
		}
		return gatewaytest.Job{}
	}
}

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
		w.cloud.Lock()
		for id, lb := range w.cloud.NLB.LoadBalancers {
			check(t, id+": protected", true, lb.GetDeletionProtection().GetEnabled())
		}
		check(t, "NLBs left", 1, len(w.cloud.NLB.LoadBalancers))
		w.cloud.Unlock()
		w.says("nlb-1, which could not be made")
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
		w.cloud.Lock()
		for _, lb := range w.cloud.NLB.LoadBalancers {
			lb.Tags = slices.DeleteFunc(lb.GetTags(), func(t *commonv1.Tag) bool { return t.GetKey() == ownership.TagService })
		}
		w.cloud.Unlock()
		w.writes()
		w.update(func(svc *corev1.Service) { svc.Annotations["touched"] = "1" })
		w.update(annotated(annotation.IdleTimeout, "60"))
		w.expect("without the tag", "UpdateLoadBalancer", "UpdateListener")
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
				w.cloud.Lock()
				defer w.cloud.Unlock()
				n := len(w.cloud.AccessControlLists)
				for _, g := range w.cloud.SecurityGroups {
					if g.GetName() == sgName {
						n++
					}
				}
				for _, lb := range w.cloud.NLB.LoadBalancers {
					check(t, kind+": security groups of the NLB", 0, len(lb.GetSecurityGroupIds()))
				}
				for _, l := range w.cloud.Listeners {
					check(t, kind+": access control of the listener", false, l.GetConfig().GetAclEnabled())
				}
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
			w.cloud.Lock()
			defer w.cloud.Unlock()
			for _, lb := range w.cloud.NLB.LoadBalancers {
				check(t, kind+": security groups of the NLB, found by the search", 0, len(lb.GetSecurityGroupIds()))
			}
			for _, l := range w.cloud.Listeners {
				check(t, kind+": access control of the listener, found by the search", false, l.GetConfig().GetAclEnabled())
			}
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
			w.cloud.Lock()
			defer w.cloud.Unlock()
			for _, lb := range w.cloud.NLB.LoadBalancers {
				check(t, kind+": security groups of the NLB, fields off", 1, len(lb.GetSecurityGroupIds()))
			}
			for _, l := range w.cloud.Listeners {
				check(t, kind+": access control of the listener, fields off", true, l.GetConfig().GetAclEnabled())
			}
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
		w.cloud.Lock()
		check(t, "EIPs", 1, len(w.cloud.Eips))
		w.cloud.Unlock()
		w.replace(web(onCLB, plain))
		w.after(time.Minute)
		w.cloud.Lock()
		check(t, "EIPs after the replacement", 0, len(w.cloud.Eips))
		w.cloud.Unlock()
		w.writes()
		w.after(24 * time.Hour)
		w.expect("drift checks")
	})
	inWorld(t, 2, func(w *world) {
		w.create(web(onCLB, asked))
		w.update(func(svc *corev1.Service) { delete(svc.Annotations, annotation.EIPs) })
		w.stop()
		svc := w.service()
		delete(svc.Annotations, annotation.EIPs)
		delete(svc.Annotations, annotation.Prefix+annotation.EIPAllocate)
		svc.DeletionTimestamp = new(metav1.Now())
		if _, err := w.kube.CoreV1().Services("default").Update(t.Context(), svc, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		w.start()
		w.after(time.Minute)
		w.cloud.Lock()
		defer w.cloud.Unlock()
		check(t, "EIPs after the Service", 0, len(w.cloud.Eips))
		check(t, "CLBs after the Service", 0, len(w.cloud.LoadBalancers))
	})
}

// TestEIPsOfOthers: an EIP is the Service's by its tags and its name. One that somebody has renamed, or tagged like it,
// stays when the Service goes.
func TestEIPsOfOthers(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.create(web(onCLB,
			annotated(annotation.AddressType, "intranet", annotation.EIPAllocate, "on", "vswitch-id", "vsw-h")))
		w.cloud.Lock()
		for _, e := range w.cloud.Eips {
			other := proto.CloneOf(e)
			other.AllocationId, other.Name, other.Status = "eip-other", "mine", "Available"
			other.InstanceId, other.InstanceType = "", ""
			w.cloud.Eips["eip-other"] = other
			break
		}
		w.cloud.Unlock()
		w.after(10 * time.Hour)
		w.remove()
		w.after(time.Minute)
		w.cloud.Lock()
		defer w.cloud.Unlock()
		check(t, "EIPs left", 1, len(w.cloud.Eips))
		check(t, "that of others", true, w.cloud.Eips["eip-other"] != nil)
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
		w.cloud.Lock()
		for _, e := range w.cloud.Eips {
			e.InstanceId, e.InstanceType, e.Status = "", "", "Available"
		}
		for id, lb := range w.cloud.LoadBalancers {
			if lb.GetAddressType() == slbv1.AddressType_ADDRESS_TYPE_INTRANET {
				delete(w.cloud.LoadBalancers, id)
			}
		}
		w.cloud.Unlock()
		w.vanish()
		w.events.take()
		w.after(3 * time.Hour)
		w.says("EIP eip-new")
		w.after(100 * time.Hour)
		w.cloud.Lock()
		check(t, "EIPs", 1, len(w.cloud.Eips))
		w.cloud.Unlock()
	})
	inWorld(t, 2, func(w *world) {
		w.orphans = true
		w.restart()
		w.create(web(onCLB, intranet))
		id := ""
		w.cloud.Lock()
		for id = range w.cloud.Eips {
		}
		w.cloud.Unlock()
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
		w.cloud.Lock()
		check(t, "bound to", "", w.cloud.Eips[id].GetInstanceId())
		w.cloud.Unlock()
		w.remove()
		w.after(time.Minute)
		w.cloud.Lock()
		defer w.cloud.Unlock()
		check(t, "EIPs", 1, len(w.cloud.Eips))
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
		w.cloud.Lock()
		w.cloud.LoadBalancers["lb-user"] = &slbv1.LoadBalancer{
			LoadBalancerId: "lb-user", Name: "by-hand", Address: "47.9.9.9",
			AddressType: slbv1.AddressType_ADDRESS_TYPE_INTERNET, Status: "active"}
		w.cloud.Unlock()
		w.create(web(onCLB, annotated(annotation.ID, "lb-user", annotation.ForceOverride, "true")))
		w.replace(web(onCLB))
		w.after(time.Minute)
		w.says("lb-user")
		w.remove()
		w.after(time.Minute)
		w.cloud.Lock()
		defer w.cloud.Unlock()
		check(t, "listeners left", 0, len(w.cloud.Listeners))
		check(t, "server groups left", 0, len(w.cloud.ServerGroups))
	})
}
