package lb

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway"

	"alicloud-controllers.dev/lbcontroller/internal/certificate"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
)

// certificateSweep is how often certificates are looked for that no Service needs, at least.
const certificateSweep = time.Hour

// CertificateStore keeps server certificates for listeners: what a Product also is where the cloud takes certificates for them.
type CertificateStore interface {
	// StoredCertificates are those that bear the marks of a cluster, and the fingerprint, if it isn't empty.
	StoredCertificates(ctx context.Context, clusterID, fingerprint string) ([]certificate.Stored, error)
	// UploadCertificate brings one to the cloud, with the marks, in place of one that is gone, if its id isn't empty.
	UploadCertificate(ctx context.Context, clusterID string, c certificate.Certificate, gone string) (id string, err error)
	// CertificatesInUse are those of some that a listener of anybody's names now, where the cloud would delete them all the same.
	CertificatesInUse(ctx context.Context, ids []string) ([]string, error)
	// DeleteCertificate deletes one. An error with reason rpcerr.CertificateInUse says that something uses it.
	DeleteCertificate(ctx context.Context, id string) error
	// WithCertificates is a listener with other ids in place of those of its certificates. Where of gives an empty one, what
	// the listener has in the cloud stays. Pure.
	WithCertificates(l model.Listener, of func(id string) string) model.Listener
}

// uploads knows which certificates of the cloud have the content of Secrets.
type uploads struct {
	store     CertificateStore // nil where certificates can't be uploaded, or no Secret may be read
	clusterID string
	certs     *certificates
	logger    *slog.Logger
	deletes   bool          // unused certificates
	grace     time.Duration // before that

	mu sync.Mutex
	// ids are those of the certificates, by placeholder, and gone are those that the cloud turned out not to have.
	ids, gone map[string]string
}

func newUploads(cfg Config, certs *certificates) *uploads {
	u := &uploads{
		clusterID: cfg.Desired.ClusterID, certs: certs, logger: cfg.Logger, deletes: cfg.Policy.deletes(),
		grace: cfg.CertificateGrace, ids: map[string]string{}, gone: map[string]string{},
	}
	if store, ok := cfg.Product.(CertificateStore); ok && cfg.TLSSecrets {
		u.store = store
	}
	return u
}

// known is the id for a placeholder, once that is known. Other ids are themselves.
func (u *uploads) known(id string) string {
	u.mu.Lock()
	defer u.mu.Unlock()
	if known, ok := u.ids[id]; ok {
		return known
	}
	return id
}

// needed reports whether a Service needs a certificate. One that was not worked on since a restart needs what
// has the content of its Secret.
func (u *uploads) needed(c certificate.Stored) bool {
	return u.certs.uses(c.ID) || u.certs.usesContent(c.Fingerprint)
}

// forget makes the certificates of a Service be looked up again, since the cloud doesn't have all of them.
func (u *uploads) forget(wanted map[string]certificate.Certificate) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for placeholder := range wanted {
		if id, known := u.ids[placeholder]; known {
			u.gone[placeholder] = id
			delete(u.ids, placeholder)
		}
	}
}

// lost is the id of the last certificate for a placeholder that the cloud turned out not to have; empty for none.
func (u *uploads) lost(placeholder string) string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.gone[placeholder]
}

