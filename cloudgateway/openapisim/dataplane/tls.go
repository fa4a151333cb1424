package dataplane

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
)

// newTLS returns what an HTTPS listener needs for handshakes.
func newTLS(s *tlsSettings) (*tls.Config, error) {
	fallback, err := keyPair(s.certificate)
	if err != nil {
		return nil, fmt.Errorf("certificate of the listener: %w", err)
	}
	domains := make(map[string]*tls.Certificate, len(s.domains))
	for domain, text := range s.domains {
		pair, err := keyPair(text)
		if err != nil {
			return nil, fmt.Errorf("certificate of %s: %w", domain, err)
		}
		domains[strings.ToLower(domain)] = pair
	}
	config := &tls.Config{NextProtos: []string{"http/1.1"}, MaxVersion: tls.VersionTLS12} //nolint:gosec // set below, by the policy
	switch s.policy {
	case "tls_cipher_policy_1_0":
		config.MinVersion = tls.VersionTLS10
	case "tls_cipher_policy_1_1":
		config.MinVersion = tls.VersionTLS11
	default:
		config.MinVersion = tls.VersionTLS12
	}
	if strings.HasSuffix(s.policy, "_with_1_3") {
		config.MaxVersion = tls.VersionTLS13
	}
	if s.http2 {
		config.NextProtos = []string{"h2", "http/1.1"}
	}
	if s.clientCA != "" {
		config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
		if !config.ClientCAs.AppendCertsFromPEM([]byte(s.clientCA)) {
			return nil, errors.New("CA certificate: there is none in its PEM")
		}
	}
	config.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		name := strings.ToLower(hello.ServerName)
		if pair := domains[name]; pair != nil {
			return pair, nil
		}
		for pattern, pair := range domains {
			if matchWildcard(pattern, name) {
				return pair, nil
			}
		}
		return fallback, nil
	}
	return config, nil
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
