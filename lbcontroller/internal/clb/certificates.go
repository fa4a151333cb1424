package clb

import (
	"context"
	"slices"

	"google.golang.org/protobuf/proto"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/lbcontroller/internal/certificate"
	"alicloud-controllers.dev/lbcontroller/internal/lb"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
)

var _ lb.CertificateStore = Product{}

// certificateTags are the marks of certificates of a cluster; with an empty fingerprint, of all of them.
func certificateTags(clusterID, fingerprint string) []*commonv1.Tag {
	return []*commonv1.Tag{{Key: ownership.TagCluster, Value: clusterID}, {Key: certificate.TagFingerprint, Value: fingerprint}}
}

// StoredCertificates implements lb.CertificateStore. Only those with the name and both tags are ours.
func (p Product) StoredCertificates(ctx context.Context, clusterID, fingerprint string) ([]certificate.Stored, error) {
	tags := certificateTags(clusterID, fingerprint)
	if fingerprint == "" {
		tags = tags[:1]
	}
	answer, err := p.Gateway.Certificates.ListServerCertificates(ctx, &slbv1.ListServerCertificatesRequest{Tags: tags})
	if err != nil {
		return nil, err
	}
	var stored []certificate.Stored
	for _, c := range answer.GetServerCertificates() {
		marks := map[string]string{}
		for _, tag := range c.GetTags() {
			marks[tag.GetKey()] = tag.GetValue()
		}
		found := certificate.Stored{ID: c.GetServerCertificateId(), Fingerprint: marks[certificate.TagFingerprint]}
		if marks[ownership.TagCluster] == clusterID && certificate.IsName(c.GetName(), clusterID, found.Fingerprint) {
			stored = append(stored, found)
		}
	}
	return stored, nil
}

// UploadCertificate implements lb.CertificateStore.
func (p Product) UploadCertificate(ctx context.Context, clusterID string, c certificate.Certificate, gone string) (string, error) {
	answer, err := p.Gateway.Certificates.UploadServerCertificate(ctx, &slbv1.UploadServerCertificateRequest{
		RequestId: c.RequestID(clusterID, gone), Name: c.Name(clusterID), Tags: certificateTags(clusterID, c.Fingerprint),
		Source: &slbv1.UploadServerCertificateRequest_KeyPair{KeyPair: &slbv1.KeyPair{CertificatePem: c.Chain, PrivateKeyPem: string(c.Key)}},
	})
	return answer.GetServerCertificate().GetServerCertificateId(), err
}

// CertificatesInUse implements lb.CertificateStore: the cloud refuses to delete what a listener names.
func (Product) CertificatesInUse(context.Context, []string) ([]string, error) { return nil, nil }

// DeleteCertificate implements lb.CertificateStore.
func (p Product) DeleteCertificate(ctx context.Context, id string) error {
	_, err := p.Gateway.Certificates.DeleteServerCertificate(ctx, &slbv1.DeleteServerCertificateRequest{ServerCertificateId: id})
	return err
}

// WithCertificates implements lb.CertificateStore.
func (p Product) WithCertificates(l model.Listener, of func(id string) string) model.Listener {
	if first := p.Certificate(l); first != "" {
		config := proto.CloneOf(configOf(l.Config))
		if config.ServerCertificateId = nil; of(first) != "" {
			config.ServerCertificateId = new(of(first))
		}
		l.Config = config
	}
	l.Further = slices.Clone(l.Further)
	for i, f := range l.Further {
		l.Further[i].Certificates = oneOrNone(of(only(f)))
	}
	return l
}

// only is the certificate for a domain; empty if it isn't known yet.
func only(f model.FurtherCertificates) string {
	if len(f.Certificates) == 0 {
		return ""
	}
	return f.Certificates[0]
}

// oneOrNone is a list with an id, if there is one.
func oneOrNone(id string) []string {
	if id == "" {
		return nil
	}
	return []string{id}
}

// Prove implements apply.Caller: the certificates that a listener names are there. The cloud has no way to ask for more.
func (p Product) Prove(ctx context.Context, _ model.Observed, coming plan.CreateListener) error {
	var ids []string
	if id := p.Certificate(coming.Listener); id != "" {
		ids = append(ids, id)
	}
	for _, e := range coming.Listener.Further {
		if id := only(e); id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	there, err := p.CertificateEnds(ctx, ids)
	if reason := rpcerr.ReasonOf(err); reason == rpcerr.CallerForbidden || reason == rpcerr.CloudForbidden {
		return nil // Who may not read certificates can name them all the same.
	}
	if err != nil {
		return err
	}
	for _, id := range ids {
		if _, isThere := there[id]; !isThere {
			return rpcerr.Errorf(rpcerr.CertificateNotFound, "there is no certificate %s", id)
		}
	}
	return nil
}
