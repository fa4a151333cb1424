package certificate

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"strings"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/check"
	"alicloud-controllers.dev/cloudgateway/internal/slb"
)

// Checks are the rules of the service's requests.
func Checks() []check.Rule {
	return []check.Rule{
		check.Of(func(c *check.Request, r *slbv1.ListServerCertificatesRequest) {
			checkList(c, "server_certificate_ids", r.GetServerCertificateIds(), r)
		}),
		check.Of(func(c *check.Request, r *slbv1.ListCaCertificatesRequest) {
			checkList(c, "ca_certificate_ids", r.GetCaCertificateIds(), r)
		}),
		check.Of(func(c *check.Request, r *slbv1.UploadServerCertificateRequest) {
			checkUpload(c, r)
			switch source := r.GetSource().(type) {
			case *slbv1.UploadServerCertificateRequest_KeyPair:
				checkKeyPair(c, "key_pair", source.KeyPair)
			case *slbv1.UploadServerCertificateRequest_AlicloudCertificate:
				c.ID("alicloud_certificate.certificate_id", source.AlicloudCertificate.GetCertificateId())
				c.Text("alicloud_certificate.name", source.AlicloudCertificate.GetName(), 0, 128)
				c.OptionalID("alicloud_certificate.region_id", source.AlicloudCertificate.GetRegionId())
			default:
				c.Addf("key_pair", "one of key_pair and alicloud_certificate is required")
			}
		}),
		check.Of(func(c *check.Request, r *slbv1.UploadCaCertificateRequest) {
			checkUpload(c, r)
			checkCertificate(c, "certificate_pem", r.GetCertificatePem())
		}),
		check.Of(func(c *check.Request, r *slbv1.UpdateServerCertificateRequest) {
			c.ID("server_certificate_id", r.GetServerCertificateId())
			checkUpdate(c, r.Name, r.ResourceGroupId, r)
		}),
		check.Of(func(c *check.Request, r *slbv1.UpdateCaCertificateRequest) {
			c.ID("ca_certificate_id", r.GetCaCertificateId())
			checkUpdate(c, r.Name, r.ResourceGroupId, r)
		}),
		check.Of(func(c *check.Request, r *slbv1.DeleteServerCertificateRequest) {
			c.ID("server_certificate_id", r.GetServerCertificateId())
		}),
		check.Of(func(c *check.Request, r *slbv1.DeleteCaCertificateRequest) {
			c.ID("ca_certificate_id", r.GetCaCertificateId())
		}),
	}
}

func checkList(c *check.Request, field string, ids []string, r filter) {
	c.IDs(field, ids)
	c.Text("name", r.GetName(), 0, 80)
	c.OptionalID("resource_group_id", r.GetResourceGroupId())
}

// checkUpload checks what the requests to upload either kind have in common.
func checkUpload(c *check.Request, r interface {
	GetRequestId() string
	GetName() string
	GetResourceGroupId() string
},
) {
	c.RequestID(r.GetRequestId())
	c.Text("name", r.GetName(), 1, 80)
	c.OptionalID("resource_group_id", r.GetResourceGroupId())
}

// checkUpdate checks what the requests to update either kind have in common.
func checkUpdate(c *check.Request, name, group *string, r slb.Metadata) {
	if name != nil {
		c.Text("name", *name, 1, 80)
	}
	if group != nil {
		c.ID("resource_group_id", *group)
	}
	if name == nil && group == nil && len(r.GetSetTags())+len(r.GetRemoveTagKeys()) == 0 {
		c.Addf("name", "the request changes nothing; at least one change is required")
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
// Nothing of the text is quoted: who mixes up two fields must not find his private key in a log.
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
