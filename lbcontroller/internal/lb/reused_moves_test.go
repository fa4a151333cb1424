package lb_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

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
				dropListeners(w.cloud.Cloud, usersLB, func(l *state.Listener) bool { return l.Port == 80 })
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
