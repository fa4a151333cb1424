package attest

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSign verifies with the public key, as the formats say it is done. make release-check has cosign do the same.
func TestSign(t *testing.T) {
	t.Parallel()
	key, err := ReadKey(write(t, "PRIVATE KEY", pkcs8(t, elliptic.P256())))
	if err != nil {
		t.Fatal(err)
	}
	verify := func(text string, signature []byte) bool {
		digest := sha256.Sum256([]byte(text))
		return ecdsa.VerifyASN1(&key.private.PublicKey, digest[:], signature)
	}
	decode := func(text []byte, err error) (b bundle) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &b); err != nil || b.MediaType != BundleType || len(b.Verification.PublicKey.Hint) != 44 {
			t.Fatalf("%s, %v", text, err)
		}
		return b
	}
	const file = "3a  lbcontroller.tar\n"
	b := decode(key.Sign([]byte(file)))
	if digest := sha256.Sum256([]byte(file)); !verify(file, b.Message.Signature) || string(b.Message.Digest.Digest) != string(digest[:]) ||
		b.Envelope != nil {
		t.Errorf("%+v", b)
	}
	if verify(file+" ", b.Message.Signature) {
		t.Error("a signature of anything")
	}
	statement, err := State(Signature, struct{}{}, Subject{Digest: map[string]string{"sha256": "3a"}})
	if err != nil {
		t.Fatal(err)
	}
	b = decode(key.Attest(statement))
	if text := fmt.Sprintf("DSSEv1 28 application/vnd.in-toto+json %d %s", len(statement), statement); b.Message != nil ||
		!verify(text, b.Envelope.Signatures[0].Sig) || string(b.Envelope.Payload) != string(statement) {
		t.Errorf("%+v", b.Envelope)
	}
	var predicate struct{}
	if s, err := Read(statement, Signature, &predicate); err != nil || s.Subject[0].Digest["sha256"] != "3a" {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := Read(statement, Provenance, &predicate); err == nil {
		t.Error("a signature is a provenance")
	}
	if !strings.HasPrefix(string(key.Public()), "-----BEGIN PUBLIC KEY-----\n") {
		t.Errorf("the public key is %s", key.Public())
	}
}

// TestKeys: both forms of openssl are read; what cosign couldn't verify with our algorithm is refused with the command
// that makes a key.
func TestKeys(t *testing.T) {
	t.Parallel()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	sec1, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	_, other, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8Other, err := x509.MarshalPKCS8PrivateKey(other)
	if err != nil {
		t.Fatal(err)
	}
	const advice = "openssl genpkey -algorithm EC"
	for _, tt := range []struct {
		name, kind string
		der        []byte
		want       string
	}{
		{name: "PKCS 8", kind: "PRIVATE KEY", der: pkcs8(t, elliptic.P256())},
		{name: "SEC 1", kind: "EC PRIVATE KEY", der: sec1},
		{name: "another curve", kind: "PRIVATE KEY", der: pkcs8(t, elliptic.P384()), want: advice},
		{name: "another algorithm", kind: "PRIVATE KEY", der: pkcs8Other, want: advice},
		{name: "encrypted", kind: "ENCRYPTED PRIVATE KEY", der: []byte("secret"), want: advice},
		{name: "broken", kind: "PRIVATE KEY", der: []byte("AAAA"), want: "read the key"},
	} {
		_, err := ReadKey(write(t, tt.kind, tt.der))
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
	if _, err := ReadKey(filepath.Join(t.TempDir(), "none.pem")); err == nil {
		t.Error("a key without a file")
	}
}

func pkcs8(t *testing.T, curve elliptic.Curve) []byte {
	t.Helper()
	private, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func write(t *testing.T, kind string, der []byte) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
