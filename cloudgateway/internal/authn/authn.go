// Package authn identifies callers by ServiceAccount tokens, which the Kubernetes API server reviews.
package authn

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authenticationv1client "k8s.io/client-go/kubernetes/typed/authentication/v1"

	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/logging"

	"alicloud-controllers.dev/cloudgateway/internal/memo"
	"alicloud-controllers.dev/cloudgateway/internal/rpc"
)

// How long an answer of the API server is good for. A revoked token is refused after a minute at most.
const (
	acceptedLife = time.Minute
	deniedLife   = 5 * time.Second
)

const (
	// kept is how many callers are remembered.
	kept = 10_000
	// provenLife is how long a token that was accepted once may be looked up again without regard to what its peer does else.
	provenLife = time.Hour
)

// What one peer may ask about tokens that are not accepted. A caller shows one token, and a new one every hour; the burst is for many
// callers behind one address.
const (
	burst     = 20
	perSecond = 2
)

// Authenticator checks tokens. It keeps hashes of them only.
type Authenticator struct {
	reviewer     authenticationv1client.TokenReviewInterface
	audience     string
	log          *slog.Logger
	callers      *memo.Memo[hash, rpc.Caller]
	proven       *memo.Memo[hash, struct{}]
	failedTokens rpc.Peers
	outageLog    logging.Occasional
}

type hash [sha256.Size]byte

// New makes an Authenticator. Tokens must be made for the audience, so that one stolen from another service is worth nothing here. The log
// gets what the API server says when it cannot answer. Callers do not see it: they are not authenticated.
func New(reviewer authenticationv1client.TokenReviewInterface, audience string, log *slog.Logger) *Authenticator {
	return &Authenticator{
		reviewer: reviewer, audience: audience, log: log, callers: memo.New[hash, rpc.Caller](kept), proven: memo.New[hash, struct{}](kept),
		failedTokens: rpc.Peers{Burst: burst, PerSecond: perSecond},
	}
}

// Authenticate implements rpc.Authenticator.
func (a *Authenticator) Authenticate(ctx context.Context, token string) (rpc.Caller, error) {
	key := hash(sha256.Sum256([]byte(token)))
	return a.callers.Do(ctx, key, func(ctx context.Context) (rpc.Caller, time.Duration, error) {
		return a.lookUp(ctx, key, token)
	})
}

// lookUp asks the API server about a token, unless too many from the same peer have come to nothing.
func (a *Authenticator) lookUp(ctx context.Context, key hash, token string) (rpc.Caller, time.Duration, error) {
	_, proven := a.proven.Get(key)
	peer := rpc.Peer(ctx)
	if !proven && !a.failedTokens.Take(peer) {
		return rpc.Caller{}, 0, &rpcerr.Error{
			Code: codes.ResourceExhausted, RetryAfter: time.Second, Message: "too many tokens from this address were not accepted; try again later",
		}
	}
	caller, life, err := a.review(ctx, token)
	if !proven && rpcerr.ReasonOf(err) != rpcerr.CallerUnauthenticated { // Nothing was found out, or nothing bad.
		a.failedTokens.GiveBack(peer)
	}
	if err != nil {
		return caller, life, err
	}
	a.proven.Put(key, struct{}{}, provenLife)
	return caller, life, nil
}

// review gives what the API server says about a token, and for how long that is good.
func (a *Authenticator) review(ctx context.Context, token string) (rpc.Caller, time.Duration, error) {
	answer, err := a.reviewer.Create(ctx, &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{a.audience}},
	}, metav1.CreateOptions{})
	if err != nil {
		a.outageLog.Warn(a.log, "the API server cannot review tokens", "error", err)
		return rpc.Caller{}, 0, &rpcerr.Error{
			Code: codes.Unavailable, RetryAfter: time.Second, Message: "the Kubernetes API server can't check the caller's token at the moment",
		}
	}
	status := answer.Status
	switch {
	case !status.Authenticated:
		return rpc.Caller{}, deniedLife, a.notAccepted(status.Error)
	case !slices.Contains(status.Audiences, a.audience):
		// An API server that does not know audiences accepts every token.
		return rpc.Caller{}, deniedLife, a.notAccepted("audience")
	}
	life := acceptedLife
	if expiry, ok := Expiry(token); ok {
		life = min(life, time.Until(expiry))
	}
	caller := rpc.Caller{Name: status.User.Username, UID: status.User.UID, Groups: status.User.Groups}
	for key, values := range status.User.Extra {
		if caller.Extra == nil {
			caller.Extra = make(map[string][]string)
		}
		caller.Extra[key] = values
	}
	return caller, life, nil
}

// notAccepted does not repeat all of the API server's text, which may quote parts of the token.
func (a *Authenticator) notAccepted(text string) error {
	why := "the Kubernetes API server does not know it"
	switch {
	case strings.Contains(text, "audience"):
		why = fmt.Sprintf("it is not made for audience %q", a.audience)
	case strings.Contains(text, "expired"):
		why = "it has expired"
	}
	return rpcerr.Errorf(rpcerr.CallerUnauthenticated, "the token is not accepted: %s", why)
}

// Expiry reads the end of a token's life. It does not check the signature: the API server does.
func Expiry(token string) (time.Time, bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}, false
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return time.Time{}, false
	}
	var claims struct {
		Exp int64 `json:"exp"`
	}
	if json.Unmarshal(payload, &claims) != nil || claims.Exp == 0 {
		return time.Time{}, false
	}
	return time.Unix(claims.Exp, 0), true
}
