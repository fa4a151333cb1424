package nlb_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

// everyday are the changes whose calls to the gateway docs/performance.md tells, with what is there before, and how
// many calls a CLB and an NLB take.
func everyday() []struct {
	name         string
	before, then func(*world)
	clb, nlb     int
} {
	update := func(changes ...func(*corev1.Service)) func(*world) {
		return func(w *world) { w.update(changes...) }
	}
	join := func(w *world) { w.addNode(101); w.settle() }
	leave := func(w *world) {
		if err := w.kube.CoreV1().Nodes().Delete(w.t.Context(), "node-101", metav1.DeleteOptions{}); err != nil {
			w.t.Fatal(err)
		}
		w.settle()
	}
	nothing := func(*world) {}
	one, two := ranges("10.0.0.0/8"), ranges("10.0.0.0/8", "172.16.0.0/12")
	return []struct {
		name         string
		before, then func(*world)
		clb, nlb     int
	}{
		{"a new Service", nil, nothing, 17, 13},
		{"another new Service", nothing, func(w *world) {
			svc := w.service()
			svc.Name, svc.UID, svc.Labels, svc.Annotations = "api", "aaaaaaaa-c2ae-4642-b033-5607860aef6a", nil, nil
			svc.ResourceVersion, svc.Finalizers, svc.Status = "", nil, corev1.ServiceStatus{}
			w.create(svc)
		}, 17, 13},
		{"a node joins", nothing, join, 5, 5},
		{"a node goes", join, leave, 5, 5},
		{"a tag of the load balancer", nothing, update(annotated(annotation.AdditionalTags, "team=a")), 2, 3},
		{"another scheduler", nothing, update(annotated(annotation.Scheduler, "wlc")), 6, 8},
		{"a port less", nothing, update(withPorts(4)), 3, 5},
		{"a port more", update(withPorts(4)), update(withPorts(5)), 4, 5},
		{"source ranges put on", nothing, update(one), 8, 5},
		{"a source range more", update(one), update(two), 4, 5},
		{"a label that means nothing", nothing, update(func(svc *corev1.Service) { svc.Labels["team"] = "a" }), 0, 0},
		{"two hours without a change", nothing, func(w *world) { w.after(2 * time.Hour) }, 0, 0},
		{"a restart without the record", nothing, (*world).restart, 6, 7},
		{"the Service is deleted", nothing, func(w *world) { w.remove() }, 4, 11},
	}
}

// TestCallsPerChange counts the calls of everyday changes of a Service with 5 ports and 100 nodes, reads and writes,
// and prints the table. The one in docs/performance.md is the same.
func TestCallsPerChange(t *testing.T) {
	told, err := os.ReadFile("../../../docs/performance.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range everyday() {
		calls := map[string]int{}
		for _, kind := range []string{"CLB", "NLB"} {
			inWorld(t, 100, func(w *world) {
				svc := web(withPorts(5))
				if kind == "CLB" {
					onCLB(svc)
				}
				w.create(svc)
				if change.before != nil {
					change.before(w)
					w.settle()
					w.cloud.ResetCalls()
				}
				change.then(w)
				made := map[string]int{}
				for _, c := range w.cloud.Calls() {
					made[strings.TrimPrefix(c.Method, "nlb.")]++
				}
				calls[kind] = len(w.cloud.Calls())
				var names []string
				for _, name := range slices.Sorted(maps.Keys(made)) {
					names = append(names, fmt.Sprintf("%s %d", name, made[name]))
				}
				t.Logf("%s: %-26s %2d: %s", kind, change.name, calls[kind], strings.Join(names, ", "))
			})
		}
		check(t, change.name, map[string]int{"CLB": change.clb, "NLB": change.nlb}, calls)
		if row := fmt.Sprintf("| %s | %d | %d |", change.name, change.clb, change.nlb); !strings.Contains(string(told), row) {
			t.Errorf("docs/performance.md doesn't tell: %s", row)
		}
	}
}

// withPorts gives the Service so many ports, from 80 on.
func withPorts(ports int32) func(*corev1.Service) {
	return func(svc *corev1.Service) {
		svc.Spec.Ports = nil
		for i := range ports {
			svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{
				Name: fmt.Sprint("port-", i), Port: 80 + i, NodePort: 30080 + i, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(8080 + i),
			})
		}
	}
}
