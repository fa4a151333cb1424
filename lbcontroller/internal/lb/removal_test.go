package lb_test

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/gateway/gatewaytest"

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
	w.cloud.Lock()
	defer w.cloud.Unlock()
	for _, l := range w.cloud.Listeners {
		return proto.CloneOf(l.GetConfig())
	}
	return nil
}

// TestRemovedAnnotationThatStays: what the cloud can't change back is reported, once.
func TestRemovedAnnotationThatStays(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web(annotated(annotation.InstanceSpec, "slb.s2.small"), annotated(annotation.InstanceChargeType, "PayBySpec")))
		w.calls()
		w.events.take()
		w.update(without(annotation.InstanceSpec))
		check(t, "calls", []string{"GetLoadBalancer"}, w.calls())
		events := strings.Join(w.events.take(), "\n")
		if strings.Count(events, "AnnotationKept") != 1 || !strings.Contains(events, annotation.Prefix+annotation.InstanceSpec) {
			t.Errorf("events:\n%s", events)
		}
	})
}

// TestTakeoverIsNoRemoval: what an annotation left that went before the takeover stays; one that goes afterwards leaves nothing.
func TestTakeoverIsNoRemoval(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		l := newLegacy()
		c := l.listeners[0].GetConfig()
		c.Scheduler, c.EstablishedTimeout = new("wlc"), new(int32(60))
		annotated(annotation.EstablishedTimeout, "60")(l.service)
		l.seed(w)
		check(t, "writes at the takeover", 0, len(w.cloud.Writes()))
		w.update(without(annotation.EstablishedTimeout))
		check(t, "writes of a removal", 1, len(w.cloud.Writes()))
		check(t, "scheduler", "wlc", w.onlyListener().GetScheduler())
		check(t, "timeout", int32(900), w.onlyListener().GetEstablishedTimeout())
	})
}

// TestRemovedAnnotationInvalid: a value that was never applied leaves nothing to take back.
func TestRemovedAnnotationInvalid(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web())
		w.update(annotated(annotation.Scheduler, "fastest"))
		w.calls()
		w.update(without(annotation.Scheduler))
		check(t, "writes", 0, len(slices.DeleteFunc(w.calls(), func(c string) bool { return strings.HasPrefix(c, "Get") })))
	})
}

// TestForwardPortOfOthers: pairs for ports that the Service doesn't have are passed over with a warning, and on a
// user's CLB the target may be the user's https listener.
func TestForwardPortOfOthers(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web(annotated(annotation.ForwardPort, "8080:443")))
		check(t, "listeners", []string{"80/TCP"}, w.listeners())
		check(t, "events", []string{"EnsuredLoadBalancer", "UnknownAnnotation"}, w.events.reasons())
	})
	inWorld(t, 1, func(w *world) {
		w.usersCLB(usersLB)
		w.cloud.Lock()
		w.cloud.Listeners[gatewaytest.ListenerKey{LoadBalancerID: usersLB, Port: 443, Protocol: https}] = &slbv1.Listener{
			Key: &slbv1.ListenerKey{LoadBalancerId: usersLB, Port: 443, Protocol: https}, Status: "running",
			Config: &slbv1.ListenerConfig{Description: new("by hand"), ServerCertificateId: new("cert-1")},
		}
		w.cloud.Unlock()
		w.create(web(naming(usersLB), override, annotated(annotation.ProtocolPort, "http:80"), annotated(annotation.ForwardPort, "80:443")))
		check(t, "listeners", []string{"443/HTTPS", "80/HTTP", "9000/TCP"}, w.listeners())
		w.cloud.Lock()
		made := w.cloud.Listeners[gatewaytest.ListenerKey{LoadBalancerID: usersLB, Port: 80, Protocol: http}]
		w.cloud.Unlock()
		check(t, "target", int32(443), made.GetConfig().GetForwardPort())
		w.remove()
		check(t, "listeners in the end", []string{"443/HTTPS", "9000/TCP"}, w.listeners())
	})
}

// TestAccessControlAtTheTakeover: what a user put in force in the console stays.
func TestAccessControlAtTheTakeover(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		l := newLegacy()
		c := l.listeners[0].GetConfig()
		c.AclEnabled, c.AclType, c.AclIds = new(true), new("white"), []string{"acl-1"}
		l.seed(w)
		check(t, "access control after the takeover", true, w.onlyListener().GetAclEnabled())
		check(t, "writes at the takeover", 0, len(w.cloud.Writes()))
	})
}
