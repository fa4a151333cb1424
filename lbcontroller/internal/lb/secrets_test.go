package lb_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

// tlsPair is a certificate with its key, as cert-manager makes them.
type tlsPair struct {
	chain, key  []byte
	fingerprint string
}

// newPair makes a pair that is valid for 90 days, or not any more.
func newPair(t testing.TB, name string, expired bool) tlsPair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now().Add(-time.Hour)
	if expired {
		begin = begin.AddDate(-1, 0, 0)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name + ".example.com"},
		NotBefore: begin, NotAfter: begin.AddDate(0, 0, 90)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(der)
	return tlsPair{
		chain: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), fingerprint: hex.EncodeToString(sum[:]),
		key: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}),
	}
}

// secret writes a Secret; without a pair it goes.
func (w *world) secret(name string, pair *tlsPair, kind corev1.SecretType) {
	w.t.Helper()
	secrets := w.kube.CoreV1().Secrets("default")
	if pair == nil {
		if err := secrets.Delete(w.t.Context(), name, metav1.DeleteOptions{}); err != nil {
			w.t.Fatal(err)
		}
		return
	}
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Type: kind,
		Data: map[string][]byte{corev1.TLSCertKey: pair.chain, corev1.TLSPrivateKeyKey: pair.key}}
	_, err := secrets.Update(w.t.Context(), s, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = secrets.Create(w.t.Context(), s, metav1.CreateOptions{})
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// certificates are those of a story, by their names in it.
type certificates map[string]tlsPair

// requestIDs are those of the cloud, which differ each time.
var requestIDs = regexp.MustCompile(`request [0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}`)

// jobIDs are those of the cloud's jobs.
var jobIDs = regexp.MustCompile(`job [0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// named puts the names of certificates in place of their fingerprints, which differ each time, as ids of requests do.
func (c certificates) named(text string) string {
	text = jobIDs.ReplaceAllString(requestIDs.ReplaceAllString(text, "request R"), "job J")
	for name, pair := range c {
		text = strings.ReplaceAll(text, pair.fingerprint, "fingerprint-of-"+name)
		text = strings.ReplaceAll(text, pair.fingerprint[:16], "of-"+name)
	}
	return text
}

// putSecret is the command of that name.
func (s *story) putSecret(name, what string) {
	s.t.Helper()
	if what == "none" {
		s.secret(name, nil, "")
		return
	}
	what, how, _ := strings.Cut(what, "/")
	if s.certificates == nil {
		s.certificates = certificates{}
	}
	pair, ok := s.certificates[what]
	if !ok {
		pair = newPair(s.t, what, how == "expired")
		s.certificates[what] = pair
	}
	kind := corev1.SecretTypeTLS
	switch how {
	case "otherkey":
		pair.key = newPair(s.t, what, false).key
	case "opaque":
		kind = corev1.SecretTypeOpaque
	}
	s.secret(name, &pair, kind)
}

// fromSecret makes port 80 an https listener with the certificate of a Secret.
func fromSecret(svc *corev1.Service) {
	annotated(annotation.ProtocolPort, "https:80")(svc)
	annotated(annotation.TLSSecret, "web-tls")(svc)
}

// readsSecrets lets the controller read the Secrets of the namespace.
func readsSecrets(cfg *settings) {
	cfg.Controller.SecretNamespaces, cfg.Kind.TLSSecrets = []string{"default"}, true
	cfg.Kind.CertificateGrace = 2 * time.Hour
	cfg.Kind.DriftCheck = 365 * 24 * time.Hour // What only that would find is lost.
}

// uploaded are the certificates in the cloud by the name that has their fingerprint, and which of them the listener has.
func (w *world) uploaded() (all []string, attached string) {
	w.cloud.Lock()
	defer w.cloud.Unlock()
	for _, c := range w.cloud.Certificates {
		if len(c.Tags) > 0 { // It is no user's.
			all = append(all, c.Name)
		}
	}
	for _, l := range clbListeners(w.cloud.Cloud) {
		if c := w.cloud.Certificates[l.Attributes["ServerCertificateId"]]; c != nil {
			attached = c.Name
		}
	}
	slices.Sort(all)
	return all, attached
}

// TestSecretInTrouble renews a Secret, the process dies at each of its calls or writes in turn, or each answer is
// lost. In the end the listener has the new certificate, which was uploaded once, and the old one is gone.
func TestSecretInTrouble(t *testing.T) {
	t.Parallel()
	lost := &rpcerr.Error{Code: codes.Unknown, Reason: rpcerr.OutcomeUnknown, Message: "the answer was lost"}
	for name, disturb := range map[string]func(w *world, k int) *atomic.Bool{
		"death": func(w *world, k int) *atomic.Bool { return w.dies(&death{left: k}) },
		"lost answer": func(w *world, k int) *atomic.Bool {
			var happened atomic.Bool
			w.cloud.Interpose(func(seq int, _ string, _ proto.Message) gatewaytest.Fault {
				if seq != k {
					return gatewaytest.Fault{}
				}
				happened.Store(true)
				return gatewaytest.Fault{After: lost}
			})
			return &happened
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			disturbed := 0
			for k, happened := 0, true; happened; k++ {
				inWorld(t, 1, func(w *world) {
					withRecords(w)
					kept := w.config
					w.config = func(cfg *settings) {
						kept(cfg)
						readsSecrets(cfg)
					}
					w.restart()
					first, second := newPair(t, "first", false), newPair(t, "second", false)
					w.secret("web-tls", &first, corev1.SecretTypeTLS)
					w.create(web(fromSecret))
					w.cloud.ResetCalls()
					flag := disturb(w, k)
					w.secret("web-tls", &second, corev1.SecretTypeTLS)
					w.settle()
					if happened = flag.Load(); happened {
						disturbed++
					}
					revive(w)
					w.after(5 * time.Minute)
					all, attached := w.uploaded()
					want := "k8s-c-test-" + second.fingerprint[:16]
					check(t, fmt.Sprintf("certificate after %s %d", name, k), want, attached)
					check(t, fmt.Sprintf("number of certificates after %s %d", name, k), 2, len(all))
					w.after(4 * time.Hour)
					all, _ = w.uploaded()
					check(t, fmt.Sprintf("certificates in the end of %s %d", name, k), []string{want}, all)
				})
			}
			if disturbed < 3 {
				t.Errorf("only %d calls were disturbed", disturbed)
			}
		})
	}
}

// TestSecretCosts: a Service with a Secret costs nothing while nothing changes, and a renewal two writes and later one.
func TestSecretCosts(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.config = readsSecrets
		w.restart()
		first, second := newPair(t, "first", false), newPair(t, "second", false)
		w.secret("web-tls", &first, corev1.SecretTypeTLS)
		w.create(web(fromSecret))
		w.calls()
		w.secret("web-tls", &first, corev1.SecretTypeTLS) // The same again.
		w.settle()
		check(t, "calls when nothing changes", []string(nil), w.calls())
		w.secret("web-tls", &second, corev1.SecretTypeTLS)
		w.settle()
		check(t, "calls of a renewal", []string{"ListServerCertificates", "UploadServerCertificate", "UpdateListener"}, w.calls())
		w.after(4 * time.Hour)
		var writes []string
		for _, c := range w.cloud.Writes() {
			writes = append(writes, c.Method)
		}
		check(t, "later", []string{"DeleteServerCertificate"}, writes)
	})
}

// TestOnlyOurCertificates: whatever looks like ours and lacks a mark stays, and what a listener uses.
func TestOnlyOurCertificates(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.config = readsSecrets
		w.restart()
		pair := newPair(t, "first", false)
		w.secret("web-tls", &pair, corev1.SecretTypeTLS)
		w.create(web(fromSecret))
		w.cloud.Lock()
		ours := w.cloud.Certificates["certificate-1"]
		users := len(w.cloud.Certificates) - 1
		for id, change := range map[string]func(c *state.Certificate){
			"cert-name":        func(c *state.Certificate) { c.Name = "mine" },
			"cert-cluster":     func(c *state.Certificate) { c.Tags[0].Value = "c-other" },
			"cert-fingerprint": func(c *state.Certificate) { c.Tags[1].Value = strings.Repeat("0", 64) },
			"cert-untagged":    func(c *state.Certificate) { c.Tags = c.Tags[:1] },
			"cert-used":        func(*state.Certificate) {},
			"cert-unused":      func(*state.Certificate) {},
		} {
			c := *ours
			c.ID, c.Tags = id, slices.Clone(ours.Tags)
			change(&c)
			w.cloud.Certificates[id] = &c
		}
		l := listenerByHand(1, "https", "", "by hand")
		l.Attributes["ServerCertificateId"] = "cert-used"
		w.cloud.LoadBalancers["lb-of-a-user"] = &state.LoadBalancer{Name: "theirs", Listeners: []*state.Listener{l}}
		w.cloud.Unlock()
		w.after(9 * time.Hour)
		w.cloud.Lock()
		defer w.cloud.Unlock()
		check(t, "certificates", users+6, len(w.cloud.Certificates))
		if w.cloud.Certificates["cert-unused"] != nil {
			t.Error("an unused copy of a certificate stays")
		}
	})
}

// TestKeysAreNowhere: no log, event, metric, Service or error has a private key, whatever happens to an upload.
func TestKeysAreNowhere(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		var log bytes.Buffer
		w.config = func(cfg *settings) {
			readsSecrets(cfg)
			logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			cfg.Controller.Logger, cfg.Kind.Logger = logger, logger
		}
		w.restart()
		good, other := newPair(t, "good", false), newPair(t, "other", false)
		mixed := tlsPair{chain: good.chain, key: other.key}
		cut := tlsPair{chain: good.chain, key: good.key[:100]}
		swapped := tlsPair{chain: good.key, key: good.chain}
		w.secret("web-tls", &mixed, corev1.SecretTypeTLS)
		w.create(web(fromSecret))
		for _, pair := range []*tlsPair{&cut, &swapped, &good} {
			w.cloud.Fail("UploadServerCertificate", 1, &rpcerr.Error{Code: codes.InvalidArgument, Reason: rpcerr.InvalidField, Message: "refused"})
			w.secret("web-tls", pair, corev1.SecretTypeTLS)
			w.settle()
		}
		w.after(time.Hour)
		_, attached := w.uploaded()
		check(t, "certificate", "k8s-c-test-"+good.fingerprint[:16], attached)
		service, err := json.Marshal(w.service())
		if err != nil {
			t.Fatal(err)
		}
		families, err := w.registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		shown := strings.Join(w.events.take(), "\n") + string(service) + fmt.Sprint(families) + log.String()
		if !strings.Contains(shown, "uploaded a certificate") || !strings.Contains(shown, "TLSSecretInvalid") &&
			!strings.Contains(shown, "no certificate with its key") {
			t.Fatalf("nothing is shown:\n%s", shown)
		}
		for _, pair := range []tlsPair{good, other} {
			block, _ := pem.Decode(pair.key)
			for _, part := range []string{string(pair.key[40:80]), hex.EncodeToString(block.Bytes[40:60]), fmt.Sprintf("%d", block.Bytes[40:60])} {
				if strings.Contains(shown, part) {
					t.Errorf("a private key is shown")
				}
			}
		}
	})
}
