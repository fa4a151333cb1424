package admin

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"log/slog"
	"math/big"
	"sync/atomic"
	"time"

	"alicloud-controllers.dev/services/logging"
)

// identity is how the server shows who it is. The files are read at each handshake, so that a renewal needs no restart; while they can't be
// read, the last certificate serves.
func (c Config) identity(log *slog.Logger) (*tls.Config, error) {
	if c.CertFile == "" {
		own, err := selfSigned()
		if err != nil {
			return nil, err
		}
		return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{own}}, nil
	}
	var last atomic.Pointer[tls.Certificate]
	var unreadable logging.Occasional
	load := func() error {
		pair, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
		if err == nil {
			last.Store(&pair)
		}
		return err
	}
	if err := load(); err != nil {
		return nil, err
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		if err := load(); err != nil {
			unreadable.Warn(log, "the certificate of the admin address can't be read, the former one serves", "error", err)
		}
		return last.Load(), nil
	}}, nil
}

// selfSigned makes a certificate that keeps out those who only listen, as the components of Kubernetes do without one.
func selfSigned() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make a key: %w", err)
	}
	const years = 10
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "admin"}, DNSNames: []string{"localhost"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(years, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make a certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{certificate}, PrivateKey: key}, nil
}
