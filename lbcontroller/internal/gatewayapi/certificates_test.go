package gatewayapi_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/cloudgateway/writetest"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/backend"
	"alicloud-controllers.dev/lbcontroller/internal/shadow"
)

// certificateGrace is how long a certificate stays that nobody uses.
const certificateGrace = 2 * time.Hour

// secret writes a Secret with another certificate than any before, and gives the name of that in the cloud.
func (w *world) secret(namespace, name string) string {
	w.t.Helper()
	pair, err := writetest.NewKeyPair(name)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.secretWith(namespace, name, pair.GetCertificatePem(), pair.GetPrivateKeyPem())
}

func (w *world) secretWith(namespace, name, chain, key string) string {
	w.t.Helper()
	secrets := w.kube.CoreV1().Secrets(namespace)
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{corev1.TLSCertKey: []byte(chain), corev1.TLSPrivateKeyKey: []byte(key)}}
	_, err := secrets.Update(w.t.Context(), s, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = secrets.Create(w.t.Context(), s, metav1.CreateOptions{})
	}
	if err != nil {
		w.t.Fatal(err)
	}
	block, _ := pem.Decode([]byte(chain))
	sum := sha256.Sum256(block.Bytes)
	return "k8s-c-test-" + hex.EncodeToString(sum[:8])
}

// has compares the certificates in the cloud that were uploaded for Secrets, and those of the listeners, "PORT: NAME …".
func (w *world) has(what string, uploaded []string, listeners ...string) {
	w.t.Helper()
	var all, lines []string
	w.cloud.Look(func(c *state.Cloud) {
		name := func(id string) string {
			number, _, _ := strings.Cut(id, "-")
			if found := c.UserCertificates[number]; found != nil {
				return found.Name
			}
			return id
		}
		for _, u := range c.UserCertificates {
			if strings.HasPrefix(u.Name, "k8s-c-test-") {
				all = append(all, u.Name)
			}
		}
		for _, l := range c.NLBListeners {
			line := fmt.Sprintf("%d:", l.Port)
			for _, id := range l.CertificateIDs {
				line += " " + name(id)
			}
			for _, further := range l.Additional {
				line += " and " + name(further.ID)
			}
			lines = append(lines, line)
		}
	})
	slices.Sort(all)
	slices.Sort(lines)
	slices.Sort(uploaded)
	slices.Sort(listeners)
	if diff := cmp.Diff(uploaded, all); diff != "" {
		w.t.Errorf("%s: certificates in the cloud (-want +got):\n%s", what, diff)
	}
	if diff := cmp.Diff(listeners, lines); diff != "" {
		w.t.Errorf("%s: listeners (-want +got):\n%s\nevents: %q", what, diff, w.events.Take())
	}
}

// secretsOf lets objects of a kind in a namespace refer to Secrets of another; named is one name or "".
func secretsOf(namespace, kind, from, named string) string {
	return fmt.Sprintf(`apiVersion: gateway.networking.k8s.io/v1
kind: ReferenceGrant
metadata: {name: secrets, namespace: %s}
spec:
  from: [{group: gateway.networking.k8s.io, kind: %s, namespace: %s}]
  to: [{group: "", kind: Secret%s}]
`, namespace, kind, from, named)
}

func tlsAt(port int, secrets ...string) string {
	var refs []string
	for _, s := range secrets {
		namespace, name, _ := strings.Cut(s, "/")
		refs = append(refs, fmt.Sprintf("{name: %s, namespace: %s}", name, namespace))
	}
	return fmt.Sprintf("{name: tls%d, protocol: TLS, port: %d, tls: {certificateRefs: [%s]}}", port, port, strings.Join(refs, ", "))
}

