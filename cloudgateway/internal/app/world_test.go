package app

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/kube"
	"alicloud-controllers.dev/services/logging"

	"alicloud-controllers.dev/cloudgateway/internal/config"
	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// world is a running gateway between a Kubernetes API server, of which only the reviews are there, and a simulated cloud.
type world struct {
	t     *testing.T
	dir   string
	sim   *openapisim.Simulator
	lease leases
	kube  *httptest.Server
	file  string // the gateway's configuration
	addr  string
	admin string
	log   lockedBuffer
	stop  func() error
	ended func() error // waits until the gateway ends by itself

	latency  time.Duration   // of the API server
	toolMay  map[string]bool // call through the OpenAPI front, by name, with any key pair
	mayLose  bool            // a gateway of the test loses its Lease
	accounts sync.Map        // ServiceAccounts that are "gone", "made anew" or "forbidden", by name
	agents   sync.Map        // the user agents of requests to the API server, by path
	asked    atomic.Int64    // requests to the API server, but those about Leases
}

// lockedBuffer takes the log of all goroutines.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func newWorld(t *testing.T, more ...func(seed *state.Cloud)) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), lease: leases{held: map[string]*coordinationv1.Lease{}}}
	seed := state.New("cn-hangzhou", "")
	seed.Vpcs["vpc-1"] = &state.Vpc{CidrBlock: "192.168.0.0/16"}
	for _, add := range more {
		add(seed)
	}
	settings := api.FastSettings()
	settings.SpecificationsNotSold = false // the requests of these tests name one
	sim, err := openapisim.New(openapisim.Config{LimitsOff: true, Settings: &settings, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	w.sim = sim
	w.kube = httptest.NewServer(http.HandlerFunc(w.review))
	t.Cleanup(w.kube.Close)
	w.write("kubeconfig", fmt.Sprintf(`
apiVersion: v1
kind: Config
current-context: test
contexts: [{name: test, context: {cluster: test, user: test}}]
clusters: [{name: test, cluster: {server: %q}}]
users: [{name: test, user: {token: gateway-token}}]
`, w.kube.URL))
	w.certificate()
	w.write("id", openapisim.DefaultAccessKeyID+"\n")
	w.write("secret", openapisim.DefaultAccessKeySecret+"\n")
	w.file = w.write("gateway.yaml", fmt.Sprintf(`
region: cn-hangzhou
vpcID: vpc-1
listen: 127.0.0.1:0
admin: {listen: 127.0.0.1:0}
tls: {certFile: %[1]s/tls.crt, keyFile: %[1]s/tls.key}
kubernetes: {kubeconfig: %[1]s/kubeconfig}
credentials: {accessKey: {idFile: %[1]s/id, secretFile: %[1]s/secret}}
endpoints: {slb: %[2]q, vpc: %[3]q, ecs: %[4]q}
scheme: HTTP
api: {enable: [vpc.v1.NetworkService, slb.v1.CertificateService]}
budget: {callers: {"system:serviceaccount:kube-system:writer": {maxPriority: backend}}}
logging: {level: debug}
`, w.dir, w.serve("slb"), w.serve("vpc"), w.serve("ecs")))
	return w
}

// serve gives the address of a product of the simulated cloud.
func (w *world) serve(product string) string {
	server := httptest.NewServer(w.sim.Handler(product))
	w.t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// start runs the gateway until the end of the test.
func (w *world) start() *Gateway {
	w.t.Helper()
	cfg, _, err := config.Load(w.file, "", func(string) string { return "" })
	if err != nil {
		w.t.Fatal(err)
	}
	log, err := logging.New(cfg.Logging, &w.log)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	g, err := New(ctx, cfg, log)
	if err != nil {
		cancel()
		w.t.Fatal(err)
	}
	w.addr, w.admin = g.Addr(), g.admin.Addr()
	ended := make(chan error, 1)
	go func() { ended <- g.Run(ctx) }()
	w.ended = sync.OnceValue(func() error { return <-ended })
	stop := w.ended
	end := func() error {
		cancel()
		return stop()
	}
	w.stop = end
	w.t.Cleanup(func() {
		if err := end(); err != nil && (!w.mayLose || !errors.Is(err, kube.ErrLeaseLost)) {
			w.t.Errorf("the gateway ended with: %v", err)
		}
	})
	return g
}

// dial connects a caller with a token and waits for the gateway.
func (w *world) dial(token string) *gateway.Client {
	w.t.Helper()
	conn, err := gateway.Dial(gateway.Config{
		Address: w.addr, CAFile: filepath.Join(w.dir, "tls.crt"), ServerName: "cloudgateway", TokenFile: w.write("token-"+token, token),
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			w.t.Errorf("close: %v", err)
		}
	})
	ctx, cancel := context.WithTimeout(w.t.Context(), 2*time.Minute)
	defer cancel()
	for err = conn.Ready(ctx); err != nil && ctx.Err() == nil; err = conn.Ready(ctx) {
		continue
	}
	if err != nil {
		w.t.Fatalf("the gateway is not ready: %v", err)
	}
	return conn.Client()
}

// get reads a page of the admin server.
func (w *world) get(path string) (int, string) {
	w.t.Helper()
	request, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, "http://"+w.admin+path, http.NoBody)
	if err != nil {
		w.t.Fatal(err)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	answer, err := transport.RoundTrip(request)
	if err != nil {
		w.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

func (w *world) write(name, text string) string {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// certificate makes the server's certificate.
func (w *world) certificate() {
	w.t.Helper()
	certificate, key := w.selfSigned("cloudgateway")
	w.write("tls.crt", certificate)
	w.write("tls.key", key)
}

// issue makes the certificate of a caller, who is the ServiceAccount's namesake.
func (w *world) issue(name string) {
	w.t.Helper()
	certificate, key := w.selfSigned(name)
	w.write(name+".crt", certificate)
	w.write(name+".key", key)
}

// selfSigned makes a certificate that vouches for itself.
func (w *world) selfSigned(name string) (certificate, privateKey string) {
	w.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		w.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{"cloudgateway"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		w.t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
}

// serviceAccount answers with a ServiceAccount, or that there is none.
func (w *world) serviceAccount(out http.ResponseWriter, name string) {
	uid, _ := w.accounts.Load(name)
	switch uid {
	case "made anew":
		w.answer(out, &corev1.ServiceAccount{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: "another-uid"}})
	case "gone":
		w.answerWith(out, http.StatusNotFound, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure",
			Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound})
	case "forbidden":
		w.answerWith(out, http.StatusForbidden, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure",
			Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden})
	default:
		w.answer(out, &corev1.ServiceAccount{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: "uid-of-" + types.UID(name)}})
	}
}

// review is the API server: the token "reader" may read load balancers, "writer" and "bulk" may do everything, "elsewhere" was made for
// another audience, "pod-of-NAME" for STS, others are unknown. "none" may have no session, and "bare" has no use for one.
func (w *world) review(out http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.t.Error(err)
	}
	w.agents.Store(r.URL.Path, r.UserAgent())
	<-time.After(w.latency)
	if r.URL.Path == "/version" {
		w.asked.Add(1)
		w.answer(out, map[string]string{"gitVersion": "v1.37.2"})
		return
	}
	if _, name, ok := strings.Cut(r.URL.Path, "/namespaces/kube-system/leases"); ok && r.Method == http.MethodGet {
		object, code := w.lease.handle(r.Method, strings.TrimPrefix(name, "/"), nil)
		w.answerWith(out, code, object)
		return
	}
	if _, name, ok := strings.Cut(r.URL.Path, "/serviceaccounts/"); ok && r.Method == http.MethodGet {
		w.asked.Add(1)
		w.serviceAccount(out, name)
		return
	}
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	if err != nil {
		w.t.Errorf("%s: %v", r.URL.Path, err)
		return
	}
	if _, about := object.(*coordinationv1.Lease); !about {
		w.asked.Add(1)
	}
	switch review := object.(type) {
	case *coordinationv1.Lease:
		answer, code := w.lease.handle(r.Method, review.GetName(), review)
		w.answerWith(out, code, answer)
	case *authenticationv1.TokenReview:
		review.APIVersion, review.Kind = "authentication.k8s.io/v1", "TokenReview"
		review.Status.User.Username = "system:serviceaccount:kube-system:" + review.Spec.Token
		switch review.Spec.Token {
		case "reader", "writer", "bulk":
			review.Status.Authenticated, review.Status.Audiences = slices.Contains(review.Spec.Audiences, "cloudgateway"), []string{"cloudgateway"}
		case "pod-of-tool", "pod-of-scoped", "pod-of-lbcontroller", "pod-of-bare", "pod-of-none": // what RRSA puts into pods
			review.Status.Authenticated = slices.Contains(review.Spec.Audiences, "sts.aliyuncs.com")
			review.Status.Audiences = []string{"sts.aliyuncs.com"}
			name := strings.TrimPrefix(review.Spec.Token, "pod-of-")
			review.Status.User.Username = "system:serviceaccount:tools:" + name
			review.Status.User.UID = "uid-of-" + name
			if name == "lbcontroller" {
				review.Status.User.Username = "system:serviceaccount:kube-system:" + name
			}
		case "person":
			review.Status.Authenticated, review.Status.Audiences = true, review.Spec.Audiences
			review.Status.User.Username = "admin@example.com"
		case "elsewhere":
			review.Status.Error = "token audiences are invalid"
		}
		w.answer(out, review)
	case *authorizationv1.SubjectAccessReview:
		review.APIVersion, review.Kind = "authorization.k8s.io/v1", "SubjectAccessReview"
		wanted := review.Spec.ResourceAttributes
		mayAsk := wanted.Name == "sts:AssumeRoleWithOIDC" && !strings.HasSuffix(review.Spec.User, ":none")
		mayCall := w.toolMay[wanted.Name] && !strings.HasSuffix(review.Spec.User, ":bare") && !strings.HasSuffix(review.Spec.User, ":none")
		review.Status.Allowed = wanted.Resource == "openapi" && (mayAsk || mayCall) ||
			strings.HasSuffix(review.Spec.User, ":writer") || strings.HasSuffix(review.Spec.User, ":bulk") ||
			wanted.Resource == "loadbalancers" && (wanted.Verb == "get" || wanted.Verb == "list")
		w.answer(out, review)
	default:
		w.t.Errorf("%s: unexpected %T", r.URL.Path, object)
	}
}

func (w *world) answer(out http.ResponseWriter, object any) { w.answerWith(out, http.StatusOK, object) }

func (w *world) answerWith(out http.ResponseWriter, code int, object any) {
	out.Header().Set("Content-Type", "application/json")
	out.WriteHeader(code)
	if err := json.NewEncoder(out).Encode(object); err != nil {
		w.t.Error(err)
	}
}
