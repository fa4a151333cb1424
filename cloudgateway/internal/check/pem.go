package check

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"strings"
)

// LongestPEM bounds a chain of certificates, in bytes. A long one has ten thousand.
const LongestPEM = 65_536

// pemLength reports whether a text is there and short enough to be looked at.
func pemLength(c *Request, field, text string) bool {
	switch {
	case text == "":
		c.Addf(field, "is required")
	case len(text) > LongestPEM:
		c.Addf(field, "is %d bytes long, at most %d are allowed", len(text), LongestPEM)
	default:
		return true
	}
	return false
}

// Certificate checks a certificate in PEM form, which may be followed by those of its authorities. It reports whether that is one.
// Nothing of the text is quoted: a user who mixes up two fields must not find the private key in a log.
func Certificate(c *Request, field, text string) bool {
	if !pemLength(c, field, text) {
		return false
	}
	for rest, i := []byte(text), 0; ; i++ {
		var block *pem.Block
		block, rest = pem.Decode(rest)
		switch {
		case block == nil && i > 0:
			return true
		case block == nil || block.Type != "CERTIFICATE":
			c.Addf(field, "block %d is not a certificate in PEM form, which begins with -----BEGIN CERTIFICATE-----", i+1)
			return false
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			c.Addf(field, "block %d can't be read as an X.509 certificate", i+1)
			return false
		}
	}
}

// KeyPair is a certificate and its private key in a request.
type KeyPair interface {
	GetCertificatePem() string
	GetPrivateKeyPem() string
}

// CertificateAndKey checks a certificate and its private key, which stand in the field, or in the request if that is empty.
func CertificateAndKey(c *Request, field string, pair KeyPair) {
	if field != "" {
		field += "."
	}
	certified := Certificate(c, field+"certificate_pem", pair.GetCertificatePem())
	field += "private_key_pem"
	text := pair.GetPrivateKeyPem()
	switch {
	case !pemLength(c, field, text):
	case strings.Contains(text, "ENCRYPTED"): // the type of a PKCS #8 block, or a header of older ones
		c.Addf(field, "is encrypted; the cloud needs it as it is")
	case !hasPrivateKey(text):
		c.Addf(field, "has no private key in PEM form")
	case certified:
		if _, err := tls.X509KeyPair([]byte(pair.GetCertificatePem()), []byte(text)); err != nil {
			c.Addf(field, "is not the private key of certificate_pem")
		}
	}
}

func hasPrivateKey(text string) bool {
	for block, rest := pem.Decode([]byte(text)); block != nil; block, rest = pem.Decode(rest) {
		if strings.HasSuffix(block.Type, "PRIVATE KEY") {
			return true
		}
	}
	return false
}
