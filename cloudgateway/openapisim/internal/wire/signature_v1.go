package wire

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // the protocol prescribes it
	"encoding/base64"
	"slices"
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
	names := make([]string, 0, len(values))
	length := 0
	for name, value := range values {
		if name != "Signature" {
			names = append(names, name)
			length += len(name) + len(value) + 2
		}
	}
	slices.Sort(names)
	canonical := make([]byte, 0, 2*length)
	for i, name := range names {
		if i > 0 {
			canonical = append(canonical, '&')
		}
		canonical = append(appendEncoded(canonical, name), '=')
		canonical = appendEncoded(canonical, values[name])
	}
	toSign := append(make([]byte, 0, len(method)+5+3*len(canonical)/2), method...)
	return string(appendEncoded(append(toSign, "&%2F&"...), canonical))
}

func signV1(secret, stringToSign string) string {
	mac := hmac.New(sha1.New, []byte(secret+"&"))
	mac.Write([]byte(stringToSign))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// percentEncode encodes as RFC 3986 says: everything but letters, digits and -_.~ by its bytes.
func percentEncode(s string) string { return string(appendEncoded(nil, s)) }

// appendEncoded appends what percentEncode returns.
func appendEncoded[T string | []byte](out []byte, s T) []byte {
	const hexadecimal = "0123456789ABCDEF"
	for i := range len(s) {
		if b := s[i]; unreserved(b) {
			out = append(out, b)
		} else {
			out = append(out, '%', hexadecimal[b>>4], hexadecimal[b&0xf])
		}
	}
	return out
}

func unreserved(b byte) bool {
	switch {
	case 'A' <= b && b <= 'Z', 'a' <= b && b <= 'z', '0' <= b && b <= '9':
		return true
	}
	return b == '-' || b == '_' || b == '.' || b == '~'
}