// TestCertificateOfAnotherTeam: a Gateway ends TLS with certificates of Secrets in another namespace as long as a
// ReferenceGrant lets it; they follow the Secrets, and go when nobody uses them any more.
func TestCertificateOfAnotherTeam(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		one, more := w.secret("red", "one"), w.secret("red", "more")
		w.start()
		w.apply(gateway("nlb", tcp("a", 80)+","+tlsAt(443, "red/one", "red/more")))
		w.settle()
		w.has("without a grant", nil, "80:")
		if said := w.listener("tls443", "ResolvedRefs"); said.Reason != "RefNotPermitted" {
			t.Errorf("%v", said)
		}
		w.apply(secretsOf("red", "Gateway", "infra", ""))
		w.settle()
		w.has("granted", []string{one, more}, "80:", "443: "+one+" and "+more)
		w.settled("granted")
		w.want("gateways infra/gw", "Programmed", "True Programmed")
		w.secret("red", "of-nobody")
		w.settle()
		w.settled("a Secret of nobody")

		renewed := w.secret("red", "one")
		w.settle()
		w.has("renewed", []string{one, more, renewed}, "80:", "443: "+renewed+" and "+more)
		if err := w.kube.CoreV1().Secrets("red").Delete(t.Context(), "more", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		w.settle()
		w.has("one Secret is gone", []string{one, more, renewed}, "80:", "443: "+renewed+" and "+more)

		w.remove("referencegrants red/secrets")
		w.settle()
		w.has("withdrawn", []string{one, more, renewed}, "80:")
		if said := w.listener("tls443", "Programmed"); said.Reason != "Invalid" {
			t.Errorf("%v", said)
		}
		<-time.After(certificateGrace + time.Hour + time.Minute)
		w.has("later", nil, "80:")

		w.apply(secretsOf("red", "Gateway", "infra", ", name: one"))
		w.secretWithout("red", "more")
		w.settle()
		w.has("granted for one of two", nil, "80:")
		w.apply(secretsOf("red", "Gateway", "infra", ""))
		w.settle()
		again := w.secret("red", "more")
		w.settle()
		w.has("granted again", []string{renewed, again}, "80:", "443: "+renewed+" and "+again)
		w.remove("gateways infra/gw")
		w.settle()
		<-time.After(certificateGrace + time.Hour + time.Minute)
		w.has("the Gateway is gone", nil)
	})
}

// secretWithout writes a Secret without a certificate.
func (w *world) secretWithout(namespace, name string) {
	w.t.Helper()
	if _, err := w.kube.CoreV1().Secrets(namespace).Create(w.t.Context(), &corev1.Secret{Type: corev1.SecretTypeTLS,
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// TestGrantOfTheOnlyListenerIsWithdrawn: its listener goes, and nothing else: the load balancer has the same address
// when the grant is back.
func TestGrantOfTheOnlyListenerIsWithdrawn(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		one := w.secret("red", "one")
		w.start()
		w.apply(secretsOf("red", "Gateway", "infra", ""))
		w.apply(gateway("nlb", tlsAt(443, "red/one")))
		w.settle()
		w.has("granted", []string{one}, "443: "+one)
		address := w.service().Status.LoadBalancer.Ingress
		w.remove("referencegrants red/secrets")
		w.settle()
		w.has("withdrawn", []string{one})
		w.expect("withdrawn", "nlb Internet")
		w.want("gateways infra/gw", "Programmed", "False Invalid")
		w.events.Take()
		w.calls()
		w.secret("red", "of-nobody") // Another pass.
		w.settle()
		if said, called := w.events.Take(), w.calls(); len(said) > 0 || called != "" {
			t.Errorf("it goes on: %q, %s", said, called)
		}
		w.apply(secretsOf("red", "Gateway", "infra", ""))
		w.settle()
		w.has("granted again", []string{one}, "443: "+one)
		if now := w.service().Status.LoadBalancer.Ingress; !cmp.Equal(now, address) {
			t.Errorf("the address is %v, and was %v", now, address)
		}
		w.settled("granted again")

		// Nothing is translated any more, and yet the use ends.
		w.apply(gateway("nlb", tlsAt(443, "red/one"), "  addresses: [{type: Hostname, value: a.example.com}]"))
		w.settle()
		w.has("a mistake", []string{one}, "443: "+one)
		w.remove("referencegrants red/secrets")
		w.settle()
		w.has("withdrawn beside a mistake", []string{one})
		w.expect("withdrawn beside a mistake", "nlb Internet")
	})
}

// TestGatewayIsDeletedWithoutItsService: its certificates are not used any more, and the rest of the load balancer stays.
func TestGatewayIsDeletedWithoutItsService(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		one := w.secret("red", "one")
		w.start()
		w.apply(secretsOf("red", "Gateway", "infra", ""))
		w.apply(gateway("nlb", tcp("a", 80)+","+tlsAt(443, "red/one")))
		w.settle()
		w.has("granted", []string{one}, "80:", "443: "+one)
		w.orphan("infra", "gw")
		w.settle()
		w.has("deleted", []string{one}, "80:")
		<-time.After(certificateGrace + time.Hour + time.Minute)
		w.has("later", nil, "80:")
	})
}

// TestClassIsGone: all stays as it is, and a renewed Secret is not followed. When the class is back, it is.
func TestClassIsGone(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		one := w.secret("red", "one")
		w.start()
		w.apply(secretsOf("red", "Gateway", "infra", ""))
		w.apply(gateway("nlb", tlsAt(443, "red/one")))
		w.settle()
		w.remove("gatewayclasses /nlb")
		w.settle()
		renewed := w.secret("red", "one")
		w.settle()
		w.has("gone", []string{one}, "443: "+one)
		w.apply("apiVersion: gateway.networking.k8s.io/v1\nkind: GatewayClass\nmetadata: {name: nlb}\n" +
			"spec: {controllerName: alibabacloud.com/nlb}\n")
		w.settle()
		w.has("back", []string{one, renewed}, "443: "+renewed)
	})
}

