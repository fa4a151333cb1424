package controller

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/gateway/gatewaytest"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

const usersLB = "lb-users"

// usersCLB puts a CLB into the cloud that a user has made, with a listener on port 9000 and its vServer group.
func (w *world) usersCLB(id string, tags ...*commonv1.Tag) {
	w.cloud.Lock()
	defer w.cloud.Unlock()
	w.cloud.LoadBalancers[id] = &slbv1.LoadBalancer{
		LoadBalancerId: id, Name: "mine " + id, Address: "47.9.9." + fmt.Sprint(len(w.cloud.LoadBalancers)), Tags: tags, Status: "active",
		AddressType: slbv1.AddressType_ADDRESS_TYPE_INTERNET, DeleteProtection: true,
	}
	w.cloud.ServerGroups["rsp-of-"+id] = &gatewaytest.ServerGroup{ID: "rsp-of-" + id, LoadBalancerID: id, Name: "mine", Servers: []*slbv1.Server{
		{Type: slbv1.ServerType_SERVER_TYPE_ECS, ServerId: "i-users", Port: 9000, Weight: 7, Description: "by hand"},
	}}
	w.listen(id, 9000, "rsp-of-"+id, "by hand")
}

// listen adds a TCP listener; the cloud is locked.
func (w *world) listen(id string, port int32, group, description string) {
	w.cloud.Listeners[gatewaytest.ListenerKey{LoadBalancerID: id, Port: port, Protocol: tcp}] = &slbv1.Listener{
		Key: &slbv1.ListenerKey{LoadBalancerId: id, Port: port, Protocol: tcp}, Status: "running",
		Config: &slbv1.ListenerConfig{Description: new(description), ServerGroupId: new(group), Scheduler: new("wlc")},
	}
}

// parts lists what is on a CLB: listeners as port->group (description), and groups with their servers.
func (w *world) parts(id string) []string {
	w.cloud.Lock()
	defer w.cloud.Unlock()
	var list []string
	for key, l := range w.cloud.Listeners {
		if key.LoadBalancerID == id {
			group := w.cloud.ServerGroups[l.GetConfig().GetServerGroupId()]
			list = append(list, fmt.Sprintf("%d->%s (%s)", key.Port, group.Name, l.GetConfig().GetDescription()))
		}
	}
	for _, g := range w.cloud.ServerGroups {
		if g.LoadBalancerID == id {
			var servers []string
			for _, s := range g.Servers {
				servers = append(servers, fmt.Sprintf("%s:%d=%d", s.GetServerId(), s.GetPort(), s.GetWeight()))
			}
			slices.Sort(servers)
			list = append(list, strings.TrimSpace(g.Name+": "+strings.Join(servers, " ")))
		}
	}
	slices.Sort(list)
	return list
}

const (
	ours          = "k8s/30080/web/default/c-test"
	usersListener = "9000->mine (by hand)"
	usersGroup    = "mine: i-users:9000=7"
	ourListener   = "80->" + ours + " (k8s/80/web/default/c-test)"
)

func reuse(id string) func(*corev1.Service) { return annotated(annotation.ID, id) }

var override = annotated(annotation.ForceOverride, "true")

func (w *world) told(what string, parts ...string) {
	w.t.Helper()
	events := strings.Join(w.events.take(), "\n")
	for _, part := range parts {
		if !strings.Contains(events, part) {
			w.t.Errorf("events of %s don't have %q:\n%s", what, part, events)
		}
	}
}

// clear clears the status, as the event tells to.
func (w *world) clearStatus() {
	w.patch("web", map[string]any{"status": map[string]any{"loadBalancer": nil}}, "status")
	w.settle()
}

