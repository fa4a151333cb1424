package dataplane

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// selfSigned returns a certificate and its key, as PEM.
func selfSigned(t *testing.T, name string) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	rawKey, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	block := func(kind string, content []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}))
	}
	return block("CERTIFICATE", raw), block("PRIVATE KEY", rawKey)
}

// handshake returns the common name of the certificate and the protocol that were agreed upon.
func handshake(t *testing.T, address string, config *tls.Config) (name string, version uint16, err error) {
	t.Helper()
	config.InsecureSkipVerify = true
	raw := connect(t, "127.0.0.1", address)
	conn := tls.Client(raw, config)
	if err := conn.HandshakeContext(t.Context()); err != nil {
		return "", 0, err
	}
	s := conn.ConnectionState()
	return s.PeerCertificates[0].Subject.CommonName, s.Version, nil
}

func TestHTTPS(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.group("g", server(httpServer(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Proto, " ", r.Header.Get("X-Forwarded-Proto"))
	}), 100))
	b.change(func(c *state.Cloud) {
		for _, name := range []string{"default", "*.shop.example"} {
			certificate, key := selfSigned(t, name)
			c.Certificates[name] = &state.Certificate{ID: name, PEM: certificate + key}
		}
		certificate, _ := selfSigned(t, "without key")
		c.Certificates["no key"] = &state.Certificate{ID: "no key", PEM: certificate}
	})
	address := b.listen(protoHTTPS, "ServerCertificateId", "default", "XForwardedFor_proto", "on")
	if got, version, err := handshake(t, address, &tls.Config{ServerName: "a.example.com"}); got != "default" || version != tls.VersionTLS13 {
		t.Errorf("certificate %q, version %x, %v", got, version, err)
	}
	if _, _, err := handshake(t, address, &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}); err == nil {
		t.Error("TLS 1.1 is served")
	}
	for http2, proto := range map[bool]string{false: "HTTP/1.1", true: "HTTP/2.0"} {
		transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: http2}
		client := &http.Client{Transport: transport, Timeout: time.Minute}
		answer, err := client.Get("https://" + address)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		transport.CloseIdleConnections()
		if answer.Proto != proto {
			t.Errorf("answered in %s, want %s", answer.Proto, proto)
		}
	}
	client := newHTTPClient(t)
	client.Transport.(*http.Transport).TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
	if got := get(t, client, "https://"+address); got != "HTTP/1.1 https" {
		t.Errorf("the server saw %q", got)
	}

	set := func(attributes ...string) {
		b.change(func(*state.Cloud) {
			for i := 0; i < len(attributes); i += 2 {
				b.listener(0).Attributes[attributes[i]] = attributes[i+1]
			}
		})
	}
	b.change(func(*state.Cloud) {
		b.listener(0).Domains = []*state.Domain{{Domain: "*.shop.example", CertificateID: "*.shop.example"}}
	})
	for name, want := range map[string]string{"a.shop.example": "*.shop.example", "shop.example": "default", "": "default"} {
		if got, _, err := handshake(t, address, &tls.Config{ServerName: name}); got != want {
			t.Errorf("who asks for %q gets the certificate %q, %v", name, got, err)
		}
	}
	old := &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	set("TLSCipherPolicy", "tls_cipher_policy_1_1")
	if _, version, err := handshake(t, address, old.Clone()); version != tls.VersionTLS11 {
		t.Errorf("with a policy of TLS 1.1: %x, %v", version, err)
	}
	set("TLSCipherPolicy", "tls_cipher_policy_1_2_strict")
	if _, _, err := handshake(t, address, old.Clone()); err == nil {
		t.Error("TLS 1.1 is served by a policy of 1.2")
	}
	b.change(func(c *state.Cloud) {
		c.CipherPolicies["tls-own"] = &state.CipherPolicy{TLSVersions: []string{"TLSv1.1", "TLSv1.2"}}
	})
	set("TLSCipherPolicy", "tls-own")
	if _, version, err := handshake(t, address, old.Clone()); version != tls.VersionTLS11 {
		t.Errorf("with a policy of the account's own: %x, %v", version, err)
	}
	b.change(func(c *state.Cloud) { c.CipherPolicies["tls-own"].TLSVersions = []string{"TLSv1.3"} })
	if _, _, err := handshake(t, address, &tls.Config{MaxVersion: tls.VersionTLS12}); err == nil {
		t.Error("TLS 1.2 is served by a policy that has 1.3 alone")
	}
	set("EnableHttp2", "off")
	both := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2", "http/1.1"}}
	conn := tls.Client(connect(t, "127.0.0.1", address), both)
	if err := conn.HandshakeContext(t.Context()); err != nil || conn.ConnectionState().NegotiatedProtocol != "http/1.1" {
		t.Errorf("without HTTP/2: %q, %v", conn.ConnectionState().NegotiatedProtocol, err)
	}
	conn.Close()
	set("ServerCertificateId", "no key")
	if _, _, err := handshake(t, address, &tls.Config{}); err == nil {
		t.Error("a listener without a key is served")
	}
	set("ServerCertificateId", "default")
	if _, _, err := handshake(t, address, &tls.Config{}); err != nil {
		t.Errorf("the listener does not recover: %v", err)
	}
}

func TestTLSProblems(t *testing.T) {
	t.Parallel()
	certificate, key := selfSigned(t, "a")
	_, foreign := selfSigned(t, "b")
	tests := []struct {
		name string
		pems []string
		want string
	}{
		{"no certificate", nil, "no certificate that is there"},
		{"no key", []string{certificate}, "its key is not known"},
		{"foreign key", []string{certificate + foreign}, "read its PEM"},
		{"good", []string{certificate + key}, ""},
		{"further one without a key", []string{certificate + key, certificate}, ""},
	}
	for _, tt := range tests {
		_, _, err := newTLS(terms{certificates: tt.pems})
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}
