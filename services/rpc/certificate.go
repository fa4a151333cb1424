package rpc

import (
	"cmp"
	"context"
	"crypto/x509"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
)

// authenticated is the group that Kubernetes adds to every user whose identity is proven.
const authenticated = "system:authenticated"

// certified gives the caller whom a verified client certificate names, in Kubernetes' manner: the common name, or the first other
// name if there is none, is the user, the organizations are the groups.
func certified(ctx context.Context) (Caller, bool) {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return Caller{}, false
	}
	info, ok := p.AuthInfo.(credentials.TLSInfo)
	if !ok || len(info.State.VerifiedChains) == 0 {
		return Caller{}, false
	}
	leaf := info.State.VerifiedChains[0][0]
	name := cmp.Or(leaf.Subject.CommonName, alternative(leaf))
	return Caller{Name: name, Groups: append([]string{authenticated}, leaf.Subject.Organization...)}, name != ""
}

// alternative is the first of the alternative names, "" if there is none.
func alternative(leaf *x509.Certificate) string {
	var names []string
	for _, uri := range leaf.URIs {
		names = append(names, uri.String())
	}
	names = append(names, leaf.DNSNames...)
	return cmp.Or(append(names, leaf.EmailAddresses...)...)
}
