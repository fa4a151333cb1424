package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"alicloud-controllers.dev/deploy/tools/local/world"
)

// tlsGateway is a Gateway with a listener that names a Secret of another namespace, and a route to a Service.
const tlsGateway = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: secure, namespace: default}
spec:
  gatewayClassName: nlb
  listeners:
  - {name: tls, protocol: TLS, port: 8443, tls: {certificateRefs: [{name: web-tls, namespace: red}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: TCPRoute
metadata: {name: secure, namespace: default}
spec:
  parentRefs: [{name: secure}]
  rules: [{backendRefs: [{name: web, port: 8443}]}]
`

// tlsGrant lets Gateways of the default namespace use Secrets of the other one.
const tlsGrant = `
apiVersion: gateway.networking.k8s.io/v1
kind: ReferenceGrant
metadata: {name: gateways, namespace: red}
spec:
  from: [{group: gateway.networking.k8s.io, kind: Gateway, namespace: default}]
  to: [{group: "", kind: Secret}]
`

// TestCertificateOfAnotherNamespace: with the rights that the chart gives, a Gateway ends TLS with the certificate of
// another team's Secret, once that team grants it. A Service that names the Secret gets nothing. When the grant is
// withdrawn, the listener goes, and the load balancer stays.
func TestCertificateOfAnotherNamespace(t *testing.T) {
	t.Parallel()
	w := newTLSWorld(t, "red", world.Config{GatewayAPI: true})
	theirs := newServing(t, "theirs")
	w.put(theirs.chain, theirs.key)
	backends := newService("web", nil, 8443)
	backends.Spec.Type = corev1.ServiceTypeClusterIP
	w.create(t, backends)
	apply := func(manifest string) {
		t.Helper()
		if err := w.ApplyAny(t.Context(), []byte(manifest)); err != nil {
			t.Fatal(err)
		}
	}
	apply(tlsGateway)
	w.resolvedRefs(t, "RefNotPermitted")
	w.create(t, newNLBService("thief", map[string]string{"protocol-port": "tcpssl:9443", "tls-secret": "red/web-tls"}, 9443))
	w.eventuallyEvent(t, "Service", "thief", "SyncLoadBalancerFailed", "Secret red/web-tls is in another namespace")
	if n := len(w.state(t).NLBs); n != 0 {
		t.Errorf("there are %d NLBs before the grant", n)
	}
	w.remove(t, "thief")

	apply(tlsGrant)
	w.resolvedRefs(t, "ResolvedRefs")
	address := w.ofNLB("8443")
	eventually(t, "clients get the certificate of the other team", func(ctx context.Context) error {
		der, err := handshake(ctx, address)
		if err == nil && der != theirs.der {
			err = errors.New("it is another one")
		}
		return err
	})

	if err := w.dynamic(t, "referencegrants").Namespace("red").Delete(t.Context(), "gateways", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.resolvedRefs(t, "RefNotPermitted")
	eventually(t, "the listener is gone", func(context.Context) error {
		if n := len(w.state(t).NLBListeners); n != 0 {
			return fmt.Errorf("there are %d", n)
		}
		return nil
	})
	if n := len(w.state(t).NLBs); n != 1 {
		t.Errorf("there are %d NLBs without the grant, want the one that was there", n)
	}
}

// resolvedRefs waits until the listener of the Gateway says so for a reason.
func (w testWorld) resolvedRefs(t *testing.T, reason string) {
	t.Helper()
	eventually(t, "ResolvedRefs of the listener is "+reason, func(ctx context.Context) error {
		object, err := w.dynamic(t, "gateways").Namespace(metav1.NamespaceDefault).Get(ctx, "secure", metav1.GetOptions{})
		if err != nil {
			return err
		}
		listeners, _, err := unstructured.NestedSlice(object.Object, "status", "listeners")
		if err != nil {
			return err
		}
		for _, l := range listeners {
			conditions, _, _ := unstructured.NestedSlice(l.(map[string]any), "conditions")
			for _, c := range conditions {
				if c := c.(map[string]any); c["type"] == "ResolvedRefs" && c["reason"] == reason {
					return nil
				}
			}
		}
		return fmt.Errorf("the listeners are %v", listeners)
	})
}

// dynamic is a client for a resource of the Gateway API.
func (w testWorld) dynamic(t *testing.T, resource string) dynamic.NamespaceableResourceInterface {
	t.Helper()
	cfg, err := clientcmd.BuildConfigFromFlags("", w.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return client.Resource(schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: resource})
}
