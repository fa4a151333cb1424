package wire

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
)

const v3Algorithm = "ACS3-HMAC-SHA256"

// signatureV3 is HMAC-SHA256 over method, path, query, headers and the hash of the body.
type signatureV3 struct {
	canonicalRequest string
	signature        string
}

func (s signatureV3) verify(secret string) (string, bool) {
	hash := sha256.Sum256([]byte(s.canonicalRequest))
	stringToSign := v3Algorithm + "\n" + hex.EncodeToString(hash[:])
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(stringToSign))
	return stringToSign, hmac.Equal([]byte(hex.EncodeToString(mac.Sum(nil))), []byte(s.signature))
}

// readV3 takes the system parameters from the headers.
func (req *Request) readV3(r *http.Request, authorization string, body []byte) *api.Error {
	h := r.Header
	req.Action, req.Version = h.Get("X-Acs-Action"), h.Get("X-Acs-Version")
	req.SecurityToken = h.Get("X-Acs-Security-Token")
	req.Nonce, req.Timestamp = h.Get("X-Acs-Signature-Nonce"), h.Get("X-Acs-Date")
	fields := map[string]string{}
	for field := range strings.SplitSeq(strings.TrimPrefix(authorization, v3Algorithm), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(field), "=")
		fields[name] = value
	}
	req.AccessKeyID = fields["Credential"]
	hash := sha256.Sum256(body)
	bodyHash := hex.EncodeToString(hash[:])
	if sent := h.Get("X-Acs-Content-Sha256"); sent != "" && sent != bodyHash {
		return api.BadRequest("SignatureDoesNotMatch", "Specified x-acs-content-sha256 is not matched with the body.")
	}
	var headers strings.Builder
	for name := range strings.SplitSeq(fields["SignedHeaders"], ";") {
		value := strings.Join(h.Values(name), ",")
		if name == "host" {
			value = r.Host // net/http takes it out of the headers
		}
		headers.WriteString(name + ":" + strings.TrimSpace(value) + "\n")
	}
	req.signed = signatureV3{
		canonicalRequest: strings.Join([]string{
			r.Method, canonicalPath(r.URL), canonicalQueryV3(r.URL.Query()), headers.String(), fields["SignedHeaders"], bodyHash,
		}, "\n"),
		signature: fields["Signature"],
	}
	return nil
}

// canonicalPath is the path as the client wrote it, but for what it may or may not encode.
func canonicalPath(u *url.URL) string {
	return cmp.Or(strings.NewReplacer("+", "%20", "*", "%2A", "%7E", "~").Replace(u.EscapedPath()), "/")
}

func canonicalQueryV3(query url.Values) string {
	pairs := make([]string, 0, len(query))
	for _, name := range slices.Sorted(maps.Keys(query)) {
		pairs = append(pairs, name+"="+percentEncode(query.Get(name)))
	}
	return strings.Join(pairs, "&")
}
