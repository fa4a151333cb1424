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
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	// mostBody and mostParameters bound a request: the longest that the cloud takes names some hundred servers.
	mostBody       = 128 << 10
	mostParameters = 2000
	mostNonce      = 128 // longer than those of all clients that are known

	timeForm = "2006-01-02T15:04:05Z"
	acs3     = "ACS3-HMAC-SHA256"
)

// request is a call as a tool has sent it.
type request struct {
	version, action string // of the product's API
	keyID, nonce    string
	at              time.Time
	xml             bool              // how the answer is to be written
	query, form     map[string]string // without what belongs to the signature
	signature       signature
}

// signature can be checked once the secret is known.
type signature struct {
	given string
	made  func(secret string) string
}

func (s signature) by(secret string) bool { return hmac.Equal([]byte(s.made(secret)), []byte(s.given)) }

// system are the parameters of the signature and of the protocol, which the gateway sets anew. In version 3 of the
// signature they are headers.
func system() []string {
	return []string{
		"Action", "Version", "Format", "AccessKeyId", "Signature", "SignatureMethod", "SignatureVersion", "SignatureNonce",
		"SignatureType", "Timestamp",
		"SecurityToken", "BearerToken",
	}
}

var (
	plainWord = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]{0,63}$`)
	plainID   = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
	plainName = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)
)

// parse reads a request and refuses what is not of the form that the cloud's documents give, and what two readers could
// understand in two ways.
func parse(r *http.Request, body []byte) (*request, error) {
	if r.Method != http.MethodGet && r.Method != http.MethodPost || r.URL.Path != "/" && r.URL.Path != "" {
		return nil, refuse(http.StatusNotFound, "InvalidAction.NotFound", "only GET and POST of / are calls in RPC style")
	}
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if len(body) > 0 && kind != "" && !strings.EqualFold(strings.TrimSpace(kind), "application/x-www-form-urlencoded") {
		return nil, refuse(http.StatusBadRequest, "UnsupportedContentType", "the body has to be application/x-www-form-urlencoded")
	}
	names := map[string]bool{}
	query, err := parameters(r.URL.RawQuery, names)
	if err != nil {
		return nil, err
	}
	form, err := parameters(string(body), names)
	if err != nil {
		return nil, err
	}
	req := &request{query: query, form: form}
	if authorization := r.Header.Get("Authorization"); authorization != "" {
		err = req.version3(r, authorization, body)
	} else {
		err = req.version1(r.Method)
	}
	if err != nil {
		return nil, err
	}
	switch {
	case !plainWord.MatchString(req.action):
		return nil, refuse(http.StatusBadRequest, "MissingAction", "Action is missing, or no name of an action")
	case req.nonce == "" || len(req.nonce) > mostNonce:
		return nil, refuse(http.StatusBadRequest, "MissingSignatureNonce", "SignatureNonce is missing or too long")
	}
	return req, nil
}

// parameters reads names and values. Names that differ in case only, those given twice, also in query and body, and those
// that another reader may trim or take for lists ("InstanceId ", "InstanceId[]") have no meaning that is certain.
func parameters(text string, names map[string]bool) (map[string]string, error) {
	if strings.Count(text, "&") >= mostParameters {
		return nil, refuse(http.StatusBadRequest, "InvalidParameter", "there are too many parameters")
	}
	values, err := url.ParseQuery(text)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "InvalidParameter", "the parameters are not encoded as a form is")
	}
	single := make(map[string]string, len(values))
	for name, all := range values {
		folded := strings.ToLower(name)
		if len(all) > 1 || names[folded] {
			return nil, refuse(http.StatusBadRequest, "InvalidParameter", "a parameter is given twice, or in two spellings")
		}
		if !plainName.MatchString(name) {
			return nil, refuse(http.StatusBadRequest, "InvalidParameter", "the name of a parameter is not of letters, digits, dots and dashes")
		}
		names[folded] = true
		single[name] = all[0]
	}
	return single, nil
}

// all are the parameters, wherever they are.
func (req *request) all() map[string]string {
	all := maps.Clone(req.query)
	maps.Copy(all, req.form)
	return all
}

// take gives a parameter of query or form, and takes it out.
func (req *request) take(name string) string {
	value, ok := req.query[name]
	if !ok {
		value = req.form[name]
	}
	delete(req.query, name)
	delete(req.form, name)
	return value
}

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

// withoutSystem refuses a request that has parameters of the signature left.
func (req *request) withoutSystem(why string) error {
	for name := range req.all() {
		if slices.ContainsFunc(system(), func(s string) bool { return strings.EqualFold(s, name) }) {
			return refuse(http.StatusBadRequest, "InvalidParameter", why)
		}
	}
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
