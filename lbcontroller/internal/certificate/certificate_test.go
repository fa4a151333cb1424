package certificate

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/services/logging"
)

// now is a time at which certificates are looked at.
func now() time.Time { return time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC) }

// made makes a Secret with a certificate for the key, valid from a time for an hour.
func made(t *testing.T, key crypto.Signer, from time.Time) Secret {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: from, NotAfter: from.Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return Secret{
		Chain: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		Key:   logging.Secret(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})),
	}
}

func keys(t *testing.T) (ec *ecdsa.PrivateKey, rs *rsa.PrivateKey, ed ed25519.PrivateKey) {
	t.Helper()
	ec, err1 := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	rs, err2 := rsa.GenerateKey(rand.Reader, 2048)
	_, ed, err3 := ed25519.GenerateKey(rand.Reader)
	if err1 != nil || err2 != nil || err3 != nil {
		t.Fatal(err1, err2, err3)
	}
	return ec, rs, ed
}

// TestOf: a Secret is good or it is said what is wrong with it, and never with a part of the key.
func TestOf(t *testing.T) {
	t.Parallel()
	ec, rs, ed := keys(t)
	good := made(t, ec, now().Add(-time.Minute))
	for name, c := range map[string]struct {
		secret  Secret
		problem string
		keyType string
	}{
		"ecdsa":             {secret: good, keyType: "EC PRIVATE KEY"},
		"rsa":               {secret: made(t, rs, now().Add(-time.Minute)), keyType: "RSA PRIVATE KEY"},
		"ed25519":           {secret: made(t, ed, now().Add(-time.Minute)), problem: "neither RSA nor ECDSA"},
		"missing":           {secret: Secret{Problem: "there is none"}, problem: "there is none"},
		"empty":             {problem: "no certificate with its key"},
		"no certificate":    {secret: Secret{Chain: "hello", Key: good.Key}, problem: "no certificate with its key"},
		"no key":            {secret: Secret{Chain: good.Chain}, problem: "no certificate with its key"},
		"key as the chain":  {secret: Secret{Chain: string(good.Key), Key: good.Key}, problem: "no certificate with its key"},
		"broken key":        {secret: Secret{Chain: good.Chain, Key: good.Key[:120]}, problem: "no certificate with its key"},
		"key of another":    {secret: Secret{Chain: good.Chain, Key: made(t, rs, now()).Key}, problem: "no certificate with its key"},
		"not valid yet":     {secret: made(t, ec, now().Add(time.Second)), problem: "valid from 2026-11-28 12:00:01"},
		"valid from now on": {secret: made(t, ec, now()), keyType: "EC PRIVATE KEY"},
		"expired":           {secret: made(t, ec, now().Add(-time.Hour)), problem: "to 2026-11-28 12:00:00 only"},
	} {
		got, problem := Of(c.secret, now())
		if c.problem == "" != (problem == "") || !strings.Contains(problem, c.problem) {
			t.Errorf("%s: problem %q, want %q", name, problem, c.problem)
		}
		shown := fmt.Sprintf("%v %+v %#v %v %#v %s", got, got, got, c.secret.Key, c.secret.Key, problem)
		if block, _ := pem.Decode([]byte(c.secret.Key)); block != nil && strings.Contains(shown, string(c.secret.Key)[40:80]) {
			t.Errorf("%s shows its key: %s", name, problem)
		}
		if c.problem != "" {
			continue
		}
		if _, err := tls.X509KeyPair([]byte(got.Chain), []byte(got.Key)); err != nil {
			t.Errorf("%s: the cloud gets no pair: %v", name, err)
		}
		if block, _ := pem.Decode([]byte(got.Key)); block == nil || block.Type != c.keyType {
			t.Errorf("%s: the key isn't in the form of its algorithm", name)
		}
		again, _ := Of(Secret{Chain: "# a comment\n" + c.secret.Chain + "\n\n", Key: c.secret.Key}, now())
		if again.Fingerprint != got.Fingerprint || len(got.Fingerprint) != 64 || again.Chain != got.Chain {
			t.Errorf("%s: other text around the same certificate gives %s, not %s", name, again.Fingerprint, got.Fingerprint)
		}
	}
}

