package controller_test

import (
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
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/services/nodes"

	"alicloud-controllers.dev/nodecontroller/internal/controller"
)

func approves(cfg *controller.Config) { cfg.ApproveServing = true }

// ask lets the kubelet of node-i ask for a serving certificate for an address and for names.
func (w *world) ask(t *testing.T, i int, address string, names ...string) {
	t.Helper()
	w.askAs(t, fmt.Sprintf("csr-%d", i), fmt.Sprintf("node-%d", i), address, names...)
}

// askAs is ask for a node of any name, with the name of the request.
func (w *world) askAs(t *testing.T, name, node, address string, names ...string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	user := "system:node:" + node
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject:  pkix.Name{CommonName: user, Organization: []string{"system:nodes"}},
		DNSNames: names, IPAddresses: []net.IP{net.ParseIP(address)},
	}, key)
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Client.CertificatesV1().CertificateSigningRequests().Create(t.Context(), &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.Now()},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			SignerName: certificatesv1.KubeletServingSignerName, Username: user, Groups: []string{"system:nodes"},
			Usages:  []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth},
			Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// approved says whether the request of node-i is.
func (w *world) approved(t *testing.T, i int) bool {
	t.Helper()
	csr, err := w.Client.CertificatesV1().CertificateSigningRequests().Get(t.Context(), fmt.Sprintf("csr-%d", i), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return len(csr.Status.Conditions) == 1 && csr.Status.Conditions[0].Type == certificatesv1.CertificateApproved
}

// named gives instances the host names of their nodes.
func named(n int) func(*world) {
	return func(w *world) {
		furnished(n)(w)
		w.cloud.Lock()
		defer w.cloud.Unlock()
		for i := range n {
			w.cloud.Instances[fmt.Sprintf("i-%d", i)].HostName = fmt.Sprintf("node-%d", i)
		}
	}
}

// TestServingCertificates has kubelets ask for certificates: before the controller leads and after it, before their
// node is initialised, for the address of another, and one that is an instance of another node, too.
func TestServingCertificates(t *testing.T) {
	prepare := func(w *world) {
		named(5)(w)
		w.ask(t, 0, "192.168.0.0")
		w.UpdateNode("node-4", func(n *corev1.Node) { n.Spec.ProviderID = region + ".i-3" })
		w.cloud.Lock()
		defer w.cloud.Unlock()
		delete(w.cloud.Instances, "i-2") // The node waits for it.
	}
	run(t, approves, prepare, func(w *world) {
		for i, address := range []string{"", "192.168.0.9", "192.168.0.2", "192.168.0.3"} {
			if i > 0 {
				w.ask(t, i, address)
			}
		}
		w.Pass(time.Minute)
		for i, want := range []bool{true, false, false, false} {
			if got := w.approved(t, i); got != want {
				t.Errorf("request of node-%d: approved %t, want %t; events %q", i, got, want, w.Events.Matching(fmt.Sprintf("node-%d", i)))
			}
		}
		if got := w.Events.Matching(
			"node-1 CertificateNotApproved: The serving certificate that the kubelet asks for is not approved: the cloud does not " +
				"confirm the address 192.168.0.9 of instance i-1"); len(got) != 1 {
			t.Errorf("events %q", w.Events.Matching("node-1"))
		}
		w.askAs(t, "csr-1-again", "node-1", "192.168.0.9") // A kubelet asks again and again, by another name each time.
		w.Pass(time.Minute)
		if got := w.Events.Matching("node-1 CertificateNotApproved"); len(got) != 1 {
			t.Errorf("another request for the same is news: %q", got)
		}
		w.instance(2)
		w.cloud.Lock()
		w.cloud.Instances["i-2"].HostName = "node-2"
		w.cloud.Unlock()
		w.Pass(6 * time.Minute)
		if !w.approved(t, 2) {
			t.Errorf("the request of node-2 is not approved once the node is initialised: events %q", w.Events.Matching("node-2"))
		}
		w.Pass(10 * time.Minute)
		if w.approved(t, 3) || len(w.Events.Matching("node-3 CertificateNotApproved")) != 1 {
			t.Errorf("node-3, whose instance another node claims: events %q", w.Events.Matching("node-3"))
		}
	})
}

// TestServingCertificateForTheNameOfAnotherNode: host names of instances are not unique. One that is the name of another Node would let the
// one node pose as the other.
func TestServingCertificateForTheNameOfAnotherNode(t *testing.T) {
	prepare := func(w *world) {
		named(2)(w)
		node := fresh(3)
		node.Name = region + ".192.168.0.3" // after its address
		w.instance(3)
		w.cloud.Lock()
		w.cloud.Instances["i-3"].HostName = "node-1"
		w.cloud.Unlock()
		w.CreateNode(node)
	}
	run(t, approves, prepare, func(w *world) {
		w.Pass(time.Minute)
		w.askAs(t, "csr-3", region+".192.168.0.3", "192.168.0.3", "node-1")
		w.ask(t, 1, "192.168.0.1", "node-1")
		w.Pass(20 * time.Minute)
		if w.approved(t, 3) || !w.approved(t, 1) {
			t.Errorf("approved: %t for a node of the host name node-1, %t for node-1", w.approved(t, 3), w.approved(t, 1))
		}
		if got := w.Events.Matching(region + ".192.168.0.3 CertificateNotApproved"); len(got) != 1 || !strings.Contains(got[0], "node-1") {
			t.Errorf("events %q", got)
		}
	})
}

// TestServingCertificateOfAnotherMachine has a kubelet ask whose Node has the id of an instance that is gone: people are
// told, and the cloud is not asked again and again.
func TestServingCertificateOfAnotherMachine(t *testing.T) {
	run(t, approves, named(3), func(w *world) {
		w.Pass(time.Minute)
		w.vanish(1)
		w.Pass(20 * time.Minute)
		if !nodes.InstanceAbsent(w.Node("node-1")) {
			t.Fatal("the node is not marked")
		}
		w.cloud.ResetCalls()
		w.ask(t, 1, "192.168.0.1")
		w.Pass(time.Hour)
		if n := w.calls("GetInstance"); w.approved(t, 1) || n > 0 || len(w.Events.Matching("node-1 CertificateNotApproved")) != 1 {
			t.Errorf("approved %t, %d looks at the instance, events %q", w.approved(t, 1), n, w.Events.Matching("node-1 Cert"))
		}
	})
}

// TestServingCertificatesAreOff: without the option the controller does not even look.
func TestServingCertificatesAreOff(t *testing.T) {
	prepare := func(w *world) {
		named(1)(w)
		w.ask(t, 0, "192.168.0.0")
	}
	run(t, nil, prepare, func(w *world) {
		w.Pass(time.Minute)
		if w.approved(t, 0) {
			t.Error("approved")
		}
		for _, action := range w.Client.Actions() {
			if action.GetVerb() != "get" && action.GetResource().Resource == "certificatesigningrequests" {
				t.Errorf("%s", action.GetVerb())
			}
		}
	})
}
