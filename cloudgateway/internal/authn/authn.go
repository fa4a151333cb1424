// Package authn tells who calls, by ServiceAccount tokens that the Kubernetes API server reviews.
package authn

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/cloudgateway/internal/memo"
	"alicloud-controllers.dev/services/rpc"
	"alicloud-controllers.dev/services/rpcerr"
)

// How long an answer of the API server is good for. A revoked token is refused after a minute at most.
const (
	acceptedLife = time.Minute
	deniedLife   = 5 * time.Second
	cacheSize    = 10_000
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
}

// Authenticator checks tokens. It keeps hashes of them only.
type Authenticator struct {
	cfg   Config
	known *memo.Memo[[sha256.Size]byte, verdict]
}

// verdict is what the API server says about a token.
type verdict struct {
	caller rpc.Caller
	denied string // why; empty: accepted
}

// New makes an Authenticator.
func New(cfg Config) *Authenticator {
	return &Authenticator{cfg: cfg, known: memo.New[[sha256.Size]byte, verdict](cacheSize)}
}

// Authenticate implements rpc.Authenticator.
func (a *Authenticator) Authenticate(ctx context.Context, token string) (rpc.Caller, error) {
	v, err := a.known.Do(ctx, sha256.Sum256([]byte(token)), func(ctx context.Context) (verdict, time.Duration, error) {
		return a.review(ctx, token)
	})
	if err != nil {
		return rpc.Caller{}, err
	}
	if v.denied != "" {
		return rpc.Caller{}, &rpcerr.Error{
			Code: codes.Unauthenticated, Reason: rpcerr.CallerUnauthenticated, Message: "the token is not accepted: " + v.denied,
		}
	}
	return v.caller, nil
}

func (a *Authenticator) review(ctx context.Context, token string) (verdict, time.Duration, error) {
	answer, err := a.cfg.Reviewer.Create(ctx, &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{a.cfg.Audience}},
	}, metav1.CreateOptions{})
	if err != nil {
		return verdict{}, 0, &rpcerr.Error{
			Code: codes.Unavailable, RetryAfter: time.Second,
			Message: fmt.Sprintf("the Kubernetes API server can't check the caller's token at the moment: %v", err),
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
