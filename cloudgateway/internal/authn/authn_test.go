package authn

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/rpc"
)

// reviewer answers with a status or an error, and counts.
type reviewer struct {
	status  authenticationv1.TokenReviewStatus
	err     error
	reviews int
	asked   authenticationv1.TokenReviewSpec
}

func (r *reviewer) Create(
	_ context.Context, review *authenticationv1.TokenReview, _ metav1.CreateOptions,
) (*authenticationv1.TokenReview, error) {
	r.reviews++
	r.asked = review.Spec
	return &authenticationv1.TokenReview{Status: r.status}, r.err
}

func accepted(audiences ...string) authenticationv1.TokenReviewStatus {
	return authenticationv1.TokenReviewStatus{
		Authenticated: true, Audiences: audiences,
		User: authenticationv1.UserInfo{Username: "system:serviceaccount:kube-system:lbcontroller", Groups: []string{"g"}},
	}
}

func TestAuthenticate(t *testing.T) {
	tests := []struct {
		name   string
		status authenticationv1.TokenReviewStatus
		err    error
		want   rpc.Caller
		code   codes.Code
		text   string
	}{
		{
			name: "accepted", status: accepted("cloudgateway"),
			want: rpc.Caller{Name: "system:serviceaccount:kube-system:lbcontroller", Groups: []string{"g"}},
		},
		{
			name: "unknown", status: authenticationv1.TokenReviewStatus{Error: "invalid bearer token eyJ.secret.x"},
			code: codes.Unauthenticated, text: "the token is not accepted: the Kubernetes API server does not know it",
		},
		{
			name: "wrong audience", status: authenticationv1.TokenReviewStatus{Error: "token audiences [x] is invalid for the target audiences"},
			code: codes.Unauthenticated, text: `the token is not accepted: it is not made for audience "cloudgateway"`,
		},
		{
			name: "expired", status: authenticationv1.TokenReviewStatus{Error: "token has expired"},
			code: codes.Unauthenticated, text: "the token is not accepted: it has expired",
		},
		{
			name: "an API server that ignores audiences", status: accepted(),
			code: codes.Unauthenticated, text: `the token is not accepted: it is not made for audience "cloudgateway"`,
		},
		{
			name: "API server down", err: errors.New("connection refused"), code: codes.Unavailable,
			text: "the Kubernetes API server can't check the caller's token at the moment",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := &reviewer{status: tt.status, err: tt.err}
			got, err := New(server, "cloudgateway", slog.New(slog.DiscardHandler)).Authenticate(t.Context(), "token")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("caller (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(authenticationv1.TokenReviewSpec{Token: "token", Audiences: []string{"cloudgateway"}}, server.asked); diff != "" {
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
	tests := []struct {
		name   string
		token  string
		status authenticationv1.TokenReviewStatus
		life   time.Duration
	}{
		{name: "accepted", token: "opaque", status: accepted("cloudgateway"), life: time.Minute},
		{name: "denied", token: "opaque", life: 5 * time.Second},
		{
			name: "of a token without an end", token: "header." + base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"ci"}`)) + ".signature",
			status: accepted("cloudgateway"), life: time.Minute,
		},
		{name: "never past its end", token: "ends in 20 s", status: accepted("cloudgateway"), life: 20 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				token := tt.token
				if token == "ends in 20 s" {
					claims := fmt.Sprintf(`{"exp":%d}`, time.Now().Add(20*time.Second).Unix())
					token = "header." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".signature"
				}
				server := &reviewer{status: tt.status}
				a := New(server, "cloudgateway", slog.New(slog.DiscardHandler))
				ask := func() {
					if _, err := a.Authenticate(t.Context(), token); (err == nil) != tt.status.Authenticated {
						t.Errorf("unexpected: %v", err)
					}
				}
				ask()
				<-time.After(tt.life - time.Millisecond)
				ask()
				if server.reviews != 1 {
					t.Errorf("%d reviews within %s, want 1", server.reviews, tt.life)
				}
				<-time.After(time.Millisecond)
				ask()
				if server.reviews != 2 {
					t.Errorf("%d reviews after %s, want 2", server.reviews, tt.life)
				}
			})
		})
	}
}

func TestAFailureIsAskedAgain(t *testing.T) {
	server := &reviewer{err: errors.New("connection refused")}
	a := New(server, "cloudgateway", slog.New(slog.DiscardHandler))
	if _, err := a.Authenticate(t.Context(), "token"); err == nil {
		t.Fatal("accepted without an answer of the API server")
	}
	server.err, server.status = nil, accepted("cloudgateway")
	if _, err := a.Authenticate(t.Context(), "token"); err != nil {
		t.Errorf("the failure is remembered: %v", err)
	}
}

// TestOutageIsNoRefusal: while the API server does not answer, callers hear that, however many of them are behind one address.
func TestOutageIsNoRefusal(t *testing.T) {
	server := &reviewer{err: errors.New("connection refused")}
	a := New(server, "cloudgateway", slog.New(slog.DiscardHandler))
	for i := range 3 * burst {
		_, err := a.Authenticate(from(t.Context(), "10.0.0.1"), fmt.Sprint("token ", i))
		if e, ok := rpcerr.From(err); !ok || e.Code != codes.Unavailable {
			t.Fatalf("caller %d: got %v, want UNAVAILABLE", i, err)
		}
	}
}

// byToken accepts one token and counts what it is asked.
type byToken struct {
	good    string
	reviews int
}

func (r *byToken) Create(
	_ context.Context, review *authenticationv1.TokenReview, _ metav1.CreateOptions,
) (*authenticationv1.TokenReview, error) {
	r.reviews++
	if review.Spec.Token == r.good {
		return &authenticationv1.TokenReview{Status: accepted("cloudgateway")}, nil
	}
	return &authenticationv1.TokenReview{}, nil
}

// from is the context of a call from an address.
func from(ctx context.Context, address string) context.Context {
	return peer.NewContext(ctx, &peer.Peer{Addr: &net.TCPAddr{IP: net.ParseIP(address), Port: 4711}})
}

// TestInventedTokens: who invents tokens costs the API server little, and takes nothing from callers: not those of the same address
// who were accepted before, and nobody of another address.
func TestInventedTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &byToken{good: "good"}
		a := New(server, "cloudgateway", slog.New(slog.DiscardHandler))
		served := func(address string) {
			t.Helper()
			if _, err := a.Authenticate(from(t.Context(), address), "good"); err != nil {
				t.Errorf("the caller at %s: %v", address, err)
			}
		}
		served("10.0.0.1")
		server.reviews = 0
		const seconds, each = 130, 50
		for second := range seconds {
			for i := range each {
				if _, err := a.Authenticate(from(t.Context(), "10.0.0.1"), fmt.Sprint(second, i)); err == nil {
					t.Fatal("an invented token is accepted")
				}
			}
			served("10.0.0.1")
			<-time.After(time.Second)
		}
		served("10.0.0.2")
		// One for the caller every minute, and one for the other caller.
		if most := burst + perSecond*seconds + seconds/60 + 1; server.reviews > most {
			t.Errorf("%d reviews for %d tokens, want at most %d", server.reviews, seconds*each, most)
		}
		_, err := a.Authenticate(from(t.Context(), "10.0.0.1"), "new")
		if e, ok := rpcerr.From(err); !ok || e.RetryAfter == 0 && e.Code == codes.ResourceExhausted {
			t.Errorf("a token too many gives %v, want when to try again", err)
		}
	})
}

func FuzzExpiryOf(f *testing.F) {
	f.Add("a.eyJleHAiOjF9.b")
	f.Add("..")
	f.Fuzz(func(_ *testing.T, token string) { Expiry(token) })
}
