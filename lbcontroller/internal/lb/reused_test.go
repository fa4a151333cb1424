package lb_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
	"alicloud-controllers.dev/lbcontroller/internal/lb/reuse"
)

// TestReuse is the life of a Service that names a user's CLB and leaves its listeners alone.
func TestReuse(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.usersCLB(usersLB)
		w.create(web(naming(usersLB)))
		check(t, "calls", []string{"GetLoadBalancer", "UpdateLoadBalancer", "CreateServerGroup"}, w.calls())
		check(t, "parts", []string{usersListener, ours + ": i-1:30080=100 i-2:30080=100", usersGroup}, w.parts(usersLB))
		svc, lb := w.service(), w.instances()[0]
		check(t, "instances", 1, len(w.instances()))
		check(t, "ingress", []corev1.LoadBalancerIngress{{IP: lb.GetAddress()}}, svc.Status.LoadBalancer.Ingress)
		check(t, "id label", usersLB, svc.Labels[LabelLoadBalancerID])
		check(t, "tags", "kubernetes.reused.by.user:true", lb.GetTags()[0].GetKey()+":"+lb.GetTags()[0].GetValue())
		check(t, "attributes", "mine lb-users true", fmt.Sprint(lb.GetName(), " ", lb.GetDeleteProtection()))
		check(t, "events", []string{"EnsuredLoadBalancer", "UnknownAnnotation"}, w.events.reasons())

		w.addNode(3)
		w.settle()
		check(t, "calls for a node", []string{"ApplyServerChanges"}, w.calls())
		w.restart()
		check(t, "calls of a restart", []string{"ListServerGroups", "GetServerGroup"}, w.calls())
		w.update(annotated(annotation.Scheduler, "wrr"))
		check(t, "writes for a listener's annotation", 0, len(w.cloud.Writes()))
		w.calls()
		w.update(func(svc *corev1.Service) {
			annotated(annotation.Name, "renamed")(svc)
			annotated(annotation.AdditionalTags, "team=blue")(svc)
		})
		check(t, "calls for attributes", []string{"GetLoadBalancer", "UpdateLoadBalancer"}, w.calls())
		check(t, "name", "renamed", w.instances()[0].GetName())

		w.remove()
		check(t, "calls of the deletion", []string{"ListLoadBalancers", "ListLoadBalancers", "GetLoadBalancer",
			"GetServerGroup", "DeleteServerGroup"}, w.calls())
		check(t, "parts in the end", []string{usersListener, usersGroup}, w.parts(usersLB))
		check(t, "finalizers", 0, len(w.service().Finalizers))
		check(t, "note", "", w.service().Annotations[annotation.Claims])
		w.hasEvents("the deletion", "Normal CleanLoadBalancer load balancer lb-users stays, without what was made on it")
	})
}

// TestReuseWithListeners: the Service's ports are its own, even where there was a listener of the user's; other ports are the user's.
func TestReuseWithListeners(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.usersCLB(usersLB)
		w.cloud.Lock()
		w.listen(usersLB, 80, "rsp-of-"+usersLB, "to be overridden")
		w.cloud.Unlock()
		w.create(web(naming(usersLB), override))
		check(t, "calls", []string{"GetLoadBalancer", "UpdateLoadBalancer", "CreateServerGroup", "UpdateListener"}, w.calls())
		check(t, "parts", []string{ourListener, usersListener, ours + ": i-1:30080=100", usersGroup}, w.parts(usersLB))
		w.update(func(svc *corev1.Service) { svc.Spec.Ports[0].Port = 81 })
		check(t, "calls for another port", []string{"GetLoadBalancer", "CreateListener", "DeleteListener"}, w.calls())

		w.update(func(svc *corev1.Service) { delete(svc.Annotations, annotation.Prefix+annotation.ForceOverride) })
		check(t, "writes when the listeners are left to the user", 0, len(w.cloud.Writes()))
		w.update(func(svc *corev1.Service) { svc.Spec.Ports[0].Port = 82 })
		check(t, "writes for a port then", 0, len(w.cloud.Writes()))
		w.events.take()
		w.remove()
		check(t, "parts in the end", []string{"81->" + ours + " (k8s/81/web/default/c-test)", usersListener, ours +
			":", usersGroup}, w.parts(usersLB))
		w.hasEvents("the deletion",
			"Warning PreservedOnDelete load balancer lb-users keeps server group "+ours+", listener k8s/81/web/default/c-test, which others use")
		check(t, "finalizers", 0, len(w.service().Finalizers))
	})
	inWorld(t, 1, func(w *world) {
		w.usersCLB(usersLB)
		w.create(web(naming(usersLB), override))
		w.remove()
		check(t, "parts in the end", []string{usersListener, usersGroup}, w.parts(usersLB))
	})
}

