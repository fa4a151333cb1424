package lb_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

// TestMoveToUsersCLB: a Service with a CLB of its own names another. Both are untouched until the user clears the status; then the one is
// made ready before the other goes.
func TestMoveToUsersCLB(t *testing.T) {
	for _, restart := range []bool{false, true} {
		inWorld(t, 1, func(w *world) {
			w.usersCLB(usersLB)
			w.create(web())
			own := w.service().Labels[LabelLoadBalancerID]
			w.calls()
			w.update(func(svc *corev1.Service) { naming(usersLB)(svc); override(svc) })
			w.hasEvents("the annotation", "the Service has load balancer "+own+" of its own; to move to load balancer "+
				"lb-users, clear status.loadBalancer")
			check(t, "writes", 0, len(w.cloud.Writes()))
			if restart {
				w.restart()
			}
			w.calls()
			w.addNode(2)
			w.settle()
			check(t, "calls for a node", []string{"ApplyServerChanges"}, w.calls())

			w.clearStatus()
			check(t, "writes of the move", []string{"UpdateLoadBalancer", "CreateServerGroup", "CreateListener",
				"UpdateLoadBalancer", "DeleteLoadBalancer"}, w.writes())
			check(t, "instances", 1, len(w.instances()))
			check(t, "parts", []string{ourListener, usersListener, ours + ": i-1:30080=100 i-2:30080=100", usersGroup}, w.parts(usersLB))
			check(t, "ingress", w.instances()[0].GetAddress(), w.service().Status.LoadBalancer.Ingress[0].IP)
			w.hasEvents("the move", "load balancer "+own+" is released: the Service has moved to load balancer lb-users")

			// And back.
			w.update(func(svc *corev1.Service) { delete(svc.Annotations, annotation.Prefix+annotation.ID) })
			w.hasEvents("the annotation's end", "was not created for this Service; to get a new one, clear status.loadBalancer")
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
			w.update(naming(usersLB))
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

// TestMoveBetweenUsersCLBs: what was made on the first goes when the second is ready.
func TestMoveBetweenUsersCLBs(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.usersCLB(usersLB)
		w.usersCLB("lb-next")
		w.create(web(naming(usersLB), override))
		w.calls()
		w.update(naming("lb-next"))
		w.hasEvents("the change", "which is not the address of load balancer lb-next")
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
		w.update(func(svc *corev1.Service) { naming(usersLB)(svc); override(svc) })
		w.calls()
		w.clearStatus()
		w.hasEvents("the move", "listener 80/tcp of the load balancer is that of Service default/api (cluster c-other)")
		w.addNode(2)
		w.settle()
		check(t, "writes", []string{"ApplyServerChanges"}, w.writes())
		check(t, "the user's", before, w.parts(usersLB))
		check(t, "own", []string{ourListener, ours + ": i-1:30080=100 i-2:30080=100"}, w.parts(own))
	})
}

// TestRefusedMoverIsWoken: a Service that was refused to move to a shared CLB moves when the port is free, without anybody's touch.
func TestRefusedMoverIsWoken(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.usersCLB(usersLB)
		w.usersCLB("lb-next")
		w.create(api(80, naming("lb-next"), override))
		w.create(web(naming(usersLB), override, annotated(annotation.Hostname, "web.example.com"))) // It may move as it is.
		w.update(naming("lb-next"))
		check(t, "listener while it is refused", true, slices.Contains(w.parts(usersLB), ourListener))
		w.patch("api", map[string]any{"metadata": map[string]any{"deletionTimestamp": "2026-01-01T00:00:00Z"}})
		w.settle()
		check(t, "the first", []string{usersListener, usersGroup}, w.parts(usersLB))
		check(t, "listener", true, slices.Contains(w.parts("lb-next"), ourListener))
	})
}

// TestMendedByHand: what a Service was refused for is gone from the cloud, which sends no notice of it. It gets what it asks for within the
// hour, whether it was to move or not.
func TestMendedByHand(t *testing.T) {
	for name, svc := range map[string]*corev1.Service{
		"new":   web(naming(usersLB), override),
		"moved": web(naming("lb-first"), override, annotated(annotation.Hostname, "web.example.com")),
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, func(w *world) {
				w.usersCLB(usersLB)
				w.usersCLB("lb-first")
				w.cloud.Lock()
				w.listen(usersLB, 80, usersRsp, "k8s/80/old/default/c-gone")
				w.cloud.Unlock()
				w.create(svc)
				w.update(naming(usersLB))
				w.hasEvents("the conflict", "listener 80/tcp of the load balancer is that of Service default/old (cluster c-gone)")
				w.calls()
				w.after(10 * time.Hour)
				if calls := w.calls(); len(calls) > 80 {
					t.Errorf("%d calls in ten hours, the last of them %v", len(calls), calls[len(calls)-8:])
				}
				check(t, "events meanwhile", []string(nil), w.events.reasons())
				w.cloud.Lock()
				delete(w.cloud.Listeners, gatewaytest.ListenerKey{LoadBalancerID: usersLB, Port: 80, Protocol: tcp})
				w.cloud.Unlock()
				w.after(time.Hour)
				check(t, "listener", true, slices.Contains(w.parts(usersLB), ourListener))
				check(t, "the first", []string{usersListener, usersGroup}, w.parts("lb-first"))
			})
		})
	}
}

// TestMoveIsTakenBack: the user changes his mind before the cache shows it. The Service's own CLB, whose address can't be had back, stays.
func TestMoveIsTakenBack(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.usersCLB(usersLB)
		w.create(web())
		own := w.service().Labels[LabelLoadBalancerID]
		w.lag(func() time.Duration { return time.Second })
		w.restart()
		w.patch("web", annotate(annotation.Prefix+annotation.ID, usersLB))
		w.patch("web", map[string]any{"status": map[string]any{"loadBalancer": nil}}, "status")
		w.after(900 * time.Millisecond)
		w.patch("web", annotate(annotation.Prefix+annotation.ID, nil))
		w.after(time.Minute)
		check(t, "own", []string{ourListener, ours + ": i-1:30080=100"}, w.parts(own))
		check(t, "the user's", []string{usersListener, usersGroup}, w.parts(usersLB))
		check(t, "id label", own, w.service().Labels[LabelLoadBalancerID])
	})
}

// TestTagsOfAnotherCLBStay: a tag that was put on the Service's own CLB is none of the Service's on the user's to which it moves.
func TestTagsOfAnotherCLBStay(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.usersCLB(usersLB, tag("team", "theirs"))
		w.create(web(annotated(annotation.AdditionalTags, "team=blue")))
		w.update(func(svc *corev1.Service) {
			naming(usersLB)(svc)
			delete(svc.Annotations, annotation.Prefix+annotation.AdditionalTags)
		})
		w.clearStatus()
		check(t, "instances", 1, len(w.instances()))
		check(t, "tag", "theirs", tagOf(w.instances()[0], "team"))
	})
}
