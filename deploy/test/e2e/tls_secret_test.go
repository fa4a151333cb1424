package e2e

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"alicloud-controllers.dev/cloudgateway/writetest"
	"alicloud-controllers.dev/deploy/tools/local/world"
)

// tlsGrace is longer than a renewal takes, and short for a test.
const tlsGrace = 3 * time.Second

// tlsWorld is a world in which Secrets of a namespace have the certificates of listeners that end TLS.
type tlsWorld struct {
	testWorld
	t         *testing.T
	namespace string
}

// TestTLSSecretIsRenewed: while clients of a CLB and of an NLB make handshakes on and on, their Secret is renewed as cert-manager does it,
// gets a key that doesn't fit, and takes its first certificate back. Each handshake succeeds, with the certificate of before or that of
// now. The unused ones go after the grace, also when that is within the hour for which the gateway answers the same upload
// with the certificate of before.
func TestTLSSecretIsRenewed(t *testing.T) {
	t.Parallel()
	w := newTLSWorld(t, metav1.NamespaceDefault, world.Config{})
	first, second, third := newServing(t, "first"), newServing(t, "second"), newServing(t, "third")
	w.put(first.chain, first.key)
	w.create(t, newService("web", map[string]string{"protocol-port": "https:8443", "tls-secret": "web-tls"}, 8443))
	w.create(t, newNLBService("web-nlb", map[string]string{"protocol-port": "tcpssl:8443", "tls-secret": "web-tls"}, 8443))
	addresses := []string{net.JoinHostPort(w.balanced(t, "web").Status.LoadBalancer.Ingress[0].IP, "8443"), w.ofNLB("8443")}
	for _, address := range addresses {
		eventually(t, "the listener answers on "+address, func(ctx context.Context) error {
			_, err := handshake(ctx, address)
			return err
		})
	}

	clients := w.handshakes(addresses, first)
	w.renew(clients, second)
	w.put(third.chain, first.key)
	w.eventuallyEvent(t, "Service", "web", "TLSSecretInvalid", "private key does not match")
	w.eventuallyEvent(t, "Service", "web-nlb", "TLSSecretInvalid", "private key does not match")
	w.renew(clients, third)
	w.renew(clients, first)
	clients.reach(1000)
	made, failed := clients.stop()
	if t.Logf("%d handshakes, %d failed", made, len(failed)); len(failed) > 0 {
		t.Errorf("of %d handshakes these failed: %q", made, failed)
	}
	w.remove(t, "web")
	w.remove(t, "web-nlb")
}

// ofNLB is the address at which the NLB of the world can be reached.
func (w tlsWorld) ofNLB(port string) (address string) {
	w.t.Helper()
	eventually(w.t, "the NLB has an address", func(context.Context) error {
		for _, lb := range w.state(w.t).NLBs {
			if len(lb.Zones) > 0 && lb.Zones[0].PublicIP != "" {
				address = net.JoinHostPort(lb.Zones[0].PublicIP, port)
				return nil
			}
		}
		return errors.New("there is none")
	})
	return address
}

// newTLSWorld makes one with a node and traffic. The namespace of the Secrets is made if it isn't there.
func newTLSWorld(t *testing.T, namespace string, of world.Config) tlsWorld {
	t.Helper()
	of.Nodes, of.Controllers, of.Fast, of.Traffic = 1, world.Controllers(), true, true
	w := tlsWorld{t: t, namespace: namespace, testWorld: bootWith(t, of)}
	_, err := w.Client().CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", w.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	w.mayRead(cfg)
	settings := map[string]any{"tlsSecretNamespaces": []any{namespace}, "tlsSecretGrace": tlsGrace.String()}
	if err := w.Reconfigure(world.LB, settings); err != nil {
		t.Fatal(err)
	}
	if err := w.Kill(world.LB); err != nil {
		t.Fatal(err)
	}
	if err := w.Restart(t.Context(), world.LB); err != nil {
		t.Fatal(err)
	}
	w.initialised(t)
	return w
}

// mayRead gives lbcontroller the rights that the chart gives it for the Secrets.
func (w tlsWorld) mayRead(cfg *rest.Config) {
	w.t.Helper()
	granted := 0
	for _, document := range renderChart(w.t, cfg, map[string]any{
		"clusterID": "c-1", "region": world.Region, "vpcID": world.VpcID, "network": map[string]any{"mode": "terway"},
		"credentials": map[string]any{"existingSecret": "key"},
		"components": map[string]any{"lbcontroller": map[string]any{
			"config": map[string]any{"tlsSecretNamespaces": []any{w.namespace}},
		}},
	}) {
		if !strings.Contains(document, "name: alicloud:lbcontroller:tls-secrets") {
			continue
		}
		granted++
		if err := w.Apply(w.t.Context(), []byte(document)); err != nil {
			w.t.Fatal(err)
		}
	}
	if granted != 2 {
		w.t.Fatalf("the chart has %d objects about Secrets, want a role and its binding", granted)
	}
}

// serving is a certificate with its key.
type serving struct {
	name       string
	chain, key []byte
	der        string
}

