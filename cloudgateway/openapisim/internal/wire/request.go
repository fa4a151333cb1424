// Package wire speaks the two protocols of the OpenAPI, RPC and ROA: it reads requests, verifies their signatures, checks the form of
// their parameters, and writes answers in JSON or XML. A request in ROA style has a path, by which its product finds the action.
package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
)

// maxBody bounds what a client can send in a form.
const maxBody = 4 << 20

// timestampLayout is the only form of Timestamp and x-acs-date.
const timestampLayout = "2006-01-02T15:04:05Z"

// Request is a request of either signature version.
type Request struct {
	Method, Path    string
	Action, Version string
	XML             bool              // the answer is wanted in XML
	Values          map[string]string // query and form merged, system parameters of version 1 included

	AccessKeyID   string
	SecurityToken string
	Nonce         string
	Timestamp     string
	signed        signature
}

// signature is how a request was signed.
type signature interface {
	// verify reports whether the signature was made with the secret, and what the server signed.
	verify(secret string) (stringToSign string, ok bool)
}

// Parse reads a request. It returns a request that is as complete as possible also together with an error, for the journal.
func Parse(r *http.Request) (*Request, *api.Error) {
	req := &Request{Method: r.Method, Path: r.URL.EscapedPath(), Values: map[string]string{}}
	methods, roa := []string{http.MethodGet, http.MethodPost}, strings.Trim(req.Path, "/") != ""
	if roa {
		methods = append(methods, http.MethodPut, http.MethodDelete)
	}
	if !slices.Contains(methods, r.Method) {
		return req, &api.Error{Status: http.StatusForbidden, Code: "UnsupportedHTTPMethod", Message: "This http method is not supported."}
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil || len(body) > maxBody {
		return req, api.BadRequest("InvalidParameter", "The request body is incomplete or larger than %d bytes.", maxBody)
	}
	r.Body = io.NopCloser(bytes.NewReader(body)) // version 3 signs the bytes, not the form
	if err := r.ParseForm(); err != nil {
		return req, api.BadRequest("InvalidParameter", "The request can't be parsed: %v.", err)
	}
	for name, values := range r.Form { // form first, then query
		req.Values[name] = values[0]
	}
	if err := req.readJSON(r.Header.Get("Content-Type"), body); err != nil {
		return req, err
	}
	req.XML = strings.EqualFold(req.Values["Format"], "XML")
	authorization := r.Header.Get("Authorization")
	actionInHeader := r.Header.Get("X-Acs-Action") != "" && req.Values["Action"] == ""
	switch {
	case strings.HasPrefix(authorization, roaScheme):
		req.readROA(r, strings.TrimPrefix(authorization, roaScheme))
	case strings.HasPrefix(authorization, v3Algorithm), actionInHeader, roa && req.Values["Action"] == "":
		if err := req.readV3(r, authorization, body); err != nil {
			return req, err
		}
	default:
		req.readV1(r.Method)
	}
	return req, req.checkText()
}

// isJSON reports whether a body is said to be a JSON document.
func isJSON(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && kind == "application/json"
}

// readJSON adds the members of a body that is a JSON document. Structures stay JSON; [Structured] reads them.
func (req *Request) readJSON(contentType string, body []byte) *api.Error {
	if !isJSON(contentType) || len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	var document map[string]json.RawMessage
	if err := json.Unmarshal(body, &document); err != nil {
		return api.BadRequest("InvalidParameter", "The request can't be parsed: %v.", err)
	}
	for name, raw := range document {
		value := string(raw)
		switch {
		case value == "null":
			continue
		case value[0] == '"':
			if err := json.Unmarshal(raw, &value); err != nil {
				return api.BadRequest("InvalidParameter", "The request can't be parsed: %v.", err)
			}
		}
		req.Values[name] = value
	}
	return nil
}

// checkText refuses what is not UTF-8: neither answers nor snapshots could repeat it.
func (req *Request) checkText() *api.Error {
	for name, value := range req.Values {
		if !utf8.ValidString(name) || !utf8.ValidString(value) {
			return api.BadRequest("InvalidParameter", "The request can't be parsed: %q is not UTF-8.", name+"="+value)
		}
	}
	return nil
}

func (req *Request) readV1(method string) {
	v := req.Values
	req.Action, req.Version = v["Action"], v["Version"]
	req.AccessKeyID, req.SecurityToken = v["AccessKeyId"], v["SecurityToken"]
	req.Nonce, req.Timestamp = v["SignatureNonce"], v["Timestamp"]
	req.signed = signatureV1{method: method, values: v}
}

// Params returns what was sent but the secrets, for handlers and the journal.
func (req *Request) Params() map[string]string {
	params := make(map[string]string, len(req.Values))
	for name, value := range req.Values {
		if name != "Signature" && name != "SecurityToken" {
			params[name] = value
		}
	}
	return params
}

// CheckSystem checks that the parameters every signed request has are there and have the right form.
func (req *Request) CheckSystem() *api.Error {
	if _, isV1 := req.signed.(signatureV1); isV1 {
		for _, name := range []string{"SignatureMethod", "SignatureVersion", "Signature"} {
			if req.Values[name] == "" {
				return api.Missing(name)
			}
		}
		if req.Values["SignatureMethod"] != "HMAC-SHA1" {
			return InvalidParameter("SignatureMethod", "HMAC-SHA1 is supported")
		}
		if req.Values["SignatureVersion"] != "1.0" {
			return InvalidParameter("SignatureVersion", "1.0 is supported")
		}
	}
	_, isROA := req.signed.(signatureROA)
	for _, p := range []struct{ name, value string }{
		{"AccessKeyId", req.AccessKeyID}, {"SignatureNonce", req.Nonce}, {"Timestamp", req.Timestamp},
	} {
		isOptional := isROA && p.name == "SignatureNonce" // version 1 of the SDK sends none in ROA style
		if p.value == "" && !isOptional {
			return api.Missing(p.name)
		}
	}
	return nil
}

// CheckTime checks that the request was signed less than window ago or ahead.
func (req *Request) CheckTime(now time.Time, window time.Duration) *api.Error {
	signed, err := time.Parse(timestampLayout, req.Timestamp)
	if err != nil {
		return api.BadRequest("InvalidTimeStamp.Format", "Specified time stamp or date value is not well formatted.")
	}
	if age := now.Sub(signed); age > window || age < -window {
		return api.BadRequest("InvalidTimeStamp.Expired", "Specified time stamp or date value is expired.")
	}
	return nil
}

// CheckSignature checks that the request was signed with the secret. By the end of the message,
// clients distinguish a wrong secret from a wrong way of signing.
func (req *Request) CheckSignature(secret string) *api.Error {
	if stringToSign, ok := req.signed.verify(secret); !ok {
		return api.BadRequest("SignatureDoesNotMatch",
			"Specified signature is not matched with our calculation. server string to sign is:%s", stringToSign)
	}
	return nil
}

// InvalidParameter is the error for a parameter of the wrong form. The hint says what is right.
func InvalidParameter(name, hint string, args ...any) *api.Error {
	return api.BadRequest("InvalidParameter", "The specified parameter \"%s\" is not valid: %s.", name, fmt.Sprintf(hint, args...))
}
