package admin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// cluster knows the token "prometheus", whose holder may get /metrics, "operator", who may get all, and "stranger", who may nothing.
type cluster struct {
	*fake.Clientset

	asked int   // questions about tokens
	down  error // the answer to all questions, if not nil
}

func newCluster() *cluster {
	c := &cluster{Clientset: fake.NewClientset()}
	c.PrependReactor("create", "tokenreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		c.asked++
		review := action.(clienttesting.CreateAction).GetObject().(*authenticationv1.TokenReview).DeepCopy()
		switch name := review.Spec.Token; name {
		case "prometheus", "operator", "stranger":
			review.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{Username: name}}
		}
		return true, review, c.down
	})
	c.PrependReactor("create", "subjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		review := action.(clienttesting.CreateAction).GetObject().(*authorizationv1.SubjectAccessReview).DeepCopy()
		what := review.Spec.NonResourceAttributes
		review.Status.Allowed = what.Verb == "get" && (review.Spec.User == "operator" || review.Spec.User == "prometheus" &&
			what.Path == "/metrics")
		return true, review, c.down
	})
	return c
}

// get asks for a page as the holder of a token, or as nobody.
func get(handler http.Handler, remote, path, token string) (int, string) {
	request := httptest.NewRequestWithContext(context.Background(), http.MethodGet, path, nil)
	request.RemoteAddr = remote
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request)
	return recorder.Code, recorder.Body.String()
}

const elsewhere = "10.0.0.7:5"

// TestWhoMayRead: on an address that others reach, only those read whom RBAC lets. Kubelets see whether the process lives and is ready.
func TestWhoMayRead(t *testing.T) {
	t.Parallel()
	broken := Check{Name: "credentials", Check: func(context.Context) error { return errors.New("role gateway of account 1 is gone") }}
	registry := prometheus.NewRegistry()
	registry.MustRegister(prometheus.NewCounter(prometheus.CounterOpts{Name: "things_total"}))
	handler := newHandler(newGuard(newCluster(), slog.New(slog.DiscardHandler)), registry, []Check{broken})
	for _, tt := range []struct {
		remote, path, token string
		code                int
		want                string // a part of the answer
	}{
		{remote: elsewhere, path: "/metrics", code: 401, want: "Authorization: Bearer"},
		{remote: elsewhere, path: "/metrics", token: "made up", code: 401, want: "does not accept"},
		{remote: elsewhere, path: "/metrics", token: "stranger", code: 403, want: "stranger may not get /metrics"},
		{remote: elsewhere, path: "/metrics", token: "prometheus", code: 200, want: "things_total"},
		{remote: elsewhere, path: "/debug/pprof/heap?debug=1", code: 401},
		{remote: elsewhere, path: "/debug/pprof/heap?debug=1", token: "prometheus", code: 403, want: "/debug/pprof/heap"},
		{remote: elsewhere, path: "/debug/pprof/heap?debug=1", token: "operator", code: 200, want: "heap profile"},
		{remote: elsewhere, path: "/livez", code: 200, want: "ok"},
		{remote: elsewhere, path: "/readyz", code: 503, want: "not ready\ncredentials: failed\n"},
		{remote: elsewhere, path: "/readyz", token: "operator", code: 503, want: "role gateway of account 1 is gone"},
		{remote: "127.0.0.1:5", path: "/metrics", code: 200, want: "things_total"},
		{remote: "[::ffff:127.0.0.1]:5", path: "/readyz", code: 503, want: "role gateway of account 1 is gone"},
	} {
		code, body := get(handler, tt.remote, tt.path, tt.token)
		if code != tt.code || !strings.Contains(body, tt.want) {
			t.Errorf("%s as %q: %d %q, want %d with %q", tt.path, tt.token, code, body, tt.code, tt.want)
		}
	}
}

// TestReadersCostLittle: an answer is good for a minute, and strangers neither cost more than a rate nor keep readers out.
func TestReadersCostLittle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		handler := newHandler(newGuard(c, slog.New(slog.DiscardHandler)), prometheus.NewRegistry(), nil)
		read := func(token string, want int) {
			t.Helper()
			if code, body := get(handler, elsewhere, "/metrics", token); code != want {
				t.Errorf("%s: %d %q, want %d", token, code, body, want)
			}
		}
		for range 4 { // a minute of scrapes
			read("prometheus", http.StatusOK)
			<-time.After(15 * time.Second)
		}
		if c.asked != 1 {
			t.Errorf("the API server was asked %d times in a minute", c.asked)
		}
		for i := range 1000 {
			get(handler, elsewhere, "/metrics", fmt.Sprintf("made up %d", i))
		}
		if c.asked > 1+strangeBurst {
			t.Errorf("strangers had the API server asked %d times", c.asked-1)
		}
		read("operator", http.StatusTooManyRequests)
		read("prometheus", http.StatusOK)
		<-time.After(2 * time.Minute)
		c.down = errors.New("no route to host")
		read("prometheus", http.StatusOK)
		read("operator", http.StatusServiceUnavailable)
		<-time.After(provenLife)
		read("prometheus", http.StatusServiceUnavailable)
	})
}

// TestReadersAreForgotten: the memory of readers is bounded, and one whose right was taken away is refused after a minute.
func TestReadersAreForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGuard(newCluster(), slog.New(slog.DiscardHandler))
		for i := range 2 * provenKept {
			g.remember(question{path: fmt.Sprint(i)}, true)
		}
		if len(g.proven) != provenKept {
			t.Errorf("%d answers are kept", len(g.proven))
		}
		<-time.After(allowedLife)
		q := question{path: "/metrics"}
		g.remember(q, true)
		if _, ok := g.remembered(q); !ok || len(g.proven) != 1 {
			t.Errorf("%d answers are kept, the last one: %t", len(g.proven), ok)
		}
		g.remember(q, false)
		if _, ok := g.remembered(q); ok {
			t.Error("an answer that is no longer true is kept")
		}
	})
}
