package lb_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/lb/reuse"
)

// TestRefusedServiceReadsNothingForEvents: a Service that can't have the CLB that it names, and has none whose servers
// could be kept right, costs reads when it is time to look again, and none for the events between. It recovers when
// somebody mends it.
func TestRefusedServiceReadsNothingForEvents(t *testing.T) {
	node := func(w *world, n int) { w.addNode(10 + n) }
	endpoint := func(w *world, n int) { w.endpoints("web", pod(fmt.Sprintf("10.0.1.%d", n), "node-1")) }
	vanish := func(w *world) { w.vanish(usersLB) }
	tests := []struct {
		name    string
		service []func(*corev1.Service)
		trouble func(w *world)
		event   func(w *world, n int)
	}{
		{name: "a user's load balancer vanishes, nodes", trouble: vanish, event: node},
		{name: "a user's load balancer vanishes, endpoints of Local", service: []func(*corev1.Service){local}, trouble: vanish, event: endpoint},
		{name: "a user's load balancer vanishes, endpoints of ENI", service: []func(*corev1.Service){eniMode}, trouble: vanish, event: endpoint},
		{name: "a user's load balancer vanishes and another is named that doesn't exist", trouble: func(w *world) {
			w.update(naming("lb-none"))
			vanish(w)
		}, event: node},
		{name: "a user's load balancer vanishes and another is named that is not the Service's to take", trouble: func(w *world) {
			w.usersCLB("lb-made", tag("kubernetes.do.not.delete", "x"))
			w.update(naming("lb-made"))
			vanish(w)
		}, event: node},
		{name: "a user's load balancer vanishes and none is named", trouble: func(w *world) {
			vanish(w)
			w.update(without(annotation.ID))
		}, event: node},
		{name: "a user's load balancer vanishes and an annotation is wrong", trouble: func(w *world) {
			w.update(annotated(annotation.Scheduler, "fastest"))
			vanish(w)
			w.restart()
		}, event: node},
		{name: "policy report", trouble: func(w *world) {
			vanish(w)
			w.update(annotated(annotation.SyncPolicy, string(PolicyReport)))
		}, event: node},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inWorld(t, 2, func(w *world) {
				w.usersCLB(usersLB)
				w.create(web(append(tt.service, naming(usersLB))...))
				tt.trouble(w)
				w.after(6 * time.Hour) // The last check for drift is over.
				tt.event(w, 0)
				w.settle()
				w.calls()
				for seconds := 0; len(w.cloud.Calls()) == 0; seconds++ { // Right after a look the next one is as far away as can be.
					if seconds > 6*60*60 {
						t.Fatal("nobody looks again")
					}
					w.after(time.Second)
				}
				w.settle()
				w.calls()
				const events = 50
				for n := range events { // In less time than there is between two looks.
					tt.event(w, 1+n)
					w.after(reuse.RetryMissing / 2 / events)
				}
				check(t, "calls for 50 events", []string(nil), w.calls())
			})
		})
	}
}

// TestGoneCLBIsLookedFor: how soon a CLB is found that comes back, and how much that costs: at most as long again as it
// was away, five minutes and a quarter of it. A corrected annotation counts at once.
func TestGoneCLBIsLookedFor(t *testing.T) {
	for _, away := range []time.Duration{2 * time.Minute, 10 * time.Minute, 6 * time.Hour} {
		t.Run(away.String(), func(t *testing.T) {
			inWorld(t, 1, func(w *world) {
				w.create(web(naming(usersLB)))
				w.calls()
				w.after(away)
				if n := len(w.calls()); n == 0 || n > 4+int(away/(3*reuse.RetryMissing/4)) {
					t.Errorf("%d reads", n)
				}
				w.usersCLB(usersLB)
				w.after(min(away, reuse.RetryMissing) * 5 / 4)
				check(t, "id label", usersLB, w.service().Labels[LabelLoadBalancerID])
				check(t, "hash", true, w.service().Labels[LabelHash] != "")
			})
		})
	}
	inWorld(t, 1, func(w *world) {
		w.usersCLB(usersLB)
		w.create(web(naming(usersLB)))
		w.vanish(usersLB)
		w.after(6 * time.Hour)
		w.usersCLB("lb-next")
		w.update(naming("lb-next"))
		check(t, "id label", "lb-next", w.service().Labels[LabelLoadBalancerID])
		w.vanish("lb-next")
		w.after(6 * time.Hour)
		w.update(without(annotation.ID))
		w.clearStatus()
		check(t, "instances", 1, len(w.instances()))
		check(t, "hash", true, w.service().Labels[LabelHash] != "")
	})
}

// vanish deletes a CLB with all that is on it, as somebody does in the console.
func (w *world) vanish(id string) {
	w.cloud.Lock()
	defer w.cloud.Unlock()
	dropCLB(w.cloud.Cloud, id)
}
