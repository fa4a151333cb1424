package wire

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // the protocol prescribes it
	"encoding/base64"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// roaScheme begins the header Authorization of a request in ROA style that is signed by version 1.
const roaScheme = "acs "

// signatureROA is HMAC-SHA1 over method, some headers, path and query.
type signatureROA struct{ stringToSign, signature string }

func (s signatureROA) verify(secret string) (string, bool) {
	mac := hmac.New(sha1.New, []byte(secret))
	mac.Write([]byte(s.stringToSign))
	return s.stringToSign, hmac.Equal([]byte(base64.StdEncoding.EncodeToString(mac.Sum(nil))), []byte(s.signature))
}

// readROA takes the system parameters from the headers.
func (req *Request) readROA(r *http.Request, credential string) {
	h := r.Header
	req.Action, req.Version = h.Get("X-Acs-Action"), h.Get("X-Acs-Version")
	req.SecurityToken, req.Nonce, req.Timestamp = h.Get("X-Acs-Security-Token"), h.Get("X-Acs-Signature-Nonce"), h.Get("Date")
	if date, err := http.ParseTime(req.Timestamp); err == nil {
		req.Timestamp = date.UTC().Format(timestampLayout)
	}
	id, signature, _ := strings.Cut(credential, ":")
	req.AccessKeyID, req.signed = id, signatureROA{stringToSignROA(r), signature}
}

// stringToSignROA has the path as it was sent, and the query as it is before it is encoded.
func stringToSignROA(r *http.Request) string {
	lines := []string{r.Method}
	for _, name := range []string{"Accept", "Content-MD5", "Content-Type", "Date"} {
		lines = append(lines, r.Header.Get(name))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		if lower := strings.ToLower(name); strings.HasPrefix(lower, "x-acs-") {
			lines = append(lines, lower+":"+r.Header.Get(name))
		}
	}
	var query []string
	values := r.URL.Query()
	for _, name := range slices.Sorted(maps.Keys(values)) {
		pair := name
		if value := values.Get(name); value != "" {
			pair += "=" + value
		}
		query = append(query, pair)
	}
	resource := r.URL.EscapedPath()
	if len(query) > 0 {
		resource += "?" + strings.Join(query, "&")
	}
	return strings.Join(append(lines, resource), "\n")
}
