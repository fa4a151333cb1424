package lb_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

// TestCosts: the calls of the usual situations. Listeners that were started are looked at once, together.
// Writes of the cloud are counted as the gateway makes them: a listener is created and then
// started. What a user changes is read first.
func TestCosts(t *testing.T) {
	twoPorts := func(svc *corev1.Service) {
		svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{Name: "https", Port: 443, NodePort: 30443,
			Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(8443)})
	}
	tests := []struct {
		name   string
		before *corev1.Service
		do     func(w *world)
		calls  []string
		// writes is how many the cloud sees.
		writes int
	}{
		{
			name: "cold create", do: func(w *world) { w.create(web()) }, writes: 4,
			calls: []string{"CreateLoadBalancer", "CreateServerGroup", "CreateListener", "ListListeners"},
		},
		{
			name: "cold create with a redirect", do: func(w *world) { w.create(web(twoPorts, forwarding)) }, writes: 7,
			calls: []string{"CreateLoadBalancer", "CreateServerGroup", "CreateServerGroup", "CreateListener", "CreateListener", "ListListeners"},
		},
		{name: "unchanged", before: web(), do: func(w *world) { w.update(func(svc *corev1.Service) { svc.Labels["team"] = "blue" }) }},
		{
			name: "attribute", before: web(), do: func(w *world) { w.update(annotated(annotation.Scheduler, "wrr")) }, writes: 1,
			calls: []string{"GetLoadBalancer", "UpdateListener"},
		},
		{
			name: "certificate", before: web(secure), do: func(w *world) { w.update(annotated(annotation.CertID, "cert-2")) }, writes: 1,
			calls: []string{"GetLoadBalancer", "UpdateListener"},
		},
		{
			name: "protocol", before: web(), do: func(w *world) { w.update(annotated(annotation.ProtocolPort, "http:80")) }, writes: 3,
			calls: []string{"GetLoadBalancer", "DeleteListener", "CreateListener", "ListListeners"},
		},
		{
			name: "one more node, two server groups", before: web(twoPorts), do: func(w *world) { w.addNode(3); w.settle() }, writes: 2,
			calls: []string{"ApplyServerChanges", "ApplyServerChanges"},
		},
		{
			name: "delete", before: web(), do: func(w *world) { w.remove() }, writes: 2,
			calls: []string{"GetLoadBalancer", "ListAccessControlLists", "UpdateLoadBalancer", "DeleteLoadBalancer"},
		},
		{
			name: "cold create with source ranges", do: func(w *world) { w.create(web(twoPorts, ranges("10.0.0.0/8"))) }, writes: 8,
			calls: []string{"CreateAccessControlList", "CreateLoadBalancer", "CreateServerGroup", "CreateServerGroup", "CreateListener",
				"CreateListener", "ListListeners"},
		},
		{
			name: "unchanged with source ranges", before: web(ranges("10.0.0.0/8")),
			do: func(w *world) { w.update(func(svc *corev1.Service) { svc.Labels["team"] = "blue" }) },
		},
		{
			name: "one more node with source ranges", before: web(ranges("10.0.0.0/8")),
			do: func(w *world) { w.addNode(3); w.settle() }, writes: 1, calls: []string{"ApplyServerChanges"},
		},
		{name: "restart with source ranges", before: web(ranges("10.0.0.0/8")), do: func(w *world) { w.restart(); w.settle() }},
		{
			name: "a network more", before: web(ranges("10.0.0.0/8")), do: func(w *world) { w.update(ranges("10.0.0.0/8", "192.0.2.0/24")) },
			writes: 1, calls: []string{"GetLoadBalancer", "ListAccessControlLists", "GetAccessControlList", "UpdateAccessControlList"},
		},
		{
			name: "no source ranges any more", before: web(ranges("10.0.0.0/8")), do: func(w *world) { w.update(ranges()) }, writes: 1,
			calls: []string{"GetLoadBalancer", "ListAccessControlLists", "GetAccessControlList", "UpdateListener"},
		},
		{
			name: "delete with source ranges", before: web(ranges("10.0.0.0/8")), do: func(w *world) { w.remove() }, writes: 3,
			calls: []string{"GetLoadBalancer", "ListAccessControlLists", "GetAccessControlList", "UpdateLoadBalancer", "DeleteLoadBalancer",
				"DeleteAccessControlList"},
		},
		{
			name: "delete right after a restart", before: web(), writes: 2,
			do: func(w *world) {
				w.restart()
				w.remove()
			},
			calls: []string{"GetLoadBalancer", "ListAccessControlLists", "UpdateLoadBalancer", "DeleteLoadBalancer"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inWorld(t, 2, func(w *world) {
				withRecords(w)
				if tt.before != nil {
					w.create(tt.before)
				}
				w.after(time.Minute)
				w.cloud.ResetCalls()
				tt.do(w)
				writes := len(w.cloud.Writes()) + len(w.cloud.CallsOf("CreateListener"))
				check(t, "calls", tt.calls, w.calls())
				check(t, "writes that the cloud sees", tt.writes, writes)
			})
		})
	}
}