// setMute says whether the API server is about what it has.
func (w *world) setMute(is bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mute = is
}

// TestRestartBesideCertificates: a new leader that has its caches of Gateways later than those of Services says nothing
// and calls nobody.
func TestRestartBesideCertificates(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		one := w.secret("red", "one")
		w.start()
		w.apply(secretsOf("red", "Gateway", "infra", ""))
		w.apply(gateway("nlb", tlsAt(443, "red/one")))
		w.settle()
		w.stop()
		w.events.Take()
		w.events.TakeOfServices()
		w.setMute(true)
		time.AfterFunc(time.Second, func() { w.setMute(false) })
		w.start()
		if said := append(w.events.Take(), w.events.TakeOfServices()...); strings.Contains(strings.Join(said, " "), "Secret") {
			t.Errorf("it says %q", said)
		}
		w.has("restarted", []string{one}, "443: "+one)
		w.cloud.ResetCalls()

		// It leads without the custom resources: the certificate is there, and a new one isn't taken before they come.
		w.stop()
		w.serve()
		w.start()
		renewed := w.secret("red", "one")
		w.settle()
		w.has("no custom resources", []string{one}, "443: "+one)
		w.serve("v1")
		<-time.After(5 * time.Minute)
		w.has("custom resources", []string{one, renewed}, "443: "+renewed)
	})
}

// TestCertificateOfAListenerSet: a ListenerSet uses Secrets of its own namespace, which is not the Gateway's, without a
// grant, and those of a third one with a grant for ListenerSets.
func TestCertificateOfAListenerSet(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		home, theirs := w.secret("green", "home"), w.secret("blue", "theirs")
		set := `apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {name: set, namespace: green}
spec:
  parentRef: {name: gw, namespace: infra}
  listeners: [` + tlsAt(443, "green/home") + "," + tlsAt(8443, "blue/theirs") + "]\n"
		w.start()
		w.apply(gateway("nlb", tcp("a", 80), "  allowedListeners: {namespaces: {from: All}}"))
		w.apply(set)
		w.apply(secretsOf("blue", "Gateway", "infra", "")) // Grants for Gateways are not those of their ListenerSets.
		w.settle()
		w.has("granted to Gateways", []string{home}, "80:", "443: "+home)
		w.apply(secretsOf("blue", "ListenerSet", "green", ", name: theirs"))
		w.settle()
		w.has("granted to ListenerSets", []string{home, theirs}, "80:", "443: "+home, "8443: "+theirs)
		w.apply(gateway("nlb", tcp("a", 80)))
		w.settle()
		w.has("the set is barred", []string{home, theirs}, "80:")
		w.apply(gateway("nlb", tcp("a", 80), "  allowedListeners: {namespaces: {from: All}}"))
		w.settle()
		w.has("the set is let in", []string{home, theirs}, "80:", "443: "+home, "8443: "+theirs)
		w.remove("listenersets green/set")
		w.settle()
		w.has("the set is gone", []string{home, theirs}, "80:")
	})
}

// TestCertificateOfTwoNamespaces: a Secret that a Service of its namespace uses, and a Gateway in another one, is
// uploaded once, and its certificate goes when neither uses it any more.
func TestCertificateOfTwoNamespaces(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]string{"the Gateway goes first": "gateway", "the Service goes first": "service"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, func(w *world) {
				one := w.secret("red", "one")
				w.start()
				w.apply(secretsOf("red", "Gateway", "infra", ""))
				w.apply(gateway("nlb", tlsAt(443, "red/one")))
				w.forge("red", "own", 8443, "one")
				w.settle()
				w.has("both", []string{one}, "443: "+one, "8443: "+one)
				renewed := w.secret("red", "one")
				w.settle()
				w.has("renewed", []string{one, renewed}, "443: "+renewed, "8443: "+renewed)
				go1, go2 := func() { w.remove("gateways infra/gw") }, func() {
					if err := w.kube.CoreV1().Services("red").Delete(t.Context(), "own", metav1.DeleteOptions{}); err != nil {
						t.Fatal(err)
					}
				}
				left := "8443: " + renewed
				if first == "service" {
					go1, go2, left = go2, go1, "443: "+renewed
				}
				go1()
				<-time.After(certificateGrace + time.Hour + time.Minute)
				w.has("one is left", []string{renewed}, left)
				go2()
				<-time.After(certificateGrace + time.Hour + time.Minute)
				w.has("none is left", nil)
			})
		})
	}
}

