package lb_test

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

// addStranger adds a node whose instance the cloud doesn't have.
func (w *world) addStranger(name string) {
	w.t.Helper()
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.NodeSpec{ProviderID: "cn-beijing.i-" + name},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}
	if _, err := w.kube.CoreV1().Nodes().Create(w.t.Context(), node, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	w.settle()
}

// TestUnknownNodeHurtsNobody: a Ready node that the cloud doesn't know is left out. New Services get listeners and an
// address, existing ones follow the other nodes, and it isn't tried again and again.
func TestUnknownNodeHurtsNobody(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.addStranger("stranger")
		w.create(web())
		check(t, "listeners", []string{"80/TCP"}, w.listeners())
		check(t, "servers", []string{"i-1:30080=100"}, w.servers())
		check(t, "addresses", 1, len(w.service().Status.LoadBalancer.Ingress))
		check(t, "hash", true, w.service().Labels[LabelHash] != "")
		w.hasEvents("who is left out", "SkipSyncBackends 1 nodes are left out", "stranger")
		w.calls()
		w.addNode(2)
		w.settle()
		check(t, "calls for a node", []string{"ApplyServerChanges"}, w.calls())
		check(t, "servers", []string{"i-1:30080=100", "i-2:30080=100"}, w.servers())
		w.after(9 * time.Minute)
		check(t, "calls later", []string(nil), w.calls())
	})
}

// TestFullGroupDoesNotHoldBackListeners: more nodes than the server quota cost the Service neither its listener nor its address.
func TestFullGroupDoesNotHoldBackListeners(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		w.cloud.Lock()
		w.cloud.ServersPerGroup = 2
		w.cloud.Unlock()
		w.create(web())
		check(t, "listeners", []string{"80/TCP"}, w.listeners())
		check(t, "addresses", 1, len(w.service().Status.LoadBalancer.Ingress))
		check(t, "servers", true, len(w.servers()) > 0)
	})
}

// TestMappingToAnotherGroup: a vServer group that is named anew is looked for in the cloud, not in what is remembered.
func TestMappingToAnotherGroup(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.usersCLB(usersLB)
		w.create(web(naming(usersLB), annotated(annotation.VGroupPort, usersRsp+":80")))
		w.cloud.Lock()
		w.cloud.ServerGroups["rsp-b"] = &gatewaytest.ServerGroup{ID: "rsp-b", LoadBalancerID: usersLB, Name: "b"}
		w.cloud.Unlock()
		w.events.take()
		w.update(annotated(annotation.VGroupPort, "rsp-b:80"))
		if events := strings.Join(w.events.take(), "\n"); strings.Contains(events, "SyncLoadBalancerFailed") {
			t.Errorf("events: %s", events)
		}
		w.cloud.Lock()
		defer w.cloud.Unlock()
		check(t, "servers of the new group", 1, len(w.cloud.ServerGroups["rsp-b"].Servers))
	})
}

// TestUserChangeComparesAll: whatever a user changes on the Service, what was changed by hand in the cloud is repaired with it.
func TestUserChangeComparesAll(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web())
		w.cloud.Lock()
		for _, g := range w.cloud.ServerGroups {
			g.Servers[0].Weight = new(int32(1))
		}
		clear(w.cloud.Listeners)
		w.cloud.Unlock()
		w.update(annotated(annotation.Name, "new-name"))
		check(t, "servers", []string{"i-1:30080=100"}, w.servers())
		check(t, "listeners", []string{"80/TCP"}, w.listeners())
	})
}

// TestListenerOfAnothersGroupIsLeftAlone: a listener that somebody bound by hand to the vServer group of one Service
// isn't taken by another, whatever its description.
func TestListenerOfAnothersGroupIsLeftAlone(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.usersCLB(usersLB)
		w.create(web(naming(usersLB)))
		group := ""
		w.cloud.Lock()
		for id, g := range w.cloud.ServerGroups {
			if g.Name == ours {
				group = id
			}
		}
		key := gatewaytest.ListenerKey{LoadBalancerID: usersLB, Port: 80, Protocol: tcp}
		w.cloud.Listeners[key] = &slbv1.Listener{
			Key:    &slbv1.ListenerKey{LoadBalancerId: usersLB, Port: 80, Protocol: tcp},
			Config: &slbv1.ListenerConfig{Description: new("by hand"), ServerGroupId: &group}, Status: "running",
		}
		w.cloud.Unlock()
		w.events.take()
		w.create(web(naming(usersLB), override, func(svc *corev1.Service) {
			svc.Name, svc.UID = "api", "66666666-2222-3333-4444-555555555555"
			svc.Spec.Ports[0].NodePort = 31000
		}))
		w.hasEvents("the refusal", "forwards to the server group of Service default/web")
		w.cloud.Lock()
		defer w.cloud.Unlock()
		check(t, "group of the listener", group, w.cloud.Listeners[key].GetConfig().GetServerGroupId())
	})
}

