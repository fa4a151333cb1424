package openapi

import (
	"bytes"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"

	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/openapi/catalogue"
	"alicloud-controllers.dev/cloudgateway/internal/openapi/credentials"
)

// Why an answer is withheld from a tool.
const (
	// WithheldCredentials: the cloud refuses the gateway's own credentials, or the signature that it made with them.
	WithheldCredentials = "credentials"
	// WithheldQuote: the answer has the gateway's credentials in it.
	WithheldQuote = "quote"
	// WithheldStranger: something on the way has answered in the cloud's place.
	WithheldStranger = "not_the_cloud"
)

// Withheld is the error of an answer that another program must not get: it is about the gateway, and may quote what
// the gateway has sent.
type Withheld struct {
	// Why is one of the reasons above.
	Why string

	cause *rpcerr.Error
}

// Error implements error.
func (w *Withheld) Error() string { return w.cause.Error() }

// Unwrap makes it an *rpcerr.Error to who knows nothing of it.
func (w *Withheld) Unwrap() error { return w.cause }

// withheld looks at the answer to a call that is passed on; nil: it may be.
func (x *exchange) withheld(got *answer) error {
	why, message := "", ""
	e, err := got.envelope()
	known := err == nil && got.requestID() != ""
	if x.call.Product.HasPaths() && got.ok() { // It may be a list or a text: only the cloud sends the id in a header.
		known = got.header.Get(requestIDHeader) != ""
	}
	switch {
	case !got.ok() && (x.meaning.Class == catalogue.Authentication || catalogue.AboutCredentials(x.refusal.Code)):
		why = WithheldCredentials
		message = "the cloud refuses the gateway's own credentials; the key pair of the caller is right"
	case quotes(got.body, x.with) || slices.ContainsFunc(headerValues(got.header), func(v string) bool { return quotes([]byte(v), x.with) }):
		why, message = WithheldQuote, "the cloud's answer quotes the gateway's own credentials"
	case !known:
		why, message = WithheldStranger, "something between the gateway and the cloud has answered"
	default:
		return nil
	}
	if x.call.Mutating && why != WithheldCredentials {
		message += "; the change may have been made or not"
	}
	return &Withheld{Why: why, cause: &rpcerr.Error{
		Code: codes.Unavailable, Reason: rpcerr.CloudUnavailable, Message: message, API: x.call.api(), CloudCode: x.refusal.Code,
		CloudRequestID: e.RequestID,
	}}
}

func headerValues(h http.Header) (values []string) {
	for _, v := range h {
		values = append(values, v...)
	}
	return values
}

// discreet takes out of a failure and of the cloud's text what quotes the credentials of the attempt.
func (x *exchange) discreet() {
	said, _, _ := strings.Cut(x.refusal.Message, catalogue.Quoting)
	if quotes([]byte(said), x.with) {
		x.refusal.Message = "(the answer quotes the credentials of the request, and is left out)"
	}
	if x.failure != nil && quotes([]byte(x.failure.Error()), x.with) {
		x.failure = errors.New("the answer can't be read; it quotes the credentials of the request, and is left out")
	}
}

// quotes reports whether a text has one of the credentials in it, in whatever form: long enough runs of letters and
// digits look the same in all of them.
func quotes(text []byte, c credentials.Credentials) bool {
	return slices.ContainsFunc([]string{c.AccessKeyID, c.AccessKeySecret, c.SecurityToken}, func(secret string) bool {
		return secret != "" && slices.ContainsFunc(forms(secret), func(form string) bool { return bytes.Contains(text, []byte(form)) })
	})
}

// forms are texts of which one is in whatever quotes a secret.
func forms(secret string) []string {
	const enough = 16 // which nothing else has by chance
	runs := strings.FieldsFunc(secret, func(r rune) bool { return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') })
	longest := slices.MaxFunc(append(runs, ""), func(a, b string) int { return len(a) - len(b) })
	if len(longest) >= enough {
		return []string{longest}
	}
	once := url.QueryEscape(secret)
	return []string{secret, once, url.QueryEscape(once)}
}