// TestReuseIsRefused: nothing is written for a CLB that isn't the Service's to take, and it isn't read again for each event.
func TestReuseIsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		seed func(w *world)
		want string
	}{
		"made for a Service": {func(w *world) { w.usersCLB(usersLB, tag("kubernetes.do.not.delete", "x")) }, "kubernetes.do.not.delete"},
		"the API server's":   {func(w *world) { w.usersCLB(usersLB, tag("ack.aliyun.com", clusterID)) }, "ack.aliyun.com"},
		"another address shown": {func(w *world) { w.usersCLB(usersLB) },
			"the Service publishes 47.1.2.3, which is not the address of load balancer lb-users"},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, func(w *world) {
				test.seed(w)
				if !strings.Contains(test.want, "47.1.2.3") { // What looks like the Service's on a CLB of others is not.
					w.cloud.Lock()
					w.cloud.ServerGroups["rsp-like"] = &gatewaytest.ServerGroup{ID: "rsp-like", LoadBalancerID: usersLB, Name: ours,
						Servers: []*slbv1.Server{
							{Type: slbv1.ServerType_SERVER_TYPE_ECS, ServerId: "i-9", Port: 30080, Description: ours},
						}}
					w.cloud.Unlock()
				}
				before := w.parts(usersLB)
				svc := web(naming(usersLB), override)
				if strings.Contains(test.want, "47.1.2.3") {
					svc.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "47.1.2.3"}}
				}
				w.create(svc)
				w.hasEvents("the creation", "Warning SyncLoadBalancerFailed", test.want)
				w.calls()
				w.addNode(2)
				w.settle()
				check(t, "calls for a node", []string(nil), w.calls())
				w.after(time.Hour)
				check(t, "calls in an hour", true, len(w.calls()) <= 2*4)
				w.remove()
				check(t, "writes", 0, len(w.cloud.Writes()))
				check(t, "parts", before, w.parts(usersLB))
				check(t, "finalizers", 0, len(w.service().Finalizers))
			})
		})
	}
}

// TestMissingCLB: one that doesn't exist is waited for, and one that vanishes keeps nobody from going.
func TestMissingCLB(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web(naming(usersLB)))
		w.hasEvents("the creation", "there is no load balancer lb-users; correct annotation "+annotation.Prefix+"id")
		w.calls()
		w.after(time.Hour)
		check(t, "calls in an hour", true, len(w.calls()) <= 16) // More often at first.
		w.usersCLB(usersLB)
		w.after(2 * reuse.RetryMissing)
		check(t, "id label", usersLB, w.service().Labels[LabelLoadBalancerID])

		w.cloud.Lock()
		clear(w.cloud.LoadBalancers)
		clear(w.cloud.Listeners)
		clear(w.cloud.ServerGroups)
		w.cloud.Unlock()
		w.addNode(2)
		w.after(time.Hour)
		w.hasEvents("the loss", "there is no load balancer lb-users")
		check(t, "instances", 0, len(w.instances()))
		w.remove()
		check(t, "finalizers", 0, len(w.service().Finalizers))
	})
}

// TestB04ReusedIPv6CLB: with the existing CCM a Service on one can never go.
func TestB04ReusedIPv6CLB(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.usersCLB(usersLB)
		w.cloud.Lock()
		w.cloud.LoadBalancers[usersLB].IpVersion = slbv1.IpVersion_IP_VERSION_IPV6
		w.cloud.Unlock()
		w.create(web(naming(usersLB), annotated(annotation.IPVersion, "ipv4")))
		w.hasEvents("the creation",
			`annotation ip-version asks for "ipv4" but the CLB has "ipv6", which can't be changed; correct or remove it`)
		w.update(func(svc *corev1.Service) { delete(svc.Annotations, annotation.Prefix+annotation.IPVersion) })
		check(t, "hash", true, w.service().Labels[LabelHash] != "")
		w.update(annotated(annotation.IPVersion, "ipv4"))
		w.remove()
		check(t, "finalizers", 0, len(w.service().Finalizers))
		check(t, "parts", []string{usersListener, usersGroup}, w.parts(usersLB))
	})
}

// TestB09UsersTagsStay: the existing CCM takes every tag off a user's CLB that it doesn't know.
func TestB09UsersTagsStay(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.usersCLB(usersLB, tag("owner", "alice"))
		w.create(web(naming(usersLB), annotated(annotation.AdditionalTags, "team=blue")))
		w.update(annotated(annotation.AdditionalTags, "team=red"))
		w.remove()
		got := map[string]string{}
		for _, x := range w.instances()[0].GetTags() {
			got[x.GetKey()] = x.GetValue()
		}
		check(t, "tags", map[string]string{"owner": "alice", "team": "red", "kubernetes.reused.by.user": "true"}, got)
	})
}

