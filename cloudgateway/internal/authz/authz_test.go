package authz

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/rpc"
)

// reviewer answers with a status or an error, and keeps what it was asked.
type reviewer struct {
	status authorizationv1.SubjectAccessReviewStatus
	err    error
	asked  []authorizationv1.SubjectAccessReviewSpec
}

func (r *reviewer) Create(
	_ context.Context, review *authorizationv1.SubjectAccessReview, _ metav1.CreateOptions,
) (*authorizationv1.SubjectAccessReview, error) {
	r.asked = append(r.asked, review.Spec)
	return &authorizationv1.SubjectAccessReview{Status: r.status}, r.err
}

func TestAuthorize(t *testing.T) {
	caller := rpc.Caller{
		Name: "system:serviceaccount:tools:reader", UID: "u-1", Groups: []string{"g"}, Extra: map[string][]string{"node": {"n-1"}},
	}
	tests := []struct {
		name   string
		status authorizationv1.SubjectAccessReviewStatus
		err    error
		code   codes.Code
		text   string
	}{
		{name: "allowed", status: authorizationv1.SubjectAccessReviewStatus{Allowed: true}},
		{
			name: "not allowed", code: codes.PermissionDenied,
			text: "system:serviceaccount:tools:reader may not update loadbalancers.cloudgateway.alibabacloud.com; grant it with a ClusterRole",
		},
		{
			name: "denied by a webhook", status: authorizationv1.SubjectAccessReviewStatus{Allowed: true, Denied: true},
			code: codes.PermissionDenied,
			text: "system:serviceaccount:tools:reader may not update loadbalancers.cloudgateway.alibabacloud.com; grant it with a ClusterRole",
		},
		{
			name: "API server down", err: errors.New("connection refused"), code: codes.Unavailable,
			text: "the Kubernetes API server can't check the caller's permission at the moment",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := &reviewer{status: tt.status, err: tt.err}
			err := New(server, slog.New(slog.DiscardHandler)).Authorize(t.Context(), caller, "loadbalancers", "update")
			want := []authorizationv1.SubjectAccessReviewSpec{{
				User: caller.Name, UID: "u-1", Groups: caller.Groups, Extra: map[string]authorizationv1.ExtraValue{"node": {"n-1"}},
				ResourceAttributes: &authorizationv1.ResourceAttributes{
					Group: "cloudgateway.alibabacloud.com", Resource: "loadbalancers", Verb: "update",
				},
			}}
			if diff := cmp.Diff(want, server.asked); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
			if tt.code == codes.OK {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			e, ok := rpcerr.From(err)
			if !ok || e.Code != tt.code || e.Message != tt.text {
				t.Errorf("got %v, want %s: %s", err, tt.code, tt.text)
			}
		})
	}
}

func TestAnswersAreRemembered(t *testing.T) {
	for _, allowed := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			server := &reviewer{status: authorizationv1.SubjectAccessReviewStatus{Allowed: allowed}}
			a := New(server, slog.New(slog.DiscardHandler))
			ask := func(caller, verb string) {
				if err := a.Authorize(t.Context(), rpc.Caller{Name: caller}, "routes", verb); (err == nil) != allowed {
					t.Errorf("allowed=%t: %v", allowed, err)
				}
			}
			life := 5 * time.Second
			if allowed {
				life = time.Minute
			}
			ask("a", "get")
			ask("b", "get")
			ask("a", "list")
			if n := len(server.asked); n != 3 {
				t.Errorf("%d questions, want one per caller and verb", n)
			}
			<-time.After(life - time.Millisecond)
			ask("a", "get")
			if n := len(server.asked); n != 3 {
				t.Errorf("%d questions within %s, want 3", n, life)
			}
			<-time.After(time.Millisecond)
			ask("a", "get")
			if n := len(server.asked); n != 4 {
				t.Errorf("%d questions after %s, want 4", n, life)
			}
		})
	}
}

