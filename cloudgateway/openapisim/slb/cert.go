package slb

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"slices"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func certificateActions() []api.Action {
	return []api.Action{
		api.Write("UploadServerCertificate", uploadServerCertificate,
			append(newTagCodes(), "CertificateFormatInvalid", "IllegalParam.ServerCertificate",
				"InvalidParameter.AliCloudCertificateId", "MissingParameter", "OverQuota"), region(),
			api.Optional("ServerCertificate"), api.Optional("ServerCertificateName"), api.Optional("PrivateKey"),
			api.Optional("AliCloudCertificateId"), api.Optional("AliCloudCertificateName"),
			api.Optional("AliCloudCertificateRegionId"), api.Optional("ResourceGroupId"), tags.Uncounted()),
		api.Write("UploadCACertificate", uploadCACertificate,
			append(newTagCodes(), "CertificateFormatInvalid", "OverQuota"), region(), api.Required("CACertificate"),
			api.Optional("CACertificateName"), api.Optional("ResourceGroupId"), tags.Uncounted()),
		api.Read("DescribeServerCertificates", describeCertificates("ServerCertificate", false, viewOfServerCertificate),
			api.Words("Abs.ServerCertificateIdAndResourceGroupId.MissMatch MissingParam.TagKey SizeLimitExceeded.Tag"),
			region(), api.Optional("ServerCertificateId"), api.Optional("ResourceGroupId"), tags.Uncounted()),
		api.Read("DescribeCACertificates", describeCertificates("CACertificate", true, viewOfCACertificate),
			api.Words("Abs.CACertificateIdAndResourceGroupId.MissMatch MissingParam.TagKey SizeLimitExceeded.Tag"),
			region(), api.Optional("CACertificateId"), api.Optional("ResourceGroupId"), tags.Uncounted()),
		api.Write("SetServerCertificateName", api.On(certificate("ServerCertificateId", false), nameCertificate),
			api.Words("InvalidParameter ServerCertificateId.NotFound"), region(), api.Required("ServerCertificateId"),
			api.Required("ServerCertificateName")),
		api.Write("SetCACertificateName", api.On(certificate("CACertificateId", true), nameCertificate),
			api.Words("CACertificateId.NotFound InvalidParameter"), region(), api.Required("CACertificateId"),
			api.Required("CACertificateName")),
		api.Write("DeleteServerCertificate", api.On(certificate("ServerCertificateId", false), deleteCertificate),
			api.Words(`CertificateAndPrivateKeyIsRefered CertificateRelatedDomainExtensionExist ServerCertificateId.NotFound`),
			region(), api.Required("ServerCertificateId")),
		api.Write("DeleteCACertificate", api.On(certificate("CACertificateId", true), deleteCertificate),
			api.Words("CACertificateId.NotFound CertificateAndPrivateKeyIsRefered"), region(),
			api.Required("CACertificateId")),
	}
}

func uploadServerCertificate(c *api.Context) (any, *api.Error) {
	if c.Has("AliCloudCertificateId") {
		return nil, api.BadRequest("InvalidParameter.AliCloudCertificateId", "The specified AliCloudCertificateId does not exist.")
	}
	chain, key := c.Get("ServerCertificate"), c.Get("PrivateKey")
	switch {
	case chain == "":
		return nil, api.Missing("ServerCertificate")
	case key == "":
		return nil, api.Missing("PrivateKey")
	}
	if _, err := tls.X509KeyPair([]byte(chain), []byte(key)); err != nil && parseCertificate(chain) != nil {
		return nil, api.BadRequest("IllegalParam.ServerCertificate", "The PrivateKey does not belong to the ServerCertificate.")
	}
	cert, err := newCertificate(c, chain, c.Get("ServerCertificateName"), false)
	if err != nil {
		return nil, err
	}
	if c.Traffic != nil {
		cert.PEM += "\n" + key // the listener has to prove that it has it
	}
	c.State.Certificates[cert.ID] = cert
	return viewOfServerCertificate(c, cert), nil
}

func uploadCACertificate(c *api.Context) (any, *api.Error) {
	cert, err := newCertificate(c, c.Get("CACertificate"), c.Get("CACertificateName"), true)
	if err != nil {
		return nil, err
	}
	c.State.Certificates[cert.ID] = cert
	return viewOfCACertificate(c, cert), nil
}

