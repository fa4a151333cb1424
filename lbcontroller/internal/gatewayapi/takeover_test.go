package gatewayapi_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"

	"alicloud-controllers.dev/lbcontroller/internal/convert"
)

// serving is a Service with an NLB, and the pod behind it.
const serving = `apiVersion: v1
kind: Service
metadata:
  name: front
  namespace: infra
  annotations:
    service.beta.kubernetes.io/alibaba-cloud-loadbalancer-scheduler: wlc
    service.beta.kubernetes.io/alibaba-cloud-loadbalancer-additional-resource-tags: a=b
    service.beta.kubernetes.io/alibaba-cloud-loadbalancer-protocol-port: tcpssl:443
    service.beta.kubernetes.io/alibaba-cloud-loadbalancer-cert-id: 123-cn-hangzhou
    service.beta.kubernetes.io/alibaba-cloud-loadbalancer-idle-timeout: "60"
spec:
  type: LoadBalancer
  loadBalancerClass: alibabacloud.com/nlb
  ports:
  - {name: web, port: 443, targetPort: 8443, nodePort: 31443}
  - {name: dns, port: 53, protocol: UDP, targetPort: 5353, nodePort: 31053}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: front-1, namespace: infra, labels: {kubernetes.io/service-name: front}}
addressType: IPv4
ports: [{name: web, port: 8443, protocol: TCP}, {name: dns, port: 5353, protocol: UDP}]
endpoints: [{addresses: [10.0.2.1]}]
`

// TestTakeover: what convert makes of a Service takes over its NLB, and the Service takes it back. Each step writes what it
// needs and nothing else: attributes, listeners and certificates are as they were. Between any two calls all listeners serve.
func TestTakeover(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		w.start()
		w.apply(serving)
		w.settle()
		want := []string{"nlb Internet", "443/tcpssl: eni-10.0.2.1:8443=100", "53/udp: eni-10.0.2.1:5353=100"}
		w.expect("a Service", want...)
		services := w.kube.CoreV1().Services("infra")
		svc, err := services.Get(t.Context(), "front", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		patch := func(name, text string) {
			t.Helper()
			if _, err := services.Patch(t.Context(), name, types.MergePatchType, []byte(text), metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			w.settle()
		}
		converted, err := convert.ToGateway(svc)
		if err != nil {
			t.Fatal(err)
		}
		text, err := converted.WriteYAML()
		if err != nil {
			t.Fatal(err)
		}
		_, objects, _ := strings.Cut(string(text), "---\n")

		const prefix = "service.beta.kubernetes.io/alibaba-cloud-loadbalancer-"
		w.between = w.allServe
		patch("front", fmt.Sprintf(`{"metadata":{"annotations":{"%spreserve-lb-on-delete":"on"}}}`, prefix))
		w.calls()
		const letGo = `{"spec":{"type":"NodePort","loadBalancerClass":null}}`
		patch("front", letGo)
		w.expect("let go", want...)
		w.costs("letting it go", "UpdateLoadBalancer UpdateServerGroup UpdateServerGroup")
		last := strings.LastIndex(objects, "---\n") // Routes come first, as kubectl applies them: see WriteYAML.
		w.apply(objects[:last])
		w.settle()
		w.apply(objects[last:])
		w.settle()
		w.expect("taken", want...)
		w.costs("taking it", "CreateServerGroup CreateServerGroup UpdateListener UpdateListener UpdateLoadBalancer")
		w.want("gateways infra/front", "Programmed", "True Programmed")
		w.want("tcproutes infra/front-web", "Accepted", "True Accepted")
		w.want("udproutes infra/front-dns", "Accepted", "True Accepted")
		w.settled("taken")

		list, err := services.List(t.Context(), metav1.ListOptions{LabelSelector: "gateway.networking.k8s.io/gateway-name=front"})
		if err != nil || len(list.Items) != 1 {
			t.Fatal(list, err)
		}
		w.orphan("infra", "front")
		w.settle()
		w.expect("orphaned", want...)
		patch(list.Items[0].Name, letGo)
		w.expect("let go again", want...)
		w.costs("letting it go again", "UpdateLoadBalancer") // A tag says that what stays was kept.
		id := converted.Gateway.Spec.Addresses[0].Value
		patch("front", fmt.Sprintf(`{"metadata":{"annotations":{"%[1]sid":"%[2]s","%[1]sforce-override-listeners":"on"}},
			"spec":{"type":"LoadBalancer","loadBalancerClass":"alibabacloud.com/nlb"}}`, prefix, id))
		w.expect("taken back", want...)
		w.costs("taking it back", "CreateServerGroup CreateServerGroup UpdateListener UpdateListener")
		w.settled("taken back")
	})
}

// allServe fails if a listener leads to nobody.
func (w *world) allServe() {
	w.cloud.Look(func(c *state.Cloud) {
		for id, l := range c.NLBListeners {
			if group := c.NLBServerGroups[l.ServerGroupID]; len(group.Servers) == 0 {
				w.t.Errorf("listener %v leads to %s, which has no server", id, group.Name)
			}
		}
	})
}

// orphan deletes a Gateway as kubectl delete --cascade=orphan does: what it owns stays, and is nobody's.
func (w *world) orphan(namespace, name string) {
	w.t.Helper()
	if err := w.gateways.Tracker().Delete(resourceOf("gateways"), namespace, name); err != nil {
		w.t.Fatal(err)
	}
	list, err := w.kube.CoreV1().Services(namespace).List(w.t.Context(), metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	for i := range list.Items {
		svc := &list.Items[i]
		if owner := metav1.GetControllerOf(svc); owner != nil && owner.Name == name {
			svc.OwnerReferences = nil
			if err := w.kube.Tracker().Update(corev1.SchemeGroupVersion.WithResource("services"), svc, namespace); err != nil {
				w.t.Fatal(err)
			}
		}
	}
}