// TestReuse is the life of a Service that names a user's CLB and leaves its listeners alone.
func TestReuse(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.usersCLB(usersLB)
		w.create(web(reuse(usersLB)))
		check(t, "calls", []string{"GetLoadBalancer", "CreateServerGroup", "UpdateLoadBalancer"}, w.calls())
		check(t, "parts", []string{usersListener, ours + ": i-1:30080=100 i-2:30080=100", usersGroup}, w.parts(usersLB))
		svc, lb := w.service(), w.instances()[0]
		check(t, "instances", 1, len(w.instances()))
		check(t, "ingress", []corev1.LoadBalancerIngress{{IP: lb.GetAddress()}}, svc.Status.LoadBalancer.Ingress)
		check(t, "id label", usersLB, svc.Labels[LabelLoadBalancerID])
		check(t, "tags", "kubernetes.reused.by.user:true", lb.GetTags()[0].GetKey()+":"+lb.GetTags()[0].GetValue())
		check(t, "attributes", "mine lb-users true", fmt.Sprint(lb.GetName(), " ", lb.GetDeleteProtection()))
		check(t, "events", []string{"EnsuredLoadBalancer"}, w.events.reasons())

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
		check(t, "calls of the deletion", []string{"ListLoadBalancers", "ListLoadBalancers", "GetLoadBalancer", "GetServerGroup", "DeleteServerGroup"}, w.calls())
		check(t, "parts in the end", []string{usersListener, usersGroup}, w.parts(usersLB))
		check(t, "finalizers", 0, len(w.service().Finalizers))
		check(t, "note", "", w.service().Annotations[annotation.Claims])
		w.told("the deletion", "Normal CleanLoadBalancer CLB lb-users stays, without what was made on it")
	})
}

// TestReuseWithListeners: the Service's ports are its own, even where there was a listener of the user's; other ports are the user's.
func TestReuseWithListeners(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.usersCLB(usersLB)
		w.cloud.Lock()
		w.listen(usersLB, 80, "rsp-of-"+usersLB, "to be overridden")
		w.cloud.Unlock()
		w.create(web(reuse(usersLB), override))
		check(t, "calls", []string{"GetLoadBalancer", "CreateServerGroup", "UpdateListener", "UpdateLoadBalancer"}, w.calls())
		check(t, "parts", []string{ourListener, usersListener, ours + ": i-1:30080=100", usersGroup}, w.parts(usersLB))
		w.update(func(svc *corev1.Service) { svc.Spec.Ports[0].Port = 81 })
		check(t, "calls for another port", []string{"GetLoadBalancer", "CreateListener", "DeleteListener"}, w.calls())

		w.update(func(svc *corev1.Service) { delete(svc.Annotations, annotation.Prefix+annotation.ForceOverride) })
		check(t, "writes when the listeners are left to the user", 0, len(w.cloud.Writes()))
		w.update(func(svc *corev1.Service) { svc.Spec.Ports[0].Port = 82 })
		check(t, "writes for a port then", 0, len(w.cloud.Writes()))
		w.events.take()
		w.remove()
		check(t, "parts in the end", []string{"81->" + ours + " (k8s/81/web/default/c-test)", usersListener, ours + ":", usersGroup}, w.parts(usersLB))
		w.told("the deletion", "Warning PreservedOnDelete CLB lb-users keeps vServer group "+ours+", listener k8s/81/web/default/c-test, which others use")
		check(t, "finalizers", 0, len(w.service().Finalizers))
	})
	inWorld(t, 1, func(w *world) {
		w.usersCLB(usersLB)
		w.create(web(reuse(usersLB), override))
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
		"made for a Service":    {func(w *world) { w.usersCLB(usersLB, tag("kubernetes.do.not.delete", "x")) }, "kubernetes.do.not.delete"},
		"the API server's":      {func(w *world) { w.usersCLB(usersLB, tag("ack.aliyun.com", clusterID)) }, "ack.aliyun.com"},
		"another address shown": {func(w *world) { w.usersCLB(usersLB) }, "the Service publishes 47.1.2.3, which is not the address of CLB lb-users"},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, func(w *world) {
				test.seed(w)
				if !strings.Contains(test.want, "47.1.2.3") { // What looks like the Service's on a CLB of others is not.
					w.cloud.Lock()
					w.cloud.ServerGroups["rsp-like"] = &gatewaytest.ServerGroup{ID: "rsp-like", LoadBalancerID: usersLB, Name: ours, Servers: []*slbv1.Server{
						{Type: slbv1.ServerType_SERVER_TYPE_ECS, ServerId: "i-9", Port: 30080, Description: ours},
					}}
					w.cloud.Unlock()
				}
				before := w.parts(usersLB)
				svc := web(reuse(usersLB), override)
				if strings.Contains(test.want, "47.1.2.3") {
					svc.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "47.1.2.3"}}
				}
				w.create(svc)
				w.told("the creation", "Warning SyncLoadBalancerFailed", test.want)
				w.calls()
				w.addNode(2)
				w.settle()
				check(t, "calls for a node", []string(nil), w.calls())
				w.after(6 * time.Hour)
				check(t, "calls of a check for drift", true, len(w.calls()) <= 3)
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
		w.create(web(reuse(usersLB)))
		w.told("the creation", "there is no CLB lb-users; correct annotation "+annotation.Prefix+"id")
		w.calls()
		w.after(time.Hour)
		check(t, "calls in an hour", true, len(w.calls()) <= 12)
		w.usersCLB(usersLB)
		w.after(2 * retryMissing)
		check(t, "id label", usersLB, w.service().Labels[LabelLoadBalancerID])

		w.cloud.Lock()
		clear(w.cloud.LoadBalancers)
		clear(w.cloud.Listeners)
		clear(w.cloud.ServerGroups)
		w.cloud.Unlock()
		w.addNode(2)
		w.after(time.Hour)
		w.told("the loss", "there is no CLB lb-users")
		check(t, "instances", 0, len(w.instances()))
		w.remove()
		check(t, "finalizers", 0, len(w.service().Finalizers))
	})
}

