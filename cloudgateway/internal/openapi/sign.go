package openapi

import (
	"crypto/rand"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"time"

	"github.com/aliyun/alibaba-cloud-sdk-go/sdk"
	sdkcredentials "github.com/aliyun/alibaba-cloud-sdk-go/sdk/auth/credentials"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/requests"

	"alicloud-controllers.dev/cloudgateway/internal/openapi/credentials"
)

// signed is the URL and the headers of one attempt. Its nonce makes it good for one use.
type signed struct {
	url    *url.URL
	header http.Header
}

// sign lets the SDK build and sign an attempt. Both the SDK's client and its request are made for this attempt alone, because
// neither may be shared between goroutines.
func (c *Client) sign(call Call, with credentials.Credentials) (signed, error) {
	service, err := call.Product.service()
	if err != nil {
		return signed{}, err
	}
	if call.Unsigned {
		return c.unsigned(call, service), nil
	}
	config := sdk.NewConfig()
	config.Scheme = c.scheme
	signer, err := sdk.NewClientWithOptions(c.cfg.Region, config, fixed{with})
	if err != nil {
		return signed{}, fmt.Errorf("set up the SDK: %w", err)
	}
	req := &requests.RpcRequest{}
	req.InitWithApiInfo(service.code, service.version, call.Action, "", "")
	req.Scheme, req.Domain, req.RegionId = c.scheme, c.hosts[call.Product], c.cfg.Region
	maps.Copy(req.QueryParams, call.Params)
	maps.Copy(req.FormParams, call.Form)
	if err := signer.BuildRequestWithSigner(req, nil); err != nil {
		return signed{}, fmt.Errorf("sign: %w", err)
	}
	target, err := url.Parse(req.BuildUrl())
	if err != nil {
		// The parser's error would quote the URL, and with it the signature.
		return signed{}, fmt.Errorf("sign: the endpoint %q makes no URL", req.Domain)
	}
	header := make(http.Header, len(req.Headers)+1)
	for name, value := range req.Headers {
		header.Set(name, value)
	}
	header.Set("User-Agent", c.cfg.UserAgent)
	return signed{url: target, header: header}, nil
}

// unsigned leaves to the body what is secret, so that no log of URLs shows it.
func (c *Client) unsigned(call Call, service service) signed {
	query := url.Values{
		"Action": {call.Action}, "Version": {service.version}, "Format": {"JSON"},
		"Timestamp": {time.Now().UTC().Format("2006-01-02T15:04:05Z")}, "SignatureNonce": {rand.Text()},
	}
	return signed{
		url:    &url.URL{Scheme: c.scheme, Host: c.hosts[call.Product], Path: "/", RawQuery: query.Encode()},
		header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "User-Agent": {c.cfg.UserAgent}},
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
