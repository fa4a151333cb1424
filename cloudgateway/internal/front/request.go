package front

import (
	"crypto/hmac"
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
)

// request is a call as a tool has sent it.
type request struct {
	version, action string // of the product's API
	keyID, nonce    string
	token           string // of a session
	at              time.Time
	xml             bool              // how the answer is to be written
	query, form     map[string]string // without what belongs to the signature
	signature       signature

	method, path string // of an action of a product with paths; path is empty for others
	body         []byte // of such a request
	contentType  string
	exchange     *exchange // the request is for a session
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
	if r.URL.Path != "/" && r.URL.Path != "" {
		return parsePath(r, body)
	}
	if r.Method != http.MethodGet && r.Method != http.MethodPost {
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
	authorization := r.Header.Get("Authorization")
	switch {
	case authorization == "" && req.asksForSession(r.Header):
		return req, req.readExchange(r.Header)
	case authorization != "":
		err = req.version3(r, authorization, body)
	default:
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

// parsePath reads a request of a product with paths. Its body is whatever the action wants, and covered by the signature.
func parsePath(r *http.Request, body []byte) (*request, error) {
	if !plainPath.MatchString(r.URL.EscapedPath()) {
		return nil, refuse(http.StatusNotFound, "InvalidAction.NotFound", "the path is not of words and plain ids")
	}
	query, err := parameters(r.URL.RawQuery, map[string]bool{})
	if err != nil {
		return nil, err
	}
	req := &request{query: query, method: r.Method, path: r.URL.Path, body: body, contentType: r.Header.Get("Content-Type")}
	authorization := r.Header.Get("Authorization")
	if given, ok := strings.CutPrefix(authorization, acs1); ok {
		err = req.inHeaders1(r, given, body)
	} else {
		err = req.version3(r, authorization, body)
	}
	switch {
	case err != nil:
		return nil, err
	case req.action != "" && !plainWord.MatchString(req.action):
		return nil, refuse(http.StatusBadRequest, "MissingAction", "x-acs-action is no name of an action")
	case req.nonce == "" || len(req.nonce) > mostNonce:
		return nil, refuse(http.StatusBadRequest, "MissingSignatureNonce", "x-acs-signature-nonce is missing or too long")
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

// withoutSystem refuses a request that has parameters of the signature left.
func (req *request) withoutSystem(why string) error {
	for name := range req.all() {
		if slices.ContainsFunc(system(), func(s string) bool { return strings.EqualFold(s, name) }) {
			return refuse(http.StatusBadRequest, "InvalidParameter", why)
		}
	}
	return nil
}
