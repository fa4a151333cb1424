package dataplane

import (
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
)

// newTLS returns what an HTTPS listener needs for handshakes: its one certificate. Those of domain extensions, client
// certificates and cipher policies are not carried out.
func newTLS(certificate string) (*tls.Config, error) {
	pair, err := keyPair(certificate)
	if err != nil {
		return nil, fmt.Errorf("certificate of the listener: %w", err)
	}
	return &tls.Config{NextProtos: []string{"h2", "http/1.1"}, MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{*pair}}, nil
}

// keyPair reads a certificate with its key from one PEM text.
func keyPair(text string) (*tls.Certificate, error) {
	if !strings.Contains(text, "PRIVATE KEY-----") {
		return nil, errors.New("its key is not known; seed it with both in pem, or upload it while the data plane is on")
	}
	pair, err := tls.X509KeyPair([]byte(text), []byte(text))
	if err != nil {
		return nil, fmt.Errorf("read its PEM: %w", err)
	}
	return &pair, nil
}
