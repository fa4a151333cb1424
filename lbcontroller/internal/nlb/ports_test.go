package nlb_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/backend"
	"alicloud-controllers.dev/lbcontroller/internal/clb"
	"alicloud-controllers.dev/lbcontroller/internal/lb/desired"
	"alicloud-controllers.dev/lbcontroller/internal/nlb"
)

// manyPorts has so many ports, each with all that annotations can say of one.
func manyPorts(kind desired.Configurer, ports int) *corev1.Service {
	svc := web()
	svc.Spec.Ports = nil
	var protocols, ranged []string
	for i := range int32(ports) {
		svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{Name: fmt.Sprintf("p%d", i), Port: 1000 + i, NodePort: 30000 + i,
			Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(8000 + i)})
		protocols = append(protocols, fmt.Sprintf("tcp:%d", 1000+i))
		ranged = append(ranged, fmt.Sprintf("%d-%d:%d", 2000+10*i, 2005+10*i, 1000+i))
	}
	annotated(annotation.ProtocolPort, strings.Join(protocols, ","))(svc)
	if _, is := kind.(nlb.Product); is {
		annotated(annotation.ListenerPortRange, strings.Join(ranged, ","))(svc)
		onPods(svc)
	}
	return svc
}

// buildOf returns the way to build what a Service with so many ports asks for.
func buildOf(tb testing.TB, kind desired.Configurer, name annotation.LoadBalancer, ports int) func() {
	tb.Helper()
	cfg := desired.Config{ClusterID: clusterID, VPCID: "vpc-test", Parser: annotation.NewParser(name), DottedNames: name == annotation.NLB}
	svc := manyPorts(kind, ports)
	return func() {
		result, err := desired.Build(cfg, desired.Input{View: cfg.View(svc), Nodes: backend.New(nil)}, kind)
		if err != nil || len(result.Desired.Listeners) != ports {
			tb.Fatalf("%d listeners, %v", len(result.Desired.Listeners), err)
		}
	}
}

// kindsOfBuild are those of which the cost of ports is measured.
func kindsOfBuild() map[annotation.LoadBalancer]desired.Configurer {
	return map[annotation.LoadBalancer]desired.Configurer{annotation.CLB: clb.Product{}, annotation.NLB: nlb.Product{}}
}

// TestPortsCostTheSame: each port of a Service with many costs what one of few does, when what the Service asks for is built. That is done
// in every pass. Allocated bytes stand for the time, which differs from run to run; BenchmarkPorts shows it.
func TestPortsCostTheSame(t *testing.T) {
	for name, kind := range kindsOfBuild() {
		cost := func(ports int) uint64 {
			const times = 20
			build := buildOf(t, kind, name, ports)
			build()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for range times {
				build()
			}
			runtime.ReadMemStats(&after)
			return (after.TotalAlloc - before.TotalAlloc) / times
		}
		few, many := cost(5), cost(50)
		t.Logf("%s: %d KB for 5 ports, %d KB for 50", name, few>>10, many>>10)
		if many > 10*few {
			t.Errorf("%s: 50 ports cost %.1f times what 5 cost, at most 10 are right", name, float64(many)/float64(few))
		}
	}
}

// BenchmarkPorts is the time that it takes to build what a Service with 5 or 50 ports asks for.
func BenchmarkPorts(b *testing.B) {
	for name, kind := range kindsOfBuild() {
		for _, ports := range []int{5, 50} {
			build := buildOf(b, kind, name, ports)
			b.Run(fmt.Sprintf("%s/%d", name, ports), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					build()
				}
			})
		}
	}
}
