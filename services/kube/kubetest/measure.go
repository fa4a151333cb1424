package kubetest

import (
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Laden gives a node what a kubelet and its users give it that no controller reads: about 20 KiB.
func Laden(node *corev1.Node) *corev1.Node {
	const images, managers, managed = 50, 4, 2 << 10
	for i := range images {
		node.Status.Images = append(node.Status.Images, corev1.ContainerImage{
			Names: []string{fmt.Sprintf("registry.example.com/team/application-%d@sha256:%064d", i, i),
				fmt.Sprintf("registry.example.com/team/application-%d:v1.2.3", i)},
			SizeBytes: 1 << 20,
		})
	}
	for i := range managers {
		node.ManagedFields = append(node.ManagedFields, metav1.ManagedFieldsEntry{
			Manager: fmt.Sprint("manager-", i), FieldsV1: &metav1.FieldsV1{Raw: []byte(strings.Repeat("f", managed))},
		})
	}
	if node.Labels == nil {
		node.Labels = map[string]string{}
	}
	for i := range 15 {
		node.Labels[fmt.Sprintf("example.com/label-%d", i)] = "value"
	}
	node.Annotations = map[string]string{"csi.volume.kubernetes.io/nodeid": strings.Repeat("x", 200),
		"example.com/note": strings.Repeat("x", 500)}
	for _, kind := range []corev1.NodeConditionType{corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure} {
		node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{
			Type: kind, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficient", Message: "kubelet has sufficient of it available",
		})
	}
	node.Status.Capacity = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("8"), corev1.ResourceMemory: resource.MustParse("32Gi"),
		corev1.ResourcePods: resource.MustParse("110"), corev1.ResourceEphemeralStorage: resource.MustParse("100Gi"),
	}
	node.Status.Allocatable = node.Status.Capacity.DeepCopy()
	return node
}

// HeapMiB is how much memory is in use.
func HeapMiB() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc >> 20)
}

// cpuSeconds is the processor time that the process has used so far.
func cpuSeconds(t testing.TB) float64 {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()).Seconds()
}

// WantCPU fails if do takes more processor time than so many seconds, with more allowed under the race detector. The
// time is that of the whole process, so that no other test may run meanwhile. It is the same on a busy machine, but for
// the caches that are shared with others.
func WantCPU(t *testing.T, seconds float64, do func()) (used float64) {
	t.Helper()
	before := cpuSeconds(t)
	do()
	used = cpuSeconds(t) - before
	if used > seconds*raceCost {
		t.Errorf("%.1f s of processor time, want at most %.0f s", used, seconds*raceCost)
	}
	return used
}

// Metric reads the metrics of one name, by the value of the last label: the value, or the number of observations.
func Metric(t testing.TB, registry *prometheus.Registry, name string) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, metric := range family.GetMetric() {
			label := ""
			if all := metric.GetLabel(); len(all) > 0 {
				label = all[len(all)-1].GetValue()
			}
			values[label] = metric.GetGauge().GetValue() + metric.GetCounter().GetValue() + float64(metric.GetHistogram().GetSampleCount())
		}
	}
	return values
}
