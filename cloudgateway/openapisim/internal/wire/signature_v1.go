package wire

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // the protocol prescribes it
	"encoding/base64"
	"maps"
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

// percentEncode encodes as RFC 3986 says: everything but letters, digits and -_.~ by its bytes.
func percentEncode(s string) string {
	const hexadecimal = "0123456789ABCDEF"
	var out strings.Builder
	out.Grow(len(s) + len(s)/4)
	for _, b := range []byte(s) {
		if unreserved(b) {
			out.WriteByte(b)
		} else {
			out.WriteByte('%')
			out.WriteByte(hexadecimal[b>>4])
			out.WriteByte(hexadecimal[b&0xf])
		}
	}
	return out.String()
}

func unreserved(b byte) bool {
	switch {
	case 'A' <= b && b <= 'Z', 'a' <= b && b <= 'z', '0' <= b && b <= '9':
		return true
	}
	return b == '-' || b == '_' || b == '.' || b == '~'
}