// find gives the id of a certificate in the cloud: of several that crashes have left, the first. It is uploaded if there is none, or
// else the id is empty.
func (u *uploads) find(ctx context.Context, c certificate.Certificate, upload bool) (string, error) {
	if id := u.known(c.Placeholder()); !certificate.IsPlaceholder(id) {
		return id, nil
	}
	found, err := u.store.StoredCertificates(ctx, u.clusterID, c.Fingerprint)
	if err != nil {
		return "", fmt.Errorf("look for the uploaded certificate: %w", err)
	}
	id := ""
	switch {
	case len(found) > 0:
		id = slices.MinFunc(found, certificate.Stored.Compare).ID
	case !upload:
		return "", nil
	default:
		if id, err = u.store.UploadCertificate(ctx, u.clusterID, c, u.lost(c.Placeholder())); err != nil {
			return "", fmt.Errorf("upload certificate %s: %w", c.Name(u.clusterID), err)
		}
		u.logger.Info("uploaded a certificate", "certificate", id, "name", c.Name(u.clusterID))
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.ids[c.Placeholder()] = id
	return id, nil
}

// resolve puts ids in place of the placeholders. With an error, those that could not be had are left as they are in the cloud. Without
// upload, placeholders stay for what would be uploaded.
func (u *uploads) resolve(ctx context.Context, s pass, upload bool) (pass, error) {
	if len(s.want.Certificates) == 0 || u.store == nil {
		return s, nil
	}
	ids, failed := map[string]string{}, map[string]error{}
	for _, placeholder := range slices.Sorted(maps.Keys(s.want.Certificates)) {
		id, err := u.find(ctx, s.want.Certificates[placeholder], upload)
		switch {
		case err != nil:
			failed[placeholder] = err
		case id == "":
			id = placeholder
		}
		ids[placeholder] = id
	}
	of := func(id string) string {
		if known, ok := ids[id]; ok {
			return known // Empty after a failure.
		}
		return id
	}
	wanted := *s.want.Desired
	wanted.Listeners = slices.Clone(wanted.Listeners)
	for i, l := range wanted.Listeners {
		wanted.Listeners[i] = u.store.WithCertificates(l, of)
		if failed[s.product.Certificate(l)] != nil {
			wanted.Listeners[i].Waits = "its certificate isn't uploaded yet"
		}
	}
	s.want.Desired = &wanted
	return s, errors.Join(slices.Collect(maps.Values(failed))...)
}

// run deletes certificates that no Service has needed for the grace, until ctx ends. Since when that is so is not recorded: a new leader
// counts anew, which only keeps them for longer.
func (u *uploads) run(ctx context.Context) error {
	if u.store == nil || !u.deletes {
		return nil
	}
	since := map[string]time.Time{}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(min(u.grace/2, certificateSweep)):
		}
		var err error
		if since, err = u.sweep(gateway.WithPriority(ctx, gateway.Background), since); err != nil && ctx.Err() == nil {
			u.logger.Warn("certificates that nobody needs are not deleted; it is tried again later", "error", err)
		}
	}
}

// sweep deletes what is due. since is since when each certificate was known to be unused; it gives what is known from now on.
func (u *uploads) sweep(ctx context.Context, since map[string]time.Time) (map[string]time.Time, error) {
	stored, err := u.store.StoredCertificates(ctx, u.clusterID, "")
	if err != nil {
		return since, fmt.Errorf("list the certificates of the cluster: %w", err)
	}
	now := time.Now()
	due, since := certificate.Usage{Stored: stored, Needed: u.needed, Since: since}.Unused(now, u.grace)
	if len(due) == 0 {
		return since, nil
	}
	ids := make([]string, len(due))
	for i, c := range due {
		ids[i] = c.ID
		u.forgetID(c.ID)
	}
	inUse, err := u.store.CertificatesInUse(ctx, ids)
	if err != nil {
		return since, fmt.Errorf("read which listeners use certificates: %w", err)
	}
	var errs []error
	for _, c := range due {
		id := c.ID
		if u.needed(c) {
			continue
		}
		err := error(rpcerr.Errorf(rpcerr.CertificateInUse, "a listener names certificate %s", id))
		if !slices.Contains(inUse, id) {
			err = u.store.DeleteCertificate(ctx, id)
		}
		switch {
		case rpcerr.ReasonOf(err) == rpcerr.CertificateInUse: // A listener of a user's, or of a Service whose Secret is gone.
			since[id] = now
		case err != nil:
			errs = append(errs, fmt.Errorf("delete certificate %s: %w", id, err))
		default:
			u.logger.Info("deleted a certificate that no Service needs any more", "certificate", id)
		}
	}
	return since, errors.Join(errs...)
}

// forgetID lets no Service take a certificate from memory any more.
func (u *uploads) forgetID(id string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	maps.DeleteFunc(u.ids, func(_, known string) bool { return known == id })
}
