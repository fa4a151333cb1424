package nlb_test

import (
	"maps"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

// withUDP adds a udp port.
func withUDP(svc *corev1.Service) {
	svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{Name: "u", Port: 53, NodePort: 30053, Protocol: corev1.ProtocolUDP,
		TargetPort: intstr.FromInt32(53)})
}

// onlyUDP has a udp port and no other.
func onlyUDP(svc *corev1.Service) {
	withUDP(svc)
	svc.Spec.Ports = svc.Spec.Ports[1:]
}

// checks are the types of the health checks by protocol of the group.
func (w *world) checks() map[string]string {
	found := map[string]string{}
	w.cloud.Look(func(c *state.Cloud) {
		for _, g := range c.NLBServerGroups {
			found[g.Protocol] = g.HealthCheck.Type
			if g.HealthCheck.Off {
				found[g.Protocol] += " off"
			}
		}
	})
	return found
}

// TestTypeOfChecks: the servers of a new group for a udp port are checked by udp where the Service doesn't name a type.
func TestTypeOfChecks(t *testing.T) {
	on := func(pairs ...string) func(*corev1.Service) {
		return annotated(append([]string{annotation.HealthCheckFlag, "on"}, pairs...)...)
	}
	for name, c := range map[string]struct {
		change func(*corev1.Service)
		want   map[string]string
		says   string
	}{
		"nothing is said": {change: withUDP, want: map[string]string{"TCP": "TCP", "UDP": "UDP"}},
		"udp only":        {change: onlyUDP, want: map[string]string{"UDP": "UDP"}},
		"options": {func(svc *corev1.Service) { withUDP(svc); on(annotation.UnhealthyThreshold, "4")(svc) },
			map[string]string{"TCP": "TCP", "UDP": "UDP"}, ""},
		"off": {func(svc *corev1.Service) { onlyUDP(svc); annotated(annotation.HealthCheckFlag, "off")(svc) },
			map[string]string{"UDP": "UDP off"}, ""},
		"a type is named": {func(svc *corev1.Service) { withUDP(svc); on(annotation.HealthCheckType, "tcp")(svc) },
			map[string]string{"TCP": "TCP", "UDP": "TCP"}, ""},
		"what kube-proxy says": {func(svc *corev1.Service) { onlyUDP(svc); annotated(annotation.NodeHealthCheck, "on")(svc) },
			map[string]string{"UDP": "HTTP"}, ""},
		"a short interval": {func(svc *corev1.Service) { onlyUDP(svc); on(annotation.HealthCheckInterval, "2")(svc) },
			map[string]string{"UDP": "UDP"}, ""},
		"a long timeout": {func(svc *corev1.Service) { onlyUDP(svc); on(annotation.HealthCheckConnectTimeout, "9")(svc) },
			map[string]string{"UDP": "UDP"}, ""},
		"an interval that only tcp can have": {func(svc *corev1.Service) {
			onlyUDP(svc)
			on(annotation.HealthCheckInterval, "2", annotation.HealthCheckConnectTimeout, "9")(svc)
		}, map[string]string{"UDP": "TCP"}, "new server groups of udp ports are checked by tcp"},
		"the same by udp": {func(svc *corev1.Service) {
			onlyUDP(svc)
			on(annotation.HealthCheckType, "udp", annotation.HealthCheckInterval, "2", annotation.HealthCheckConnectTimeout, "9")(svc)
		}, nil, `health-check-interval: value "2" is not allowed, use at least 9, as annotation`},
		"by udp, with a long interval": {func(svc *corev1.Service) {
			onlyUDP(svc)
			on(annotation.HealthCheckType, "udp", annotation.HealthCheckInterval, "300")(svc)
		}, map[string]string{"UDP": "UDP"}, ""},
		"udp beside tcp": {func(svc *corev1.Service) { withUDP(svc); on(annotation.HealthCheckType, "udp")(svc) },
			map[string]string{"TCP": "TCP", "UDP": "UDP"}, "health-check-type has no effect on tcp ports: udp is for udp ports only"},
		"udp for the udp port": {func(svc *corev1.Service) { withUDP(svc); on(annotation.HealthCheckType, "http,53:udp")(svc) },
			map[string]string{"TCP": "HTTP", "UDP": "UDP"}, ""},
		"udp for the tcp port": {func(svc *corev1.Service) { withUDP(svc); on(annotation.HealthCheckType, "80:udp")(svc) },
			nil, "use tcp or http: udp is for udp ports only"},
		"udp without a udp port": {on(annotation.HealthCheckType, "udp"), nil, "use tcp or http: udp is for udp ports only"},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, func(w *world) {
				w.create(web(c.change))
				if got := w.checks(); !maps.Equal(got, c.want) {
					t.Errorf("checked by %v, want %v", got, c.want)
				}
				if c.says != "" {
					w.says(c.says)
				}
			})
		})
	}
}

// TestCheckOfAGroupThatIsThere: what checks the servers of a group stays as it is until an annotation says otherwise.
func TestCheckOfAGroupThatIsThere(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web(onlyUDP, annotated(annotation.HealthCheckFlag, "on", annotation.HealthCheckType, "tcp")))
		w.writes()
		w.update(withoutAnnotation(annotation.HealthCheckType), withoutAnnotation(annotation.HealthCheckFlag))
		w.restart()
		w.after(25 * time.Hour)
		w.expect("nothing for a group that is checked by tcp")
		w.update(annotated(annotation.HealthCheckFlag, "on", annotation.HealthCheckType, "udp"))
		w.expect("the annotation says so", "UpdateServerGroup")
		if got := w.checks()["UDP"]; got != "UDP" {
			t.Errorf("checked by %s", got)
		}
	})
}
