package writetest

import (
	"context"
	"path"

	casv1 "alicloud-controllers.dev/proto/cloudgateway/cas/v1"
	"alicloud-controllers.dev/services/gateway"
)

func userCertificateOperations() []Operation {
	return []Operation{
		{
			Name: "UploadCertificate", Actions: []string{"UploadUserCertificate"}, Prepare: withPair, Run: uploadUser,
			Resume: func(ctx context.Context, c *gateway.Client, s *Site) error {
				listed, err := c.UserCertificates.ListCertificates(ctx, &casv1.ListCertificatesRequest{Name: s.upload()})
				if err != nil || len(listed.GetCertificates()) > 0 {
					return err
				}
				return uploadUser(ctx, c, s)
			},
		},
		{
			Name: "DeleteCertificate", Actions: []string{"DeleteUserCertificate"}, Prepare: uploadUser,
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				_, err := c.UserCertificates.DeleteCertificate(ctx, &casv1.DeleteCertificateRequest{CertificateId: s.uploaded})
				return err
			},
		},
	}
}

func uploadUser(ctx context.Context, c *gateway.Client, s *Site) error {
	if err := withPair(ctx, c, s); err != nil {
		return err
	}
	answer, err := c.UserCertificates.UploadCertificate(ctx, &casv1.UploadCertificateRequest{
		RequestId: path.Join(s.Name, "user"), Name: s.upload(), ResourceGroupId: "rg-other",
		CertificatePem: s.pair.GetCertificatePem(), PrivateKeyPem: s.pair.GetPrivateKeyPem(),
	})
	s.uploaded = answer.GetCertificate().GetCertificateId()
	return err
}
