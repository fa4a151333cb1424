package lb_test

import (
	"fmt"
	"slices"
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
)

var defaultGroup = annotated(annotation.DefaultServerGroup, "on")

// byDefault lists the servers in the default server group of a CLB; those of the Service have a star.
func (w *world) byDefault(id string) string {
	w.cloud.Lock()
	defer w.cloud.Unlock()
	var servers []string
	if group := w.cloud.DefaultGroups[id]; group != nil {
		for _, s := range group.Servers {
			mark := ""
			if s.GetDescription() == "k8s/default/web/default/c-test" {
				mark = "*"
			}
			servers = append(servers, fmt.Sprintf("%s=%d%s", s.GetServerId(), s.GetWeight(), mark))
		}
	}
	slices.Sort(servers)
	return strings.Join(servers, " ")
}

// byHand puts an instance of a user's into the default server group of a CLB.
func (w *world) byHand(id, server string, weight int32) {
	w.cloud.Lock()
	defer w.cloud.Unlock()
	group := w.cloud.DefaultGroups[id]
	if group == nil {
		group = &gatewaytest.ServerGroup{LoadBalancerID: id}
		w.cloud.DefaultGroups[id] = group
	}
	group.Servers = append(group.Servers, &slbv1.Server{Type: slbv1.ServerType_SERVER_TYPE_ECS, ServerId: server, Weight: new(weight)})
}

// TestDefaultGroup: the default server group has the nodes, at one write when they change and none when they don't, through restarts and
// checks for drift. What was put there by hand stays.
func TestDefaultGroup(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.create(web(defaultGroup, annotated(annotation.DefaultWeight, "40")))
		check(t, "calls of a cold creation", []string{"CreateLoadBalancer", "ApplyDefaultServerChanges", "CreateServerGroup",
			"CreateListener"}, w.calls())
		id := w.instances()[0].GetLoadBalancerId()
		check(t, "servers", "i-1=40* i-2=40*", w.byDefault(id))
		w.addNode(3)
		w.settle()
		calls := w.calls()
		slices.Sort(calls)
		check(t, "calls for a node", []string{"ApplyDefaultServerChanges", "ApplyServerChanges"}, calls)
		check(t, "servers", "i-1=40* i-2=40* i-3=40*", w.byDefault(id))
		w.settle()
		check(t, "calls for nothing", 0, len(w.calls()))
		w.byHand(id, "i-users", 7)
		w.restart()
		w.after(6 * time.Hour)
		for _, call := range w.cloud.Writes() {
			t.Errorf("a restart and a check for drift: %s", call.Method)
		}
		w.calls()
		w.updateNode(3, func(n *corev1.Node) { n.Labels = map[string]string{corev1.LabelNodeExcludeBalancers: ""} })
		w.settle()
		check(t, "servers", "i-1=40* i-2=40* i-users=7", w.byDefault(id))
		w.calls()
		w.update(without(annotation.DefaultServerGroup))
		check(t, "servers without the annotation", "i-users=7", w.byDefault(id))
		check(t, "writes without the annotation", []string{"ApplyDefaultServerChanges"}, methodsOf(w.cloud.Writes()))
		check(t, "note", "", w.service().Annotations[annotation.Applied])
		w.calls()
		w.addNode(4)
		w.settle()
		check(t, "calls for a node", []string{"ApplyServerChanges"}, w.calls())
	})
}

// TestDefaultGroupIsNoted: whoever takes over after a crash knows that there may be servers to take out, even if nobody
// asks for them any more.
func TestDefaultGroupIsNoted(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web())
		noted := ""
		w.cloud.Interpose(func(_ int, method string, _ proto.Message) gatewaytest.Fault {
			if method == "ApplyDefaultServerChanges" {
				noted = w.service().Annotations[annotation.Applied]
			}
			return gatewaytest.Fault{}
		})
		w.update(defaultGroup)
		check(t, "note before the first server", annotation.DefaultServerGroup, noted)
	})
}

// methodsOf are the names of calls.
func methodsOf(calls []gatewaytest.Call) []string {
	var names []string
	for _, c := range calls {
		names = append(names, c.Method)
	}
	return names
}

