// Package certificate turns what the gateway's API says about server and CA certificates into calls of the cloud's Slb product and
// back.
package certificate

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/batch"
	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/filing"
	"alicloud-controllers.dev/cloudgateway/internal/memo"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
)

// Config holds what a Client works with.
type Config struct {
	// Caller reaches the cloud.
	Caller cloud.Caller
	// Locks keeps two uploads of the same certificate apart.
	Locks      cloud.Locker
	Registerer prometheus.Registerer
}

// Client does the operations of CertificateService.
type Client struct {
	// Servers are the certificates with which listeners prove who they are, Authorities those by which they check clients.
	Servers, Authorities *Store
}

// New makes a Client.
func New(cfg Config) Client {
	return Client{Servers: newStore(cfg, "Server", "servercertificates"), Authorities: newStore(cfg, "CA", "cacertificates")}
}

// Store does the operations on certificates of one kind. The cloud has the same actions for both, with names that differ in a word.
type Store struct {
	caller   cloud.Caller
	locks    cloud.Locker
	kind     string // that word: "Server" or "CA"
	listings *batch.Cache[[]*Certificate]
	// doubtful are the uploads of the last hour of which it is not known whether they were carried out.
	doubtful *memo.Memo[upload, struct{}]
}

const (
	// listingsKept bounds how many listings are remembered: one may hold all certificates.
	listingsKept = 100
	// ledgerSize and ledgerLife bound what is remembered about the gateway's own uploads.
	ledgerSize = 10_000
	ledgerLife = time.Hour
)

func newStore(cfg Config, kind, cache string) *Store {
	return &Store{
		caller: cfg.Caller, locks: cfg.Locks, kind: kind, doubtful: memo.New[upload, struct{}](ledgerSize),
		listings: batch.NewCache[[]*Certificate](batch.CacheConfig{Name: cache, MaxEntries: listingsKept, Registerer: cfg.Registerer}),
	}
}

// Change is what can be changed about a certificate that is there.
type Change struct {
	filing.Change

	Name *string
}

// Update makes a change.
func (s *Store) Update(ctx context.Context, id string, change Change) error {
	defer s.listings.Clear() // Whatever happens, the cloud may hold something new.
	if change.Name != nil {
		params := cloud.Params{s.kind + "CertificateId": id, s.kind + "CertificateName": *change.Name}
		if err := s.set(ctx, "Set"+s.kind+"CertificateName", params); err != nil {
			return err
		}
	}
	return cloud.As(rpcerr.CertificateNotFound, filing.Apply(ctx, s.caller, "certificate", id, change.Change))
}

// Delete removes a certificate.
func (s *Store) Delete(ctx context.Context, id string) error {
	defer s.listings.Clear()
	err := s.set(ctx, "Delete"+s.kind+"Certificate", cloud.Params{s.kind + "CertificateId": id})
	return cloud.Unless(err, rpcerr.CertificateNotFound)
}

func (s *Store) set(ctx context.Context, action string, params cloud.Params) error {
	return cloud.Set(ctx, s.caller, cloud.Write(openapi.SLB, action, params), nil)
}
