// Package openapi sends calls to Alibaba Cloud's OpenAPI. It is the only package that knows the SDK: the SDK builds and signs
// a request, go-retryablehttp repeats it where that is safe, and the catalogue turns an error answer into the gateway's own.
//
// Every attempt is signed anew, since the cloud refuses a signature it has seen, and asks the budget first. Nothing is ever
// repeated because of throttling: the budget decides when there is room again. A write whose answer was lost ends as
// OUTCOME_UNKNOWN unless repeating it is harmless.
package openapi

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-retryablehttp"
	"github.com/prometheus/client_golang/prometheus"

	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/openapi/credentials"
)

// maxRetries is how often an attempt is repeated inside a call.
const maxRetries = 3

// Budget decides when a call may be sent.
type Budget interface {
	// Acquire waits for room for one call. It refuses at once what can't be sent before the deadline of ctx.
	Acquire(ctx context.Context, product, action string) error
	// Answered notes that the cloud has answered a call, so that there is such an action.
	Answered(product, action string)
	// Throttled notes that the cloud refused a call for its rate. RetryAfter is the wait that the cloud named; zero: none. It
	// returns how long no call of the action will be sent.
	Throttled(product, action string, retryAfter time.Duration) time.Duration
}

// Turn is the right of this replica to call the cloud.
type Turn interface {
	// Enter begins an attempt that has room in the budget, and end is called when it is answered or given up. The error is that of the call.
	Enter(mutating bool) (end func(), err error)
	// Holds reports whether the right is certain to be there. It is asked before anything is written to the cloud.
	Holds() bool
}

// always is the Turn of a process that is alone.
type always struct{}

// Enter implements Turn.
func (always) Enter(bool) (end func(), err error) { return func() {}, nil }

// Holds implements Turn.
func (always) Holds() bool { return true }

// Unlimited is a Budget for calls that are rare by themselves.
type Unlimited struct{}

// Acquire lets every call pass.
func (Unlimited) Acquire(context.Context, string, string) error { return nil }

// Answered notes nothing.
func (Unlimited) Answered(string, string) {}

// Throttled returns the wait that the cloud named.
func (Unlimited) Throttled(_, _ string, retryAfter time.Duration) time.Duration { return retryAfter }

// Credentials are what a Provider of package credentials gives.
type Credentials interface {
	Current() (credentials.Credentials, error)
	Renew(ctx context.Context, refused credentials.Credentials) bool
}

// Config of a Client.
type Config struct {
	// Region of all calls, e.g. "cn-hangzhou".
	Region string
	// Network chooses the default host names: "vpc" for those inside a VPC, "public" or empty for the others.
	Network string
	// Endpoints override the host of a product, "host" or "host:port".
	Endpoints map[Product]string
	// Scheme is HTTPS, the default, or HTTP.
	Scheme      string
	Credentials Credentials
	Budget      Budget
	// Turn of the process; nil: it always has it.
	Turn Turn
	// UserAgent is what the cloud's audit log shows, e.g. "alicloud-controllers/1.0.0".
	UserAgent string
	// Timeout bounds calls whose context has no deadline. Default 30 s.
	Timeout time.Duration
	// AttemptTimeout is how long one attempt may wait for the answer's beginning. Default 20 s.
	AttemptTimeout time.Duration
	// Retry is the longest wait before the first repetition of an attempt inside a call. It doubles with each. Default 200 ms.
	Retry time.Duration
	// Dial makes connections. Default: net.Dialer's, with a timeout.
	Dial       func(ctx context.Context, network, address string) (net.Conn, error)
	Registerer prometheus.Registerer
	Logger     *slog.Logger
}

// Client sends calls. It is safe for concurrent use.
type Client struct {
	cfg     Config
	hosts   map[Product]string
	http    *http.Client
	retry   *retryablehttp.Client // over http
	metrics metrics
	reach   *reach
	limits  sync.Map // by Product, what a header of its last answer said of the rate limit
}

// New makes a client. It does not connect. Region, network, scheme and endpoints have been checked where the configuration was read.
func New(cfg Config) *Client {
	cfg = cfg.withDefaults()
	plain := newHTTP(cfg)
	return &Client{
		cfg: cfg, hosts: cfg.hosts(), http: plain, retry: newRetrying(cfg, plain),
		metrics: newMetrics(cfg.Registerer), reach: newReach(cfg.Registerer),
	}
}

