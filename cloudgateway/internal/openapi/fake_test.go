package openapi

import (
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"alicloud-controllers.dev/cloudgateway/internal/openapi/credentials"
)

var testKey = credentials.Credentials{AccessKeyID: "LTAItest", AccessKeySecret: "very-secret", SecurityToken: "sts-token"}

// step is what the fake cloud does with one attempt.
type step struct {
	status int // zero: 200
	code   string
	header http.Header
	body   string // instead of the usual one
	drop   bool   // closes the connection instead of answering
	cut    bool   // closes the connection in the middle of the answer
	hang   bool   // answers when the caller has gone
}

// fakeCloud checks signatures and nonces as the cloud does, with code of its own, and answers by a script; beyond its end it
// answers with success.
type fakeCloud struct {
	server *httptest.Server

	mu     sync.Mutex
	script []step
	nonces map[string]bool
	calls  []url.Values // in the URL
	forms  []url.Values // in the body
	agents []string
	bad    []string
}

func newFakeCloud(t *testing.T, script ...step) *fakeCloud {
	t.Helper()
	f := &fakeCloud{script: script, nonces: make(map[string]bool)}
	f.server = httptest.NewServer(f)
	t.Cleanup(f.server.Close)
	return f
}

func (f *fakeCloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		return // the caller has gone
	}
	switch s, n := f.next(r); {
	case s.hang:
		<-r.Context().Done()
	case s.drop:
		panic(http.ErrAbortHandler)
	case s.cut:
		w.Header().Set("Content-Length", "1000")
		fmt.Fprint(w, `{"RequestId":`)
		panic(http.ErrAbortHandler)
	default:
		maps.Copy(w.Header(), s.header)
		body := s.body
		switch {
		case body != "":
		case s.code != "":
			body = fmt.Sprintf(`{"RequestId":"REQ-%d","HostId":"test","Code":%q,"Message":"The cloud says %s."}`, n, s.code, s.code)
		default:
			body = fmt.Sprintf(`{"RequestId":"REQ-%d","Name":"x"}`, n)
		}
		if s.status != 0 {
			w.WriteHeader(s.status)
		}
		fmt.Fprint(w, body)
	}
}

// next records a call and returns its number, and what to do with it.
func (f *fakeCloud) next(r *http.Request) (step, int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	q := r.URL.Query()
	f.calls, f.forms = append(f.calls, q), append(f.forms, r.PostForm)
	f.agents = append(f.agents, r.UserAgent())
	if want := signature(r.Method, r.Form, testKey.AccessKeySecret); q.Get("Signature") != want {
		f.bad = append(f.bad, "signature "+q.Get("Signature")+", want "+want)
	}
	if f.nonces[q.Get("SignatureNonce")] {
		f.bad = append(f.bad, "nonce "+q.Get("SignatureNonce")+" used again")
	}
	f.nonces[q.Get("SignatureNonce")] = true
	if len(f.script) == 0 {
		return step{}, len(f.calls)
	}
	s := f.script[0]
	f.script = f.script[1:]
	return s, len(f.calls)
}

// signature is signature version 1 by the book.
func signature(method string, q url.Values, secret string) string {
	escape := func(s string) string {
		return strings.NewReplacer("+", "%20", "*", "%2A", "%7E", "~").Replace(url.QueryEscape(s))
	}
	var pairs []string
	for name := range q {
		if name != "Signature" {
			pairs = append(pairs, escape(name)+"="+escape(q.Get(name)))
		}
	}
	slices.SortFunc(pairs, func(a, b string) int {
		nameA, _, _ := strings.Cut(a, "=")
		nameB, _, _ := strings.Cut(b, "=")
		return strings.Compare(nameA, nameB)
	})
	mac := hmac.New(sha1.New, []byte(secret+"&"))
	mac.Write([]byte(method + "&%2F&" + escape(strings.Join(pairs, "&"))))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

func (f *fakeCloud) attempts() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.calls)
}

func (f *fakeCloud) host() string { return strings.TrimPrefix(f.server.URL, "http://") }

// fakeCredentials hand out the keys in order; Renew goes to the next.
type fakeCredentials struct {
	mu      sync.Mutex
	keys    []credentials.Credentials
	renewed int
	err     error
}

func (f *fakeCredentials) Current() (credentials.Credentials, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.keys[0], f.err
}

func (f *fakeCredentials) Renew(context.Context, credentials.Credentials) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.renewed++
	if len(f.keys) == 1 {
		return false
	}
	f.keys = f.keys[1:]
	return true
}

// fakeBudget lets everything go until refuse says otherwise.
type fakeBudget struct {
	mu        sync.Mutex
	acquired  []string
	throttled []time.Duration
	pause     time.Duration
	refuse    func(n int) error // n counts the calls to Acquire from 1
}

func (f *fakeBudget) Acquire(_ context.Context, product, action string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.acquired = append(f.acquired, product+"/"+action)
	if f.refuse != nil {
		return f.refuse(len(f.acquired))
	}
	return nil
}

func (f *fakeBudget) Answered(string, string) {}

func (f *fakeBudget) Throttled(_, _ string, retryAfter time.Duration) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.throttled = append(f.throttled, retryAfter)
	return f.pause
}

// world is a client with everything around it faked.
type world struct {
	client *Client
	budget *fakeBudget
	creds  *fakeCredentials
	logs   *logBuffer
}

type logBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func newWorld(t *testing.T, host string, change func(*Config)) *world {
	t.Helper()
	w := &world{budget: &fakeBudget{}, creds: &fakeCredentials{keys: []credentials.Credentials{testKey}}, logs: &logBuffer{}}
	cfg := Config{
		Region: "cn-test", Scheme: "HTTP", UserAgent: "alicloud-controllers/test",
		Endpoints:   map[Product]string{SLB: host, VPC: host, ECS: host},
		Credentials: w.creds, Budget: w.budget,
		Retry:  time.Millisecond,
		Logger: slog.New(slog.NewJSONHandler(w.logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if change != nil {
		change(&cfg)
	}
	w.client = New(cfg)
	t.Cleanup(w.client.Close)
	return w
}
