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
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"alicloud-controllers.dev/cloudgateway/internal/openapi/credentials"
)

// Defaults of Config.
const (
	defaultTimeout        = 30 * time.Second
	defaultAttemptTimeout = 20 * time.Second
	defaultMaxRetries     = 3
	defaultRetryMin       = 200 * time.Millisecond
	defaultRetryMax       = 2 * time.Second
)

// Budget decides when a call may be sent.
type Budget interface {
	// Acquire waits for room for one call. It refuses at once what can't be sent before the deadline of ctx.
	Acquire(ctx context.Context, product, action string) error
	// Throttled says that the cloud refused a call for its rate and what it told about the next; zero: nothing. It returns how
	// long no call of the action will be sent.
	Throttled(product, action string, retryAfter time.Duration) time.Duration
}

// Unlimited is a Budget for calls that are rare by themselves.
type Unlimited struct{}

// Acquire lets every call pass.
func (Unlimited) Acquire(context.Context, string, string) error { return nil }

// Throttled believes what the cloud told.
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
	// UserAgent is what the cloud's audit log shows, e.g. "alicloud-controllers/1.0.0".
	UserAgent string
	// Timeout bounds calls whose context has no deadline. Default 30 s.
	Timeout time.Duration
	// AttemptTimeout is how long one attempt may wait for the answer's beginning. Default 20 s.
	AttemptTimeout time.Duration
	// MaxRetries, RetryMin and RetryMax shape the repetition of attempts inside a call. Defaults 3, 200 ms, 2 s.
	MaxRetries         int
	RetryMin, RetryMax time.Duration
	// Dial makes connections. Default: net.Dialer's, with a timeout.
	Dial       func(ctx context.Context, network, address string) (net.Conn, error)
	Registerer prometheus.Registerer
	Logger     *slog.Logger
}

// Client sends calls. It is safe for concurrent use.
type Client struct {
	cfg     Config
	hosts   map[Product]string
	scheme  string
	http    *http.Client
	metrics metrics
	reach   *reach
}

// New makes a client. It does not connect.
func New(cfg Config) (*Client, error) {
	cfg = cfg.withDefaults()
	scheme, err := parseScheme(cfg.Scheme)
	if err != nil {
		return nil, err
	}
	hosts, err := cfg.hosts()
	if err != nil {
		return nil, err
	}
	if cfg.Credentials == nil || cfg.Budget == nil {
		return nil, errors.New("openapi: Credentials and Budget are required")
	}
	return &Client{cfg: cfg, hosts: hosts, scheme: scheme, http: newHTTP(cfg), metrics: newMetrics(cfg.Registerer),
		reach: newReach(cfg.Registerer)}, nil
}

// Close lets go of the idle connections. Calls under way are not affected.
func (c *Client) Close() {
	if p, ok := c.http.Transport.(pool); ok {
		p.transport.CloseIdleConnections()
	}
}

// URL is where the calls of a product go.
func (c *Client) URL(p Product) string { return c.scheme + "://" + c.hosts[p] + "/" }

func (cfg Config) withDefaults() Config {
	cfg.Timeout = cmp.Or(cfg.Timeout, defaultTimeout)
	cfg.AttemptTimeout = cmp.Or(cfg.AttemptTimeout, defaultAttemptTimeout)
	if cfg.Dial == nil {
		cfg.Dial = (&net.Dialer{Timeout: connectTimeout, KeepAlive: 30 * time.Second}).DialContext
	}
	cfg.RetryMin = cmp.Or(cfg.RetryMin, defaultRetryMin)
	cfg.RetryMax = cmp.Or(cfg.RetryMax, max(defaultRetryMax, cfg.RetryMin))
	cfg.MaxRetries = cmp.Or(cfg.MaxRetries, defaultMaxRetries)
	cfg.UserAgent = cmp.Or(cfg.UserAgent, "alicloud-controllers")
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	return cfg
}

func parseScheme(s string) (string, error) {
	switch s {
	case "", "HTTPS", "https":
		return "https", nil
	case "HTTP", "http":
		return "http", nil
	default:
		return "", fmt.Errorf("scheme %q: want HTTPS or HTTP", s)
	}
}

func (cfg Config) hosts() (map[Product]string, error) {
	if !regexp.MustCompile(`^[a-z0-9-]+$`).MatchString(cfg.Region) {
		return nil, fmt.Errorf("region %q: want a region id such as cn-hangzhou", cfg.Region)
	}
	infix := ""
	switch cfg.Network {
	case "", "public":
	case "vpc":
		infix = "-vpc"
	default:
		return nil, fmt.Errorf("network %q: want vpc or public", cfg.Network)
	}
	hosts := make(map[Product]string)
	for _, p := range []Product{SLB, VPC, ECS, STS} {
		s, err := p.service()
		if err != nil {
			return nil, err
		}
		hosts[p] = s.prefix + infix + "." + cfg.Region + ".aliyuncs.com"
		if host := cfg.Endpoints[p]; host != "" {
			hosts[p] = host
		}
		if !regexp.MustCompile(`^[A-Za-z0-9.-]+(:[0-9]+)?$|^\[[0-9a-fA-F:]+\](:[0-9]+)?$`).MatchString(hosts[p]) {
			return nil, fmt.Errorf("endpoint of %s %q: want HOST or HOST:PORT", p, hosts[p])
		}
	}
	return hosts, nil
}

// pool is a transport whose idle connections can't be closed through http.Client. retryablehttp does so whenever a call fails,
// which would throw away the connections of all other calls.
type pool struct{ transport *http.Transport }

func (p pool) RoundTrip(r *http.Request) (*http.Response, error) { return p.transport.RoundTrip(r) }

const (
	connectTimeout = 5 * time.Second
	idlePerHost    = 64 // more than the calls that the cloud's limits let be under way for one product
)

func newHTTP(cfg Config) *http.Client {
	return &http.Client{
		Transport: pool{&http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           cfg.Dial,
			TLSHandshakeTimeout:   connectTimeout,
			ResponseHeaderTimeout: cfg.AttemptTimeout,
			MaxIdleConnsPerHost:   idlePerHost,
			IdleConnTimeout:       50 * time.Second, // shorter than what the load balancers of the cloud keep
		}},
		// A redirect would turn the POST into a GET, for which the signature is wrong.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
