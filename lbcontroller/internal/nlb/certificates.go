package nlb

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	casv1 "alicloud-controllers.dev/proto/cloudgateway/cas/v1"
	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/lbcontroller/internal/certificate"
	"alicloud-controllers.dev/lbcontroller/internal/lb"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
)

// The certificates of listeners are those of the Certificate Management Service (CAS). It shows no tags, so that the name of
// one says whose it is, and its lists don't have the identifier that listeners name: its number and a region, as in
// "10741304-cn-hangzhou".

const (
	// certificateName is how long the name of a certificate may be.
	certificateName = 63
	// certificateAge is how old what is read of a certificate may be: nothing of it changes.
	certificateAge = time.Hour
	// foundAge is how old the list may be in which a certificate is looked for: for the hundreds of Services that a new leader
	// looks at it is one call. One that turns out to be gone is looked for again.
	foundAge = time.Minute
)

var _ lb.CertificateStore = Product{}

// Certificate implements lb.Product.
func (Product) Certificate(l model.Listener) string {
	if ids := configOf(l.Config).GetCertificateIds(); len(ids) > 0 {
		return ids[0]
	}
	return ""
}

// numberOf is the number of a certificate of which listeners name the identifier; ok is false for what can't be one.
func numberOf(identifier string) (number string, ok bool) {
	number, _, ok = strings.Cut(identifier, "-")
	return number, ok && number != "" && strings.Trim(number, "0123456789") == ""
}

// CertificateEnds implements lb.Product. It asks for each certificate: a list has the uploaded ones only.
func (p Product) CertificateEnds(ctx context.Context, ids []string) (map[string]time.Time, error) {
	ends := make(map[string]time.Time, len(ids))
	for _, id := range ids {
		number, ok := numberOf(id)
		if !ok {
			ends[id] = time.Time{}
			continue
		}
		answer, err := p.Gateway.UserCertificates.GetCertificate(ctx, &casv1.GetCertificateRequest{
			CertificateId: number, MaxAge: durationpb.New(certificateAge),
		})
		switch {
		case rpcerr.ReasonOf(err) == rpcerr.CertificateNotFound:
		case err != nil:
			return nil, err
		case answer.GetCertificate().GetExpirationTime() == nil:
			ends[id] = time.Time{}
		default:
			ends[id] = answer.GetCertificate().GetExpirationTime().AsTime()
		}
	}
	return ends, nil
}

// StoredCertificates implements lb.CertificateStore. Only those with a name that has the cluster's id and a fingerprint are ours.
func (p Product) StoredCertificates(ctx context.Context, clusterID, fingerprint string) ([]certificate.Stored, error) {
	names, request := certificate.MarkedByName{ClusterID: clusterID, Limit: certificateName}, &casv1.ListCertificatesRequest{}
	if fingerprint != "" {
		name, err := names.Of(fingerprint)
		if err != nil {
			return nil, err
		}
		request.Name, request.MaxAge = name, durationpb.New(foundAge)
	}
	answer, err := p.Gateway.UserCertificates.ListCertificates(ctx, request)
	if err != nil {
		return nil, err
	}
	var stored []certificate.Stored
	for _, c := range answer.GetCertificates() {
		short, ok := names.Fingerprint(c.GetName())
		if !ok || !strings.HasPrefix(fingerprint, short) && fingerprint != "" {
			continue
		}
		read, err := p.Gateway.UserCertificates.GetCertificate(ctx, &casv1.GetCertificateRequest{
			CertificateId: c.GetCertificateId(), MaxAge: durationpb.New(certificateAge),
		})
		if rpcerr.ReasonOf(err) == rpcerr.CertificateNotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		stored = append(stored, certificate.Stored{ID: read.GetCertificate().GetIdentifier(), Fingerprint: short})
	}
	return stored, nil
}

// UploadCertificate implements lb.CertificateStore.
func (p Product) UploadCertificate(ctx context.Context, clusterID string, c certificate.Certificate, gone string) (string, error) {
	name, err := certificate.MarkedByName{ClusterID: clusterID, Limit: certificateName}.Of(c.Fingerprint)
	if err != nil {
		return "", err
	}
	answer, err := p.Gateway.UserCertificates.UploadCertificate(ctx, &casv1.UploadCertificateRequest{
		RequestId: c.RequestID(clusterID, gone), Name: name, CertificatePem: c.Chain, PrivateKeyPem: string(c.Key),
	})
	return answer.GetCertificate().GetIdentifier(), err
}

// CertificatesInUse implements lb.CertificateStore. No document says that the cloud keeps a certificate that a listener names, so that all
// TCPSSL listeners of the region are read: those of users and of other clusters, too.
func (p Product) CertificatesInUse(ctx context.Context, ids []string) ([]string, error) {
	all, err := p.Gateway.NetworkListeners.ListListeners(ctx, &nlbv1.ListListenersRequest{
		Protocol: nlbv1.ListenerProtocol_LISTENER_PROTOCOL_TCPSSL,
	})
	if err != nil {
		return nil, err
	}
	var named []string
	for _, l := range all.GetListeners() {
		named = slices.Concat(named, l.GetConfig().GetCertificateIds(), l.GetConfig().GetCaCertificateIds())
		further, err := p.Gateway.NetworkListeners.ListListenerCertificates(ctx,
			&nlbv1.ListListenerCertificatesRequest{ListenerId: l.GetListenerId()})
		if rpcerr.ReasonOf(err) == rpcerr.ListenerNotFound {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("listener %s: %w", l.GetListenerId(), err)
		}
		for _, c := range further.GetCertificates() {
			named = append(named, c.GetCertificateId())
		}
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !slices.Contains(named, id) }), nil
}

// DeleteCertificate implements lb.CertificateStore.
func (p Product) DeleteCertificate(ctx context.Context, id string) error {
	number, ok := numberOf(id)
	if !ok {
		return fmt.Errorf("%q is not the identifier of a certificate", id)
	}
	_, err := p.Gateway.UserCertificates.DeleteCertificate(ctx, &casv1.DeleteCertificateRequest{CertificateId: number})
	return err
}

// WithCertificates implements lb.CertificateStore.
func (p Product) WithCertificates(l model.Listener, of func(id string) string) model.Listener {
	if first := p.Certificate(l); first != "" {
		config := proto.CloneOf(configOf(l.Config))
		config.CertificateIds = oneOrNone(of(first))
		l.Config = config
	}
	l.Further = slices.Clone(l.Further)
	for i, e := range l.Further {
		ids := slices.Clone(e.Certificates)
		for n := range ids {
			ids[n] = of(ids[n])
		}
		if len(ids) > 0 {
			l.Further[i] = together(ids)[0]
		}
	}
	return l
}

// oneOrNone is a list with an id, if there is one.
func oneOrNone(id string) []string {
	if id == "" {
		return nil
	}
	return []string{id}
}
