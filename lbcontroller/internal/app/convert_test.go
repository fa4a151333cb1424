package app

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// TestConvert: the command reads one Service, and writes nothing.
func TestConvert(t *testing.T) {
	t.Parallel()
	kube := fake.NewClientset(&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{
			{Port: 80, Protocol: corev1.ProtocolTCP},
		}},
	}, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "inner"}})
	text, err := ConvertService(t.Context(), kube, Selection{Namespace: "default", Service: "web"}, false)
	if err != nil || !strings.Contains(string(text), "\n  loadBalancerClass: alibabacloud.com/nlb\n") {
		t.Errorf("%v\n%s", err, text)
	}
	text, err = ConvertService(t.Context(), kube, Selection{Namespace: "default", Service: "web"}, true)
	if err != nil || !strings.Contains(string(text), "\n  gatewayClassName: clb\n") || !strings.Contains(string(text), "\nkind: TCPRoute\n") {
		t.Errorf("%v\n%s", err, text)
	}
	for name, want := range map[string]string{
		"inner": "service default/inner: it has no CLB: its type must be LoadBalancer, without a loadBalancerClass",
		"gone":  "there is no Service default/gone",
	} {
		if _, err := ConvertService(t.Context(), kube, Selection{Namespace: "default", Service: name}, false); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	for _, a := range kube.Actions() {
		if a.GetVerb() != "get" {
			t.Errorf("%s of %s", a.GetVerb(), a.GetResource().Resource)
		}
	}
}
