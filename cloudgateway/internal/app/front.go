package app

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/logging"

	"alicloud-controllers.dev/cloudgateway/internal/authn"
	"alicloud-controllers.dev/cloudgateway/internal/flow"
	"alicloud-controllers.dev/cloudgateway/internal/front"
	"alicloud-controllers.dev/cloudgateway/internal/memo"
	"alicloud-controllers.dev/cloudgateway/internal/rpc"
)

// frontConfig is that of the OpenAPI front. Calls through it wait as those of a caller of the gateway's own API do,
// with the priority of a user's change at most.
func (g *Gateway) frontConfig(registry prometheus.Registerer, forget func(products ...string)) front.Config {
	p := newPriorities(g.cfg)
	return front.Config{
		Front: g.cfg.Front, TLS: rpc.TLSConfig(g.cfg.TLS), Region: g.cfg.Region, Refused: slices.Collect(maps.Values(g.cfg.ControllerAccounts())),
		Cloud: g.openapi, Authorizer: g.authorizer, UnderWay: g.rpc.Account(), Guard: g.services.Guard(), Counts: g.gate.budget.Counts,
		Context: func(ctx context.Context, caller string) context.Context {
			return inTheNameOf(g.gate.within(ctx), g.cfg.Budget, flow.Caller{Name: caller, Priority: p.of(caller, flow.Change, nil)})
		},
		Forget: func(products ...string) {
			forget(products...)
			g.services.Guard().Forget(products...)
		},
		Registerer: registry, Logger: g.log, Account: g.accounts(), Tokens: g.tokens(),
	}
}

// tokens finds out whose tokens tools show for a session. They are made for another audience than those of callers of the
// gateway's own API: neither is good for the other.
func (g *Gateway) tokens() func(ctx context.Context, token string) (rpc.Caller, time.Time, error) {
	authenticator := authn.New(g.kube.AuthenticationV1().TokenReviews(), g.cfg.Front.Audience, g.log)
	return func(ctx context.Context, token string) (rpc.Caller, time.Time, error) {
		caller, err := authenticator.Authenticate(ctx, token)
		until, _ := authn.Expiry(token) // A token without an end has none.
		return caller, until, err
	}
}

// How long it is remembered that a ServiceAccount is there, as that a permission is, and that there is none.
const (
	accountLife = time.Minute
	absentLife  = 5 * time.Second
	mostAsked   = 1000
)

// accounts looks up ServiceAccounts. A role of an older chart does not allow it: key pairs then outlive their
// ServiceAccounts, as they did.
func (g *Gateway) accounts() func(ctx context.Context, namespace, name string) (found bool, uid string, err error) {
	type account struct{ namespace, name string }
	type answer struct {
		found bool
		uid   string
	}
	known := memo.New[account, answer](mostAsked)
	var forbidden, outage logging.Occasional
	return func(ctx context.Context, namespace, name string) (bool, string, error) {
		a, err := known.Do(ctx, account{namespace, name}, func(ctx context.Context) (answer, time.Duration, error) {
			found, err := g.kube.CoreV1().ServiceAccounts(namespace).Get(ctx, name, metav1.GetOptions{})
			switch {
			case apierrors.IsNotFound(err):
				return answer{}, absentLife, nil
			case apierrors.IsForbidden(err):
				forbidden.Warn(g.log,
					"the gateway may not get serviceaccounts, so key pairs of the OpenAPI front outlive theirs; update its ClusterRole",
					"error", err)
				return answer{found: true}, accountLife, nil
			case err != nil:
				outage.Warn(g.log, "the API server cannot say whether there is a ServiceAccount", "namespace", namespace, "name", name, "error", err)
				return answer{}, 0, &rpcerr.Error{Code: codes.Unavailable, RetryAfter: time.Second,
					Message: "the Kubernetes API server can't look the user of the key pair up at the moment"}
			}
			return answer{true, string(found.UID)}, accountLife, nil
		})
		return a.found, a.uid, err
	}
}
