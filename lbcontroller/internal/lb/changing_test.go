package lb_test

import (
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

// TestSyncedIsUnknownUntilLooked: from a user's change on until it is looked at nothing is said about the load
// balancer, so that kubectl wait doesn't take what was before for what is asked for.
func TestSyncedIsUnknownUntilLooked(t *testing.T) {
	const good, unknown = "Synced=True Synced", "Synced=Unknown Changing"
	port := func(svc *corev1.Service) { svc.Spec.Ports[0].Port = 8088 }
	inWorld(t, 1, func(w *world) {
		w.create(web())
		var seen []string
		w.cloud.Interpose(func(int, string, proto.Message) gatewaytest.Fault {
			seen = append(seen, w.conditions()...)
			return gatewaytest.Fault{}
		})
		w.update(port)
		check(t, "Unknown during the change", true, slices.Contains(seen, unknown))
		check(t, "True during the change", false, slices.Contains(seen, good))
		check(t, "True after it", true, slices.Contains(w.conditions(), good))
		w.calls()
		w.update(func(svc *corev1.Service) { svc.Labels["team"] = "blue" })
		check(t, "calls for a label", []string(nil), w.calls())
	})
	inWorld(t, 1, func(w *world) {
		w.create(web())
		w.cloud.Fail("GetLoadBalancer", 1, rpcerr.Errorf(rpcerr.Throttled, "later").WithRetry(time.Minute))
		w.update(port)
		check(t, "True before it is looked at", false, slices.Contains(w.conditions(), good))
		w.after(2 * time.Minute)
		check(t, "True after it", true, slices.Contains(w.conditions(), good))
	})
}

// TestTouchedAnnotation: to touch any annotation is how people ask for a look at the cloud; it costs one coarse read.
func TestTouchedAnnotation(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web())
		w.cloud.Lock()
		for _, g := range w.cloud.ServerGroups {
			g.Servers[0].Weight = new(int32(1))
		}
		w.cloud.Unlock()
		w.calls()
		w.events.take()
		w.patch("web", annotate("reconcile-timestamp", "now"))
		w.settle()
		check(t, "calls", []string{"GetLoadBalancer", "ApplyServerChanges"}, w.calls())
		check(t, "servers", []string{"i-1:30080=100"}, w.servers())
		check(t, "events", []string(nil), w.events.reasons())
		w.patch("web", annotate("reconcile-timestamp", nil))
		w.settle()
		check(t, "calls when it goes", []string{"GetLoadBalancer"}, w.calls())
	})
}

// TestSchedulerThatCannotBeSwitched: consistent hashing and the other schedulers can't be switched on a listener, and a
// listener that serves isn't made anew for that. Anything else goes on.
func TestSchedulerThatCannotBeSwitched(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web(annotated(annotation.Scheduler, "tch")))
		check(t, "scheduler", "tch", w.onlyListener().GetScheduler())
		w.events.take()
		w.update(func(svc *corev1.Service) {
			annotated(annotation.Scheduler, "wrr")(svc)
			annotated(annotation.EstablishedTimeout, "60")(svc)
		})
		w.hasEvents("the switch", "SyncLoadBalancerFailed", "scheduler", "delete the listener in the console")
		check(t, "scheduler", "tch", w.onlyListener().GetScheduler())
		check(t, "timeout", int32(60), w.onlyListener().GetEstablishedTimeout())
		w.update(annotated(annotation.Scheduler, "sch"))
		check(t, "scheduler of the same kind", "sch", w.onlyListener().GetScheduler())
	})
}

// TestTimeoutBelowInterval: a health check's timeout below its interval is ignored by the cloud, which is said.
func TestTimeoutBelowInterval(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web(annotated(annotation.HealthCheckInterval, "10"), annotated(annotation.HealthCheckConnectTimeout, "5")))
		w.hasEvents("the timeout", "health-check-connect-timeout has no effect", "set it to 10 or more")
		w.update(annotated(annotation.HealthCheckConnectTimeout, "10"))
		check(t, "conditions", []string{"LoadBalancerReady=True Published", "Synced=True Synced"}, w.conditions())
	})
}
