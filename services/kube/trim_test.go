package kube_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"alicloud-controllers.dev/services/kube"
)

func TestTrim(t *testing.T) {
	t.Parallel()
	meta := func(annotations map[string]string) metav1.ObjectMeta {
		return metav1.ObjectMeta{
			Name: "x", Labels: map[string]string{"l": "1"}, Annotations: annotations,
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
		}
	}
	trimmed := func(annotations map[string]string) metav1.ObjectMeta {
		m := meta(annotations)
		m.ManagedFields = nil
		return m
	}
	const applied, provided = "kubectl.kubernetes.io/last-applied-configuration", "alpha.kubernetes.io/provided-node-ip"
	conditions := []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	ready := true
	for _, tc := range []struct {
		name     string
		trim     cache.TransformFunc
		in, want any
	}{
		{
			name: "node", trim: kube.TrimNode,
			in: &corev1.Node{
				ObjectMeta: meta(map[string]string{applied: "{}", provided: "10.0.0.1", "node.alpha.kubernetes.io/ttl": "0"}),
				Spec:       corev1.NodeSpec{ProviderID: "cn-hangzhou.i-1", Taints: []corev1.Taint{{Key: "t"}}},
				Status: corev1.NodeStatus{
					Images: []corev1.ContainerImage{{SizeBytes: 1}}, VolumesInUse: []corev1.UniqueVolumeName{"v"}, Conditions: conditions,
				},
			},
			want: &corev1.Node{
				ObjectMeta: trimmed(map[string]string{provided: "10.0.0.1"}),
				Spec:       corev1.NodeSpec{ProviderID: "cn-hangzhou.i-1", Taints: []corev1.Taint{{Key: "t"}}},
				Status:     corev1.NodeStatus{Conditions: conditions},
			},
		},
		{
			name: "node with labels of ours", trim: kube.TrimNode,
			in:   &corev1.Node{ObjectMeta: meta(map[string]string{"node.alibabacloud.com/cloud-labels": "x", "a": "b"})},
			want: &corev1.Node{ObjectMeta: trimmed(map[string]string{"node.alibabacloud.com/cloud-labels": "x"})},
		},
		{
			name: "node without a provided address", trim: kube.TrimNode,
			in:   &corev1.Node{ObjectMeta: meta(map[string]string{"a": "b"})},
			want: &corev1.Node{ObjectMeta: trimmed(nil)},
		},
		{
			name: "service keeps its annotations", trim: kube.TrimService,
			in:   &corev1.Service{ObjectMeta: meta(map[string]string{applied: "{}", "a": "b"}), Spec: corev1.ServiceSpec{Type: "LoadBalancer"}},
			want: &corev1.Service{ObjectMeta: trimmed(map[string]string{"a": "b"}), Spec: corev1.ServiceSpec{Type: "LoadBalancer"}},
		},
		{
			name: "pod with a readiness gate", trim: kube.TrimPod,
			in: &corev1.Pod{
				ObjectMeta: meta(map[string]string{"a": "b"}),
				Spec:       corev1.PodSpec{NodeName: "n", ReadinessGates: []corev1.PodReadinessGate{{ConditionType: "g"}}},
				Status:     corev1.PodStatus{PodIP: "10.0.0.1", Conditions: []corev1.PodCondition{{Type: "g"}}},
			},
			want: &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: "x"},
				Spec:       corev1.PodSpec{ReadinessGates: []corev1.PodReadinessGate{{ConditionType: "g"}}},
				Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: "g"}}},
			},
		},
		{
			name: "pod without", trim: kube.TrimPod,
			in:   &corev1.Pod{ObjectMeta: meta(nil), Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady}}}},
			want: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "x"}},
		},
		{
			name: "slice", trim: kube.TrimEndpointSlice,
			in: &discoveryv1.EndpointSlice{ObjectMeta: meta(nil), Endpoints: []discoveryv1.Endpoint{
				{Addresses: []string{"10.0.0.1"}, Conditions: discoveryv1.EndpointConditions{Ready: &ready}},
			}},
			want: &discoveryv1.EndpointSlice{ObjectMeta: trimmed(nil), Endpoints: []discoveryv1.Endpoint{
				{Addresses: []string{"10.0.0.1"}, Conditions: discoveryv1.EndpointConditions{Ready: &ready}},
			}},
		},
		{name: "something else", trim: kube.TrimNode, in: cache.DeletedFinalStateUnknown{Key: "x"},
			want: cache.DeletedFinalStateUnknown{Key: "x"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := tc.in
			if o, ok := got.(runtime.Object); ok {
				got = o.DeepCopyObject()
			}
			for round := range 2 {
				var err error
				if got, err = tc.trim(got); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("round %d (-want +got):\n%s", round+1, diff)
				}
			}
		})
	}
}