// TestModeChangeKeepsUsersListenerServed: a user's listener goes on having servers when the backends change from nodes to pods.
func TestModeChangeKeepsUsersListenerServed(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.addENI("eni-1", "10.0.0.1")
		w.pods(pod("10.0.0.1", "node-1"))
		w.usersCLB(usersLB)
		w.create(web(naming(usersLB)))
		group := ""
		w.cloud.Lock()
		for id, g := range w.cloud.ServerGroups {
			if g.Name == ours {
				group = id
			}
		}
		w.cloud.Listeners[gatewaytest.ListenerKey{LoadBalancerID: usersLB, Port: 80, Protocol: tcp}] = &slbv1.Listener{
			Key:    &slbv1.ListenerKey{LoadBalancerId: usersLB, Port: 80, Protocol: tcp},
			Config: &slbv1.ListenerConfig{Description: new("by hand"), ServerGroupId: &group}, Status: "running",
		}
		w.cloud.Unlock()
		w.events.take()
		w.update(eniMode)
		check(t, "servers", []string{"eni-1:8080=100", "i-1:30080=100", "i-users:9000=7"}, w.servers())
		w.hasEvents("what to do", "listener 80/tcp still forwards to server group "+ours)
	})
}

// TestHostnameRemovedWhileAway: what is published is part of the configuration, so a restart doesn't hide that it was changed.
func TestHostnameRemovedWhileAway(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web(annotated(annotation.Hostname, "www.example.com")))
		w.stop()
		w.update(func(svc *corev1.Service) { svc.Annotations = nil })
		w.start()
		check(t, "address", []corev1.LoadBalancerIngress{{IP: w.instances()[0].GetAddress()}}, w.service().Status.LoadBalancer.Ingress)
	})
}

// TestExternalIPTypeChangedWhileAway: so is whether an EIP is published, be the backends recorded or read.
func TestExternalIPTypeChangedWhileAway(t *testing.T) {
	for _, recorded := range []bool{false, true} {
		inWorld(t, 1, func(w *world) {
			if recorded {
				withRecords(w)
			}
			w.create(web())
			own := []corev1.LoadBalancerIngress{{IP: w.instances()[0].GetAddress()}}
			w.cloud.Lock()
			for id := range w.cloud.LoadBalancers {
				w.cloud.Eips["eip-1"] = &vpcv1.Eip{AllocationId: "eip-1", IpAddress: "8.8.4.4", InstanceId: id, InstanceType: "SlbInstance"}
			}
			w.cloud.Unlock()
			away := func(change func(*corev1.Service), want []corev1.LoadBalancerIngress) {
				t.Helper()
				w.stop()
				w.update(change)
				w.start()
				check(t, "published", want, w.service().Status.LoadBalancer.Ingress)
			}
			away(annotated(annotation.ExternalIPType, "eip"), []corev1.LoadBalancerIngress{{IP: "8.8.4.4"}})
			away(without(annotation.ExternalIPType), own)
			away(annotated(annotation.Hostname, "www.example.com"), []corev1.LoadBalancerIngress{{Hostname: "www.example.com"}})
			away(without(annotation.Hostname), own)
			w.calls()
			away(func(*corev1.Service) {}, own)
			if recorded {
				check(t, "calls of a restart without a change", []string(nil), w.calls())
			}
		})
	}
}

// TestUnreadableEIPChangesNothing: while the EIPs can't be read, what is published stays.
func TestUnreadableEIPChangesNothing(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web())
		w.cloud.Lock()
		for id := range w.cloud.LoadBalancers {
			w.cloud.Eips["eip-1"] = &vpcv1.Eip{AllocationId: "eip-1", IpAddress: "8.8.4.4", InstanceId: id, InstanceType: "SlbInstance"}
		}
		w.cloud.Unlock()
		w.update(annotated(annotation.ExternalIPType, "eip"))
		want := []corev1.LoadBalancerIngress{{IP: "8.8.4.4"}}
		check(t, "EIP", want, w.service().Status.LoadBalancer.Ingress)
		w.events.take()
		w.cloud.Fail("ListEips", 2, &rpcerr.Error{Code: codes.Unavailable, Reason: rpcerr.CloudUnavailable})
		w.restart()
		w.update(annotated(annotation.Name, "other"))
		check(t, "EIP while it can't be read", want, w.service().Status.LoadBalancer.Ingress)
		w.hasEvents("the failure", "FailedSetEIPAddress")
	})
}

