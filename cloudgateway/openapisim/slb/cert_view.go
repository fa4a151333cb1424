package slb

import (
	"crypto/sha1" //nolint:gosec // The fingerprints that SLB shows are SHA-1.
	"encoding/hex"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func viewOfCertificate(c *api.Context, cert *state.Certificate) api.Object {
	return api.Object{
		"CommonName", cert.CommonName, "Fingerprint", thumbprint(cert), "CreateTime", stamp(cert.Created),
		"CreateTimeStamp", cert.Created.UnixMilli(), "ExpireTime", stamp(cert.Expires),
		"ExpireTimeStamp", cert.Expires.UnixMilli(), "RegionId", c.Region,
		"ResourceGroupId", resourceGroup(cert.ResourceGroupID), "Tags", tags.Longs(cert.Tags),
	}
}

// thumbprint is the SHA-1 of the certificate, or of its id if a seed gave no certificate.
func thumbprint(cert *state.Certificate) string {
	raw := []byte(cert.ID)
	if parsed := parseCertificate(cert.PEM); parsed != nil {
		raw = parsed.Raw
	}
	sum := sha1.Sum(raw) //nolint:gosec // It identifies, it does not protect.
	pairs := make([]string, 0, len(sum))
	for _, v := range sum {
		pairs = append(pairs, hex.EncodeToString([]byte{v}))
	}
	return strings.Join(pairs, ":")
}

func viewOfServerCertificate(c *api.Context, cert *state.Certificate) api.Object {
	names := []string{}
	if parsed := parseCertificate(cert.PEM); parsed != nil {
		names = append(names, parsed.DNSNames...)
	}
	return append(viewOfCertificate(c, cert),
		"ServerCertificateId", cert.ID, "ServerCertificateName", cert.Name, "RegionIdAlias", c.Region,
		"IsAliCloudCertificate", 0, "AliCloudCertificateId", "", "AliCloudCertificateName", "",
		"SubjectAlternativeNames", api.Object{"SubjectAlternativeName", names})
}

func viewOfCACertificate(c *api.Context, cert *state.Certificate) api.Object {
	return append(viewOfCertificate(c, cert), "CACertificateId", cert.ID, "CACertificateName", cert.Name)
}