func newServing(t *testing.T, name string) serving {
	t.Helper()
	pair, err := writetest.NewKeyPair(name)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode([]byte(pair.GetCertificatePem()))
	return serving{name: name, chain: []byte(pair.GetCertificatePem()), key: []byte(pair.GetPrivateKeyPem()), der: string(block.Bytes)}
}

// put writes the Secret, both entries at once, as cert-manager does.
func (w tlsWorld) put(chain, key []byte) {
	w.t.Helper()
	secrets := w.Client().CoreV1().Secrets(w.namespace)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "web-tls"}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{corev1.TLSCertKey: chain, corev1.TLSPrivateKeyKey: key}}
	_, err := secrets.Get(w.t.Context(), secret.Name, metav1.GetOptions{})
	if err != nil {
		_, err = secrets.Create(w.t.Context(), secret, metav1.CreateOptions{})
	} else {
		_, err = secrets.Update(w.t.Context(), secret, metav1.UpdateOptions{})
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// renew puts another certificate into the Secret, and waits until all clients have seen it and it is the only one that is left.
func (w tlsWorld) renew(c *clients, want serving) {
	w.t.Helper()
	c.next(want)
	w.put(want.chain, want.key)
	c.see()
	eventually(w.t, "certificate "+want.name+" alone is left", func(context.Context) error {
		var ofCLB, ofNLB []string
		cloud := w.state(w.t)
		for _, c := range cloud.Certificates {
			if strings.HasPrefix(c.Name, "k8s-") {
				ofCLB = append(ofCLB, c.CommonName)
			}
		}
		for _, c := range cloud.UserCertificates {
			if strings.HasPrefix(c.Name, "k8s-") && !strings.HasPrefix(c.PEM, string(want.chain)) {
				ofNLB = append(ofNLB, c.Name)
			}
		}
		if !slices.Equal(ofCLB, []string{want.name}) || len(ofNLB) > 0 {
			return fmt.Errorf("the cloud has %q for the CLB, and of those before %q for the NLB", ofCLB, ofNLB)
		}
		return nil
	})
}

// handshake makes one, on a connection of its own, and returns the certificate of the server.
func handshake(ctx context.Context, address string) (der string, err error) {
	dialer := tls.Dialer{NetDialer: &net.Dialer{Timeout: time.Minute}, Config: &tls.Config{InsecureSkipVerify: true}} // It is compared.
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	return string(conn.(*tls.Conn).ConnectionState().PeerCertificates[0].Raw), nil
}

// clients make handshakes one after the other, each client its own.
type clients struct {
	t       *testing.T
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex
	turns  []serving // the certificates that the Secret has had
	at     []int     // the turn of the last handshake, by client
	made   int
	failed []string
}

// handshakes lets clients begin, those of each address. Each must go from one certificate to the next in their turn, and never back.
func (w tlsWorld) handshakes(addresses []string, begin serving) *clients {
	const several = 6
	ctx, cancel := context.WithCancel(w.t.Context())
	c := &clients{t: w.t, cancel: cancel, turns: []serving{begin}, at: make([]int, several)}
	for i := range several {
		c.running.Go(func() {
			for tick := time.Tick(20 * time.Millisecond); ctx.Err() == nil; <-tick {
				if der, err := handshake(ctx, addresses[i%len(addresses)]); ctx.Err() == nil {
					c.note(i, der, err)
				}
			}
		})
	}
	w.t.Cleanup(func() { c.stop() })
	return c
}

func (c *clients) note(client int, der string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made++
	switch at := c.at[client]; {
	case err != nil:
		c.failed = append(c.failed, fmt.Sprintf("%s %v", time.Now().Format(time.TimeOnly), err))
	case at+1 < len(c.turns) && der == c.turns[at+1].der:
		c.at[client]++
	case der != c.turns[at].der:
		c.failed = append(c.failed, fmt.Sprintf("%s the certificate is neither %s nor what comes after", time.Now().Format(time.TimeOnly),
			c.turns[at].name))
	}
}

// next says which certificate may be shown from now on.
func (c *clients) next(s serving) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turns = append(c.turns, s)
}

// see waits until all clients have seen the last certificate.
func (c *clients) see() {
	c.t.Helper()
	eventually(c.t, "all clients see the certificate", func(context.Context) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if last := len(c.turns) - 1; slices.Min(c.at) < last {
			return fmt.Errorf("of %d certificates they have seen %v; failed: %q", last, c.at, c.failed)
		}
		return nil
	})
}

// reach waits until so many handshakes were made in all.
func (c *clients) reach(least int) {
	c.t.Helper()
	eventually(c.t, fmt.Sprintf("there are %d handshakes", least), func(context.Context) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.made < least {
			return fmt.Errorf("there are %d", c.made)
		}
		return nil
	})
}

// stop ends the clients, and returns how many handshakes they made, and which failed.
func (c *clients) stop() (made int, failed []string) {
	c.cancel()
	c.running.Wait()
	return c.made, c.failed
}
