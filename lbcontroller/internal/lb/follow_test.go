package lb_test

import (
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

// TestInvalidServiceKeepsItsBackendsRight: a mistake in an annotation freezes the configuration, and the servers go on following
// the nodes and pods; with a single event, and after a restart too.
func TestInvalidServiceKeepsItsBackendsRight(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.create(web())
		hash := w.service().Labels[LabelHash]
		w.calls()
		w.events.take()
		w.update(func(svc *corev1.Service) {
			annotated(annotation.Scheduler, "fastest")(svc)
			annotated(annotation.IdleTimeout, "30")(svc)
		})
		check(t, "calls", []string(nil), w.calls())
		check(t, "events", []string{"AnnotationChanged", "SyncLoadBalancerFailed"}, w.events.reasons())
		w.addNode(3)
		w.settle()
		check(t, "calls for a node", []string{"ApplyServerChanges"}, w.calls())
		w.restart()
		check(t, "calls of another replica", []string{"GetLoadBalancer"}, w.calls())
		w.events.take() // It doesn't know which events its predecessor has recorded.
		w.updateNode(1, excluded)
		check(t, "calls for a node", []string{"ApplyServerChanges"}, w.calls())
		check(t, "servers", []string{"i-2:30080=100", "i-3:30080=100"}, w.servers())
		check(t, "events", []string(nil), w.events.reasons())
		check(t, "hash", hash, w.service().Labels[LabelHash])

		w.cloud.Fail("ApplyServerChanges", 1, &rpcerr.Error{Code: codes.Unavailable, Reason: rpcerr.CloudUnavailable, Message: "down"})
		w.addNode(4)
		w.after(time.Minute)
		check(t, "servers after a failure", []string{"i-2:30080=100", "i-3:30080=100", "i-4:30080=100"}, w.servers())
		w.calls()
		w.update(func(svc *corev1.Service) { annotated(annotation.Scheduler, "wlc")(svc) })
		check(t, "calls of the corrected Service", []string{"GetLoadBalancer", "UpdateListener"}, w.calls())
	})
}

// TestInvalidBackendsFollowWithTheLastWeights: what is wrong about the weights of servers doesn't keep them from following the nodes.
func TestInvalidBackendsFollowWithTheLastWeights(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web(annotated(annotation.DefaultWeight, "70")))
		w.calls()
		w.update(annotated(annotation.DefaultWeight, "many"))
		w.addNode(2)
		w.settle()
		check(t, "calls", []string{"ApplyServerChanges"}, w.calls())
		check(t, "servers", []string{"i-1:30080=70", "i-2:30080=70"}, w.servers())
		w.updateNode(1, excluded)
		check(t, "servers without the node that is excluded", []string{"i-2:30080=70"}, w.servers())
		w.updateNode(1, included)
		w.update(annotated(annotation.DefaultWeight, "50"))
		check(t, "servers", []string{"i-1:30080=50", "i-2:30080=50"}, w.servers())
	})
}