// TestMissingInterfaceIsLookedForMoreAndMoreSeldom: a pod outside of the VPC costs few reads.
func TestMissingInterfaceIsLookedForMoreAndMoreSeldom(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.addENI("eni-1", "10.0.0.1")
		w.pods(pod("10.0.0.1", "node-1"), pod("192.168.0.9", "node-1"))
		w.create(web(eniMode))
		w.calls()
		w.after(time.Hour)
		if n := len(w.calls()); n > 16 { // 7 for the missing address, 6 for the other.
			t.Errorf("%d calls in an hour", n)
		}
	})
}

// TestNoEventForEveryNode: servers that follow nodes are no news, nor is a list of nodes without an instance that changes.
func TestNoEventForEveryNode(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web())
		w.events.take()
		w.addNode(2)
		w.settle()
		check(t, "events", []string(nil), w.events.take())
		for n := range 3 {
			w.addNode(3 + n)
			w.updateNode(3+n, func(node *corev1.Node) { node.Spec.ProviderID = "kind://x" })
		}
		check(t, "events", []string{"SkipSyncBackends"}, w.events.reasons())
	})
}

// TestOldServiceIsSearchedFor: an old version of the existing CCM made a CLB and failed before it wrote anything on the Service.
func TestOldServiceIsSearchedFor(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web())
		id := w.instances()[0].GetLoadBalancerId()
		w.stop()
		w.update(func(svc *corev1.Service) {
			svc.Labels, svc.Finalizers, svc.Annotations, svc.Status.LoadBalancer.Ingress = nil, nil, nil, nil
			svc.CreationTimestamp = metav1.NewTime(time.Now().Add(-time.Hour))
		})
		w.start()
		check(t, "instances", 1, len(w.instances()))
		check(t, "id", id, w.service().Labels[LabelLoadBalancerID])
	})
}

// TestStatusFight: another controller that writes the status is answered more and more seldom.
func TestStatusFight(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web())
		w.events.take()
		patches := func() int {
			n := 0
			for _, a := range w.kube.Actions() {
				if a.GetVerb() == "patch" && a.GetSubresource() == "status" {
					n++
				}
			}
			return n
		}
		before := patches()
		for range 600 {
			svc := w.service()
			if svc.Status.LoadBalancer.Ingress[0].IP != "203.0.113.1" {
				svc.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "203.0.113.1"}}
				if _, err := w.kube.CoreV1().Services("default").UpdateStatus(t.Context(), svc, metav1.UpdateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			w.after(time.Second)
		}
		if n := patches() - before; n > 12 {
			t.Errorf("%d writes of the status in ten minutes", n)
		}
		w.hasEvents("the fight", "StatusContested")
	})
}

// TestMisspeltAnnotation: one event reports it, with the annotation that was meant.
func TestMisspeltAnnotation(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web(annotated("schedular", "wrr")))
		w.hasEvents("the mistake", "Warning UnknownAnnotation", annotation.Prefix+"schedular is not known",
			"did you mean "+annotation.Prefix+annotation.Scheduler)
		w.addNode(2)
		w.settle()
		check(t, "events", []string(nil), w.events.take())
	})
}

// TestNoBackendsIsAWarning, and what was done is said. The Service counts until it has a server that takes traffic, or no load balancer.
func TestNoBackendsIsAWarning(t *testing.T) {
	inWorld(t, 0, func(w *world) {
		w.create(web())
		events := strings.Join(w.events.take(), "\n")
		for _, part := range []string{"Warning UnAvailableLoadBalancer", "create listener 80/tcp"} {
			if !strings.Contains(events, part) {
				t.Errorf("events lack %q: %s", part, events)
			}
		}
		counted := func(what string, want float64) {
			t.Helper()
			check(t, what, want, w.gauge("lbcontroller_services_without_backends")[""])
		}
		counted("without nodes", 1)
		w.addNode(1)
		w.settle()
		counted("with a node", 0)
		w.update(annotated(annotation.DefaultWeight, "0"))
		w.settle()
		counted("with weight 0", 1)
		w.remove()
		w.settle()
		counted("without the Service", 0)
	})
}

