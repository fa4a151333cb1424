package slb

import (
	"crypto/sha1" //nolint:gosec // The fingerprints that SLB shows are SHA-1.
	"encoding/hex"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

type serverCertificateView struct {
	ServerCertificateID   string `json:"ServerCertificateId"`
	ServerCertificateName string `json:"ServerCertificateName"`
	certificateView
	RegionIDAlias           string `json:"RegionIdAlias"`
	IsAliCloudCertificate   int    `json:"IsAliCloudCertificate"`
	AliCloudCertificateID   string `json:"AliCloudCertificateId"`
	AliCloudCertificateName string `json:"AliCloudCertificateName"`
	SubjectAlternativeNames struct {
		SubjectAlternativeName []string `json:"SubjectAlternativeName"`
	} `json:"SubjectAlternativeNames"`
}

type caCertificateView struct {
	CACertificateID   string `json:"CACertificateId"`
	CACertificateName string `json:"CACertificateName"`
	certificateView
}

type certificateView struct {
	CommonName      string        `json:"CommonName"`
	Fingerprint     string        `json:"Fingerprint"`
	CreateTime      string        `json:"CreateTime"`
	CreateTimeStamp int64         `json:"CreateTimeStamp"`
	ExpireTime      string        `json:"ExpireTime"`
	ExpireTimeStamp int64         `json:"ExpireTimeStamp"`
	RegionID        string        `json:"RegionId"`
	ResourceGroupID string        `json:"ResourceGroupId"`
	Tags            tags.LongList `json:"Tags"`
}

func viewOfCertificate(c *api.Context, cert *state.Certificate) certificateView {
	return certificateView{
		CommonName: cert.CommonName, Fingerprint: thumbprint(cert), CreateTime: stamp(cert.Created), CreateTimeStamp: cert.Created.UnixMilli(),
		ExpireTime: stamp(cert.Expires), ExpireTimeStamp: cert.Expires.UnixMilli(), RegionID: c.Region, ResourceGroupID: resourceGroup(cert.ResourceGroupID),
		Tags: tags.Longs(cert.Tags),
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

func viewOfServerCertificate(c *api.Context, cert *state.Certificate) serverCertificateView {
	v := serverCertificateView{ServerCertificateID: cert.ID, ServerCertificateName: cert.Name, certificateView: viewOfCertificate(c, cert), RegionIDAlias: c.Region}
	v.SubjectAlternativeNames.SubjectAlternativeName = []string{}
	if parsed := parseCertificate(cert.PEM); parsed != nil {
		v.SubjectAlternativeNames.SubjectAlternativeName = append(v.SubjectAlternativeNames.SubjectAlternativeName, parsed.DNSNames...)
	}
	return v
}

func viewOfCACertificate(c *api.Context, cert *state.Certificate) caCertificateView {
	return caCertificateView{CACertificateID: cert.ID, CACertificateName: cert.Name, certificateView: viewOfCertificate(c, cert)}
}
