// Package authz tells what a caller may do, by asking the Kubernetes API server for access to virtual resources, so that
// operators grant access to the gateway with plain ClusterRoles.
package authz

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/cloudgateway/internal/memo"
	"alicloud-controllers.dev/services/rpc"
	"alicloud-controllers.dev/services/rpcerr"
)

// Group is the API group of the virtual resources.
const Group = "cloudgateway.alibabacloud.com"

// How long an answer of the API server is good for.
const (
	allowedLife = time.Minute
	deniedLife  = 5 * time.Second
	cacheSize   = 10_000
)

// Reviewer is the API server's side; kubernetes.Interface.AuthorizationV1().SubjectAccessReviews() is one.
type Reviewer interface {
	Create(ctx context.Context, review *authorizationv1.SubjectAccessReview, opts metav1.CreateOptions,
	) (*authorizationv1.SubjectAccessReview, error)
}

// Authorizer checks permissions.
type Authorizer struct {
	reviewer Reviewer
	known    *memo.Memo[question, bool]
}

// question is what is asked about a caller. The groups are part of it: a token with others is another question.
type question struct{ caller, groups, resource, verb string }

// New makes an Authorizer.
func New(reviewer Reviewer) *Authorizer {
	return &Authorizer{reviewer: reviewer, known: memo.New[question, bool](cacheSize)}
}

// Authorize implements rpc.Authorizer.
func (a *Authorizer) Authorize(ctx context.Context, caller rpc.Caller, resource, verb string) error {
	q := question{caller: caller.Name, groups: fmt.Sprintf("%q", caller.Groups), resource: resource, verb: verb}
	allowed, err := a.known.Do(ctx, q, func(ctx context.Context) (bool, time.Duration, error) {
		return a.review(ctx, caller, resource, verb)
	})
	if err != nil {
		return err
	}
	if !allowed {
		return &rpcerr.Error{
			Code: codes.PermissionDenied, Reason: rpcerr.CallerForbidden,
			Message: fmt.Sprintf("%s may not %s %s.%s; grant it with a ClusterRole", caller.Name, verb, resource, Group),
		}
	}
	return nil
}

func (a *Authorizer) review(ctx context.Context, caller rpc.Caller, resource, verb string) (bool, time.Duration, error) {
	answer, err := a.reviewer.Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User:               caller.Name,
			Groups:             caller.Groups,
			ResourceAttributes: &authorizationv1.ResourceAttributes{Group: Group, Resource: resource, Verb: verb},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return false, 0, &rpcerr.Error{
			Code: codes.Unavailable, RetryAfter: time.Second,
			Message: fmt.Sprintf("the Kubernetes API server can't check the caller's permission at the moment: %v", err),
		}
	}
	if !answer.Status.Allowed || answer.Status.Denied {
		return false, deniedLife, nil
	}
	return true, allowedLife, nil
}
