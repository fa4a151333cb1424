package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"net"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"alicloud-controllers.dev/deploy/tools/local/world"
)

// TestServingCertificates: with the permissions that the chart gives for it, and no others, nodecontroller approves what
// a kubelet asks for and the cloud confirms. The address of another instance is left to people, with an event.
func TestServingCertificates(t *testing.T) {
	t.Parallel()
	w := bootWith(t, world.Config{Nodes: 2, Controllers: []string{world.Node, world.Route}, Fast: true})
	w.initialised(t)
	cfg, err := clientcmd.BuildConfigFromFlags("", w.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	approves := map[string]any{"approveServingCertificates": true}
	granted := 0
	for _, document := range renderChart(t, cfg, map[string]any{
		"clusterID": "c-1", "region": world.Region, "vpcID": world.VpcID, "network": map[string]any{"mode": "terway"},
		"credentials": map[string]any{"existingSecret": "key"},
		"components":  map[string]any{"nodecontroller": map[string]any{"config": approves}},
	}) {
		if !strings.Contains(document, "name: alicloud:nodecontroller:serving-certificates") {
			continue
		}
		granted++
		if err := w.Apply(t.Context(), []byte(document)); err != nil {
			t.Fatal(err)
		}
	}
	if granted != 2 {
		t.Fatalf("the chart has %d objects about serving certificates, want a role and its binding", granted)
	}
	if err := w.Reconfigure(world.Node, approves); err != nil {
		t.Fatal(err)
	}
	if err := w.Kill(world.Node); err != nil {
		t.Fatal(err)
	}
	if err := w.Restart(t.Context(), world.Node); err != nil {
		t.Fatal(err)
	}

	nodes := w.nodes(t)
	own, others := nodes[0].Status.Addresses[0].Address, nodes[1].Status.Addresses[0].Address
	right := askServing(t, cfg, nodes[0].Name, own)
	wrong := askServing(t, cfg, nodes[0].Name, others)
	eventually(t, "the request is approved", func(ctx context.Context) error {
		csr, err := w.Client().CertificatesV1().CertificateSigningRequests().Get(ctx, right, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if len(csr.Status.Conditions) != 1 || csr.Status.Conditions[0].Type != certificatesv1.CertificateApproved {
			return fmt.Errorf("conditions %+v", csr.Status.Conditions)
		}
		return nil
	})
	w.eventuallyEvent(t, "Node", nodes[0].Name, "CertificateNotApproved", "the cloud does not confirm the address "+others)
	csr, err := w.Client().CertificatesV1().CertificateSigningRequests().Get(t.Context(), wrong, metav1.GetOptions{})
	if err != nil || len(csr.Status.Conditions) > 0 {
		t.Errorf("the request for the address of another node: conditions %+v, %v", csr.Status.Conditions, err)
	}
}

// askServing asks for a serving certificate as the kubelet of a node does, and gives the name of the request.
func askServing(t *testing.T, cfg *rest.Config, node, address string) string {
	t.Helper()
	user := "system:node:" + node
	kubelet := rest.CopyConfig(cfg)
	kubelet.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:nodes", "system:authenticated"}}
	client, err := kubernetes.NewForConfig(kubelet)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject:  pkix.Name{CommonName: user, Organization: []string{"system:nodes"}},
		DNSNames: []string{node}, IPAddresses: []net.IP{net.ParseIP(address)},
	}, key)
	if err != nil {
		t.Fatal(err)
	}
	csr, err := client.CertificatesV1().CertificateSigningRequests().Create(t.Context(), &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "csr-"},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			SignerName: certificatesv1.KubeletServingSignerName,
			Usages:     []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth},
			Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: request}),
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return csr.Name
}
