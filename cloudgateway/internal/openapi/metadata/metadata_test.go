package metadata

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// service is a metadata service of either version.
type service struct {
	v1Only   bool
	noTokens int // the status with which a token is refused
	failures int // answers 503 so often first
	requests []string
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests = append(s.requests, r.Method+" "+r.URL.Path)
	switch {
	case s.failures > 0:
		s.failures--
		w.WriteHeader(http.StatusServiceUnavailable)
	case r.Method == http.MethodPut && s.noTokens > 0:
		w.WriteHeader(s.noTokens)
	case r.Method == http.MethodPut && r.URL.Path == "/latest/api/token" && !s.v1Only:
		if r.Header.Get("X-aliyun-ecs-metadata-token-ttl-seconds") == "" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		fmt.Fprint(w, "token-1")
	case r.Method == http.MethodGet && r.URL.Path == "/latest/meta-data/region-id":
		if !s.v1Only && r.Header.Get("X-aliyun-ecs-metadata-token") != "token-1" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		fmt.Fprint(w, "cn-hangzhou\n")
	case r.URL.Path == "/latest/meta-data/moved":
		http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func TestGet(t *testing.T) {
	tests := []struct {
		name    string
		service service
		item    string
		want    string
		wantErr string
	}{
		{name: "version 2", item: "region-id", want: "cn-hangzhou"},
		{name: "version 1", service: service{v1Only: true}, item: "region-id", want: "cn-hangzhou"},
		{name: "version 1, method not allowed", service: service{v1Only: true, noTokens: 405}, item: "region-id", want: "cn-hangzhou"},
		{name: "tokens are refused", service: service{v1Only: true, noTokens: 403}, item: "region-id",
			wantErr: "get a metadata token: unexpected status 403"},
		{name: "tokens fail", service: service{v1Only: true, noTokens: 500}, item: "region-id",
			wantErr: "get a metadata token: unexpected status 500"},
		{name: "one failure", service: service{failures: 1}, item: "region-id", want: "cn-hangzhou"},
		{name: "no such item", item: "nothing", wantErr: "read metadata nothing: not found: unexpected status 404"},
		{name: "a redirect is not followed", item: "moved", wantErr: "read metadata moved: unexpected status 302"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(&tt.service)
			t.Cleanup(server.Close)
			c := New(server.URL)
			c.http.RetryWaitMin, c.http.RetryWaitMax = time.Millisecond, time.Millisecond
			got, err := c.Get(t.Context(), tt.item)
			if got != tt.want {
				t.Errorf("Get = %q, want %q", got, tt.want)
			}
			if (err == nil) != (tt.wantErr == "") || (err != nil && err.Error() != tt.wantErr) {
				t.Errorf("error %v, want %q", err, tt.wantErr)
			}
			if notFound := errors.Is(err, ErrNotFound); notFound != strings.Contains(tt.wantErr, "404") {
				t.Errorf("error %v is ErrNotFound: %t", err, notFound)
			}
		})
	}
}

func TestNoService(t *testing.T) {
	c := New("http://127.0.0.1:1")
	c.http.RetryWaitMin, c.http.RetryWaitMax = time.Millisecond, time.Millisecond
	if _, err := c.Get(t.Context(), "region-id"); err == nil || errors.Is(err, ErrNotFound) {
		t.Errorf("error %v, want that of the connection", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Get(ctx, "region-id"); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want Canceled", err)
	}
}
