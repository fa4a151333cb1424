package serving_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net"
	"net/url"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"

	"alicloud-controllers.dev/nodecontroller/internal/serving"
)

// request makes what the kubelet of node-1 sends.
func request(t testing.TB, edit func(*certificatesv1.CertificateSigningRequest,
	*x509.CertificateRequest)) *certificatesv1.CertificateSigningRequest {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.CertificateRequest{
		Subject:  pkix.Name{CommonName: "system:node:node-1", Organization: []string{"system:nodes"}},
		DNSNames: []string{"node-1"}, IPAddresses: []net.IP{net.ParseIP("192.168.0.1")},
	}
	csr := &certificatesv1.CertificateSigningRequest{Spec: certificatesv1.CertificateSigningRequestSpec{
		SignerName: certificatesv1.KubeletServingSignerName, Username: "system:node:node-1", Groups: []string{"system:nodes",
			"system:authenticated"},
		Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth},
	}}
	edit(csr, template)
	der, err := x509.CreateCertificateRequest(rand.Reader, template, key)
	if err != nil {
		t.Fatal(err)
	}
	if csr.Spec.Request == nil {
		csr.Spec.Request = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
	}
	return csr
}

func instance() *ecsv1.Instance {
	return &ecsv1.Instance{
		InstanceId: "i-1", RegionId: "cn-hangzhou", HostName: "node-1", PrivateIps: []string{"192.168.0.1"}, Eip: "47.0.0.1",
		Ipv6Addresses: []string{"fd00::1"},
	}
}

// TestRequest parses a request and confirms it, or says what is wrong.
func TestRequest(t *testing.T) {
	t.Parallel()
	type csr = certificatesv1.CertificateSigningRequest
	type template = x509.CertificateRequest
	for name, tt := range map[string]struct {
		edit     func(*csr, *template)
		instance func(*ecsv1.Instance)
		// want is what the refusal says, empty for none.
		want string
	}{
		"as it should be": {},
		"all its addresses": {edit: func(_ *csr, r *template) {
			r.IPAddresses = []net.IP{net.ParseIP("192.168.0.1"), net.ParseIP("47.0.0.1"), net.ParseIP("fd00::1")}
		}},
		"a key that enciphers": {edit: func(c *csr, _ *template) {
			c.Spec.Usages = append(c.Spec.Usages,
				certificatesv1.UsageKeyEncipherment)
		}},
		"the node has another case": {instance: func(i *ecsv1.Instance) { i.HostName = "NODE-1" }},
		"another user": {edit: func(c *csr, _ *template) { c.Spec.Username = "system:admin" },
			want: `user "system:admin" is no node`},
		"no node":              {edit: func(c *csr, _ *template) { c.Spec.Username = "system:node:" }, want: "is no node"},
		"in no group of nodes": {edit: func(c *csr, _ *template) { c.Spec.Groups = []string{"system:authenticated"} }, want: "is no node"},
		"another node's name": {edit: func(_ *csr, r *template) { r.Subject.CommonName = "system:node:node-2" },
			want: `common name "system:node:node-2"`},
		"a group of its own": {edit: func(_ *csr,
			r *template) {
			r.Subject.Organization = append(r.Subject.Organization, "system:masters")
		}, want: "organizations"},
		"for clients": {edit: func(c *csr, _ *template) {
			c.Spec.Usages = append(c.Spec.Usages,
				certificatesv1.UsageClientAuth)
		}, want: `usage "client auth"`},
		"for no servers": {edit: func(c *csr, _ *template) { c.Spec.Usages = c.Spec.Usages[:1] }, want: "server auth is missing"},
		"an e-mail address": {edit: func(_ *csr, r *template) { r.EmailAddresses = []string{"a@example.com"} },
			want: "e-mail addresses or URIs"},
		"a URI": {edit: func(_ *csr, r *template) { r.URIs = []*url.URL{{Scheme: "spiffe", Host: "x"}} },
			want: "e-mail addresses or URIs"},
		"nothing": {edit: func(_ *csr, r *template) { r.DNSNames, r.IPAddresses = nil, nil },
			want: "neither a name nor an address"},
		"nonsense": {edit: func(c *csr, _ *template) { c.Spec.Request = []byte("x") }, want: "not one PEM block"},
		"a certificate": {edit: func(c *csr,
			_ *template) {
			c.Spec.Request = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE"})
		}, want: "not one PEM block"},
		"a broken request": {edit: func(c *csr, _ *template) {
			c.Spec.Request = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: []byte("x")})
		}, want: "spec.request: "},
		"another's address": {edit: func(_ *csr, r *template) {
			r.IPAddresses = append(r.IPAddresses,
				net.ParseIP("192.168.0.2"))
		}, want: "address 192.168.0.2 of instance i-1"},
		"another's name": {edit: func(_ *csr, r *template) {
			r.DNSNames = append(r.DNSNames,
				"kubernetes.default")
		}, want: `name "kubernetes.default" of instance i-1`},
		"another instance's name":  {instance: func(i *ecsv1.Instance) { i.HostName = "node-2" }, want: "does not confirm the name of the node"},
		"an instance without name": {instance: func(i *ecsv1.Instance) { i.HostName = "" }, want: "does not confirm the name of the node"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			edit := tt.edit
			if edit == nil {
				edit = func(*csr, *template) {}
			}
			i := instance()
			if tt.instance != nil {
				tt.instance(i)
			}
			parsed, err := serving.Parse(request(t, edit))
			if err == nil {
				err = parsed.Confirm(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}, i)
			}
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// TestNamesOfNodes: nodes are named after their host, their instance, or an address.
func TestNamesOfNodes(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"node-1": true, "i-1": true, "cn-hangzhou.i-1": true, "192.168.0.1": true, "cn-hangzhou.192.168.0.1": true,
		"": false, "i-2": false, "cn-beijing.192.168.0.1": false, "192.168.0.2": false, "47.0.0.1": false,
	} {
		asked := serving.Request{Node: name, DNSNames: []string{name, "node-1"}} // The host's name, too.
		err := asked.Confirm(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, instance())
		if (err == nil) != want {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	csr := request(f, func(*certificatesv1.CertificateSigningRequest, *x509.CertificateRequest) {})
	f.Add(csr.Spec.Request)
	f.Fuzz(func(t *testing.T, text []byte) {
		csr := csr.DeepCopy()
		csr.Spec.Request = text
		if r, err := serving.Parse(csr); err == nil && (r.Node != "node-1" || len(r.DNSNames)+len(r.IPs) == 0) {
			t.Errorf("%+v", r)
		}
	})
}
