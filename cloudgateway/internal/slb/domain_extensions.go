package slb

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
)

// ListDomainExtensions reads the domain extensions of one listener, ordered by id.
func (c *Client) ListDomainExtensions(
	ctx context.Context, key *slbv1.ListenerKey, maxAge time.Duration,
) ([]*slbv1.DomainExtension, error) {
	return c.caches.extensions.Get(ctx, listenerName(key), maxAge, func(ctx context.Context) ([]*slbv1.DomainExtension, error) {
		return c.describeExtensions(ctx, key)
	})
}

// describeExtensions reads the domain extensions of one listener now; the cloud has no pages for them.
func (c *Client) describeExtensions(ctx context.Context, key *slbv1.ListenerKey) ([]*slbv1.DomainExtension, error) {
	var answer struct {
		DomainExtensions struct{ DomainExtension []extensionAnswer }
	}
	if err := c.read(ctx, "DescribeDomainExtensions", keyParams(key), &answer); err != nil {
		return nil, err
	}
	extensions := make([]*slbv1.DomainExtension, len(answer.DomainExtensions.DomainExtension))
	for i, a := range answer.DomainExtensions.DomainExtension {
		extensions[i] = a.decode()
	}
	slices.SortFunc(extensions, func(a, b *slbv1.DomainExtension) int {
		return strings.Compare(a.GetDomainExtensionId(), b.GetDomainExtensionId())
	})
	return extensions, nil
}

// extensionAnswer is one domain extension in the answer to DescribeDomainExtensions.
type extensionAnswer struct {
	DomainExtensionID   string `json:"DomainExtensionId"`
	Domain              string
	ServerCertificateID string `json:"ServerCertificateId"`
	ServerCertificates  struct {
		ServerCertificate []struct {
			ServerCertificateID string `json:"ServerCertificateId"`
		}
	}
}

// decode takes the certificate from the list of certificates where the answer has it nowhere else.
func (a extensionAnswer) decode() *slbv1.DomainExtension {
	e := &slbv1.DomainExtension{
		DomainExtensionId: a.DomainExtensionID, Domain: a.Domain, ServerCertificateId: a.ServerCertificateID,
	}
	if list := a.ServerCertificates.ServerCertificate; e.GetServerCertificateId() == "" && len(list) > 0 {
		e.ServerCertificateId = list[0].ServerCertificateID
	}
	return e
}

// CreateDomainExtension gives a listener a certificate for a domain, and tells the id. The cloud has no token for it: after a lost
// answer, of this attempt of the request or an earlier one, the domain extension is looked up, and taken for ours only if it has the
// certificate that was asked for.
func (c *Client) CreateDomainExtension(ctx context.Context, r *slbv1.CreateDomainExtensionRequest) (id string, err error) {
	params := keyParams(r.GetKey()).With("Domain", r.GetDomain()).With("ServerCertificateId", r.GetServerCertificateId())
	this := sending{listener: listenerOf(r.GetKey()), requestID: r.GetRequestId(), name: strings.ToLower(r.GetDomain())}
	_, sent := c.sent.Get(this)
	again := func(err error) bool { return cloud.Busy(err) || cloud.Unclear(err) }
	err = c.exclusively(ctx, r.GetKey().GetLoadBalancerId(), func(ctx context.Context, w *writer) error {
		return cloud.Retry(ctx, again, func(ctx context.Context) error {
			var answer struct {
				DomainExtensionID string `json:"DomainExtensionId"`
			}
			err := w.write(ctx, "CreateDomainExtension", params, &answer)
			if cloud.Unclear(err) {
				sent = true
				c.sent.Put(this, struct{}{}, ledgerLife)
			}
			echo := sent && rpcerr.ReasonOf(err) == rpcerr.AlreadyExists
			if !echo && !cloud.Unclear(err) {
				id = answer.DomainExtensionID
				return err
			}
			found, readErr := c.findExtension(ctx, r.GetKey(), r.GetDomain())
			switch {
			case readErr != nil && echo:
				return fmt.Errorf("the domain has an extension already, but reading whose it is failed: %w", readErr)
			case readErr == nil && found.GetServerCertificateId() == r.GetServerCertificateId():
				id = found.GetDomainExtensionId()
				return nil
			}
			return err
		})
	})
	if err == nil {
		c.sent.Put(this, struct{}{}, 0) // It is seen to its end.
	}
	return id, err
}

// findExtension reads the domain extension of a domain now; nil if there is none.
func (c *Client) findExtension(ctx context.Context, key *slbv1.ListenerKey, domain string) (*slbv1.DomainExtension, error) {
	all, err := c.describeExtensions(ctx, key)
	if err != nil {
		return nil, err
	}
	for _, e := range all {
		if strings.EqualFold(e.GetDomain(), domain) {
			return e, nil
		}
	}
	return nil, nil //nolint:nilnil // Absence is an answer.
}

// UpdateDomainExtension changes the certificate.
func (c *Client) UpdateDomainExtension(ctx context.Context, r *slbv1.UpdateDomainExtensionRequest) error {
	params := cloud.Params{"DomainExtensionId": r.GetDomainExtensionId(), "ServerCertificateId": r.GetServerCertificateId()}
	return c.exclusively(ctx, r.GetLoadBalancerId(), func(ctx context.Context, w *writer) error {
		return w.set(ctx, "SetDomainExtensionAttribute", params)
	})
}

// DeleteDomainExtension removes a domain extension.
func (c *Client) DeleteDomainExtension(ctx context.Context, loadBalancerID, id string) error {
	return c.exclusively(ctx, loadBalancerID, func(ctx context.Context, w *writer) error {
		err := w.set(ctx, "DeleteDomainExtension", cloud.Params{"DomainExtensionId": id})
		return cloud.Unless(err, rpcerr.DomainExtensionNotFound)
	})
}
