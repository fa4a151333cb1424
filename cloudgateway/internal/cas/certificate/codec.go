package certificate

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	casv1 "alicloud-controllers.dev/proto/cloudgateway/cas/v1"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
)

// decode reads a certificate in a list, or by itself: the two have other names for some of its parts.
func decode(item []byte) (*casv1.Certificate, error) {
	c := &casv1.Certificate{}
	var listed, sans string
	err := cloud.Decode(item, cloud.Fields{
		"Id":              &c.CertificateId,
		"CertificateId":   &listed,
		"CertIdentifier":  &c.Identifier,
		"Name":            &c.Name,
		"ResourceGroupId": &c.ResourceGroupId,
		"Common":          &c.CommonName,
		"CommonName":      cloud.Via(&c.CommonName, func(name string) string { return cmp.Or(name, c.GetCommonName()) }),
		"Sans":            &sans,
		"Issuer":          &c.Issuer,
		"Fingerprint":     &c.Fingerprint,
		"Sha2":            &c.Sha256,
		"SerialNo":        &c.SerialNumber,
		"NotBefore":       moment(&c.StartTime),
		"CertStartTime":   moment(&c.StartTime),
		"NotAfter":        moment(&c.ExpirationTime),
		"CertEndTime":     moment(&c.ExpirationTime),
	})
	c.CertificateId = cmp.Or(c.GetCertificateId(), listed)
	if sans != "" {
		c.SubjectAlternativeNames = strings.Split(sans, ",")
	}
	return c, err
}

// moment reads a time in milliseconds, if there is one.
func moment(into **timestamppb.Timestamp) *cloud.Decoder {
	return cloud.Via(into, func(text string) *timestamppb.Timestamp {
		if ms, err := strconv.ParseInt(text, 10, 64); err == nil && ms > 0 {
			return timestamppb.New(time.UnixMilli(ms))
		}
		return *into
	})
}
