// Package sts is the product STS 2015-04-01 of the simulator: the identity of the caller, and temporary keys for roles.
package sts

import (
	"fmt"
	"hash/fnv"
	"regexp"
	"strings"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
)

// Sessions looks up and issues temporary keys.
type Sessions interface {
	// Now is the real time, which the life of keys and tokens follows.
	Now() time.Time
	// Session returns the role and the session name of a temporary key.
	Session(accessKeyID string) (role, name string, ok bool)
	// Exists reports whether there is a role, whose name is in lower case.
	Exists(role string) bool
	Issue(role, name string, life time.Duration) Credentials
}

// Credentials are a temporary key.
type Credentials struct {
	AccessKeyID, AccessKeySecret, SecurityToken string
	Expiration                                  time.Time
}

// The life of a session in seconds, at least and if a call does not say.
const minLife, defaultLife = 900, 3600

// MaxLife is the longest life of a session in seconds.
const MaxLife = 43200

// Product returns the product with all its actions.
func Product(sessions Sessions) api.Product {
	p := product{sessions}
	return api.Product{Name: "sts", Code: "Sts", Version: "2015-04-01", Actions: []api.Action{
		{Name: "GetCallerIdentity", Handle: p.getCallerIdentity},
		{
			Name: "AssumeRole", Handle: p.assumeRole,
			Params: []api.Param{
				api.Required("RoleArn"), api.Required("RoleSessionName"), api.Optional("Policy"), api.Optional("ExternalId"),
				api.Number("DurationSeconds", minLife, MaxLife),
			},
			Codes: []string{"EntityNotExist.Role", "InvalidParameter.RoleArn", "InvalidParameter.RoleSessionName"},
		},
		{
			Name: "AssumeRoleWithOIDC", Handle: p.assumeRoleWithOIDC, Unsigned: true,
			Params: []api.Param{
				api.Required("RoleArn"), api.Required("RoleSessionName"), api.Optional("Policy"),
				api.Required("OIDCProviderArn"), api.Required("OIDCToken"),
				api.Number("DurationSeconds", minLife, MaxLife),
			},
			Codes: []string{
				"InvalidParameter.RoleArn", "InvalidParameter.RoleSessionName", "EntityNotExist.OIDCProvider", "EntityNotExist.Role",
				"AuthenticationFail.OIDCToken.Invalid", "AuthenticationFail.OIDCToken.Expired", "AuthenticationFail.OIDCToken.AudienceNotMatch",
			},
		},
	}}
}

type product struct{ sessions Sessions }

var sessionName = regexp.MustCompile(`^[A-Za-z0-9.@_-]{2,64}$`)

type callerIdentity struct {
	IdentityType string `json:"IdentityType"`
	AccountID    string `json:"AccountId"`
	PrincipalID  string `json:"PrincipalId"`
	UserID       string `json:"UserId,omitempty"`
	RoleID       string `json:"RoleId,omitempty"`
	Arn          string `json:"Arn"`
}

func (p product) getCallerIdentity(c *api.Context) (any, *api.Error) {
	if role, name, ok := p.sessions.Session(c.AccessKeyID); ok {
		return callerIdentity{
			IdentityType: "AssumedRoleUser", AccountID: c.Account, RoleID: RoleID(c.Account, role),
			PrincipalID: RoleID(c.Account, role) + ":" + name, Arn: assumedArn(c.Account, role, name),
		}, nil
	}
	return callerIdentity{
		IdentityType: "Account", AccountID: c.Account, PrincipalID: c.Account, UserID: c.Account, Arn: "acs:ram::" + c.Account + ":root",
	}, nil
}

type assumedRole struct {
	AssumedRoleUser struct {
		AssumedRoleID string `json:"AssumedRoleId"`
		Arn           string `json:"Arn"`
	} `json:"AssumedRoleUser"`
	Credentials struct {
		AccessKeyID     string `json:"AccessKeyId"`
		AccessKeySecret string `json:"AccessKeySecret"`
		SecurityToken   string `json:"SecurityToken"`
		Expiration      string `json:"Expiration"`
	} `json:"Credentials"`
}

func (p product) assumeRole(c *api.Context) (any, *api.Error) {
	answer, err := p.session(c)
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// session issues the temporary key of a role.
func (p product) session(c *api.Context) (assumedRole, *api.Error) {
	role, ok := strings.CutPrefix(strings.ToLower(c.Get("RoleArn")), "acs:ram::"+c.Account+":role/")
	if !ok || role == "" {
		return assumedRole{}, api.BadRequest("InvalidParameter.RoleArn", "The parameter RoleArn is wrongly formed.")
	}
	if !p.sessions.Exists(role) {
		return assumedRole{}, api.NotFound("EntityNotExist.Role", "The role not exists: %s.", c.Get("RoleArn"))
	}
	name := c.Get("RoleSessionName")
	if !sessionName.MatchString(name) {
		return assumedRole{}, api.BadRequest("InvalidParameter.RoleSessionName", "The parameter RoleSessionName is wrongly formed.")
	}
	issued := p.sessions.Issue(role, name, time.Duration(c.Int("DurationSeconds", defaultLife))*time.Second)
	var out assumedRole
	out.AssumedRoleUser.AssumedRoleID = RoleID(c.Account, role) + ":" + name
	out.AssumedRoleUser.Arn = assumedArn(c.Account, role, name)
	out.Credentials.AccessKeyID, out.Credentials.AccessKeySecret = issued.AccessKeyID, issued.AccessKeySecret
	out.Credentials.SecurityToken = issued.SecurityToken
	out.Credentials.Expiration = issued.Expiration.UTC().Format(time.RFC3339)
	return out, nil
}

// RoleID is a number of its own for each role, as the cloud gives it.
func RoleID(account, role string) string {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(account + "/" + strings.ToLower(role))) // never fails
	return fmt.Sprintf("3%08d%010d", len(account), sum.Sum32())
}

func assumedArn(account, role, name string) string {
	return "acs:ram::" + account + ":assumed-role/" + role + "/" + name
}
