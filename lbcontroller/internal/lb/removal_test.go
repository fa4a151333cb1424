package lb_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

// without removes an annotation.
func without(suffix string) func(*corev1.Service) {
	return func(svc *corev1.Service) { delete(svc.Annotations, annotation.Prefix+suffix) }
}

// TestRemovedAnnotations: an annotation that was applied goes back to its default with one call, and then nothing more is to do.
func TestRemovedAnnotations(t *testing.T) {
	tests := map[string]struct {
		set, value string
		reads      func(l *slbv1.ListenerConfig) any
		want       any
	}{
		"the scheduler": {annotation.Scheduler, "wlc", func(l *slbv1.ListenerConfig) any { return l.GetScheduler() }, "rr"},
		"an interval": {annotation.HealthCheckInterval, "7",
			func(l *slbv1.ListenerConfig) any { return l.GetHealthCheck().GetInterval() }, int32(2)},
		"a timeout": {annotation.EstablishedTimeout, "60",
			func(l *slbv1.ListenerConfig) any { return l.GetEstablishedTimeout() }, int32(900)},
		"a switch": {annotation.ProxyProtocol, "on", func(l *slbv1.ListenerConfig) any { return l.GetProxyProtocolV2() }, false},
		"the health check": {annotation.HealthCheckSwitch, "off",
			func(l *slbv1.ListenerConfig) any { return l.GetHealthCheck().GetEnabled() }, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, func(w *world) {
				w.create(web(annotated(test.set, test.value)))
				note := strings.TrimPrefix(w.service().Annotations[annotation.Applied], annotation.IPMode+",") // It comes with proxy-protocol.
				check(t, "note", test.set, note)
				w.stop()
				w.calls()
				w.update(without(test.set)) // A new leader must know it, too.
				w.start()
				check(t, "calls", []string{"GetLoadBalancer", "UpdateListener"}, w.calls())
				check(t, "value", test.want, test.reads(w.onlyListener()))
				check(t, "note", "", w.service().Annotations[annotation.Applied])
				if w.service().Labels[LabelHash] == "" {
					t.Error("the hash label is missing")
				}
				w.restart()
				check(t, "writes of the next start", 0, len(w.cloud.Writes()))
			})
		})
	}
}

func (w *world) onlyListener() *slbv1.ListenerConfig {
	get := &slbv1.GetLoadBalancerRequest{LoadBalancerId: w.instances()[0].ID, View: slbv1.View_VIEW_FULL}
	for _, l := range read(w, w.cloud.Console.LoadBalancers.GetLoadBalancer, get).GetLoadBalancer().GetListeners() {
		return l.GetConfig()
	}
	return nil
}
