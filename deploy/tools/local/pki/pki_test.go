package pki

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"testing"
)

// TestHandshake connects with a certificate that was made here, as a client that knows only the authority.
func TestHandshake(t *testing.T) {
	t.Parallel()
	ca, err := New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	pair, err := ca.Serving("gateway", "cloudgateway")
	if err != nil {
		t.Fatal(err)
	}
	cert, err := tls.LoadX509KeyPair(pair.CertFile, pair.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	authority, err := os.ReadFile(ca.File())
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authority) {
		t.Fatal("the authority's file has no certificate")
	}
	for _, name := range []string{"cloudgateway", "localhost", "127.0.0.1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, server := net.Pipe()
			defer client.Close()
			served := make(chan error, 1)
			go func() {
				defer server.Close()
				served <- tls.Server(server, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS13}).Handshake()
			}()
			conn := tls.Client(client, &tls.Config{RootCAs: roots, ServerName: name, MinVersion: tls.VersionTLS13})
			if err := conn.Handshake(); err != nil {
				t.Error(err)
			}
			if err := <-served; err != nil {
				t.Error(err)
			}
		})
	}
}

func TestKeysArePrivate(t *testing.T) {
	t.Parallel()
	ca, err := New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	private, _, err := ca.SigningKey("tokens")
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(private)
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode != 0o600 {
		t.Errorf("mode of the key is %o", mode)
	}
}
