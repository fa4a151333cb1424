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
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
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
		for _, name := range []string{"default", "exact", "wildcard"} {
			certificate, key := selfSigned(t, name)
			c.Certificates[name] = &state.Certificate{ID: name, PEM: certificate + key}
		}
		certificate, _ := selfSigned(t, "without key")
		c.Certificates["no key"] = &state.Certificate{ID: "no key", PEM: certificate}
	})
	address := b.listen(protoHTTPS, "ServerCertificateId", "default", "XForwardedFor_proto", "on")
	b.change(func(*state.Cloud) {
		b.listener(0).Domains = []*state.Domain{{Domain: "a.example.com", CertificateID: "exact"}, {Domain: "*.example.com", CertificateID: "wildcard"}}
	})
	for sni, want := range map[string]string{"": "default", "b.org": "default", "A.example.com": "exact", "b.example.com": "wildcard"} {
		if got, version, err := handshake(t, address, &tls.Config{ServerName: sni}); got != want || version != tls.VersionTLS12 {
			t.Errorf("%q: certificate %q, version %x, %v; want %q", sni, got, version, err, want)
		}
	}
	for http2, proto := range map[bool]string{false: "HTTP/1.1", true: "HTTP/2.0"} {
		transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: http2}
		client := &http.Client{Transport: transport, Timeout: 10 * time.Second}
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
	set("TLSCipherPolicy", "tls_cipher_policy_1_2_strict_with_1_3")
	if _, version, err := handshake(t, address, &tls.Config{}); version != tls.VersionTLS13 {
		t.Errorf("version %x, %v with the policy of TLS 1.3", version, err)
	}
	if _, _, err := handshake(t, address, &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}); err == nil {
		t.Error("TLS 1.1 passes the policy of TLS 1.2")
	}
	set("TLSCipherPolicy", "tls_cipher_policy_1_1")
	if _, version, err := handshake(t, address, &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}); version != tls.VersionTLS11 {
		t.Errorf("version %x, %v with the policy of TLS 1.1", version, err)
	}

	// Clients have to prove who they are.
	set("CACertificateId", "exact")
	pair, err := keyPair(b.cloud.Certificates["exact"].PEM)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := handshake(t, address, &tls.Config{}); err == nil {
		t.Error("a client without a certificate is served")
	}
	if _, _, err := handshake(t, address, &tls.Config{Certificates: []tls.Certificate{*pair}}); err != nil {
		t.Errorf("a client with a certificate is refused: %v", err)
	}

	set("CACertificateId", "", "ServerCertificateId", "no key")
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
		name     string
		settings tlsSettings
		want     string
	}{
		{"no certificate", tlsSettings{}, "certificate of the listener: its key is not known"},
		{"no key", tlsSettings{certificate: certificate}, "its key is not known"},
		{"foreign key", tlsSettings{certificate: certificate + foreign}, "read its PEM"},
		{"domain", tlsSettings{certificate: certificate + key, domains: map[string]string{"a.org": ""}}, "certificate of a.org"},
		{"authority", tlsSettings{certificate: certificate + key, clientCA: "nonsense"}, "CA certificate"},
		{"good", tlsSettings{certificate: certificate + key, clientCA: certificate}, ""},
	}
	for _, tt := range tests {
		_, err := newTLS(&tt.settings)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}
