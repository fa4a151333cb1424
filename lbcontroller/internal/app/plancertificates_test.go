package app

import (
	"log/slog"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/cloudgateway/writetest"
	"alicloud-controllers.dev/services/replica"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

// TestPlanOfCertificates: a Gateway of a file gets the listener that ends TLS with a Secret of another namespace only with
// a ReferenceGrant, and a Service that names that Secret is refused, also beside the Gateway.
func TestPlanOfCertificates(t *testing.T) {
	t.Parallel()
	kube, cloud, cfg := planWorld(t)
	cfg.TLSSecretNamespaces = []string{"red"}
	pair, err := writetest.NewKeyPair("web")
	if err != nil {
		t.Fatal(err)
	}
	if err := kube.Tracker().Add(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "red", Name: "web"}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{corev1.TLSCertKey: []byte(pair.GetCertificatePem()),
			corev1.TLSPrivateKeyKey: []byte(pair.GetPrivateKeyPem())},
	}); err != nil {
		t.Fatal(err)
	}
	const gateway = `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: shared, namespace: infra}
spec:
  gatewayClassName: nlb
  listeners:
  - {name: web, protocol: TCP, port: 80}
  - {name: tls, protocol: TLS, port: 443, tls: {certificateRefs: [{name: web, namespace: red}]}}
`
	const grant = `---
apiVersion: gateway.networking.k8s.io/v1
kind: ReferenceGrant
metadata: {name: secrets, namespace: red}
spec: {from: [{group: gateway.networking.k8s.io, kind: Gateway, namespace: infra}], to: [{group: "", kind: Secret}]}
`
	kinds := Kinds(cfg, replica.Dependencies{Client: kube, Gateway: cloud.Client(), Logger: slog.New(slog.DiscardHandler)})
	plan := func(manifest string, which Selection) (said, asked string) {
		t.Helper()
		which.Gateways = manifest
		found, err := PreviewAll(t.Context(), kube, nil, cfg, kinds, which)
		if err != nil || len(found.Services) != 1 {
			t.Fatal(found, err)
		}
		s := found.Services[0]
		return strings.Join(slices.Concat(s.Actions, s.Refused, s.Warnings), "\n"), s.Error
	}
	const made, lacks = "create listener 443/tcpssl", "no ReferenceGrant lets the Secret red/web be used"
	if said, failed := plan(gateway+plannedClass, Selection{}); strings.Contains(said, made) ||
		!strings.Contains(said, lacks) || failed != "" {
		t.Errorf("without a grant: %s %s", said, failed)
	}
	if said, failed := plan(gateway+plannedClass+grant, Selection{}); !strings.Contains(said, made) ||
		strings.Contains(said, "red/web") || failed != "" {
		t.Errorf("with a grant: %s %s", said, failed)
	}
	if err := kube.Tracker().Add(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "mine",
		Annotations: map[string]string{annotation.Prefix + annotation.ProtocolPort: "tcpssl:443",
			annotation.Prefix + annotation.TLSSecret: "red/web"}},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: new(annotation.NLBClass),
			Ports: []corev1.ServicePort{{Port: 443, NodePort: 30443, Protocol: corev1.ProtocolTCP}}}}); err != nil {
		t.Fatal(err)
	}
	kube.ClearActions()
	if said, _ := plan("", Selection{Namespace: "infra", Service: "mine"}); strings.Contains(said, made) ||
		!strings.Contains(said, "only the Service that is made for a Gateway may name it") {
		t.Errorf("a Service: %s", said)
	}
	for _, a := range kube.Actions() {
		if a.GetResource().Resource == "secrets" {
			t.Errorf("%s of %s", a.GetVerb(), a.GetResource().Resource)
		}
	}
}