// TestMoveToUsersCLB: a Service with a CLB of its own names another. Both are untouched until the user clears the status; then the one is
// made ready before the other goes.
func TestMoveToUsersCLB(t *testing.T) {
	for _, restart := range []bool{false, true} {
		inWorld(t, 1, func(w *world) {
			w.usersCLB(usersLB)
			w.create(web())
			own := w.service().Labels[LabelLoadBalancerID]
			w.calls()
			w.update(func(svc *corev1.Service) { reuse(usersLB)(svc); override(svc) })
			w.told("the annotation", "the Service has CLB "+own+" of its own; to move to CLB lb-users, clear status.loadBalancer")
			check(t, "writes", 0, len(w.cloud.Writes()))
			if restart {
				w.restart()
			}
			w.calls()
			w.addNode(2)
			w.settle()
			check(t, "calls for a node", []string{"ApplyServerChanges"}, w.calls())

			w.clearStatus()
			check(t, "writes of the move", []string{"CreateServerGroup", "CreateListener", "UpdateLoadBalancer", "UpdateLoadBalancer", "DeleteLoadBalancer"}, w.writes())
			check(t, "instances", 1, len(w.instances()))
			check(t, "parts", []string{ourListener, usersListener, ours + ": i-1:30080=100 i-2:30080=100", usersGroup}, w.parts(usersLB))
			check(t, "ingress", w.instances()[0].GetAddress(), w.service().Status.LoadBalancer.Ingress[0].IP)
			w.told("the move", "CLB "+own+" is released: the Service has moved to CLB lb-users")

			// And back.
			w.update(func(svc *corev1.Service) { delete(svc.Annotations, annotation.Prefix+annotation.ID) })
			w.told("the annotation's end", "was not created for this Service; to get a new one, clear status.loadBalancer")
			w.calls()
			w.addNode(3)
			w.settle()
			check(t, "writes for a node", []string{"ApplyServerChanges"}, w.writes())
			w.clearStatus()
			check(t, "instances", 2, len(w.instances()))
			check(t, "the user's", []string{usersListener, usersGroup}, w.parts(usersLB))
			second := w.service().Labels[LabelLoadBalancerID]
			check(t, "own", []string{ourListener, ours + ": i-1:30080=100 i-2:30080=100 i-3:30080=100"}, w.parts(second))
			check(t, "note", "", w.service().Annotations[annotation.Claims])

			// And once more: the third CLB of its own isn't taken for the second, which is gone.
			w.update(reuse(usersLB))
			w.clearStatus()
			w.update(func(svc *corev1.Service) { delete(svc.Annotations, annotation.Prefix+annotation.ID) })
			w.clearStatus()
			check(t, "instances", 2, len(w.instances()))
			w.remove()
			check(t, "instances", 1, len(w.instances()))
			check(t, "the user's", []string{usersListener, usersGroup}, w.parts(usersLB))
		})
	}
}

