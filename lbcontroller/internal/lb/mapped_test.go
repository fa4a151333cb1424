package lb_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

const usersRsp = "rsp-of-" + usersLB

// TestUsersServerGroup: a vServer group of the user's is filled beside the servers of others, in each mode, and left as it was.
func TestUsersServerGroup(t *testing.T) {
	mapped := annotated(annotation.VGroupPort, usersRsp+":80")
	inWorld(t, 2, func(w *world) {
		w.usersCLB(usersLB)
		w.create(web(naming(usersLB), mapped, annotated(annotation.Weight, "80")))
		check(t, "calls", []string{"GetLoadBalancer", "UpdateLoadBalancer", "ApplyServerChanges"}, w.calls())
		check(t, "parts", []string{usersListener, "mine: i-1:30080=40 i-2:30080=40 i-users:9000=7"}, w.parts(usersLB))
		w.addNode(3)
		w.addNode(4)
		w.settle()
		check(t, "calls for nodes", []string{"ApplyServerChanges"}, w.calls())
		check(t, "parts", []string{usersListener, "mine: i-1:30080=20 i-2:30080=20 i-3:30080=20 i-4:30080=20 i-users:9000=7"}, w.parts(usersLB))
		w.restart()
		check(t, "calls of a restart", []string{"ListServerGroups", "GetServerGroup"}, w.calls())
		w.after(6 * time.Hour)
		check(t, "calls of a check for drift", []string{"GetLoadBalancer"}, w.calls())
		w.remove()
		check(t, "parts in the end", []string{usersListener, usersGroup}, w.parts(usersLB))
		check(t, "finalizers", 0, len(w.service().Finalizers))
	})
	inWorld(t, 1, func(w *world) {
		w.usersCLB(usersLB)
		w.addENI("eni-1", "10.0.0.1")
		w.pods(pod("10.0.0.1", "node-1"))
		w.create(web(naming(usersLB), mapped, eniMode, override))
		check(t, "parts", []string{"80->mine (k8s/80/web/default/c-test)", usersListener,
			"mine: eni-1:8080=100 i-users:9000=7"}, w.parts(usersLB))
		w.update(func(svc *corev1.Service) { svc.Annotations[annotation.BackendType] = "ecs" })
		check(t, "parts", []string{"80->mine (k8s/80/web/default/c-test)", usersListener, "mine: i-1:30080=100 i-users:9000=7"}, w.parts(usersLB))
		w.remove()
		check(t, "parts in the end", []string{usersListener, usersGroup}, w.parts(usersLB))
	})
}

// TestB12MappingChanges: the existing CCM leaves its servers in a vServer group that is named no more.
func TestB12MappingChanges(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*corev1.Service)
		want   []string
	}{
		"removed": {func(svc *corev1.Service) { delete(svc.Annotations, annotation.Prefix+annotation.VGroupPort) },
			[]string{ours + ": i-1:30080=100", "mine too:", usersGroup}},
		"another":        {annotated(annotation.VGroupPort, "rsp-too:80"), []string{"mine too: i-1:30080=100", usersGroup}},
		"no port of its": {annotated(annotation.VGroupPort, usersRsp+":81"), []string{ours + ": i-1:30080=100", "mine too:", usersGroup}},
		"override":       {override, []string{"80->mine (k8s/80/web/default/c-test)", "mine too:", "mine: i-1:30080=100 i-users:9000=7"}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, func(w *world) {
				w.usersCLB(usersLB)
				w.cloud.Lock()
				w.cloud.ServerGroups["rsp-too"] = &gatewaytest.ServerGroup{ID: "rsp-too", LoadBalancerID: usersLB, Name: "mine too"}
				w.cloud.Unlock()
				w.create(web(naming(usersLB), annotated(annotation.VGroupPort, usersRsp+":80")))
				w.restart() // What was filled is noted on the Service.
				w.update(test.change)
				want := append(test.want, usersListener)
				slices.Sort(want)
				check(t, "parts", want, w.parts(usersLB))
				check(t, "hash", true, w.service().Labels[LabelHash] != "")
				w.calls()
				w.remove()
				check(t, "parts in the end", []string{usersListener, "mine too:", usersGroup}, w.parts(usersLB))
			})
		})
	}
}