// TestMarks: an upload is the same for the same content and cluster only, and its name keeps to what the cloud takes.
func TestMarks(t *testing.T) {
	t.Parallel()
	a, b := Certificate{Fingerprint: strings.Repeat("a", 64)}, Certificate{Fingerprint: strings.Repeat("b", 64)}
	long := strings.Repeat("c", 100)
	again := Certificate{Fingerprint: a.Fingerprint}
	if a.RequestID("c-1", "cert-1") != again.RequestID("c-1", "cert-1") {
		t.Error("a repeated upload has another request id")
	}
	ids := map[string]bool{}
	for _, id := range []string{a.RequestID("c-1", ""), a.RequestID("c-2", ""), b.RequestID("c-1", ""), a.RequestID("c-1", "cert-1"),
		a.RequestID("c-1", "cert-2")} {
		ids[id] = true
	}
	if len(ids) != 5 {
		t.Error("request ids don't tell clusters, contents and what is gone apart")
	}
	if n := len(a.RequestID(long, long)); n > 64 {
		t.Errorf("a request id has %d characters", n)
	}
	if name := a.Name(long); len(name) != 80 || !strings.HasSuffix(name, "-"+strings.Repeat("a", 16)) {
		t.Errorf("the name is %s", name)
	}
	for _, c := range []struct {
		name, cluster, fingerprint string
		want                       bool
	}{
		{a.Name("c-1"), "c-1", a.Fingerprint, true},
		{a.Name(long), long, a.Fingerprint, true},
		{a.Name("c-2"), "c-1", a.Fingerprint, false},
		{b.Name("c-1"), "c-1", a.Fingerprint, false},
		{"k8s-c-1-", "c-1", "", false},
		{"mine", "c-1", a.Fingerprint, false},
	} {
		if got := IsName(c.name, c.cluster, c.fingerprint); got != c.want {
			t.Errorf("%s is a name of %s: %t", c.name, c.cluster, got)
		}
	}
}

// TestNamesThatMark: where the name alone says whose a certificate is, that of another cluster or of a user is never taken for ours.
func TestNamesThatMark(t *testing.T) {
	t.Parallel()
	fingerprint := strings.Repeat("ab", 32)
	names := MarkedByName{ClusterID: "c-1", Limit: 63}
	name, err := names.Of(fingerprint)
	if err != nil || name != "k8s-c-1-abababababababab" {
		t.Errorf("got %q, %v", name, err)
	}
	for _, c := range []struct {
		name string
		ours bool
	}{
		{name, true},
		{"k8s-c-1-2-abababababababab", false}, // Cluster c-1-2.
		{"k8s-c-abababababababab", false},
		{"k8s-c-1-ababababababab", false},
		{"k8s-c-1-abababababababab00", false},
		{"k8s-c-1-production-cert-", false},
		{"k8s-c-1-productionwebsit", false},
		{"mine", false}, {"", false},
	} {
		if short, ours := names.Fingerprint(c.name); ours != c.ours || ours && !strings.HasPrefix(fingerprint, short) {
			t.Errorf("%q is ours: %t, with fingerprint %q", c.name, ours, short)
		}
	}
	names.ClusterID = strings.Repeat("c", 42)
	if name, err := names.Of(fingerprint); err != nil || len(name) != 63 {
		t.Errorf("the longest id of a cluster: %q, %v", name, err)
	}
	names.ClusterID += "c"
	if name, err := names.Of(fingerprint); err == nil {
		t.Errorf("an id that would have to be cut gives the name %q", name)
	}
}

// TestUnused: a certificate goes after the grace in which nobody has needed it, without a break.
func TestUnused(t *testing.T) {
	t.Parallel()
	const grace = 2 * time.Hour
	stored := []Stored{{"c", "3"}, {"a", "1"}, {"b", "2"}}
	before := func(d time.Duration) time.Time { return now().Add(-d) }
	for _, c := range []struct {
		name   string
		needed string
		since  map[string]time.Time
		due    []Stored
		want   map[string]time.Time
	}{
		{"all needed", "abc", map[string]time.Time{"a": before(grace)}, nil, map[string]time.Time{}},
		{"first seen", "bc", nil, nil, map[string]time.Time{"a": now()}},
		{"within the grace", "bc", map[string]time.Time{"a": before(grace - 1)}, nil, map[string]time.Time{"a": before(grace - 1)}},
		{"after the grace", "bc", map[string]time.Time{"a": before(grace)}, []Stored{{"a", "1"}}, map[string]time.Time{"a": before(grace)}},
		{"several", "", map[string]time.Time{"c": before(grace), "a": before(grace), "gone": before(grace)}, []Stored{{"a", "1"}, {"c", "3"}},
			map[string]time.Time{"c": before(grace), "a": before(grace), "b": now()}},
	} {
		due, since := Usage{Stored: stored, Needed: func(s Stored) bool { return strings.Contains(c.needed, s.ID) }, Since: c.since}.
			Unused(now(), grace)
		if diff := cmp.Diff(c.due, due) + cmp.Diff(c.want, since); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
