package sts

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
)

// audience is the one that a token must be made for.
const audience = "sts.aliyuncs.com"

type assumedRoleWithOIDC struct {
	assumedRole

	OIDCTokenInfo struct {
		Subject   string `json:"Subject"`
		Issuer    string `json:"Issuer"`
		ClientIDs string `json:"ClientIds"`
	} `json:"OIDCTokenInfo"`
}

// assumeRoleWithOIDC takes any token of the right form and audience that has not ended. No signature is checked: the
// simulated cloud knows no issuers.
func (p product) assumeRoleWithOIDC(c *api.Context) (any, *api.Error) {
	if name, ok := strings.CutPrefix(c.Get("OIDCProviderArn"), "acs:ram::"+c.Account+":oidc-provider/"); !ok || name == "" {
		return nil, api.NotFound("EntityNotExist.OIDCProvider", "The OIDC provider does not exist.")
	}
	claims, ok := parseToken(c.Get("OIDCToken"))
	switch {
	case !ok:
		return nil, api.BadRequest("AuthenticationFail.OIDCToken.Invalid", "This OIDC token is invalid.")
	case !p.sessions.Now().Before(time.Unix(claims.Expires, 0)):
		return nil, api.BadRequest("AuthenticationFail.OIDCToken.Expired", "This OIDC token has expired.")
	case !slices.Contains(claims.Audience, audience):
		return nil, api.BadRequest("AuthenticationFail.OIDCToken.AudienceNotMatch",
			"The audience of this OIDC token does not match the provider.")
	}
	session, err := p.session(c)
	if err != nil {
		return nil, err
	}
	out := assumedRoleWithOIDC{assumedRole: session}
	out.OIDCTokenInfo.Subject, out.OIDCTokenInfo.Issuer = claims.Subject, claims.Issuer
	out.OIDCTokenInfo.ClientIDs = strings.Join(claims.Audience, ",")
	return out, nil
}

// claims are the part of a token that matters.
type claims struct {
	Issuer   string    `json:"iss"`
	Subject  string    `json:"sub"`
	Audience audiences `json:"aud"`
	Expires  int64     `json:"exp"`
}

// audiences are a list, or a single text.
type audiences []string

// UnmarshalJSON reads both forms.
func (a *audiences) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*a = audiences{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(a))
}

func parseToken(token string) (claims, bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return claims{}, false
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return claims{}, false
	}
	var c claims
	if json.Unmarshal(payload, &c) != nil || c.Issuer == "" || c.Subject == "" {
		return claims{}, false
	}
	return c, true
}