// TestB13MalformedMapping: one that can't be understood lets the servers that are there follow the nodes, and keeps nobody from going.
func TestB13MalformedMapping(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.usersCLB(usersLB)
		w.create(web(naming(usersLB), annotated(annotation.VGroupPort, usersRsp+":80")))
		w.calls()
		w.update(annotated(annotation.VGroupPort, usersRsp+":http"))
		w.addNode(2)
		w.settle()
		check(t, "calls", []string{"ApplyServerChanges"}, w.calls())
		w.hasEvents("the mistake", "vgroup-port: value \"rsp-of-lb-users:http\" is not allowed")
		w.remove()
		check(t, "parts in the end", []string{usersListener, usersGroup}, w.parts(usersLB))
		check(t, "finalizers", 0, len(w.service().Finalizers))
	})
}

// TestUnusableServerGroup: a port whose vServer group can't be filled keeps what it has, and the other ports go on.
func TestUnusableServerGroup(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.usersCLB(usersLB)
		twoPorts := func(svc *corev1.Service) {
			svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{Name: "https", Port: 443, NodePort: 30443,
				Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(8443)})
		}
		w.create(web(naming(usersLB), override, twoPorts, annotated(annotation.VGroupPort, usersRsp+":80")))
		w.events.take()
		w.update(annotated(annotation.VGroupPort, "rsp-none:80"))
		w.hasEvents("the mistake", "annotation vgroup-port names server group rsp-none, which load balancer lb-users doesn't have")
		w.addNode(2)
		w.settle()
		const https = "k8s/30443/web/default/c-test"
		check(t, "parts", []string{
			"443->" + https + " (k8s/443/web/default/c-test)", "80->mine (k8s/80/web/default/c-test)", usersListener,
			https + ": i-1:30443=100 i-2:30443=100", "mine: i-1:30080=100 i-users:9000=7",
		}, w.parts(usersLB))
		check(t, "hash", "", w.service().Labels[LabelHash])
		check(t, "note", "lb-users,lb-users/listeners,lb-users/rsp-none,lb-users/"+usersRsp, w.service().Annotations[annotation.Claims])
		w.update(annotated(annotation.VGroupPort, usersRsp+":80"))
		check(t, "servers of the right one", true, w.service().Labels[LabelHash] != "")
		w.remove()
		check(t, "parts in the end", []string{usersListener, usersGroup}, w.parts(usersLB))
	})
}

// TestSharedServerGroup: two clusters fill one vServer group of the user's, each its part; neither touches the servers of the other.
func TestSharedServerGroup(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.usersCLB(usersLB)
		theirs := &slbv1.Server{Type: slbv1.ServerType_SERVER_TYPE_ECS, ServerId: "i-9", Port: 30080, Weight: new(int32(20)),
			Description: "k8s/30080/web/default/c-other"}
		w.cloud.Lock()
		w.cloud.ServerGroups[usersRsp].Servers = []*slbv1.Server{theirs}
		w.cloud.Unlock()
		w.create(web(naming(usersLB), annotated(annotation.VGroupPort, usersRsp+":80"), annotated(annotation.Weight, "80")))
		check(t, "servers", []string{"i-1:30080=80", "i-9:30080=20"}, w.servers())
		w.addNode(2)
		w.settle()
		check(t, "servers", []string{"i-1:30080=40", "i-2:30080=40", "i-9:30080=20"}, w.servers())
		w.remove()
		check(t, "servers in the end", []string{"i-9:30080=20"}, w.servers())
	})
}