// TestMarkThatFails: a user's CLB that is taken gets its mark though that alone has failed, and the process may have
// died after that. One that was taken by an old version of the existing CCM is left without.
func TestMarkThatFails(t *testing.T) {
	refused := func(_ int, method string, _ proto.Message) gatewaytest.Fault {
		if method != "UpdateLoadBalancer" {
			return gatewaytest.Fault{}
		}
		return gatewaytest.Fault{Before: &rpcerr.Error{Code: codes.Unavailable, Reason: rpcerr.CloudUnavailable, Message: "tags can't be set"}}
	}
	for _, restart := range []bool{false, true} {
		inWorld(t, 1, func(w *world) {
			w.usersCLB(usersLB)
			w.cloud.Interpose(refused)
			w.create(web(naming(usersLB)))
			w.after(time.Minute)
			check(t, "parts", []string{usersListener, ours + ": i-1:30080=100", usersGroup}, w.parts(usersLB))
			check(t, "tags while they are refused", 0, len(w.instances()[0].GetTags()))
			check(t, "hash while they are refused", "", w.service().Labels[LabelHash])
			if restart {
				w.stop()
			}
			w.cloud.Interpose(nil)
			if restart {
				w.start()
			}
			w.after(10 * time.Minute)
			check(t, "mark", "true", tagOf(w.instances()[0], ownership.TagReused))
			check(t, "note", "", w.service().Annotations[annotation.OwnTags])
			check(t, "hash", true, w.service().Labels[LabelHash] != "")

			w.cloud.Lock()
			w.cloud.LoadBalancers[usersLB].Tags = nil
			w.cloud.Unlock()
			w.update(func(svc *corev1.Service) { delete(svc.Labels, LabelHash) })
			check(t, "tags when nothing is to change", 0, len(w.instances()[0].GetTags()))
		})
	}
}

// TestPreservedOnUsersCLB: all that was made there stays, too.
func TestPreservedOnUsersCLB(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.usersCLB(usersLB)
		w.create(web(naming(usersLB), override, annotated(annotation.PreserveOnDelete, "on")))
		before := w.parts(usersLB)
		w.calls()
		w.remove()
		check(t, "writes", 0, len(w.cloud.Writes()))
		check(t, "parts", before, w.parts(usersLB))
		check(t, "finalizers", 0, len(w.service().Finalizers))
	})
}

// TestTCPAndUDPOnUsersCLB: a port over TCP and over UDP share their backends, in a vServer group of the user's as in one of the Service's.
func TestTCPAndUDPOnUsersCLB(t *testing.T) {
	for group, mapping := range map[string]func(*corev1.Service){
		"mine": annotated(annotation.VGroupPort, usersRsp+":80"),
		ours:   func(*corev1.Service) {},
	} {
		t.Run(group, func(t *testing.T) {
			inWorld(t, 1, func(w *world) {
				w.usersCLB(usersLB)
				w.create(web(naming(usersLB), override, mapping, func(svc *corev1.Service) {
					both := svc.Spec.Ports[0]
					both.Name, both.Protocol = "udp", corev1.ProtocolUDP
					svc.Spec.Ports = append(svc.Spec.Ports, both)
				}))
				check(t, "listeners", []string{"80/TCP", "80/UDP", "9000/TCP"}, w.listeners())
				check(t, "events", []string{"EnsuredLoadBalancer"}, w.events.reasons())
				w.update(func(svc *corev1.Service) { svc.Spec.Ports = svc.Spec.Ports[1:] })
				check(t, "listeners without TCP", []string{"80/UDP", "9000/TCP"}, w.listeners())
				check(t, "servers", []string{"i-1:30080=100", "i-users:9000=7"}, w.servers())
				w.remove()
				check(t, "parts", []string{usersListener, usersGroup}, w.parts(usersLB))
			})
		})
	}
}

// TestAVServerGroupThatIsGoneIsNotTheCLB: that something on a user's CLB went while it was read says nothing of the
// CLB. It is neither reported as missing, nor is what the Service has on it forgotten.
func TestAVServerGroupThatIsGoneIsNotTheCLB(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		gone := &rpcerr.Error{Code: codes.NotFound, Reason: rpcerr.ServerGroupNotFound, Message: "there is no server group rsp-x"}
		w.usersCLB(usersLB)
		w.cloud.Fail("GetLoadBalancer", 1, gone)
		w.create(web(naming(usersLB)))
		check(t, "parts", []string{usersListener, ours + ": i-1:30080=100", usersGroup}, w.parts(usersLB))
		if events := strings.Join(w.events.take(), "\n"); strings.Contains(events, "does not exist") {
			t.Errorf("events:\n%s", events)
		}
		w.restart()
		w.cloud.Fail("GetLoadBalancer", 1, gone)
		w.remove()
		check(t, "parts in the end", []string{usersListener, usersGroup}, w.parts(usersLB))
	})
}