func (w *world) writes() []string {
	var names []string
	for _, c := range w.cloud.Writes() {
		names = append(names, c.Method)
	}
	w.cloud.ResetCalls()
	return names
}

// TestMoveBetweenUsersCLBs: what was made on the first goes when the second is ready.
func TestMoveBetweenUsersCLBs(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.usersCLB(usersLB)
		w.usersCLB("lb-next")
		w.create(web(reuse(usersLB), override))
		w.calls()
		w.update(reuse("lb-next"))
		w.told("the change", "which is not the address of CLB lb-next")
		w.addNode(2)
		w.settle()
		check(t, "writes for a node", []string{"ApplyServerChanges"}, w.writes())
		w.clearStatus()
		check(t, "the first", []string{usersListener, usersGroup}, w.parts(usersLB))
		check(t, "the second", []string{ourListener, usersListener, ours + ": i-1:30080=100 i-2:30080=100", usersGroup}, w.parts("lb-next"))
		check(t, "note", "lb-next,lb-next/listeners", w.service().Annotations[annotation.Claims])
	})
}

// TestMoveIsWholeOrNotAtAll: while something of it is refused, the Service serves on where it is.
func TestMoveIsWholeOrNotAtAll(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.usersCLB(usersLB)
		w.cloud.Lock()
		w.listen(usersLB, 80, "rsp-of-"+usersLB, "k8s/80/api/default/c-other")
		w.cloud.Unlock()
		before := w.parts(usersLB)
		w.create(web())
		own := w.service().Labels[LabelLoadBalancerID]
		w.update(func(svc *corev1.Service) { reuse(usersLB)(svc); override(svc) })
		w.calls()
		w.clearStatus()
		w.told("the move", "listener 80/tcp of the CLB is that of Service default/api (cluster c-other)")
		w.addNode(2)
		w.settle()
		check(t, "writes", []string{"ApplyServerChanges"}, w.writes())
		check(t, "the user's", before, w.parts(usersLB))
		check(t, "own", []string{ourListener, ours + ": i-1:30080=100 i-2:30080=100"}, w.parts(own))
	})
}

// api is another Service.
func api(port int32, changes ...func(*corev1.Service)) *corev1.Service {
	return web(append(changes, func(svc *corev1.Service) {
		svc.Name, svc.UID = "api", "0dd0f3b5-6d4e-4bb4-9b30-0f1f6f4f0001"
		svc.Spec.Ports[0].Port, svc.Spec.Ports[0].NodePort = port, 31080
	})...)
}

const apiGroup = "k8s/31080/api/default/c-test"

// TestB22SharedCLB: with the existing CCM the last writer wins a port. Here the second Service is told whose it is, and gets it when the
// first one lets go of it.
func TestB22SharedCLB(t *testing.T) {
	for name, free := range map[string]func(w *world){
		"deleted": func(w *world) { w.remove() },
		"moved":   func(w *world) { w.update(func(svc *corev1.Service) { svc.Spec.Ports[0].Port = 8080 }) },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, func(w *world) {
				w.usersCLB(usersLB)
				w.create(web(reuse(usersLB), override))
				w.create(api(443, reuse(usersLB), override))
				shared := []string{
					"443->" + apiGroup + " (k8s/443/api/default/c-test)", ourListener, usersListener, ours + ": i-1:30080=100", apiGroup + ": i-1:31080=100", usersGroup,
				}
				check(t, "parts", shared, w.parts(usersLB))
				w.events.take()
				w.calls()
				w.patch("api", map[string]any{"spec": map[string]any{"ports": []corev1.ServicePort{{Name: "http", Port: 80, NodePort: 31080, Protocol: corev1.ProtocolTCP}}}})
				w.settle()
				w.told("the conflict", "listener 80/tcp of the CLB is that of Service default/web (cluster c-test)")
				check(t, "the taken listener", true, slices.Contains(w.parts(usersLB), ourListener))
				w.addNode(2)
				w.settle()
				check(t, "servers go on", true, slices.Contains(w.parts(usersLB), apiGroup+": i-1:31080=100 i-2:31080=100"))
				free(w)
				check(t, "the freed listener", true, slices.Contains(w.parts(usersLB), "80->"+apiGroup+" (k8s/80/api/default/c-test)"))
				check(t, "the user's", true, slices.Contains(w.parts(usersLB), usersListener) && slices.Contains(w.parts(usersLB), usersGroup))
			})
		})
	}
}

