package sts

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/openapi/catalogue"
)

const (
	version        = "2015-04-01"
	attemptTimeout = 10 * time.Second
	maxAnswer      = 1 << 20
)

// anonymous sends calls that nobody signs: what they carry is the proof. It lies in the body, so that no log of URLs shows it.
type anonymous struct {
	host, scheme, agent string
	http                *retryablehttp.Client
}

func newAnonymous(cfg Config, host string) *anonymous {
	rc := retryablehttp.NewClient()
	rc.Logger = nil
	rc.RetryMax = 2
	rc.RetryWaitMin, rc.RetryWaitMax = 200*time.Millisecond, 2*time.Second
	rc.ErrorHandler = retryablehttp.PassthroughErrorHandler
	rc.HTTPClient = &http.Client{
		Timeout:   attemptTimeout,
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DialContext: cfg.Dial, DisableKeepAlives: true},
		// A redirect would carry the token elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	scheme := "https"
	if strings.EqualFold(cfg.Scheme, "http") {
		scheme = "http"
	}
	return &anonymous{host: host, scheme: scheme, agent: cfg.UserAgent, http: rc}
}

func (a *anonymous) do(ctx context.Context, action string, params map[string]string, out any) error {
	form := url.Values{
		"Action": {action}, "Version": {version}, "Format": {"JSON"},
		"Timestamp": {time.Now().UTC().Format("2006-01-02T15:04:05Z")}, "SignatureNonce": {rand.Text()},
	}
	for name, value := range params {
		form.Set(name, value)
	}
	req, err := retryablehttp.NewRequestWithContext(ctx, http.MethodPost, a.scheme+"://"+a.host+"/", []byte(form.Encode()))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("User-Agent", a.agent)
	res, err := a.http.Do(req)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if closeErr := res.Body.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if res.StatusCode != http.StatusOK {
		return refusal(action, res.StatusCode, body)
	}
	// The decoder's error could quote the answer, and with it a secret.
	if json.Unmarshal(body, out) != nil {
		return fmt.Errorf("the answer of %s is not the JSON document that was expected", a.host)
	}
	return nil
}

func refusal(action string, status int, body []byte) error {
	var document struct {
		RequestID     string `json:"RequestId"`
		Code, Message string
	}
	if json.Unmarshal(body, &document) != nil {
		document.Message = string(body)
	}
	return catalogue.Error(catalogue.Answer{
		Product: string(openapi.STS), Action: action, Status: status,
		Code: document.Code, Message: document.Message, RequestID: document.RequestID,
	})
}
