package openapi

import (
	"net/http"
	"time"
)

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
