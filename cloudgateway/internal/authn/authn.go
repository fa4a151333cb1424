// Package authn tells who calls, by ServiceAccount tokens that the Kubernetes API server reviews.
package authn

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/cloudgateway/internal/memo"
	"alicloud-controllers.dev/services/logging"
	"alicloud-controllers.dev/services/rpc"
	"alicloud-controllers.dev/services/rpcerr"
)

// How long an answer of the API server is good for. A revoked token is refused after a minute at most.
const (
	acceptedLife = time.Minute
	deniedLife   = 5 * time.Second
)

// Verdicts are kept apart, so that the tokens that somebody makes up never push out those of callers.
const (
	acceptedKept = 10_000
	deniedKept   = 1000
	// provenLife is how long a token that was accepted once may be looked up again without regard to what its peer does else.
	provenLife = time.Hour
)

// What one peer may ask about tokens that are not accepted. A caller shows one token, and a new one every hour; the burst is for many
// callers behind one address.
const (
	burst     = 20
	perSecond = 2
)

// Reviewer is the API server's side; kubernetes.Interface.AuthenticationV1().TokenReviews() is one.
type Reviewer interface {
	Create(ctx context.Context, review *authenticationv1.TokenReview, opts metav1.CreateOptions) (*authenticationv1.TokenReview, error)
}

// Config holds what an Authenticator works with.
type Config struct {
	Reviewer Reviewer
	// Audience the tokens must be made for, so that one stolen from another service is worth nothing here.
	Audience string
	// Logger gets what the API server says when it cannot answer. Callers are not told: nobody knows who they are.
	Logger *slog.Logger
}

// Authenticator checks tokens. It keeps hashes of them only.
type Authenticator struct {
	cfg      Config
	accepted *memo.Memo[hash, rpc.Caller]
	denied   *memo.Memo[hash, string] // why
	proven   *memo.Memo[hash, struct{}]
	strange  rpc.Peers
	outage   logging.Occasional
}

type hash [sha256.Size]byte

// denial is the error of a token that is not accepted; the text is why.
type denial string

// Error implements error.
func (d denial) Error() string { return string(d) }

// New makes an Authenticator.
func New(cfg Config) *Authenticator {
	return &Authenticator{
		cfg: cfg, accepted: memo.New[hash, rpc.Caller](acceptedKept), denied: memo.New[hash, string](deniedKept),
		proven: memo.New[hash, struct{}](acceptedKept), strange: rpc.Peers{Burst: burst, PerSecond: perSecond},
	}
}

// Authenticate implements rpc.Authenticator.
func (a *Authenticator) Authenticate(ctx context.Context, token string) (rpc.Caller, error) {
	key := hash(sha256.Sum256([]byte(token)))
	if why, ok := a.denied.Get(key); ok {
		return rpc.Caller{}, notAccepted(why)
	}
	caller, err := a.accepted.Do(ctx, key, func(ctx context.Context) (rpc.Caller, time.Duration, error) {
		return a.lookUp(ctx, key, token)
	})
	if why, ok := errors.AsType[denial](err); ok {
		return rpc.Caller{}, notAccepted(string(why))
	}
	return caller, err
}

func notAccepted(why string) error {
	return &rpcerr.Error{
		Code: codes.Unauthenticated, Reason: rpcerr.CallerUnauthenticated, Message: "the token is not accepted: " + why,
	}
}

// lookUp asks the API server about a token, unless too many from the same peer have come to nothing.
func (a *Authenticator) lookUp(ctx context.Context, key hash, token string) (rpc.Caller, time.Duration, error) {
	_, proven := a.proven.Get(key)
	peer := rpc.Peer(ctx)
	if !proven && !a.strange.Take(peer) {
		return rpc.Caller{}, 0, &rpcerr.Error{
			Code: codes.ResourceExhausted, RetryAfter: time.Second, Message: "too many tokens from this address were not accepted; try again later",
		}
	}
	v, life, err := a.review(ctx, token)
	switch {
	case err != nil:
		return rpc.Caller{}, 0, err
	case v.denied != "":
		a.denied.Put(key, v.denied, life)
		return rpc.Caller{}, 0, denial(v.denied)
	}
	if !proven {
		a.strange.GiveBack(peer)
	}
	a.proven.Put(key, struct{}{}, provenLife)
	return v.caller, life, nil
}

// verdict is what the API server says about a token.
type verdict struct {
	caller rpc.Caller
	denied string // why; empty: accepted
}

func (a *Authenticator) review(ctx context.Context, token string) (verdict, time.Duration, error) {
	answer, err := a.cfg.Reviewer.Create(ctx, &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{a.cfg.Audience}},
	}, metav1.CreateOptions{})
	if err != nil {
		a.outage.Warn(a.cfg.Logger, "the API server cannot review tokens", "error", err)
		return verdict{}, 0, &rpcerr.Error{
			Code: codes.Unavailable, RetryAfter: time.Second, Message: "the Kubernetes API server can't check the caller's token at the moment",
		}
	}
	status := answer.Status
	switch {
	case !status.Authenticated:
		return verdict{denied: reason(status.Error, a.cfg.Audience)}, deniedLife, nil
	case !slices.Contains(status.Audiences, a.cfg.Audience):
		// An API server that does not know audiences accepts every token.
		return verdict{denied: fmt.Sprintf("it is not made for audience %q", a.cfg.Audience)}, deniedLife, nil
	}
	life := acceptedLife
	if expiry, ok := expiryOf(token); ok {
		life = min(life, time.Until(expiry))
	}
	return verdict{caller: rpc.Caller{Name: status.User.Username, Groups: status.User.Groups}}, life, nil
}

// reason does not repeat all of the API server's text, which may quote parts of the token.
func reason(text, audience string) string {
	switch {
	case strings.Contains(text, "audience"):
		return fmt.Sprintf("it is not made for audience %q", audience)
	case strings.Contains(text, "expired"):
		return "it has expired"
	default:
		return "the Kubernetes API server does not know it"
	}
}

// expiryOf reads the end of a token's life. The signature need not be checked: the API server has.
func expiryOf(token string) (time.Time, bool) {
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
