package front

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"

	"alicloud-controllers.dev/proto/rpcerr"
)

// refusal is an answer that the gateway gives in the cloud's place, with the cloud's codes where there are such.
type refusal struct {
	status        int
	code, message string
	after         time.Duration // when another attempt makes sense; 0: it is not known
	why           string        // of a throttled call, for the metrics
}

// Error implements error.
func (r *refusal) Error() string { return r.code + ": " + r.message }

func refuse(status int, code, message string) *refusal {
	return &refusal{status: status, code: code, message: message}
}

// Why a call is throttled.
const (
	reasonLimit       = "limit"       // of the account, for the action
	reasonConnections = "connections" // of the caller
	reasonCalls       = "calls"       // under way
	reasonBytes       = "bytes"       // of requests and answers under way
	reasonLookups     = "lookups"     // of permissions under way
	reasonRefusals    = "refusals"    // by RBAC, of late
	reasonSessions    = "sessions"    // given of late
	reasonNonces      = "nonces"      // of requests that have to be remembered
)

// throttled is what a tool gets for whom there is no room in time. The code is the cloud's plainest: some tools
// compare the whole of it, others look for the word.
func throttled(after time.Duration, reason string) *refusal {
	r := refuse(http.StatusBadRequest, "Throttling", "Request was denied due to user flow control: "+reason)
	r.after, r.why = after, reasonLimit
	return r
}

// because is an error of one of the gateway's bounds.
func because(why string, err error) error {
	r := refusalOf(err)
	if r.why != "" {
		r.why = why
	}
	return r
}

// missing is what an answer must not have in it unless the resource of the call is gone: there are tools, Karpenter
// among them, that look for such words in all errors. The gateway's own credentials, for example, are "not found" at the
// cloud once somebody has deleted them.
var missing = regexp.MustCompile(`(?i)not ?found|not ?exist`)

// refusalOf turns an error of the gateway's own parts into an answer.
func refusalOf(err error) *refusal {
	if r, ok := err.(*refusal); ok { //nolint:errorlint // It is never wrapped.
		return r
	}
	e, ok := rpcerr.From(err)
	switch {
	case errors.Is(err, context.Canceled), ok && e.Code == codes.Canceled:
		return refuse(499, "ClientClosedRequest", "the tool has left") //nolint:mnd // For the log: no tool reads it.
	case errors.Is(err, context.DeadlineExceeded): // of the read that finds out whether the call is inside of a scope
		return refuse(http.StatusServiceUnavailable, "ServiceUnavailable", "the cloud did not answer in time")
	case !ok:
		return refuse(http.StatusInternalServerError, "InternalError", "the gateway has a defect; its log says more")
	case e.Code == codes.NotFound:
		return refuse(http.StatusNotFound, "InvalidResource.NotFound", e.Message)
	}
	message := e.Message
	if missing.MatchString(message) {
		message = "the gateway can't do that at present; its log says why"
	}
	switch {
	case e.Code == codes.ResourceExhausted:
		return throttled(e.RetryAfter, message)
	case e.Reason == rpcerr.CallerForbidden, e.Code == codes.PermissionDenied:
		return refuse(http.StatusForbidden, "Forbidden.RAM", message)
	default:
		r := refuse(http.StatusServiceUnavailable, "ServiceUnavailable", message)
		r.after = e.RetryAfter
		return r
	}
}

// document is an error as the cloud writes it. All fields are strings, as clients expect.
type document struct {
	XMLName   xml.Name `json:"-"         xml:"Error"`
	RequestID string   `json:"RequestId" xml:"RequestId"`
	HostID    string   `json:"HostId"    xml:"HostId"`
	Code      string   `json:"Code"      xml:"Code"`
	Message   string   `json:"Message"   xml:"Message"`
}

// write sends the refusal. The host says that it is not the cloud who refuses.
func (r *refusal) write(w http.ResponseWriter, requestID string, asXML bool) {
	d := document{RequestID: requestID, HostID: "cloudgateway", Code: r.code, Message: r.message}
	text, err := json.Marshal(d)
	w.Header().Set("Content-Type", "application/json;charset=utf-8")
	if asXML {
		text, err = xml.Marshal(d)
		text = append([]byte(xml.Header), text...)
		w.Header().Set("Content-Type", "text/xml;charset=utf-8")
	}
	if err != nil {
		panic(err) // Strings can be written.
	}
	w.Header().Set("X-Acs-Request-Id", requestID)
	if r.after > 0 {
		w.Header().Set("X-Acs-Retry-After", strconv.FormatInt(r.after.Milliseconds()+1, 10))
	}
	w.WriteHeader(r.status)
	_, _ = w.Write(text) // The tool may be gone.
}

// inTime ends the connection of a tool that does not read an answer, and after the answer if this replica leaves.
type inTime struct {
	http.ResponseWriter

	leaves func() bool
}

// WriteHeader implements http.ResponseWriter. Every answer begins with it.
func (w *inTime) WriteHeader(status int) {
	if w.leaves() {
		w.Header().Set("Connection", "close")
	}
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(writing)) // Every connection has one.
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w *inTime) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// passed are the headers of the cloud's answers that tools go by.
func passed(name string) bool {
	return name == "Content-Type" || name == "Retry-After" || strings.HasPrefix(name, "X-Acs-") || strings.HasPrefix(name, "X-Ratelimit-")
}

// newRequestID makes an id of the cloud's form.
func newRequestID() string { return strings.ToUpper(uuid.NewString()) }