// TestAnothersStatusStays: a Service that goes over to another controller keeps the address that the other one wrote.
func TestAnothersStatusStays(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web())
		theirs := []corev1.LoadBalancerIngress{{IP: "203.0.113.1"}}
		w.update(func(svc *corev1.Service) {
			svc.Annotations = map[string]string{annotation.Class: "other", annotation.ConfirmRelease: "true"}
			svc.Status.LoadBalancer.Ingress = theirs
		})
		check(t, "instances", 0, len(w.instances()))
		check(t, "finalizers", 0, len(w.service().Finalizers))
		check(t, "status", theirs, w.service().Status.LoadBalancer.Ingress)
	})
}

// TestOtherResourceGroupIsNotReused: nothing is made on a CLB of another resource group than the Service asks for.
func TestOtherResourceGroupIsNotReused(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.usersCLB(usersLB)
		before := w.parts(usersLB)
		w.create(web(naming(usersLB), override, annotated(annotation.ResourceGroupID, "rg-other")))
		w.hasEvents("the refusal", "can't be reused", annotation.ResourceGroupID)
		check(t, "parts", before, w.parts(usersLB))
	})
}

// TestAnnotationsWithoutEffect: a specification means nothing where the CLB is billed by usage, nor a vSwitch for a public CLB, which can
// still be made. Both are reported.
func TestAnnotationsWithoutEffect(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web(annotated(annotation.InstanceSpec, "slb.s2.small"), annotated(annotation.VSwitchID, "vsw-a")))
		check(t, "vSwitch", "", w.instances()[0].GetVswitchId())
		check(t, "listeners", []string{"80/TCP"}, w.listeners())
		w.hasEvents("both", "Warning UnknownAnnotation", annotation.Prefix+annotation.InstanceSpec+" has no effect",
			annotation.Prefix+annotation.VSwitchID+" has no effect")
	})
	inWorld(t, 1, func(w *world) {
		w.create(web(annotated(annotation.InstanceSpec, "slb.s2.small"), annotated(annotation.InstanceChargeType, "PayBySpec"),
			annotated(annotation.VSwitchID, "vsw-a"), annotated(annotation.AddressType, "intranet")))
		if events := strings.Join(w.events.take(), "\n"); strings.Contains(events, "UnknownAnnotation") {
			t.Errorf("events: %s", events)
		}
	})
}

// TestClassAtTheTakeover: the existing CCM overlooks that a Service got a class, so its CLB may be in use. It is
// released when somebody confirms that, as it is for a Service that this controller has served.
func TestClassAtTheTakeover(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		l := newLegacy()
		l.service.Annotations[annotation.Class] = "other"
		l.seed(w)
		check(t, "instances", 1, len(w.instances()))
		check(t, "writes", 0, len(w.cloud.Writes()))
		w.hasEvents("what to do", "Warning ReleaseUnconfirmed", annotation.ConfirmRelease)
		w.update(func(svc *corev1.Service) { svc.Annotations[annotation.ConfirmRelease] = "true" })
		check(t, "instances", 0, len(w.instances()))
		check(t, "finalizers", 0, len(w.service().Finalizers))
	})
	inWorld(t, 2, func(w *world) {
		w.create(web())
		w.stop()
		w.update(func(svc *corev1.Service) { svc.Annotations = map[string]string{annotation.Class: "other"} })
		w.start()
		check(t, "instances", 1, len(w.instances()))
		w.hasEvents("what to do", "Warning ReleaseUnconfirmed", annotation.ConfirmRelease)
	})
}

// TestGoneCLBCostsFewReads: the Service's own CLB that was deleted in the console is looked for from time to time, and not at each event.
func TestGoneCLBCostsFewReads(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web())
		w.deleteInConsole(w.service().Labels[LabelLoadBalancerID])
		w.after(6 * time.Hour)
		w.hasEvents("what is wrong", "SyncLoadBalancerFailed")
		w.calls()
		for n := range 5 {
			w.addNode(2 + n)
			w.settle()
		}
		if calls := w.calls(); len(calls) > 3 { // The time may have come meanwhile.
			t.Errorf("calls for five nodes, one after the other: %v", calls)
		}
		w.after(6 * time.Hour)
		if n := len(w.cloud.Calls()); n == 0 || n > 60 {
			t.Errorf("%d reads in six hours", n)
		}
	})
}
