package dataplane

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
)

// handshakes are the TLS settings of a frontend, which read certificates anew only when they changed.
type handshakes struct {
	log *slog.Logger

	mu      sync.Mutex // guards what follows
	made    bool
	of      terms
	config  *tls.Config
	problem error // why there is no config
}

// configFor returns the settings in force.
func (h *handshakes) configFor(now terms) (*tls.Config, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.made || !now.same(h.of) {
		h.made, h.of = true, now
		var left []error
		if h.config, left, h.problem = newTLS(now); h.problem != nil {
			h.log.Warn("TLS connections are refused", "error", h.problem)
		}
		for _, err := range left {
			h.log.Warn("a further certificate is not served", "error", err)
		}
	}
	return h.config, h.problem
}

func (t terms) same(other terms) bool {
	return slices.Equal(t.certificates, other.certificates) && slices.Equal(t.alpn, other.alpn) && t.oldest == other.oldest
}

// newTLS returns what a listener needs for handshakes, and why further certificates are left out. Certificates of clients are not
// asked for, and of cipher policies only the oldest version holds.
func newTLS(t terms) (config *tls.Config, left []error, err error) {
	if len(t.certificates) == 0 {
		return nil, nil, errors.New("the listener has no certificate that is there")
	}
	config = &tls.Config{NextProtos: t.alpn, MinVersion: t.oldest}
	for i, text := range t.certificates {
		pair, err := keyPair(text)
		switch {
		case err == nil:
			config.Certificates = append(config.Certificates, *pair)
		case i == 0:
			return nil, nil, fmt.Errorf("certificate of the listener: %w", err)
		default:
			left = append(left, err)
		}
	}
	return config, left, nil
}

// oldestVersion is that of a cipher policy: of the cloud's, whose names say it, or of one with versions of its own.
func oldestVersion(policy string, own []string) uint16 {
	switch {
	case strings.HasPrefix(policy, "tls_cipher_policy_1_0"), slices.Contains(own, "TLSv1.0"):
		return tls.VersionTLS10
	case strings.HasPrefix(policy, "tls_cipher_policy_1_1"), slices.Contains(own, "TLSv1.1"):
		return tls.VersionTLS11
	case len(own) == 1 && own[0] == "TLSv1.3":
		return tls.VersionTLS13
	}
	return tls.VersionTLS12
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
