package front

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // The protocol prescribes it.
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

const (
	timeForm = "2006-01-02T15:04:05Z"
	acs3     = "ACS3-HMAC-SHA256"
)

// version1 reads the parameters of RPC style signatures, which cover method and parameters.
func (req *request) version1(method string) error {
	all := req.all()
	delete(all, "Signature")
	if all["SecurityToken"] != "" || all["BearerToken"] != "" || all["SignatureType"] != "" {
		return refuse(http.StatusBadRequest, "InvalidSecurityToken.Malformed", "the gateway's key pairs have no security token")
	}
	var algorithm func() hash.Hash
	switch all["SignatureMethod"] {
	case "HMAC-SHA1":
		algorithm = sha1.New
	case "HMAC-SHA256":
		algorithm = sha256.New
	default:
		return refuse(http.StatusBadRequest, "InvalidSignatureMethod", "SignatureMethod is neither HMAC-SHA1 nor HMAC-SHA256")
	}
	text := method + "&%2F&" + escape(canonical(all))
	req.signature = signature{given: req.take("Signature"), made: func(secret string) string {
		mac := hmac.New(algorithm, []byte(secret+"&"))
		_, _ = mac.Write([]byte(text)) // A hash never fails.
		return base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}}
	req.action, req.version, req.keyID, req.nonce = all["Action"], all["Version"], all["AccessKeyId"], all["SignatureNonce"]
	req.xml = strings.EqualFold(all["Format"], "XML")
	for _, name := range system() {
		req.take(name)
	}
	if err := req.withoutSystem("a parameter of the signature is in another spelling"); err != nil {
		return err
	}
	return req.dated(all["Timestamp"])
}

// version3 reads the headers of signatures that cover method, query, headers and body.
func (req *request) version3(r *http.Request, authorization string, body []byte) error {
	wrong := func(why string) error { return refuse(http.StatusBadRequest, "SignatureDoesNotMatch", why) }
	algorithm, rest, _ := strings.Cut(authorization, " ")
	if algorithm != acs3 {
		return refuse(http.StatusBadRequest, "InvalidSignatureMethod", "the only signature in a header is "+acs3)
	}
	fields := map[string]string{}
	for field := range strings.SplitSeq(rest, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(field), "=")
		fields[name] = value
	}
	signed := strings.Split(fields["SignedHeaders"], ";")
	var headers strings.Builder
	for _, name := range signed {
		values := r.Header.Values(name)
		if name == "host" {
			values = []string{r.Host}
		}
		if len(values) != 1 || name != strings.ToLower(name) {
			return wrong("a signed header is missing, given twice or not in lower case")
		}
		headers.WriteString(name + ":" + strings.TrimSpace(values[0]) + "\n")
	}
	for _, name := range []string{"host", "x-acs-action", "x-acs-version", "x-acs-date", "x-acs-signature-nonce", "x-acs-content-sha256"} {
		if !slices.Contains(signed, name) {
			return wrong(name + " is not signed")
		}
	}
	if r.Header.Get("X-Acs-Security-Token") != "" || r.Header.Get("X-Acs-Bearer-Token") != "" {
		return refuse(http.StatusBadRequest, "InvalidSecurityToken.Malformed", "the gateway's key pairs have no security token")
	}
	sum := sha256.Sum256(body)
	digest := hex.EncodeToString(sum[:])
	if r.Header.Get("X-Acs-Content-Sha256") != digest {
		return wrong("x-acs-content-sha256 is not that of the body")
	}
	if err := req.withoutSystem("a parameter has the name of one that is a header here"); err != nil {
		return err
	}
	text := strings.Join([]string{r.Method, "/", canonical(req.query), headers.String(), fields["SignedHeaders"], digest}, "\n")
	sum = sha256.Sum256([]byte(text))
	text = acs3 + "\n" + hex.EncodeToString(sum[:])
	req.signature = signature{given: fields["Signature"], made: func(secret string) string {
		mac := hmac.New(sha256.New, []byte(secret))
		_, _ = mac.Write([]byte(text)) // A hash never fails.
		return hex.EncodeToString(mac.Sum(nil))
	}}
	req.action, req.version = r.Header.Get("X-Acs-Action"), r.Header.Get("X-Acs-Version")
	req.keyID, req.nonce = fields["Credential"], r.Header.Get("X-Acs-Signature-Nonce")
	return req.dated(r.Header.Get("X-Acs-Date"))
}

func (req *request) dated(text string) (err error) {
	if req.at, err = time.Parse(timeForm, text); err != nil {
		return refuse(http.StatusBadRequest, "InvalidTimeStamp.Format", "the timestamp is missing or not of the form "+timeForm)
	}
	return nil
}

// canonical writes parameters as signatures cover them.
func canonical(params map[string]string) string {
	pairs := make([]string, 0, len(params))
	for _, name := range slices.Sorted(maps.Keys(params)) {
		pairs = append(pairs, escape(name)+"="+escape(params[name]))
	}
	return strings.Join(pairs, "&")
}

// escape encodes as RFC 3986 says.
func escape(s string) string {
	return strings.NewReplacer("+", "%20", "*", "%2A", "%7E", "~").Replace(url.QueryEscape(s))
}
