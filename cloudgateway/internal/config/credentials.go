package config

import (
	"regexp"
	"strings"

	"alicloud-controllers.dev/services/config"
	"alicloud-controllers.dev/services/logging"
)

// Credentials says where the cloud credentials come from: exactly one of its sources, and maybe a role to assume with them.
type Credentials struct {
	AccessKey *AccessKey `json:"accessKey"`
	// Environment takes ACCESS_KEY_ID and ACCESS_KEY_SECRET, and SECURITY_TOKEN if there is one; also with ALIBABA_CLOUD_ before.
	Environment bool        `json:"environment"`
	ECSRAMRole  *ECSRAMRole `json:"ecsRAMRole"`
	RRSA        *RRSA       `json:"rrsa"`
	// STSTokenFile is a JSON file with AccessKeyId, AccessKeySecret, SecurityToken and Expiration that something else keeps fresh.
	STSTokenFile string `json:"stsTokenFile"`
	// AddonTokenFile is the file that ACK gives to add-ons of managed clusters, normally /var/addon/token-config.
	AddonTokenFile string      `json:"addonTokenFile"`
	AssumeRole     *AssumeRole `json:"assumeRole"`

	// given is the key pair of the existing CCM's file.
	given *KeyPair
}

// KeyPair is an access key by value.
type KeyPair struct {
	ID     string
	Secret logging.Secret
}

// Given is the key pair that came with --cloud-config, nil if the configuration says otherwise.
func (c Credentials) Given() *KeyPair { return c.given }

// AccessKey names the files with an access key.
type AccessKey struct {
	// IDFile is the file with the AccessKey ID. Changes are noticed.
	IDFile string `json:"idFile"`
	// SecretFile is the file with the AccessKey secret.
	SecretFile string `json:"secretFile"`
}

// ECSRAMRole takes the credentials of a RAM role of the ECS instance.
type ECSRAMRole struct {
	// Role is the name of the role; if empty, that of the metadata service is used.
	Role string `json:"role"`
}

// RRSA takes the credentials of the RAM role that the pod's ServiceAccount stands for. What is left out comes from the
// environment, which ACK's webhook sets.
type RRSA struct {
	// OIDCProviderARN is the cluster's OIDC provider. Default: $ALIBABA_CLOUD_OIDC_PROVIDER_ARN.
	OIDCProviderARN string `json:"oidcProviderARN"`
	// TokenFile has the ServiceAccount token. Default: $ALIBABA_CLOUD_OIDC_TOKEN_FILE.
	TokenFile string `json:"tokenFile"`
	// The role; ALIBABA_CLOUD_ROLE_ARN and ALIBABA_CLOUD_ROLE_SESSION_NAME.
	Session
}

// AssumeRole takes the credentials of a role that those of the source may assume.
type AssumeRole struct {
	Session
	// ExternalID is what the trust policy of the role may ask for.
	ExternalID string `json:"externalID"`
}

// Session describes the session of a RAM role.
type Session struct {
	// RoleARN is the role. With rrsa it may come from $ALIBABA_CLOUD_ROLE_ARN.
	RoleARN string `json:"roleARN"`
	// SessionName shows in the cloud's audit log. With rrsa it may come from $ALIBABA_CLOUD_ROLE_SESSION_NAME. Default: cloudgateway.
	SessionName string `json:"sessionName"`
	// DurationSeconds is at most the role's maximum; the cloud takes 900 to 43200. Default: 3600.
	DurationSeconds int `json:"durationSeconds"`
}

// How long a session is, in seconds.
const (
	defaultDuration  = 3600
	shortestDuration = 900
	longestDuration  = 43200
)