// TestOutageIsLogged: what the API server says when it cannot answer is for the log. A caller, whose permission nobody
// knows, learns none of it.
func TestOutageIsLogged(t *testing.T) {
	t.Parallel()
	const said = "etcd at 10.0.0.5 does not answer"
	var log bytes.Buffer
	a := New(&reviewer{err: errors.New(said)}, slog.New(slog.NewTextHandler(&log, nil)))
	err := a.Authorize(t.Context(), rpc.Caller{Name: "stranger"}, "loadbalancers", "get")
	if err == nil || strings.Contains(err.Error(), "10.0.0.5") {
		t.Errorf("the caller gets %v", err)
	}
	if !strings.Contains(log.String(), said) {
		t.Errorf("the log is %q", &log)
	}
}

// named allows one name.
type named struct {
	allowed string
	asked   []string
}

func (n *named) Create(
	_ context.Context, review *authorizationv1.SubjectAccessReview, _ metav1.CreateOptions,
) (*authorizationv1.SubjectAccessReview, error) {
	name := review.Spec.ResourceAttributes.Name
	n.asked = append(n.asked, name)
	return &authorizationv1.SubjectAccessReview{Status: authorizationv1.SubjectAccessReviewStatus{Allowed: name == n.allowed}}, nil
}

// TestAuthorizeAny: one of the names has to be allowed. The widest is asked for first, and each answer is remembered.
func TestAuthorizeAny(t *testing.T) {
	n := &named{allowed: "ecs:Describe*"}
	a := New(n, slog.New(slog.DiscardHandler))
	ask := func(names ...string) error {
		return a.AuthorizeAny(t.Context(), rpc.Caller{Name: "tool"}, "openapi", "call", names...)
	}
	for range 2 {
		if err := ask("ecs:DescribeInstances", "ecs:Describe*", "ecs:*"); err != nil {
			t.Error(err)
		}
	}
	for i := range 200 {
		if err := ask(fmt.Sprint("ecs:DescribeInvented", i), "ecs:Describe*", "ecs:*"); err != nil {
			t.Error(err)
		}
	}
	err := ask("ecs:RunInstances", "ecs:*")
	want := "tool may not call openapi.cloudgateway.alibabacloud.com ecs:RunInstances or ecs:*; grant it with a ClusterRole"
	if e, ok := rpcerr.From(err); !ok || e.Code != codes.PermissionDenied || e.Message != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if diff := cmp.Diff([]string{"ecs:*", "ecs:Describe*", "ecs:RunInstances"}, n.asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

// TestManyNamesAtOnce: calls of a caller who may do everything of a kind cost one question, also if they come together,
// and those of one who may do nothing push no permission out.
func TestManyNamesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &named{allowed: "slb:*"}
		a := New(n, slog.New(slog.DiscardHandler))
		var calls sync.WaitGroup
		for i := range 100 {
			calls.Go(func() {
				err := a.AuthorizeAny(t.Context(), rpc.Caller{Name: "tool"}, "openapi", "call", fmt.Sprint("slb:Invented", i), "slb:*")
				if err != nil {
					t.Error(err)
				}
			})
		}
		calls.Wait()
		for i := range 2 * allowedKept {
			if a.AuthorizeAny(t.Context(), rpc.Caller{Name: "tool"}, "openapi", "call", fmt.Sprint("ecs:Invented", i)) == nil {
				t.Fatal("it is allowed")
			}
		}
		n.asked = slices.DeleteFunc(n.asked, func(name string) bool { return strings.HasPrefix(name, "ecs:") })
		err := a.AuthorizeAny(t.Context(), rpc.Caller{Name: "tool"}, "openapi", "call", "slb:Other", "slb:*")
		if err != nil || len(n.asked) != 1 {
			t.Errorf("%v after the questions %q, want one", err, n.asked)
		}
	})
}
