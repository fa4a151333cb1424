// Package metadata reads the metadata service of the ECS instance that the gateway runs on: its region, VPC and the
// temporary credentials of its RAM role.
package metadata

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/hashicorp/go-retryablehttp"
)

const (
	tokenLifetime  = "21600" // seconds; a token is used for one read only, so that none is ever stale
	attemptTimeout = 3 * time.Second
	maxItem        = 64 << 10
)

// ErrNotFound says that the service does not have the item.
var ErrNotFound = errors.New("not found")

// Client of the metadata service.
type Client struct {
	endpoint string
	http     *retryablehttp.Client
}

// New makes a client of the service at the endpoint, e.g. "http://100.100.100.200".
func New(endpoint string) *Client {
	rc := retryablehttp.NewClient()
	rc.Logger = nil // its logger prints URLs, headers are next
	rc.RetryMax = 4
	rc.RetryWaitMin, rc.RetryWaitMax = 200*time.Millisecond, time.Second
	rc.ErrorHandler = retryablehttp.PassthroughErrorHandler
	rc.HTTPClient = &http.Client{
		Timeout: attemptTimeout,
		Transport: &http.Transport{
			// No proxy: the address is link-local. No keep-alive: reads are minutes apart.
			DialContext:       (&net.Dialer{Timeout: time.Second}).DialContext,
			DisableKeepAlives: true,
		},
		// A redirect would carry the token elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &Client{endpoint: strings.TrimSuffix(endpoint, "/"), http: rc}
}

// Get reads an item, e.g. "region-id", "vpc-id" or "ram/security-credentials/". It uses version 2 of the service, which wants a
// token, and falls back to version 1 where there is no version 2.
func (c *Client) Get(ctx context.Context, item string) (string, error) {
	token, err := c.do(ctx, http.MethodPut, "/latest/api/token", http.Header{"X-Aliyun-Ecs-Metadata-Token-Ttl-Seconds": {tokenLifetime}})
	header := http.Header{}
	switch {
	case err == nil:
		header.Set("X-Aliyun-Ecs-Metadata-Token", token)
	case errors.Is(err, errNoTokens):
		// This instance has version 1 only.
	default:
		return "", fmt.Errorf("get a metadata token: %w", err)
	}
	value, err := c.do(ctx, http.MethodGet, "/latest/meta-data/"+item, header)
	if err != nil {
		return "", fmt.Errorf("read metadata %s: %w", item, err)
	}
	return value, nil
}

// errNoTokens says that the service does not know of tokens. Any other refusal of one is an error: an attacker who could bring it about
// would make the credentials be read without a token.
var errNoTokens = errors.New("no such method")

func (c *Client) do(ctx context.Context, method, path string, header http.Header) (string, error) {
	req, err := retryablehttp.NewRequestWithContext(ctx, method, c.endpoint+path, nil)
	if err != nil {
		return "", err
	}
	req.Header = header
	res, err := c.http.Do(req)
	if err != nil {
		return "", err
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxItem))
	if closeErr := res.Body.Close(); err == nil {
		err = closeErr
	}
	switch {
	case err != nil:
		return "", fmt.Errorf("read the answer: %w", err)
	case method == http.MethodPut && (res.StatusCode == http.StatusNotFound || res.StatusCode == http.StatusMethodNotAllowed):
		return "", errNoTokens
	case res.StatusCode == http.StatusNotFound:
		return "", fmt.Errorf("%w: unexpected status %d", ErrNotFound, res.StatusCode)
	case res.StatusCode != http.StatusOK:
		return "", fmt.Errorf("unexpected status %d", res.StatusCode)
	}
	return strings.TrimSpace(string(body)), nil
}
