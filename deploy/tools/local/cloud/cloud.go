// Package cloud is a client of the simulator's admin API: what the cloud holds, which calls it got, and how it is to behave.
package cloud

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/cloudgateway/openapisim/journal"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// Client speaks to one simulator.
type Client struct {
	url  string
	http *http.Client
}

// New returns a client for the admin API at url.
func New(url string) *Client {
	return &Client{url: strings.TrimSuffix(url, "/"), http: &http.Client{}}
}

// URL is where the admin API is.
func (c *Client) URL() string { return c.url }

// Healthy reports nil when the simulator answers.
func (c *Client) Healthy(ctx context.Context) error {
	return c.do(ctx, http.MethodGet, "/admin/healthz", nil, nil)
}

// State returns all that the cloud holds.
func (c *Client) State(ctx context.Context) (*state.Cloud, error) {
	var s state.Cloud
	if err := c.do(ctx, http.MethodGet, "/admin/state", nil, &s); err != nil {
		return nil, err
	}
	return &s, nil
}

// Seed adds resources to the cloud; those with a known id are replaced.
func (c *Client) Seed(ctx context.Context, resources *state.Cloud) error {
	return c.do(ctx, http.MethodPut, "/admin/seed", resources, nil)
}

// SetState replaces all that the cloud holds.
func (c *Client) SetState(ctx context.Context, s *state.Cloud) error {
	return c.do(ctx, http.MethodPut, "/admin/state", s, nil)
}

// Calls returns the calls after the sequence number since, and the number to ask with next time.
func (c *Client) Calls(ctx context.Context, since int64) ([]journal.Call, int64, error) {
	var answer struct {
		Calls []journal.Call `json:"calls"`
		Next  int64          `json:"next"`
	}
	if err := c.do(ctx, http.MethodGet, "/admin/calls?since="+strconv.FormatInt(since, 10), nil, &answer); err != nil {
		return nil, 0, err
	}
	return answer.Calls, answer.Next, nil
}

// faults is the document of the rules by which calls fail.
type faults struct {
	Faults []fault.Rule `json:"faults"`
}

// Faults returns the rules by which calls fail, with what they did.
func (c *Client) Faults(ctx context.Context) ([]fault.Rule, error) {
	var document faults
	err := c.do(ctx, http.MethodGet, "/admin/faults", nil, &document)
	return document.Faults, err
}

// SetFaults replaces the rules by which calls fail.
func (c *Client) SetFaults(ctx context.Context, rules ...fault.Rule) error {
	return c.do(ctx, http.MethodPut, "/admin/faults", faults{rules}, nil)
}

// EnableLimits says whether calls beyond the rate limits are throttled.
func (c *Client) EnableLimits(ctx context.Context, enabled bool) error {
	return c.do(ctx, http.MethodPut, "/admin/limits", map[string]bool{"enabled": enabled}, nil)
}

// Limits lets change edit the rate limits, windows and quotas of the cloud.
func (c *Client) Limits(ctx context.Context, change func(*openapisim.LimitsDocument)) error {
	var document openapisim.LimitsDocument
	if err := c.do(ctx, http.MethodGet, "/admin/limits", nil, &document); err != nil {
		return err
	}
	document.Actions = nil // What is not named stays as it is.
	change(&document)
	return c.do(ctx, http.MethodPut, "/admin/limits", document, nil)
}

// ClearFaults removes all rules by which calls fail.
func (c *Client) ClearFaults(ctx context.Context) error {
	return c.do(ctx, http.MethodDelete, "/admin/faults", nil, nil)
}

func (c *Client) do(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("encode %s %s: %w", method, path, err)
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.url+path, body)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("simulator: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
		return fmt.Errorf("simulator: %s %s: %s: %s", method, path, resp.Status, bytes.TrimSpace(text))
	}
	if out == nil {
		return nil
	}
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		return fmt.Errorf("simulator: decode %s %s: %w", method, path, err)
	}
	return nil
}
