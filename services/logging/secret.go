package logging

import (
	"log/slog"
	"regexp"
	"strings"
)

// redacted stands in for a secret.
const redacted = "REDACTED"

// Secret is a string that no log, no %v and no JSON shows. Convert it to string where it is used.
type Secret string

// String hides the secret from fmt.
func (Secret) String() string { return redacted }

// GoString hides the secret from %#v.
func (Secret) GoString() string { return redacted }

// LogValue hides the secret from slog.
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText hides the secret from JSON and YAML.
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// patterns of secrets inside of longer texts: parameters of a signed URL, also percent-encoded, fields of a JSON object, tokens, and
// private keys in PEM form, also cut off or percent-encoded.
var (
	parameter = regexp.MustCompile(
		`(?i)(access_?key_?secret|security_?token|signature|password|private_?key)("?\s*(?:[=:]|%(?:25)*3[da])\s*"?)[^&\s",}]+`)
	jwt    = regexp.MustCompile(`eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+`)
	pemKey = regexp.MustCompile(`(?s)-----BEGIN[A-Z ]*PRIVATE KEY-----.*?(?:-----END[A-Z ]*PRIVATE KEY-----|$)`)
	// encodedKey is one in a form or a URL.
	encodedKey = regexp.MustCompile(`-----BEGIN(?:[A-Z]|\+|%20)*PRIVATE(?:\+|%20)KEY-----[^&\s",}]*`)
)

// Redact takes secrets out of a text from elsewhere, e.g. the error of an HTTP client, which quotes the signed URL.
func Redact(s string) string {
	if strings.Contains(s, "-----BEGIN") {
		s = pemKey.ReplaceAllString(s, redacted) // first, since a parameter would end at its first space
		s = encodedKey.ReplaceAllString(s, redacted)
	}
	if strings.ContainsAny(s, "=:%") {
		s = parameter.ReplaceAllString(s, "${1}${2}"+redacted)
	}
	if strings.Contains(s, "eyJ") {
		s = jwt.ReplaceAllString(s, redacted)
	}
	return s
}

// secretKey reports whether an attribute's key promises a secret.
func secretKey(key string) bool {
	switch strings.ToLower(key) {
	case "accesskeysecret", "securitytoken", "signature", "password", "token", "authorization", "privatekey":
		return true
	default:
		return false
	}
}

// redactAttr is the last guard before anything is written.
func redactAttr(_ []string, a slog.Attr) slog.Attr {
	switch {
	case secretKey(a.Key):
		a.Value = slog.StringValue(redacted)
	case a.Value.Kind() == slog.KindString:
		a.Value = slog.StringValue(Redact(a.Value.String()))
	case a.Value.Kind() == slog.KindAny:
		if err, ok := a.Value.Any().(error); ok && err != nil {
			a.Value = slog.StringValue(Redact(err.Error()))
		}
	}
	return a
}