// TestMappingGoesWithTheCLB: a Service names another CLB, or none, and may not move yet. Its servers in the user's vServer group go on
// following the nodes, with the weight they had.
func TestMappingGoesWithTheCLB(t *testing.T) {
	for name, change := range map[string]func(*corev1.Service){
		"no CLB": func(svc *corev1.Service) {
			for _, key := range []string{annotation.ID, annotation.VGroupPort, annotation.Weight} {
				delete(svc.Annotations, annotation.Prefix+key)
			}
		},
		"another": func(svc *corev1.Service) {
			naming("lb-next")(svc)
			annotated(annotation.VGroupPort, "rsp-of-lb-next:80")(svc)
		},
		"another, unknown": naming("lb-missing"),
	} {
		for _, restart := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				inWorld(t, 2, func(w *world) {
					w.usersCLB(usersLB)
					w.usersCLB("lb-next")
					w.create(web(naming(usersLB), annotated(annotation.VGroupPort, usersRsp+":80"), annotated(annotation.Weight, "40")))
					w.update(change)
					if restart {
						w.restart()
					}
					w.addNode(3)
					w.updateNode(1, excluded)
					w.settle()
					check(t, "parts", []string{usersListener, "mine: i-2:30080=20 i-3:30080=20 i-users:9000=7"}, w.parts(usersLB))
					check(t, "the next", []string{usersListener, usersGroup}, w.parts("lb-next"))
					w.clearStatus()
					w.remove()
					check(t, "parts in the end", []string{usersListener, usersGroup}, w.parts(usersLB))
					check(t, "the next in the end", []string{usersListener, usersGroup}, w.parts("lb-next"))
				})
			})
		}
	}
}

// TestSharedServerGroupIsHandedOver: two Services with the same pods fill one vServer group of the user's, and each pod
// is there once. When one of them goes, the other puts its pods back at once.
func TestSharedServerGroupIsHandedOver(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.usersCLB(usersLB)
		w.addENI("eni-1", "10.0.0.1")
		w.endpoints("web", pod("10.0.0.1", "node-1"))
		w.endpoints("api", pod("10.0.0.1", "node-1"))
		w.create(web(naming(usersLB), annotated(annotation.VGroupPort, usersRsp+":80"), eniMode))
		w.create(api(443, naming(usersLB), annotated(annotation.VGroupPort, usersRsp+":443"), eniMode))
		check(t, "servers", []string{"eni-1:8080=100", "i-users:9000=7"}, w.servers())
		w.remove()
		check(t, "servers of the other one", []string{"eni-1:8080=100", "i-users:9000=7"}, w.servers())
	})
}

// TestPodChangesBetweenTwoOfOneGroup: two Services fill one vServer group of the user's, as for a canary, and a pod
// goes from one to the other. It is a server in the end, whichever of them sees that first.
func TestPodChangesBetweenTwoOfOneGroup(t *testing.T) {
	first, second, third := pod("10.0.0.1", "node-1"), pod("10.0.0.2", "node-1"), pod("10.0.0.3", "node-1")
	joins := func(w *world) { w.endpoints("api", second, third) }
	leaves := func(w *world) { w.endpoints("web", first) }
	for name, steps := range map[string][]func(w *world){
		"joins, then leaves":                  {joins, leaves},
		"leaves, then joins":                  {leaves, joins},
		"joins, then leaves, after a restart": {(*world).restart, joins, leaves},
		"leaves, then joins, after a restart": {(*world).restart, leaves, joins},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, func(w *world) {
				withRecords(w)
				w.usersCLB(usersLB)
				w.addENI("eni-1", "10.0.0.1", "10.0.0.2", "10.0.0.3")
				w.endpoints("web", first, second)
				w.endpoints("api", third)
				w.create(web(naming(usersLB), annotated(annotation.VGroupPort, usersRsp+":80"), eniMode))
				w.create(api(443, naming(usersLB), annotated(annotation.VGroupPort, usersRsp+":443"), eniMode))
				before := w.parts(usersLB)
				for _, step := range steps {
					step(w)
					w.settle()
				}
				check(t, "parts", before, w.parts(usersLB))
			})
		})
	}
}
