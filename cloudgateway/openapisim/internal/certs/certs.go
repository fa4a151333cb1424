// Package certs makes what a TLS endpoint needs: a certificate authority of its own that clients can be configured to trust, and a
// certificate for the names under which the cloud is reached.
package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Authority signs certificates.
type Authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
}

// The files of an authority in its directory.
const (
	certificateFile = "ca.pem"
	keyFile         = "ca-key.pem"
)

// life is how long certificates are valid. Clocks of clients may be behind by a day.
const life = 10 * 365 * 24 * time.Hour

// New makes an authority that is gone with the process.
func New(now time.Time) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the key of the certificate authority: %w", err)
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "openapisim certificate authority"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	raw, err := sign(template, nil, key, key, now)
	if err != nil {
		return nil, err
	}
	return parse(raw, key)
}

// Load returns the authority of a directory, which it makes there if the directory has none.
func Load(dir string, now time.Time) (*Authority, error) {
	certificate, err := os.ReadFile(filepath.Join(dir, certificateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return create(dir, now)
	}
	if err != nil {
		return nil, fmt.Errorf("read the certificate authority: %w", err)
	}
	key, err := os.ReadFile(filepath.Join(dir, keyFile))
	if err != nil {
		return nil, fmt.Errorf("read the certificate authority: %w", err)
	}
	block, _ := pem.Decode(key)
	root, _ := pem.Decode(certificate)
	if block == nil || root == nil {
		return nil, fmt.Errorf("%s and %s in %s are not both PEM", certificateFile, keyFile, dir)
	}
	private, err := x509.ParseECPrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read %s in %s: %w", keyFile, dir, err)
	}
	return parse(root.Bytes, private)
}

func create(dir string, now time.Time) (*Authority, error) {
	a, err := New(now)
	if err != nil {
		return nil, err
	}
	key, err := x509.MarshalECPrivateKey(a.key)
	if err != nil {
		return nil, fmt.Errorf("encode the key of the certificate authority: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("keep the certificate authority: %w", err)
	}
	// The certificate comes last: one without a key would be of no use to the next start.
	private := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: key})
	if err := os.WriteFile(filepath.Join(dir, keyFile), private, 0o600); err != nil {
		return nil, fmt.Errorf("keep the certificate authority: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, certificateFile), a.pem, 0o600); err != nil {
		return nil, fmt.Errorf("keep the certificate authority: %w", err)
	}
	return a, nil
}

func parse(raw []byte, key *ecdsa.PrivateKey) (*Authority, error) {
	certificate, err := x509.ParseCertificate(raw)
	if err != nil {
		return nil, fmt.Errorf("read the certificate authority: %w", err)
	}
	return &Authority{certificate: certificate, key: key, pem: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})}, nil
}

// PEM is the certificate of the authority, for clients to trust.
func (a *Authority) PEM() []byte { return a.pem }

// Issue returns a certificate for names and addresses.
func (a *Authority) Issue(now time.Time, names ...string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make the key of a certificate: %w", err)
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "openapisim"}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	raw, err := sign(template, a.certificate, key, a.key, now)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}, nil
}

// sign signs a certificate for a key; without a parent it is signed by itself.
func sign(template, parent *x509.Certificate, key, by *ecdsa.PrivateKey, now time.Time) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("number a certificate: %w", err)
	}
	template.SerialNumber, template.NotBefore, template.NotAfter = serial, now.Add(-24*time.Hour), now.Add(life)
	if parent == nil {
		parent = template
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, by)
	if err != nil {
		return nil, fmt.Errorf("sign a certificate: %w", err)
	}
	return raw, nil
}