// TestDefaultGroupOfUsers: that of a user's CLB is neither read nor written unless the Service asks for it, and the
// Service leaves what it found.
func TestDefaultGroupOfUsers(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.usersCLB(usersLB)
		w.byHand(usersLB, "i-users", 7)
		w.byHand(usersLB, "i-2", 3)
		w.create(web(naming(usersLB)))
		w.restart()
		w.after(6 * time.Hour)
		if calls := w.calls(); slices.ContainsFunc(calls, func(c string) bool { return strings.Contains(c, "Default") }) {
			t.Errorf("nobody has asked for it: %q", calls)
		}
	})
	for name, leave := range map[string]func(w *world){
		"without the annotation": func(w *world) { w.update(without(annotation.DefaultServerGroup)) },
		"switched off":           func(w *world) { w.update(annotated(annotation.DefaultServerGroup, "off")) },
		"deleted":                func(w *world) { w.remove() },
	} {
		inWorld(t, 2, func(w *world) {
			w.usersCLB(usersLB)
			w.byHand(usersLB, "i-users", 7)
			w.byHand(usersLB, "i-2", 3)
			w.create(web(naming(usersLB), defaultGroup))
			check(t, "servers", "i-1=100* i-2=3 i-users=7", w.byDefault(usersLB))
			w.addNode(3)
			w.settle()
			check(t, "servers with a node", "i-1=100* i-2=3 i-3=100* i-users=7", w.byDefault(usersLB))
			w.calls()
			w.restart() // What was filled is noted on the Service.
			check(t, "calls of a restart", []string{"ListServerGroups", "GetServerGroup", "GetDefaultServerGroup"}, w.calls())
			leave(w)
			check(t, "servers "+name, "i-2=3 i-users=7", w.byDefault(usersLB))
			w.calls()
			w.restart()
			w.after(6 * time.Hour)
			if calls := w.calls(); slices.ContainsFunc(calls, func(c string) bool { return strings.Contains(c, "Default") }) {
				t.Errorf("%s: it is asked for no more: %q", name, calls)
			}
		})
	}
}

// TestDefaultGroupFollows: a Service whose configuration can't be understood keeps its servers right there, too. One
// whose backends are pods has nothing there.
func TestDefaultGroupFollows(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.create(web(defaultGroup))
		id := w.instances()[0].GetLoadBalancerId()
		w.update(annotated(annotation.Scheduler, "none"))
		w.restart()
		w.addNode(3)
		w.settle()
		check(t, "servers of an invalid Service", "i-1=100* i-2=100* i-3=100*", w.byDefault(id))
		w.update(without(annotation.Scheduler))
		w.addENI("eni-1", "10.0.0.1")
		w.pods(pod("10.0.0.1", "node-1"))
		w.events.take()
		w.update(eniMode)
		w.settle()
		check(t, "servers in front of pods", "", w.byDefault(id))
		w.hasEvents("pods", annotation.Prefix+annotation.DefaultServerGroup+" has no effect")
	})
}

// TestDefaultGroupFaults: what the cloud refuses there costs the listeners nothing, and is tried again. A read that fails changes nothing.
func TestDefaultGroupFaults(t *testing.T) {
	busy := &rpcerr.Error{Code: codes.Unavailable, Reason: rpcerr.ResourceBusy, Message: "busy"}
	for name, fail := range map[string]func(w *world, method string){
		"refused":            func(w *world, method string) { w.cloud.Fail(method, 2, busy) },
		"the answer is lost": func(w *world, method string) { w.cloud.FailAfter(method, 2, busy) },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, func(w *world) {
				fail(w, "ApplyDefaultServerChanges")
				w.create(web(defaultGroup))
				check(t, "listeners", 1, len(w.listeners()))
				w.after(5 * time.Minute)
				id := w.instances()[0].GetLoadBalancerId()
				check(t, "servers", "i-1=100*", w.byDefault(id))
				check(t, "hash", true, w.service().Labels[LabelHash] != "")
				w.byHand(id, "i-users", 7)
				w.calls()
				fail(w, "GetDefaultServerGroup")
				w.restart()
				w.after(6 * time.Hour)
				check(t, "writes after reads that fail", 0, len(w.cloud.Writes()))
				check(t, "servers", "i-1=100* i-users=7", w.byDefault(id))
				w.remove()
				check(t, "load balancers in the end", 0, len(w.instances()))
			})
		})
	}
}

// TestDefaultGroupOfTwo: two Services fill one default server group, and a node that both want is there once. When one
// of them gives it up, the other puts it back at once, and not with its next check for drift.
func TestDefaultGroupOfTwo(t *testing.T) {
	for name, leave := range map[string]func(w *world){
		"deleted": func(w *world) { w.remove() },
		"deleted after a restart": func(w *world) {
			w.restart()
			w.remove()
		},
		"without the annotation": func(w *world) { w.update(without(annotation.DefaultServerGroup)) },
		"moved": func(w *world) {
			w.usersCLB("lb-next")
			w.update(naming("lb-next"))
			w.clearStatus()
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 2, func(w *world) {
				withRecords(w)
				w.usersCLB(usersLB)
				w.byHand(usersLB, "i-users", 7)
				w.create(web(naming(usersLB), defaultGroup))
				w.create(api(443, naming(usersLB), defaultGroup))
				w.create(named("beside", 1, naming(usersLB)))
				check(t, "servers", "i-1=100* i-2=100* i-users=7", w.byDefault(usersLB))
				w.calls()
				leave(w)
				check(t, "servers of the other one", "i-1=100 i-2=100 i-users=7", w.byDefault(usersLB))
			})
		})
	}
}
