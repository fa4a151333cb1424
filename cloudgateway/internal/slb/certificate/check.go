package certificate

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"strings"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/check"
)

// Checks are the rules of requests beyond those in the protocol.
func Checks() []check.Rule {
	return []check.Rule{
		check.Of(func(c *check.Request, r *slbv1.UploadServerCertificateRequest) {
			if r.GetKeyPair() != nil {
				checkKeyPair(c, "key_pair", r.GetKeyPair())
			}
		}),
		check.Of(func(c *check.Request, r *slbv1.UploadCaCertificateRequest) {
			checkCertificate(c, "certificate_pem", r.GetCertificatePem())
		}),
	}
}

// longestPEM bounds a chain of certificates, in bytes. A long one has ten thousand.
const longestPEM = 65_536

// pemLength reports whether a text is there and short enough to be looked at.
func pemLength(c *check.Request, field, text string) bool {
	switch {
	case text == "":
		c.Addf(field, "is required")
	case len(text) > longestPEM:
		c.Addf(field, "is %d bytes long, at most %d are allowed", len(text), longestPEM)
	default:
		return true
	}
	return false
}

// checkCertificate checks a certificate in PEM form, which may be followed by those of its authorities. It reports whether that is one.
// Nothing of the text is quoted: a user who mixes up two fields must not find the private key in a log.
func checkCertificate(c *check.Request, field, text string) bool {
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

// checkKeyPair checks a certificate and its private key.
func checkKeyPair(c *check.Request, field string, pair *slbv1.KeyPair) {
	certified := checkCertificate(c, field+".certificate_pem", pair.GetCertificatePem())
	field += ".private_key_pem"
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