// TestSharedCLBAtTheSameTime: Services that start together for one port of the user's take it one after the other.
func TestSharedCLBAtTheSameTime(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.usersCLB(usersLB)
		w.cloud.Lock()
		w.listen(usersLB, 80, "rsp-of-"+usersLB, "to be overridden")
		w.cloud.Unlock()
		w.stop()
		w.create(web(reuse(usersLB), override))
		w.create(api(80, reuse(usersLB), override))
		w.start()
		updates := 0
		for _, name := range w.writes() {
			if name == "UpdateListener" {
				updates++
			}
		}
		check(t, "takers of the listener", 1, updates)
		w.told("the start", "listener 80/tcp of the CLB is that of Service default/", "EnsuredLoadBalancer")
	})
}

// TestB04ReusedIPv6CLB: with the existing CCM a Service on one can never go.
func TestB04ReusedIPv6CLB(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.usersCLB(usersLB)
		w.cloud.Lock()
		w.cloud.LoadBalancers[usersLB].IpVersion = slbv1.IpVersion_IP_VERSION_IPV6
		w.cloud.Unlock()
		w.create(web(reuse(usersLB), annotated(annotation.IPVersion, "ipv4")))
		w.told("the creation", `annotation ip-version asks for "ipv4" but the CLB has "ipv6", which can't be changed; correct or remove the annotation`)
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
		w.create(web(reuse(usersLB), annotated(annotation.AdditionalTags, "team=blue")))
		w.update(annotated(annotation.AdditionalTags, "team=red"))
		w.remove()
		got := map[string]string{}
		for _, x := range w.instances()[0].GetTags() {
			got[x.GetKey()] = x.GetValue()
		}
		check(t, "tags", map[string]string{"owner": "alice", "team": "red", "kubernetes.reused.by.user": "true"}, got)
	})
}

// TestB14GroupInUse: with the existing CCM a listener that a user has bound to the Service's group keeps the Service from going.
func TestB14GroupInUse(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.usersCLB(usersLB)
		w.create(web(reuse(usersLB)))
		w.cloud.Lock()
		for id, g := range w.cloud.ServerGroups {
			if g.Name == ours {
				w.listen(usersLB, 80, id, "by hand")
			}
		}
		w.cloud.Unlock()
		w.remove()
		check(t, "parts", []string{"80->" + ours + " (by hand)", usersListener, ours + ":", usersGroup}, w.parts(usersLB))
		check(t, "finalizers", 0, len(w.service().Finalizers))
	})
	// What uses the group may be a rule, which only the cloud knows.
	inWorld(t, 1, func(w *world) {
		w.usersCLB(usersLB)
		w.create(web(reuse(usersLB)))
		w.calls()
		w.cloud.Fail("DeleteServerGroup", 1, &rpcerr.Error{Code: codes.FailedPrecondition, Reason: rpcerr.ServerGroupInUse, Message: "a rule uses it"})
		w.remove()
		check(t, "writes", []string{"DeleteServerGroup", "ApplyServerChanges"}, w.writes())
		check(t, "parts", []string{usersListener, ours + ":", usersGroup}, w.parts(usersLB))
		check(t, "finalizers", 0, len(w.service().Finalizers))
	})
}