// newCertificate reads the first certificate of a PEM text. Private keys are kept only where traffic needs them.
func newCertificate(c *api.Context, text, name string, ca bool) (*state.Certificate, *api.Error) {
	parsed := parseCertificate(text)
	if parsed == nil {
		return nil, api.BadRequest("CertificateFormatInvalid", "The certificate is not in PEM format.")
	}
	tags, err := newTags(c)
	if err != nil {
		return nil, err
	}
	count := 0
	for _, other := range c.State.Certificates {
		if other.CA == ca {
			count++
		}
	}
	if limit := c.Settings.Quotas.Certificates; count >= limit {
		return nil, api.BadRequest("OverQuota", "The number of certificates exceeds the quota of %d.", limit)
	}
	prefix := c.State.Account + "_"
	if c.Count != nil {
		prefix = "certificate-"
	}
	id := c.NewID(prefix)
	return &state.Certificate{
		ID: id, Name: cmp.Or(name, parsed.Subject.CommonName), CA: ca, CommonName: parsed.Subject.CommonName,
		Expires: parsed.NotAfter.UTC(), Created: c.Now, PEM: text, Tags: tags, ResourceGroupID: c.Get("ResourceGroupId"),
	}, nil
}

// parseCertificate returns nil for a text that has no certificate.
func parseCertificate(text string) *x509.Certificate {
	block, _ := pem.Decode([]byte(text))
	if block == nil || block.Type != "CERTIFICATE" {
		return nil
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil
	}
	return cert
}

// describeCertificates returns the handler that shows those of a kind.
func describeCertificates(kind string, ca bool, show func(*api.Context, *state.Certificate) api.Object) api.Handler {
	return func(c *api.Context) (any, *api.Error) {
		certs, err := certificates(c, kind+"Id", ca)
		if err != nil {
			return nil, err
		}
		return api.Object{kind + "s", wrapped(kind, certs, func(cert *state.Certificate) api.Object { return show(c, cert) })}, nil
	}
}

// certificates returns those of a kind that meet the filters. An unknown id gives none, and one of another resource group is refused.
func certificates(c *api.Context, idParam string, ca bool) ([]*state.Certificate, *api.Error) {
	filter, err := tagCodes().KeysOf(c)
	if err != nil {
		return nil, err
	}
	if cert := c.State.Certificates[c.Get(idParam)]; cert != nil && cert.CA == ca && !inResourceGroup(c, cert.ResourceGroupID) {
		return nil, api.BadRequest("Abs."+idParam+"AndResourceGroupId.MissMatch", "The certificate is not in the specified resource group.")
	}
	var out []*state.Certificate
	for _, cert := range sortedByID(c.State.Certificates) {
		if cert.CA == ca && (!c.Has(idParam) || cert.ID == c.Get(idParam)) && filter.Match(cert.Tags) &&
			inResourceGroup(c, cert.ResourceGroupID) {
			out = append(out, cert)
		}
	}
	return out, nil
}

// certificate returns a finder of the one that a parameter names.
func certificate(idParam string, ca bool) func(*api.Context) (*state.Certificate, *api.Error) {
	return func(c *api.Context) (*state.Certificate, *api.Error) {
		cert := c.State.Certificates[c.Get(idParam)]
		if cert == nil || cert.CA != ca {
			return nil, api.NotFound(idParam+".NotFound", "The specified %s does not exist.", idParam)
		}
		return cert, nil
	}
}

func nameCertificate(c *api.Context, cert *state.Certificate) (any, *api.Error) {
	param := "ServerCertificateName"
	if cert.CA {
		param = "CACertificateName"
	}
	if !validName(c.Get(param)) {
		return nil, api.Invalid(param)
	}
	cert.Name = c.Get(param)
	return nil, nil
}

// deleteCertificate deletes a certificate which no listener and no domain extension uses.
func deleteCertificate(c *api.Context, cert *state.Certificate) (any, *api.Error) {
	for _, lb := range c.State.LoadBalancers {
		for _, l := range lb.Listeners {
			if l.Attributes["ServerCertificateId"] == cert.ID || l.Attributes["CACertificateId"] == cert.ID {
				return nil, certificateInUse()
			}
			if slices.ContainsFunc(l.Domains, func(d *state.Domain) bool { return d.CertificateID == cert.ID }) {
				return nil, api.BadRequest("CertificateRelatedDomainExtensionExist", "The certificate is used by a domain extension.")
			}
		}
	}
	delete(c.State.Certificates, cert.ID)
	return nil, nil
}

func certificateInUse() *api.Error {
	return api.BadRequest("CertificateAndPrivateKeyIsRefered", "The certificate is used by a listener.")
}
