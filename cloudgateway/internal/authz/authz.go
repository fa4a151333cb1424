// Package authz says what a caller may do, by asking the Kubernetes API server for access to virtual resources, so that
// operators grant access to the gateway with plain ClusterRoles.
package authz

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authorizationv1client "k8s.io/client-go/kubernetes/typed/authorization/v1"

	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/logging"

	"alicloud-controllers.dev/cloudgateway/internal/memo"
	"alicloud-controllers.dev/cloudgateway/internal/rpc"
)

// Group is the API group of the virtual resources.
const Group = "cloudgateway.alibabacloud.com"

// How long an answer of the API server is good for.
const (
	allowedLife = time.Minute
	deniedLife  = 5 * time.Second
	allowedKept = 10_000
)

// Authorizer checks permissions.
type Authorizer struct {
	reviewer authorizationv1client.SubjectAccessReviewInterface
	log      *slog.Logger
	allowed  *memo.Memo[question, struct{}]
	outage   logging.Occasional
}

// question is what is asked about a caller. All that the API server knows of it is part of it: a token with other
// groups is another question.
type question struct{ caller, resource, verb, name string }

// New makes an Authorizer. The log gets what the API server says when it cannot answer.
func New(reviewer authorizationv1client.SubjectAccessReviewInterface, log *slog.Logger) *Authorizer {
	return &Authorizer{reviewer: reviewer, log: log, allowed: memo.New[question, struct{}](allowedKept)}
}

// Authorize implements rpc.Authorizer.
func (a *Authorizer) Authorize(ctx context.Context, caller rpc.Caller, resource, verb string) error {
	return a.AuthorizeAny(ctx, caller, resource, verb, "")
}

// errNotThisName is the answer about one of several names.
var errNotThisName = errors.New("not by this name")

// AuthorizeAny is Authorize for resources that have names: the caller has to be allowed one of them. "" is no name.
// The names are in the order from the narrowest to the widest. The widest is asked for first, and the answer about
// each is remembered by itself: a caller that may do everything of a kind costs one question, whatever it does.
func (a *Authorizer) AuthorizeAny(ctx context.Context, caller rpc.Caller, resource, verb string, names ...string) error {
	of := func(name string) question {
		return question{caller: fmt.Sprintf("%q", caller), resource: resource, verb: verb, name: name}
	}
	for _, name := range names { // While the API server is away, what is remembered counts.
		if _, known := a.allowed.Get(of(name)); known {
			return nil
		}
	}
	for _, name := range slices.Backward(names) {
		_, err := a.allowed.Do(ctx, of(name), func(ctx context.Context) (struct{}, time.Duration, error) {
			switch allowed, err := a.review(ctx, caller, resource, verb, name); {
			case err != nil:
				return struct{}{}, 0, err
			case !allowed:
				return struct{}{}, deniedLife, errNotThisName
			}
			return struct{}{}, allowedLife, nil
		})
		if !errors.Is(err, errNotThisName) {
			return err
		}
	}
	what := resource + "." + Group
	if names[0] != "" {
		what += " " + strings.Join(names, " or ")
	}
	return rpcerr.Errorf(rpcerr.CallerForbidden, "%s may not %s %s; grant it with a ClusterRole", caller.Name, verb, what)
}

func (a *Authorizer) review(ctx context.Context, caller rpc.Caller, resource, verb, name string) (bool, error) {
	extra := make(map[string]authorizationv1.ExtraValue, len(caller.Extra))
	for key, values := range caller.Extra {
		extra[key] = values
	}
	answer, err := a.reviewer.Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User:               caller.Name,
			UID:                caller.UID,
			Groups:             caller.Groups,
			Extra:              extra,
			ResourceAttributes: &authorizationv1.ResourceAttributes{Group: Group, Resource: resource, Verb: verb, Name: name},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		a.outage.Warn(a.log, "the API server cannot review permissions", "error", err)
		return false, &rpcerr.Error{
			Code: codes.Unavailable, RetryAfter: time.Second, Message: "the Kubernetes API server can't check the caller's permission at the moment",
		}
	}
	return answer.Status.Allowed && !answer.Status.Denied, nil
}
