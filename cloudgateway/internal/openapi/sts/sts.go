// Package sts asks the cloud's Security Token Service for temporary credentials of RAM roles, and who the gateway is.
package sts

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"time"

	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/openapi/credentials"
	"alicloud-controllers.dev/services/rpcerr"
)

// Config of a Client.
type Config struct {
	// Region and Network choose the endpoint, see openapi.Config.
	Region, Network string
	// Endpoint overrides it, "host" or "host:port".
	Endpoint string
	// Scheme is HTTPS, the default, or HTTP.
	Scheme    string
	UserAgent string
	// Dial makes connections. Default: net.Dialer's.
	Dial   func(ctx context.Context, network, address string) (net.Conn, error)
	Logger *slog.Logger
}

// Client of STS. Its few calls an hour pass no budget.
type Client struct {
	cfg  Config
	oidc *anonymous
}

// New makes a client. It does not connect.
func New(cfg Config) (*Client, error) {
	c := &Client{cfg: cfg}
	// Checks the configuration, and tells the host.
	signer, err := c.signer(credentials.Credentials{})
	if err != nil {
		return nil, err
	}
	c.oidc = newAnonymous(cfg, signer.Host(openapi.STS))
	return c, nil
}

// Host is where the calls go.
func (c *Client) Host() string { return c.oidc.host }

// temporary is the part of an answer that has the credentials.
type temporary struct {
	Credentials struct {
		AccessKeyID     string `json:"AccessKeyId"`
		AccessKeySecret string
		SecurityToken   string
		Expiration      time.Time
	}
}

func (t temporary) decode() credentials.Credentials {
	c := t.Credentials
	return credentials.Credentials{
		AccessKeyID: c.AccessKeyID, AccessKeySecret: c.AccessKeySecret, SecurityToken: c.SecurityToken, Expires: c.Expiration,
	}
}

// AssumeRole implements credentials.STS.
func (c *Client) AssumeRole(ctx context.Context, with credentials.Credentials, role credentials.Role) (credentials.Credentials, error) {
	params := roleParams(role)
	if role.ExternalID != "" {
		params["ExternalId"] = role.ExternalID
	}
	var answer temporary
	if err := c.do(ctx, with, "AssumeRole", params, &answer); err != nil {
		return credentials.Credentials{}, explain("assume role "+role.ARN, err)
	}
	return answer.decode(), nil
}

// AssumeRoleWithOIDC implements credentials.STS.
func (c *Client) AssumeRoleWithOIDC(ctx context.Context, role credentials.Role, providerARN, token string) (credentials.Credentials, error) {
	params := roleParams(role)
	params["OIDCProviderArn"], params["OIDCToken"] = providerARN, token
	var answer temporary
	if err := c.oidc.do(ctx, "AssumeRoleWithOIDC", params, &answer); err != nil {
		return credentials.Credentials{}, explain("assume role "+role.ARN+" with the ServiceAccount token", err)
	}
	return answer.decode(), nil
}

// Identity is who the cloud takes the owner of credentials for.
type Identity struct {
	AccountID string `json:"AccountId"`
	ARN       string `json:"Arn"`
}

// CallerIdentity tells whom credentials belong to. It needs no permission.
func (c *Client) CallerIdentity(ctx context.Context, with credentials.Credentials) (Identity, error) {
	var answer Identity
	if err := c.do(ctx, with, "GetCallerIdentity", nil, &answer); err != nil {
		return Identity{}, explain("ask who the credentials belong to", err)
	}
	return answer, nil
}

func roleParams(role credentials.Role) map[string]string {
	params := map[string]string{"RoleArn": role.ARN, "RoleSessionName": role.SessionName}
	if role.Duration > 0 {
		params["DurationSeconds"] = strconv.Itoa(int(role.Duration / time.Second))
	}
	return params
}

func (c *Client) do(ctx context.Context, with credentials.Credentials, action string, params map[string]string, out any) error {
	signer, err := c.signer(with)
	if err != nil {
		return err
	}
	defer signer.Close()
	_, err = signer.Do(ctx, openapi.Call{Product: openapi.STS, Action: action, Params: params, Idempotent: true}, out)
	return err
}

// signer makes a client for calls with the credentials. They differ from call to call, and calls are minutes apart.
func (c *Client) signer(with credentials.Credentials) (*openapi.Client, error) {
	return openapi.New(openapi.Config{
		Region: c.cfg.Region, Network: c.cfg.Network, Scheme: c.cfg.Scheme, UserAgent: c.cfg.UserAgent,
		Endpoints:   map[openapi.Product]string{openapi.STS: c.cfg.Endpoint},
		Credentials: credentials.Fixed{Credentials: with}, Budget: openapi.Unlimited{}, Dial: c.cfg.Dial, Logger: c.cfg.Logger,
	})
}

// explain says what to do about the refusals that a wrong set-up of RAM brings.
func explain(doing string, err error) error {
	e, ok := rpcerr.From(err)
	if !ok {
		return fmt.Errorf("%s: %w", doing, err)
	}
	for _, known := range []struct{ code, advice string }{
		{"EntityNotExist.Role", "there is no such role; check the name and the account in roleARN"},
		{"EntityNotExist.OIDCProvider", "there is no such OIDC provider; enable RRSA for the cluster and check oidcProviderARN"},
		{"NoPermission", "the role's trust policy must name this identity, and the identity needs sts:AssumeRole on the role"},
		{"AuthenticationFail.NoPermission", "the role's trust policy must name the OIDC provider, this ServiceAccount (oidc:sub) and audience (oidc:aud)"},
		{"AuthenticationFail.OIDCToken.Expired", "Kubernetes did not replace the token; check its volume and the kubelet"},
		{"AuthenticationFail.OIDCToken.", "the token must be made by this cluster for the audience sts.aliyuncs.com"},
		{"InvalidParameter.DurationSeconds", "durationSeconds is longer than the role's maximum session duration"},
	} {
		if strings.HasPrefix(e.CloudCode, known.code) {
			return fmt.Errorf("%s: %w (%s)", doing, err, known.advice)
		}
	}
	return fmt.Errorf("%s: %w", doing, err)
}