// TestPreservedOnUsersCLB: all that was made there stays, too.
func TestPreservedOnUsersCLB(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.usersCLB(usersLB)
		w.create(web(reuse(usersLB), override, annotated(annotation.PreserveOnDelete, "on")))
		before := w.parts(usersLB)
		w.calls()
		w.remove()
		check(t, "writes", 0, len(w.cloud.Writes()))
		check(t, "parts", before, w.parts(usersLB))
		check(t, "finalizers", 0, len(w.service().Finalizers))
	})
}

// reusing is what the existing CCM leaves of a Service that names a user's CLB: its marks, a vServer group of its own on that CLB, and
// a listener that the user made for it.
func reusing() *legacy {
	l := newLegacy()
	reuse(usersLB)(l.service)
	l.service.Labels[LabelLoadBalancerID] = usersLB
	l.lb.LoadBalancerId, l.lb.Name = usersLB, "mine"
	l.lb.Tags = []*commonv1.Tag{tag("kubernetes.reused.by.user", "true")}
	l.groups[0].LoadBalancerID = usersLB
	l.listeners[0].Key.LoadBalancerId, l.listeners[0].Config.Description = usersLB, new("by hand")
	return l
}

// TestTakeoverOfReusedCLB: what the existing CCM left costs one look and no write, and goes on from there. The CLB itself is never ours,
// and what others have bound to the Service's group stays.
func TestTakeoverOfReusedCLB(t *testing.T) {
	for name, test := range map[string]struct {
		change func(l *legacy)
		writes []string
	}{
		"marked":                {func(*legacy) {}, nil},
		"marked in other words": {func(l *legacy) { l.lb.Tags[0].Value = "yes" }, nil},
		"not marked":            {func(l *legacy) { l.lb.Tags = nil }, []string{"UpdateLoadBalancer"}},
		"not marked, with as many tags as the existing CCM leaves alone": {func(l *legacy) {
			l.lb.Tags = nil
			for i := range 10 {
				l.lb.Tags = append(l.lb.Tags, tag(fmt.Sprint("t", i), "x"))
			}
		}, nil},
		"with listeners": {func(l *legacy) {
			override(l.service)
			l.listeners[0].Config.Description = new("k8s/80/web/default/c-test")
		}, nil},
		"in ten ports of others": {func(l *legacy) {
			for i := range 10 {
				l.groups = append(l.groups, &gatewaytest.ServerGroup{ID: fmt.Sprint("rsp-x", i), LoadBalancerID: usersLB, Name: fmt.Sprintf("k8s/%d/api/default/c-test", 31000+i)})
			}
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 2, func(w *world) {
				l := reusing()
				test.change(l)
				l.seed(w)
				check(t, "writes", test.writes, w.writes())
				check(t, "hash", true, w.service().Labels[LabelHash] != strings.Repeat("a", 56))
				w.restart()
				check(t, "calls of the next start", []string{"ListServerGroups", "GetServerGroup"}, w.calls())
				w.addNode(3)
				w.settle()
				check(t, "calls for a node", []string{"ApplyServerChanges"}, w.calls())
				w.update(func(svc *corev1.Service) { delete(svc.Annotations, annotation.Prefix+annotation.ID) })
				check(t, "writes when the annotation goes", 0, len(w.cloud.Writes()))
				w.remove()
				check(t, "instances", 1, len(w.instances()))
				check(t, "servers", []string(nil), w.servers())
				check(t, "finalizers", 0, len(w.service().Finalizers))
				check(t, "protection", true, w.instances()[0].GetDeleteProtection())
			})
		})
	}
}

// TestReusedCLBIsReadSeldom: whatever the Service's share of the interval is between the checks for drift.
func TestReusedCLBIsReadSeldom(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		l := reusing()
		for n := 0; ; n++ { // The share comes from the UID; look for a tiny one.
			h := fnv.New32a()
			l.service.UID = types.UID(fmt.Sprint("reused-", n))
			h.Write([]byte(l.service.UID))
			if h.Sum32() < 1<<16 {
				break
			}
		}
		l.seed(w)
		w.calls()
		w.after(24 * time.Hour)
		if calls := w.calls(); len(calls) < 4 || len(calls) > 8 {
			t.Errorf("%d calls in a day, with checks about every four hours: %v", len(calls), calls[:min(len(calls), 10)])
		}
	})
}
