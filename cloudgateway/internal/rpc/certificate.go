package rpc

import (
	"cmp"
	"context"
	"crypto/x509"
	"slices"
	"strings"

	"google.golang.org/grpc/peer"

	"alicloud-controllers.dev/proto/rpcerr"
)

const (
	// authenticated is the group that Kubernetes adds to every user whose identity is proven.
	authenticated = "system:authenticated"
	// reserved begins the names that Kubernetes gives, e.g. those of ServiceAccounts and the group that may do everything.
	// The authority for callers outside of the cluster is not Kubernetes'.
	reserved = "system:"
)

// certificate is the verified client certificate of a call; nil if there is none.
func certificate(ctx context.Context) *x509.Certificate {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return nil
	}
	info, ok := p.AuthInfo.(arrived)
	if !ok || len(info.State.VerifiedChains) == 0 {
		return nil
	}
	return info.State.VerifiedChains[0][0]
}

// certified gives the caller whom a verified client certificate names, in Kubernetes' manner: the common name, or the first other
// name if there is none, is the user, the organizations are the groups.
func certified(leaf *x509.Certificate) (Caller, error) {
	caller := Caller{Name: cmp.Or(leaf.Subject.CommonName, alternative(leaf)), Groups: leaf.Subject.Organization}
	if caller.Name == "" {
		return Caller{}, rpcerr.Errorf(rpcerr.CallerUnauthenticated, "the client certificate has no name; give it a common name")
	}
	for _, name := range slices.Concat([]string{caller.Name}, caller.Groups) {
		if strings.HasPrefix(name, reserved) {
			return Caller{}, rpcerr.Errorf(rpcerr.CallerUnauthenticated,
				"the client certificate has the name or organization %q; what begins with %q is Kubernetes' own, so it is "+
					"accepted from tokens only", name, reserved)
		}
	}
	caller.Groups = append([]string{authenticated}, caller.Groups...)
	return caller, nil
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
