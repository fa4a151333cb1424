package wire

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // the protocol prescribes it
	"encoding/base64"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// signatureV1 is HMAC-SHA1 over method and parameters; headers, host and path are not signed.
type signatureV1 struct {
	method string
	values map[string]string
}

func (s signatureV1) verify(secret string) (string, bool) {
	stringToSign := stringToSignV1(s.method, s.values)
	return stringToSign, hmac.Equal([]byte(signV1(secret, stringToSign)), []byte(s.values["Signature"]))
}

func stringToSignV1(method string, values map[string]string) string {
	var canonical strings.Builder
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if name == "Signature" {
			continue
		}
		if canonical.Len() > 0 {
			canonical.WriteByte('&')
		}
		canonical.WriteString(percentEncode(name))
		canonical.WriteByte('=')
		canonical.WriteString(percentEncode(values[name]))
	}
	return method + "&%2F&" + percentEncode(canonical.String())
}

func signV1(secret, stringToSign string) string {
	mac := hmac.New(sha1.New, []byte(secret+"&"))
	mac.Write([]byte(stringToSign))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// rfc3986 turns what url.QueryEscape writes into RFC 3986.
var rfc3986 = strings.NewReplacer("+", "%20", "*", "%2A", "%7E", "~")

func percentEncode(s string) string { return rfc3986.Replace(url.QueryEscape(s)) }