// adoptEnvironment takes a source from the environment if none is named, and completes the sessions.
func (c *Credentials) adoptEnvironment(environ func(string) string) {
	if c.sources() == 0 {
		switch {
		case environ("ACCESS_KEY_ID") != "" || environ("ALIBABA_CLOUD_ACCESS_KEY_ID") != "":
			c.Environment = true
		case environ("ALIBABA_CLOUD_ROLE_ARN") != "" && environ("ALIBABA_CLOUD_OIDC_TOKEN_FILE") != "":
			c.RRSA = &RRSA{}
		}
	}
	if r := c.RRSA; r != nil {
		config.Fill(&r.RoleARN, environ("ALIBABA_CLOUD_ROLE_ARN"))
		config.Fill(&r.OIDCProviderARN, environ("ALIBABA_CLOUD_OIDC_PROVIDER_ARN"))
		config.Fill(&r.TokenFile, environ("ALIBABA_CLOUD_OIDC_TOKEN_FILE"))
		config.Fill(&r.SessionName, environ("ALIBABA_CLOUD_ROLE_SESSION_NAME"))
		r.adoptDefaults()
	}
	if r := c.AssumeRole; r != nil {
		r.adoptDefaults()
	}
}

// adoptDefaults says what a session is if nothing else does.
func (s *Session) adoptDefaults() {
	config.Fill(&s.SessionName, "cloudgateway")
	config.Fill(&s.DurationSeconds, defaultDuration)
}

// named says which sources are named, by key.
func (c Credentials) named() []string {
	var keys []string
	for _, source := range []struct {
		key   string
		named bool
	}{
		{"accessKey", c.AccessKey != nil && *c.AccessKey != AccessKey{}},
		{"environment", c.Environment},
		{"ecsRAMRole", c.ECSRAMRole != nil},
		{"rrsa", c.RRSA != nil},
		{"stsTokenFile", c.STSTokenFile != ""},
		{"addonTokenFile", c.AddonTokenFile != ""},
	} {
		if source.named {
			keys = append(keys, source.key)
		}
	}
	return keys
}

// sources counts the sources that there are.
func (c Credentials) sources() int {
	n := len(c.named())
	if c.given != nil {
		n++
	}
	return n
}

func (c Credentials) validate(p *config.Problems, key string) {
	const all = "accessKey, environment, ecsRAMRole, rrsa, stsTokenFile, addonTokenFile"
	switch n := c.sources(); {
	case n == 0:
		p.Addf(key, "none named; set one of %s", all)
	case n > 1:
		p.Addf(key, "%s are named; keep one of them", strings.Join(c.named(), " and "))
	}
	if k := c.AccessKey; k != nil && *k != (AccessKey{}) {
		p.Required(key+".accessKey.idFile", k.IDFile)
		p.Required(key+".accessKey.secretFile", k.SecretFile)
	}
	if r := c.RRSA; r != nil {
		r.validate(p, key+".rrsa")
		matches(p, key+".rrsa.oidcProviderARN", r.OIDCProviderARN, oidcProviderARN, "acs:ram::1000000000000001:oidc-provider/ack-rrsa-c1")
		p.Required(key+".rrsa.tokenFile", r.TokenFile)
	}
	if r := c.AssumeRole; r != nil {
		r.validate(p, key+".assumeRole")
	}
}

var (
	roleARN         = regexp.MustCompile(`^acs:ram::[0-9]+:role/[A-Za-z0-9._-]+$`)
	oidcProviderARN = regexp.MustCompile(`^acs:ram::[0-9]+:oidc-provider/[A-Za-z0-9._-]+$`)
	sessionName     = regexp.MustCompile(`^[A-Za-z0-9.@_-]{2,64}$`)
)

func (s Session) validate(p *config.Problems, key string) {
	matches(p, key+".roleARN", s.RoleARN, roleARN, "acs:ram::1000000000000001:role/cloudgateway")
	if !sessionName.MatchString(s.SessionName) {
		p.Addf(key+".sessionName", "%q is not 2 to 64 of the characters A-Z a-z 0-9 . @ _ -", s.SessionName)
	}
	p.Range(key+".durationSeconds", s.DurationSeconds, shortestDuration, longestDuration)
}

func matches(p *config.Problems, key, value string, form *regexp.Regexp, example string) {
	switch {
	case value == "":
		p.Addf(key, "is required, e.g. %s", example)
	case !form.MatchString(value):
		p.Addf(key, "%q is not of the form %s", value, example)
	}
}