// forge makes a Service of an NLB that ends TLS with a Secret, with changes.
func (w *world) forge(namespace, name string, port int, secret string, changes ...func(*corev1.Service)) {
	w.t.Helper()
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{},
		Annotations: map[string]string{annotation.Prefix + annotation.ProtocolPort: fmt.Sprintf("tcpssl:%d", port),
			annotation.Prefix + annotation.TLSSecret: secret}},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: new(annotation.NLBClass),
			Ports: []corev1.ServicePort{{Name: "tls", Port: int32(port), Protocol: corev1.ProtocolTCP}}}}
	for _, change := range changes {
		change(svc)
	}
	if _, err := w.kube.CoreV1().Services(namespace).Create(w.t.Context(), svc, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// TestNobodyTakesASecret: a Service that names a Secret of another namespace by itself gets no certificate, whatever is
// written on it, and says why.
func TestNobodyTakesASecret(t *testing.T) {
	t.Parallel()
	owned := func(svc *corev1.Service) {
		svc.Labels[shadow.LabelManagedBy] = backend.SlicesManager
		svc.OwnerReferences = []metav1.OwnerReference{{APIVersion: "gateway.networking.k8s.io/v1", Kind: "Gateway", Name: "gw",
			UID: "uid-gw", Controller: new(true)}}
	}
	granted := secretsOf("red", "Gateway", "infra", "")
	named, mistaken := gateway("nlb", tlsAt(443, "red/one")), gateway("nlb", tlsAt(443, "red/one"),
		"  addresses: [{type: Hostname, value: a.example.com}]")
	for name, c := range map[string]struct {
		objects   []string
		namespace string
		service   string
		change    func(*corev1.Service)
		without   bool
		lonely    bool // nobody else asks for a load balancer
	}{
		"a plain Service": {objects: []string{named, granted}, service: "mine"},
		"its own namespace is no other": {objects: []string{named, granted},
			namespace: "blue", service: "mine"},
		"the owner is forged": {objects: []string{named, granted}, service: "mine", change: owned},
		"the owner is forged elsewhere": {objects: []string{named, granted},
			namespace: "blue", service: nameOfNLB, change: owned},
		"the name is forged, without a Gateway": {objects: []string{granted},
			service: nameOfNLB, change: owned, lonely: true},
		"of a Gateway that names no Secret": {objects: []string{gateway("nlb", tcp("a", 80)), granted},
			service: "mine", change: owned},
		"of another controller's Gateway": {objects: []string{gateway("other", tlsAt(443, "red/one")), granted},
			service: nameOfNLB, change: owned},
		"of a Gateway whose class there isn't": {objects: []string{gateway("gone", tlsAt(443, "red/one")), granted},
			service: nameOfNLB, change: owned},
		"of a Gateway of which nothing is made": {objects: []string{mistaken, granted},
			service: nameOfNLB, change: owned},
		"in the way of the Gateway's Service": {objects: []string{named, granted}, service: nameOfNLB},
		"no grant": {objects: []string{named},
			service: nameOfNLB, change: owned, lonely: true},
		"the grant is for routes": {objects: []string{named, secretsOf("red", "TLSRoute", "infra", "")},
			service: nameOfNLB, change: owned, lonely: true},
		"the grant is for another name": {objects: []string{named, secretsOf("red", "Gateway", "infra", ", name: two")},
			service: nameOfNLB, change: owned, lonely: true},
		"the option is off": {objects: []string{named, granted},
			service: nameOfNLB, change: owned, without: true, lonely: true},
		"the option is off, for a plain Service": {service: "mine", without: true, lonely: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, func(w *world) {
				w.secret("red", "one")
				w.without = c.without
				w.start()
				if c.namespace == "" {
					c.namespace = "infra"
				}
				change := c.change
				if change == nil {
					change = func(*corev1.Service) {}
				}
				// It is there before the Gateway, which would make its Service else.
				w.forge(c.namespace, c.service, 8443, "red/one", change)
				for _, text := range c.objects {
					w.apply(text)
				}
				w.settle()
				w.cloud.Look(func(cloud *state.Cloud) {
					if len(cloud.NLBs) > 0 && c.lonely {
						w.t.Error("there is a load balancer")
					}
					for _, l := range cloud.NLBListeners {
						if l.Port == 8443 {
							w.t.Errorf("there is a listener with %v", l.CertificateIDs)
						}
					}
				})
				svc, err := w.kube.CoreV1().Services(c.namespace).Get(w.t.Context(), c.service, metav1.GetOptions{})
				if apierrors.IsNotFound(err) && c.change != nil && !c.without {
					return // It said that it was made for the Gateway, which has another one now.
				}
				if err != nil {
					w.t.Fatal(err)
				}
				for _, condition := range svc.Status.Conditions {
					if condition.Type == "Synced" && condition.Status == metav1.ConditionFalse && strings.Contains(condition.Message, "red") {
						return
					}
				}
				w.t.Errorf("it doesn't say why: %v", svc.Status.Conditions)
			})
		})
	}
}
