// Package sts asks the cloud's Security Token Service for temporary credentials of RAM roles, and for the identity of the gateway.
package sts

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"alicloud-controllers.dev/cloudgateway/internal/config"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/openapi/credentials"
	"alicloud-controllers.dev/proto/rpcerr"
)

// attemptTimeout leaves time for a second attempt before a call that needs the credentials gives up.
const attemptTimeout = 10 * time.Second

// Client of STS. Its few calls an hour pass no budget.
type Client struct{ cfg openapi.Config }

// New makes a client. It does not connect. Each call brings credentials of its own; there is no need of any in cfg, nor of a budget.
func New(cfg openapi.Config) *Client {
	cfg.Budget, cfg.AttemptTimeout = openapi.Unlimited{}, attemptTimeout
	return &Client{cfg}
}

// session is the answer with the credentials of a role.
type session struct{ Credentials credentials.Credentials }

// AssumeRole implements credentials.STS.
func (c *Client) AssumeRole(ctx context.Context, with credentials.Credentials, role config.AssumeRole) (credentials.Credentials, error) {
	params := roleParams(role.Session)
	if role.ExternalID != "" {
		params["ExternalId"] = role.ExternalID
	}
	var answer session
	if err := c.do(ctx, with, openapi.Call{Action: "AssumeRole", Params: params}, &answer); err != nil {
		return credentials.Credentials{}, explain("assume role "+role.RoleARN, err)
	}
	return answer.Credentials, nil
}

// AssumeRoleWithOIDC implements credentials.STS.
func (c *Client) AssumeRoleWithOIDC(ctx context.Context, role config.RRSA, token string) (credentials.Credentials, error) {
	params := roleParams(role.Session)
	params["OIDCProviderArn"], params["OIDCToken"] = role.OIDCProviderARN, token
	var answer session
	call := openapi.Call{Action: "AssumeRoleWithOIDC", Form: params, Unsigned: true}
	if err := c.do(ctx, credentials.Credentials{}, call, &answer); err != nil {
		return credentials.Credentials{}, explain("assume role "+role.RoleARN+" with the ServiceAccount token", err)
	}
	return answer.Credentials, nil
}

// Identity is that of the owner of credentials, as the cloud sees it.
type Identity struct {
	AccountID string `json:"AccountId"`
	ARN       string `json:"Arn"`
}

// CallerIdentity returns the identity that credentials belong to. It needs no permission.
func (c *Client) CallerIdentity(ctx context.Context, with credentials.Credentials) (Identity, error) {
	var answer Identity
	if err := c.do(ctx, with, openapi.Call{Action: "GetCallerIdentity"}, &answer); err != nil {
		return Identity{}, explain("ask who the credentials belong to", err)
	}
	return answer, nil
}

func roleParams(s config.Session) map[string]string {
	params := map[string]string{"RoleArn": s.RoleARN, "RoleSessionName": s.SessionName}
	if s.DurationSeconds > 0 {
		params["DurationSeconds"] = strconv.Itoa(s.DurationSeconds)
	}
	return params
}

// do makes a client for the call. The credentials differ from call to call, and calls are minutes apart.
func (c *Client) do(ctx context.Context, with credentials.Credentials, call openapi.Call, out any) error {
	cfg := c.cfg
	cfg.Credentials = credentials.Fixed{Credentials: with}
	caller := openapi.New(cfg)
	defer caller.Close()
	call.Product, call.Idempotent = openapi.STS, true
	_, err := caller.Do(ctx, call, out)
	return err
}

// explain says what to do about the refusals that a wrong set-up of RAM brings.
func explain(doing string, err error) error {
	code := ""
	if e, ok := rpcerr.From(err); ok {
		code = e.CloudCode
	}
	for _, known := range []struct{ code, advice string }{
		{"EntityNotExist.Role", "there is no such role; check the name and the account in roleARN"},
		{"EntityNotExist.OIDCProvider", "there is no such OIDC provider; enable RRSA for the cluster and check oidcProviderARN"},
		{"NoPermission", "the role's trust policy must name this identity, and the identity needs sts:AssumeRole on the role"},
		{"AuthenticationFail.NoPermission",
			"the role's trust policy must name the OIDC provider, this ServiceAccount (oidc:sub) and audience (oidc:aud)"},
		{"AuthenticationFail.OIDCToken.Expired", "Kubernetes did not replace the token; check its volume and the kubelet"},
		{"AuthenticationFail.OIDCToken.", "the token must be made by this cluster for the audience sts.aliyuncs.com"},
		{"InvalidParameter.DurationSeconds", "durationSeconds is longer than the role's maximum session duration"},
	} {
		if strings.HasPrefix(code, known.code) {
			return fmt.Errorf("%s: %w (%s)", doing, err, known.advice)
		}
	}
	return fmt.Errorf("%s: %w", doing, err)
}
