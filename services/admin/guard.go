package admin

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/flowcontrol"

	"alicloud-controllers.dev/services/logging"
)

const (
	// allowedLife is how long an answer of the API server is good for: a reader who may no longer read is refused after that.
	allowedLife = time.Minute
	// provenLife is how long a token that was accepted once is looked up again whatever strangers ask.
	provenLife = time.Hour
	// provenKept bounds the memory. There is one reader for each Prometheus, and a new token every hour.
	provenKept = 256
	// strangePerSecond and strangeBurst bound what the tokens of strangers cost the API server.
	strangePerSecond, strangeBurst = 2, 10
)

// guard asks the API server who holds a token and whether it may read a page. A nil guard admits every client.
type guard struct {
	client  kubernetes.Interface
	log     *slog.Logger
	strange flowcontrol.PassiveRateLimiter
	outage  logging.Occasional

	mu     sync.Mutex
	proven map[question]time.Time // when it was answered with yes
}

// question is what the API server is asked. It holds a hash, so that no token is kept.
type question struct {
	token [sha256.Size]byte
	path  string
}

func newGuard(client kubernetes.Interface, log *slog.Logger) *guard {
	return &guard{
		client: client, log: log, strange: flowcontrol.NewTokenBucketPassiveRateLimiter(strangePerSecond, strangeBurst),
		proven: map[question]time.Time{},
	}
}

// refusal is why a request is not answered.
type refusal struct {
	code int
	text string
}

// Error implements error.
func (r *refusal) Error() string { return r.text }

// protect answers only clients that are admitted.
func (g *guard) protect(next http.Handler) http.Handler {
	if g == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refused := g.admits(r); refused != nil {
			answer(w, refused.code, refused.text+"\n")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// admits returns nil if the client may read the page: one on the own machine, e.g. through kubectl port-forward, or one whose token
// says so.
func (g *guard) admits(r *http.Request) *refusal {
	if g == nil || local(r) {
		return nil
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return &refusal{http.StatusUnauthorized, "send a token of the cluster: \"Authorization: Bearer …\""}
	}
	q := question{token: sha256.Sum256([]byte(token)), path: r.URL.Path}
	last, proven := g.remembered(q)
	if proven && time.Since(last) < allowedLife {
		return nil
	}
	if !proven && !g.strange.TryAccept() {
		return &refusal{http.StatusTooManyRequests, "too many tokens are asked about; try again later"}
	}
	err := g.review(r.Context(), token, q.path)
	refused, answered := errors.AsType[*refusal](err)
	if err == nil || answered {
		g.remember(q, err == nil)
		return refused
	}
	g.outage.Warn(g.log, "the API server can't check who may read the admin pages", "error", err)
	if proven {
		return nil // Metrics are needed most while something is down.
	}
	return &refusal{http.StatusServiceUnavailable, "the Kubernetes API server can't check the token at the moment"}
}

// remembered gives the time of the last yes of the last hour.
func (g *guard) remembered(q question) (time.Time, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	at, ok := g.proven[q]
	return at, ok && time.Since(at) < provenLife
}

func (g *guard) remember(q question, allowed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !allowed {
		delete(g.proven, q)
		return
	}
	if len(g.proven) >= provenKept {
		maps.DeleteFunc(g.proven, func(_ question, at time.Time) bool { return time.Since(at) >= allowedLife })
	}
	if len(g.proven) < provenKept {
		g.proven[q] = time.Now()
	}
}

// review asks the API server who holds the token, and whether they may get the path. A *refusal is its answer; other errors are that
// there is none.
func (g *guard) review(ctx context.Context, token, path string) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	who, err := g.client.AuthenticationV1().TokenReviews().Create(ctx, &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("review the token: %w", err)
	}
	if !who.Status.Authenticated {
		return &refusal{http.StatusUnauthorized, "the Kubernetes API server does not accept the token"}
	}
	user := who.Status.User
	extra := map[string]authorizationv1.ExtraValue{}
	for key, value := range user.Extra {
		extra[key] = authorizationv1.ExtraValue(value)
	}
	may, err := g.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user.Username, Groups: user.Groups, UID: user.UID, Extra: extra,
			NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: path, Verb: "get"},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("review the permission: %w", err)
	}
	if !may.Status.Allowed || may.Status.Denied {
		return &refusal{http.StatusForbidden, user.Username + " may not get " + path + "; grant it with a ClusterRole and nonResourceURLs"}
	}
	return nil
}
