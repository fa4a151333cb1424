package openapi

import (
	"crypto/rand"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"time"

	"github.com/aliyun/alibaba-cloud-sdk-go/sdk"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/auth"
	sdkcredentials "github.com/aliyun/alibaba-cloud-sdk-go/sdk/auth/credentials"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/requests"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/utils"

	"alicloud-controllers.dev/cloudgateway/internal/openapi/credentials"
)

// signed is one attempt: its URL, its headers and its body, which all attempts of a call have in common. Its nonce makes it good for one use.
type signed struct {
	url    *url.URL
	header http.Header
	body   []byte
}

// sign lets the SDK sign an attempt. The SDK's request is made for this attempt alone, because it may not be shared between goroutines.
// The SDK's client is left out: it would build a request of net/http besides, and escape everything once more for it.
func (c *Client) sign(call Call, with credentials.Credentials) (signed, error) {
	code, version := call.Product.service()
	if call.Unsigned {
		return c.unsigned(call, version), nil
	}
	req := &requests.RpcRequest{}
	req.InitWithApiInfo(code, version, call.Action, "", "")
	maps.Copy(req.QueryParams, call.Params)
	maps.Copy(req.FormParams, call.Form)
	if err := auth.Sign(req, nil, c.cfg.Region, fixed{with}); err != nil {
		return signed{}, fmt.Errorf("sign: %w", err)
	}
	header := make(http.Header, len(req.Headers)+2) //nolint:mnd // Those that follow.
	for name, value := range req.Headers {
		header.Set(name, value)
	}
	header.Set("X-Sdk-Core-Version", sdk.Version)
	header.Set("User-Agent", c.cfg.UserAgent)
	target := &url.URL{Scheme: c.cfg.Scheme, Host: c.hosts[call.Product], Path: "/", RawQuery: utils.GetUrlFormedMap(req.QueryParams)}
	return signed{url: target, header: header, body: req.GetContent()}, nil
}

// unsigned leaves to the body what is secret, so that no log of URLs shows it.
func (c *Client) unsigned(call Call, version string) signed {
	query := url.Values{
		"Action": {call.Action}, "Version": {version}, "Format": {"JSON"},
		"Timestamp": {time.Now().UTC().Format("2006-01-02T15:04:05Z")}, "SignatureNonce": {rand.Text()},
	}
	return signed{
		url:    &url.URL{Scheme: c.cfg.Scheme, Host: c.hosts[call.Product], Path: "/", RawQuery: query.Encode()},
		header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "User-Agent": {c.cfg.UserAgent}},
		body:   []byte(utils.GetUrlFormedMap(call.Form)),
	}
}

// fixed hands the SDK the credentials of one attempt.
type fixed struct{ credentials.Credentials }

// GetCredentials makes it a CredentialsProvider of the SDK.
func (f fixed) GetCredentials() (*sdkcredentials.Credentials, error) {
	return &sdkcredentials.Credentials{
		AccessKeyId: f.AccessKeyID, AccessKeySecret: f.AccessKeySecret, SecurityToken: f.SecurityToken,
		ProviderName: f.GetProviderName(),
	}, nil
}

// GetProviderName makes it a CredentialsProvider of the SDK.
func (fixed) GetProviderName() string { return "cloudgateway" }
