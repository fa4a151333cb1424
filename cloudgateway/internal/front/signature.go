package front

import (
	"cmp"
	"crypto/hmac"
	"crypto/md5"  //nolint:gosec // The protocol prescribes it.
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
	acs1     = "acs "
)

func noBearer() error {
	return refuse(http.StatusBadRequest, "InvalidSecurityToken.Malformed", "the gateway takes no bearer tokens")
}

// version1 reads the parameters of RPC style signatures, which cover method and parameters.
func (req *request) version1(method string) error {
	all := req.all()
	delete(all, "Signature")
	if all["BearerToken"] != "" || all["SignatureType"] != "" {
		return noBearer()
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
	req.token, req.xml = all["SecurityToken"], strings.EqualFold(all["Format"], "XML")
	for _, name := range system() {
		req.take(name)
	}
	if err := req.withoutSystem("a parameter of the signature is in another spelling"); err != nil {
		return err
	}
	return req.dated(all["Timestamp"])
}

// version3 reads the headers of signatures that cover method, path, query, headers and body: alibabacloud.com, "Request syntax and
// signature method V3" (help/en/doc-detail/2593177.htm, August 2026).
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
	if r.Header.Get("X-Acs-Bearer-Token") != "" {
		return noBearer()
	}
	if req.token = r.Header.Get("X-Acs-Security-Token"); req.token != "" && !slices.Contains(signed, "x-acs-security-token") {
		return wrong("x-acs-security-token is not signed")
	}
	sum := sha256.Sum256(body)
	digest := hex.EncodeToString(sum[:])
	if r.Header.Get("X-Acs-Content-Sha256") != digest {
		return wrong("x-acs-content-sha256 is not that of the body")
	}
	if err := req.withoutSystem("a parameter has the name of one that is a header here"); err != nil {
		return err
	}
	text := strings.Join([]string{r.Method, cmp.Or(req.path, "/"), canonical(req.query), headers.String(),
		fields["SignedHeaders"], digest}, "\n")
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

// inHeaders1 reads the headers of signatures of version 1 for paths: HMAC-SHA1 of the method, four headers, those that begin with
// x-acs-, and path and query as they are before they are encoded. They cover the body by its MD5 alone, so that one is needed.
// alibabacloud.com, "Request syntax and signature method V2 for ROA-style APIs" (help/en/sdk/product-overview/roa-mechanism, May
// 2025). The SDK (v1.63.107) sends no nonce: the signature, which has the time in it, is of one use then.
func (req *request) inHeaders1(r *http.Request, given string, body []byte) error {
	wrong := func(why string) error { return refuse(http.StatusBadRequest, "SignatureDoesNotMatch", why) }
	lines := []string{r.Method}
	for _, name := range []string{"Accept", "Content-Md5", "Content-Type", "Date"} {
		if len(r.Header.Values(name)) > 1 {
			return wrong("a signed header is given twice")
		}
		lines = append(lines, r.Header.Get(name))
	}
	signed := map[string]string{}
	for name, values := range r.Header {
		if lower := strings.ToLower(name); strings.HasPrefix(lower, "x-acs-") {
			if len(values) != 1 {
				return wrong("a signed header is given twice")
			}
			signed[lower] = strings.TrimSpace(values[0])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(signed)) {
		lines = append(lines, name+":"+signed[name])
	}
	sum := md5.Sum(body) //nolint:gosec // The protocol prescribes it.
	digest := r.Header.Get("Content-Md5")
	switch {
	case (len(body) > 0 || digest != "") && digest != base64.StdEncoding.EncodeToString(sum[:]):
		return wrong("Content-MD5 is not that of the body")
	case signed["x-acs-bearer-token"] != "":
		return noBearer()
	case cmp.Or(signed["x-acs-signature-method"], "HMAC-SHA1") != "HMAC-SHA1":
		return refuse(http.StatusBadRequest, "InvalidSignatureMethod", "x-acs-signature-method is not HMAC-SHA1")
	}
	if err := req.withoutSystem("a parameter has the name of one that is a header here"); err != nil {
		return err
	}
	var query []string
	for _, name := range slices.Sorted(maps.Keys(req.query)) {
		pair := name
		if req.query[name] != "" {
			pair += "=" + req.query[name]
		}
		query = append(query, pair)
	}
	resource := req.path
	if len(query) > 0 {
		resource += "?" + strings.Join(query, "&")
	}
	text := strings.Join(append(lines, resource), "\n")
	id, value, _ := strings.Cut(given, ":")
	req.signature = signature{given: value, made: func(secret string) string {
		mac := hmac.New(sha1.New, []byte(secret))
		_, _ = mac.Write([]byte(text)) // A hash never fails.
		return base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}}
	req.action, req.version, req.keyID, req.token = signed["x-acs-action"], signed["x-acs-version"], id, signed["x-acs-security-token"]
	req.nonce = cmp.Or(signed["x-acs-signature-nonce"], value)
	at, err := http.ParseTime(r.Header.Get("Date"))
	if err != nil {
		return refuse(http.StatusBadRequest, "InvalidTimeStamp.Format", "the header Date is missing or not of the form of HTTP")
	}
	req.at = at
	return nil
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