// Close lets go of the idle connections. Calls under way are not affected.
func (c *Client) Close() {
	if p, ok := c.http.Transport.(pool); ok {
		p.transport.CloseIdleConnections()
	}
}

// RateLimit is what the last answer of a product said in a header of the rate limit of its action; empty: nothing, as far as is known.
func (c *Client) RateLimit(p Product) string {
	said, _ := c.limits.Load(p)
	text, _ := said.(string)
	return text
}

// URL is where the calls of a product go.
func (c *Client) URL(p Product) string { return c.cfg.Scheme + "://" + c.hosts[p] + "/" }

func (cfg Config) withDefaults() Config {
	cfg.Scheme = strings.ToLower(cmp.Or(cfg.Scheme, "https"))
	cfg.Timeout = cmp.Or(cfg.Timeout, 30*time.Second)
	cfg.AttemptTimeout = cmp.Or(cfg.AttemptTimeout, 20*time.Second)
	if cfg.Dial == nil {
		cfg.Dial = (&net.Dialer{Timeout: connectTimeout, KeepAlive: 30 * time.Second}).DialContext
	}
	if cfg.Turn == nil {
		cfg.Turn = always{}
	}
	cfg.Retry = cmp.Or(cfg.Retry, 200*time.Millisecond)
	cfg.UserAgent = cmp.Or(cfg.UserAgent, "alicloud-controllers")
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	return cfg
}

// pool is a transport whose idle connections can't be closed through http.Client. retryablehttp does so whenever a call fails,
// which would throw away the connections of all other calls.
type pool struct{ transport *http.Transport }

func (p pool) RoundTrip(r *http.Request) (*http.Response, error) { return p.transport.RoundTrip(r) }

const (
	connectTimeout = 5 * time.Second
	idlePerHost    = 64 // more than the calls that the cloud's limits let be under way for one product
	mostPerHost    = 256
)

// turned is a connection on which nothing is written without the turn: it may be lost while one waits for a connection,
// and to make one takes seconds.
type turned struct {
	net.Conn

	turn    Turn
	written atomic.Int64 // writes
	refused atomic.Bool  // a write
}

// Write implements net.Conn.
func (c *turned) Write(p []byte) (int, error) {
	if !c.turn.Holds() {
		c.refused.Store(true)
		return 0, errNoTurn
	}
	c.written.Add(1)
	return c.Conn.Write(p)
}

// usage is a connection as an attempt got it.
type usage struct {
	of     *turned // nil: it is not known
	before int64   // writes
}

// usageOf is that of a connection of the transport, with TLS or without, on which the attempt has written nothing yet.
func usageOf(c net.Conn) *usage {
	for {
		over, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			break
		}
		c = over.NetConn()
	}
	u := &usage{}
	if of, ok := c.(*turned); ok {
		u.of, u.before = of, of.written.Load()
	}
	return u
}

// refused reports whether nothing was written for want of the turn. The error of the attempt may not say it: the
// transport closes the connection then, and may hear first from its reader that it is closed. What is refused later
// counts for nothing, such as the farewell of TLS.
func (u *usage) refused() bool {
	return u.of != nil && u.of.refused.Load() && u.of.written.Load() == u.before
}

// errNoTurn is the error of what was not written.
var errNoTurn error = rpcerr.Errorf(rpcerr.NotActive,
	"this replica of the gateway is on standby; another one is active").WithRetry(time.Second)

func (cfg Config) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := cfg.Dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &turned{Conn: c, turn: cfg.Turn}, nil
}

func newHTTP(cfg Config) *http.Client {
	return &http.Client{
		Transport: pool{&http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           cfg.dial,
			TLSHandshakeTimeout:   connectTimeout,
			ResponseHeaderTimeout: cfg.AttemptTimeout,
			MaxIdleConnsPerHost:   idlePerHost,
			MaxConnsPerHost:       mostPerHost,      // Calls that hang have no more; others wait for one.
			IdleConnTimeout:       50 * time.Second, // shorter than what the load balancers of the cloud keep
		}},
		// A redirect would turn the POST into a GET, for which the signature is wrong.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
